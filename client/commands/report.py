"""``deixis report``: one run as one HTML file."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.progress import Progress

from client.usage import UsageError
from replay.report.page import build_report
from replay.run_folder import Run, open_run


def report(
    run: Path,
    /,
    *,
    out: Path | None = None,
    open: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Write one self-contained HTML file about a run.

    It works offline, needs nothing but a browser, and can be mailed as it is.

    Parameters
    ----------
    run
        A run folder, a clip's folder, or a trace.jsonl.
    out
        Where to write it; report.html in the run's folder unless said otherwise.
    open
        Show it in the browser.
    """
    opened = open_run(run)
    target = opened.folder / "report.html" if out is None else out
    if target.is_dir():
        raise UsageError(f"--out {target} is a folder; name the file to write")
    write_whole(target, _built(opened))
    Console().print(f"report: {target}  ({target.stat().st_size / 1e6:.1f} MB)", markup=False)
    if open:
        webbrowser.open(target.resolve().as_uri())


def _built(run: Run) -> str:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("reading clips", total=len(run.traces))
        return build_report(run, progress=lambda done, _: shown.update(task, completed=done))


def write_whole(path: Path, text: str) -> None:
    """Write a whole file or none of it, and the folder that it is to lie in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    # A file's name may be no Unicode: half a surrogate pair cannot be written.
    partial.write_text(text, encoding="utf-8", errors="replace")
    os.replace(partial, path)
