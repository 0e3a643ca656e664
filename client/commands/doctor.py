"""``deixis doctor``: what this machine has and lacks, and the command that mends it."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape

from client.choices import checked_url
from client.health import Check, look_over
from client.model_checks import check_models, configured
from client.printing import printable
from client.usage import UsageError
from streaming.machine import describe_machine
from streaming.version import VERSION

_MARKS = {"ok": "[green]ok[/]     ", "missing": "[red]missing[/]", "optional": "[yellow]without[/]"}


def doctor(
    *,
    model: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    base_url: str | None = None,
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Look over packages, weights, libraries, keys, models, cameras and the machine.

    A model behind an API that has a key, or is named, is looked for with one call that costs
    nothing. Exit code 1 when something is missing that ``deixis replay`` needs, or a named model
    cannot be asked. ``--json`` prints one object: ``ok``, ``version``, ``machine`` and ``checks``,
    a list of ``section``, ``name``, ``state`` (``ok``, ``missing`` or ``optional``), ``detail`` and
    ``mend``. Keys are never shown.

    Parameters
    ----------
    model
        A model to look for, such as `gemini:NAME` or `openai:NAME`; may be given several times.
    base_url
        The server of these models, in place of the provider's own.
    print_json
        Print one JSON object instead of text.
    """
    if base_url is not None and not model:
        raise UsageError("--base-url says where a model is: name it with --model")
    wanted = model or configured(os.environ)
    asked = check_models(wanted, os.environ, base_url=checked_url(base_url), needed=bool(model))
    checks = [*look_over(), *asyncio.run(asked)]
    ready = all(check.state != "missing" for check in checks)
    if print_json:
        encoded = {
            "ok": ready,
            "version": VERSION,
            "machine": describe_machine(),
            "checks": [asdict(check) for check in checks],
        }
        print(json.dumps(encoded, allow_nan=False))  # ASCII: any terminal and pipe can take it
    else:
        _show(checks, ready=ready)
    return 0 if ready else 1


def _show(checks: list[Check], *, ready: bool) -> None:
    console = Console(soft_wrap=True)
    section = ""
    for check in checks:
        if check.section != section:
            section = check.section
            console.print(f"\n[bold]{section}[/]")
        name, detail = escape(printable(check.name)), escape(printable(check.detail))
        console.print(f"  {_MARKS[check.state]} {name}: {detail}")
        if check.mend:
            console.print(f"          [bold]{escape(check.mend)}[/]")
    verdict = "[green]ready[/]" if ready else "[red]not ready: mend what is marked missing[/]"
    console.print(f"\n{verdict}")
