"""The folder that a run writes: one run at a time, and nothing of anybody else's is overwritten."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

TRACE, RUN = "trace.jsonl", "run.json"
PREDICTIONS, SCORES = "predictions.jsonl", "scores.json"
_OF_THE_WHOLE = (PREDICTIONS, SCORES, "report.html")


class OutFolderError(ValueError):
    """A folder that a run cannot write into; one line saying why and what to do."""


@contextlib.contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Make the folder, and keep other runs out of it until the block ends.

    The claim ends with the process, however that ends.

    Raises:
        OutFolderError: If it is no folder, or another run is writing into it.
        OSError: If it cannot be made.
    """
    if out.exists() and not out.is_dir():
        raise OutFolderError(f"{out} is a file, not a folder; give another --out")
    out.mkdir(parents=True, exist_ok=True)
    handle = os.open(out, os.O_RDONLY)
    try:
        _lock(handle, out)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, out: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutFolderError(
            f"another run is writing into {out}; wait for it or give another --out"
        ) from None
    except OSError as error:
        # Some network folders know no locks; there it is up to the person.
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL):
            raise


def read_run(out: Path) -> dict[str, Any] | None:
    """What ``run.json`` says, or None when there is none.

    Raises:
        OutFolderError: If it is damaged, or not a run's.
    """
    path = out / RUN
    if not path.exists():
        return None
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        run = None
    if not isinstance(run, dict) or not isinstance(run.get("clips"), list):
        raise OutFolderError(f"{path} is damaged, or not a run's; give another --out or delete it")
    return run


def first_difference(
    run: Mapping[str, Any], facts: Mapping[str, Any], names: Sequence[str]
) -> str | None:
    """The first of ``names`` in which two runs were made differently, or None."""
    ours = json.loads(json.dumps(facts))
    return next((name for name in names if run.get(name) != ours.get(name)), None)


def check_clip_folder(folder: Path) -> None:
    """Refuse a clip's folder with somebody's own files in it: they would be overwritten.

    Raises:
        OutFolderError: If it is not empty and holds no trace, or is a file.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OutFolderError(f"{folder} is in the way of a clip's folder; give another --out")
    if folder.is_dir() and not (folder / TRACE).is_file() and any(folder.iterdir()):
        raise OutFolderError(f"{folder} holds files that are no clip's; give another --out")


def forget_whole(out: Path) -> None:
    """Delete what was made from all clips of an earlier run."""
    for name in _OF_THE_WHOLE:
        (out / name).unlink(missing_ok=True)


def forget_run(out: Path, run: Mapping[str, Any]) -> None:
    """Delete what a run left in its folder, and nothing else that may lie there."""
    for name in map(str, run["clips"]):
        folder = out / name
        inside = folder.parent == out and name not in ("", ".", "..") and not folder.is_symlink()
        if inside and (folder / TRACE).is_file():
            shutil.rmtree(folder)
    forget_whole(out)
    (out / RUN).unlink(missing_ok=True)
