"""``deixis measure recording``: does the replay of a recorded session decide as the session did?"""

from __future__ import annotations

import asyncio
import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from client.choices import LanguageName
from client.commands.demo import CLIPS
from client.printing import plain_console, printable
from replay.discover import find_clips
from streaming.build import Engines, EngineSettings, language_code
from streaming.machine import describe_machine

if TYPE_CHECKING:
    from replay.measure.agreement import Agreement
    from replay.measure.live_recording import Replayed


def recording(
    *paths: Path,
    language: LanguageName = "auto",
    sender: Literal["ws", "whip"] = "ws",
    asr: str = "auto",
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Stream clips to a live server that records, replay the recordings, and compare decisions.

    Server, sender and replay are those that people run. A recording that a session left (`.mkv`
    with `.trace.jsonl` beside it) is only replayed. Decisions are the same when they say the same
    at the same times, to a millisecond; beside differences stand the live session's counters that
    explain them. Exit code 1 when nothing could be compared. ``--json`` prints one object:
    ``clips`` (``name, seconds, megabytes, exact, reasons`` and ``kinds``, by kind ``same, moved``
    in seconds, ``only_live, only_replay``), ``failed`` and ``machine``.

    Parameters
    ----------
    paths
        Clips, folders of them, or recordings; the shipped clips by default.
    language
        Spoken language: `en`, `zh` or `auto`.
    sender
        How clips are sent: `ws` (WebSocket) or `whip` (WebRTC).
    asr
        Whisper model of the replays of a session's recording, if the server had another one.
    print_json
        Print one JSON object instead of a table.
    """
    found = find_clips(list(paths) or [CLIPS])
    failed = {str(bad.path): bad.reason for bad in found.failed}
    engines = Engines(EngineSettings(asr=asr, early=True))  # as the server has it
    clips = {clip.name: clip.path for clip in found.clips}
    done = asyncio.run(_compare(clips, language_code(language), sender, engines, failed))
    if print_json:
        print(json_module.dumps(_as_json(done, failed), allow_nan=False))
    else:
        _show(done, failed)
    return 0 if done and not failed else 1


async def _compare(
    clips: dict[str, Path],
    language: str,
    sender: Literal["ws", "whip"],
    engines: Engines,
    failed: dict[str, str],
) -> list[Replayed]:
    from replay.measure.live_processes import LiveMeasureError
    from replay.measure.live_recording import is_recording, record, recording_server, replayed

    progress = plain_console(stderr=True)
    done: list[Replayed] = []

    async def compare(name: str, film: Path) -> None:
        progress.print(f"replaying the recording of {printable(name)} …")
        done.append(await replayed(film, name=name, language=language, engines=engines))

    for name, path in clips.items():
        if is_recording(path):
            await compare(name, path)
    made = {name: path for name, path in clips.items() if not is_recording(path)}
    if not made:
        return done
    async with recording_server(language) as (served, folder):
        for name, path in made.items():
            progress.print(f"streaming {printable(name)} …")
            try:
                film = await record(path, served, folder, sender=sender, language=language)
                await compare(name, film)
            except LiveMeasureError as error:
                failed[name] = str(error)
    return done


def _as_json(done: list[Replayed], failed: dict[str, str]) -> dict[str, Any]:
    return {
        "clips": [
            {
                "name": one.name,
                "seconds": round(one.seconds, 3),
                "megabytes": round(one.megabytes, 3),
                "exact": one.exact,
                "reasons": one.reasons,
                "kinds": {kind: _counted(agreed) for kind, agreed in one.kinds.items()},
            }
            for one in done
        ],
        "failed": failed,
        "machine": describe_machine(),
    }


def _counted(agreed: Agreement) -> dict[str, Any]:
    return {
        "same": agreed.same,
        "moved": [round(moved, 3) for moved in agreed.moved],
        "only_live": [one.told() for one in agreed.only_first],
        "only_replay": [one.told() for one in agreed.only_second],
    }


def _show(done: list[Replayed], failed: dict[str, str]) -> None:
    console = plain_console()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("clip", "decisions", "same", "moved", "only live", "only replayed"):
        table.add_column(name, justify="left" if name in ("clip", "decisions") else "right")
    for one in done:
        for kind, agreed in one.kinds.items():
            most = f" (up to {1000 * max(agreed.moved):.0f} ms)" if agreed.moved else ""
            table.add_row(
                printable(one.name),
                kind,
                f"{agreed.same} of {agreed.total}",
                f"{len(agreed.moved)}{most}",
                str(len(agreed.only_first)),
                str(len(agreed.only_second)),
            )
    Console().print(table)
    for one in done:
        if not one.all_same:
            _explain(one, console)
    for name, reason in failed.items():
        console.print(printable(f"{name}: {reason}"))


def _explain(one: Replayed, console: Console) -> None:
    from replay.measure.agreement import REASONS

    for kind, agreed in one.kinds.items():
        for only, where in ((agreed.only_first, "live"), (agreed.only_second, "replayed")):
            for decision in only:
                console.print(printable(f"{one.name}: {kind} only {where}: {decision.told()}"))
    told = [f"{count} {REASONS[name]}" for name, count in one.reasons.items()]
    lossy = () if one.exact else ("pictures recorded with loss",)
    why = "; ".join([*told, *lossy]) or "nothing that explains this"
    console.print(printable(f"{one.name}: {why}"))
