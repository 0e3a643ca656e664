"""``deixis report``: one run, or a matrix of them, as one HTML file."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.progress import Progress

from client.usage import UsageError
from replay.report.benchmark_page import build_benchmark_report, is_benchmark_run
from replay.report.matrix_page import REPORT, build_matrix_report
from replay.report.page import build_report
from replay.run_folder import Run, open_run
from replay.scoring.cells import Matrix, is_matrix, open_matrix


def report(
    run: Path,
    /,
    *,
    out: Path | None = None,
    cells: Annotated[bool, Parameter(negative="")] = False,
    open: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Write one self-contained HTML file about a run, or about a matrix of runs.

    It works offline, needs nothing but a browser, and can be mailed as it is.

    Parameters
    ----------
    run
        A run folder, a clip's folder, a trace.jsonl, or a matrix folder.
    out
        Where to write it; report.html in the folder unless said otherwise.
    cells
        Of a matrix folder: write the report of each of its runs first, to be linked to.
    open
        Show it in the browser.
    """
    opened = _opened(run)
    folder = opened if isinstance(opened, Path) else opened.folder
    target = folder / REPORT if out is None else out
    if target.is_dir():
        raise UsageError(f"--out {target} is a folder; name the file to write")
    if isinstance(opened, Path):
        if cells:
            raise UsageError(f"--cells is for a matrix folder; {run} is a single run")
        _write(target, build_benchmark_report(opened))
    elif isinstance(opened, Matrix):
        for cell in opened.cells if cells else ():
            _write(cell.folder / REPORT, _built(open_run(cell.folder)))
        _write(target, build_matrix_report(opened))
    elif cells:
        raise UsageError(f"--cells is for a matrix folder; {run} is a single run")
    else:
        _write(target, _built(opened))
    if open:
        webbrowser.open(target.resolve().as_uri())


def _opened(run: Path) -> Matrix | Run | Path:
    """What a path holds; the path itself for a run over a benchmark of questions."""
    if is_matrix(run):
        return open_matrix(run)
    return run if is_benchmark_run(run) else open_run(run)


def _write(target: Path, page: str) -> None:
    write_whole(target, page)
    Console().print(f"report: {target}  ({target.stat().st_size / 1e6:.1f} MB)", markup=False)


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
