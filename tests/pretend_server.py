"""``deixis serve`` as a process of its own, with small components in place of the models.

``python -m tests.pretend_server FOLDER [--record] [--open]``; the token is in ``DEIXIS_TOKEN``.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import os
import signal
from dataclasses import replace

from client.commands.serve import _serve
from client.printing import plain_console
from server.guard import GuardSettings, Token
from server.limits import Limits
from server.settings import read_server_settings
from tests.pretend_pipeline import PretendEngines

OPEN = Limits(
    requests=1e9,
    requests_burst=1e9,
    messages=1e9,
    messages_burst=1e9,
    wrong_token=1e-9,
    header_seconds=2.0,
    body_seconds=2.0,
    hello_seconds=2.0,
    stall_seconds=3.0,
    idle_seconds=5.0,
)
"""No client is slowed down, and slow ones are given up soon: so that many misdeeds fit in a run."""


def main() -> None:
    # Who finds it silent asks where it stands, and reads that in its log.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--open", action="store_true")
    chosen = parser.parse_args()
    settings = read_server_settings()
    settings = replace(settings, recordings=chosen.folder, record=chosen.record)
    if chosen.open:
        quick = replace(settings.websocket, resume_within=0.5, hello_within=2.0)
        live = replace(settings.live, idle=2.0)
        settings = replace(settings, websocket=quick, live=live)
    token = os.environ.get("DEIXIS_TOKEN")
    guard = GuardSettings(
        port=0,
        token=None if token is None else Token(token),
        limits=OPEN if chosen.open else Limits(),
    )
    asyncio.run(
        _serve(guard, PretendEngines(), settings, "en", (), plain_console())  # type: ignore[arg-type]
    )


if __name__ == "__main__":
    main()
