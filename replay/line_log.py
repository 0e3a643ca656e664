"""JSON lines written so that a crash costs at most the line being written.

Lines end with a line feed and nothing else; they are UTF-8. Every line is flushed and synced before
the next begins. A last line without its line feed that is no JSON was cut off by a crash: reading
passes over it and says so, and the next writer removes it. Any other bad line is an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self


class LineLog:
    """Appends lines to a file, each one synced; a context manager.

    Args:
        path: The file; it and its folder are made when absent. A torn last line is removed.
        fresh: Begin with an empty file.

    Raises:
        OSError: If it cannot be written.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not fresh:
            mend_end(path)
        self._stream: BinaryIO = path.open("wb" if fresh else "ab")

    def write(self, line: dict[str, Any]) -> None:
        """Write one line and wait until it is on disk."""
        self._stream.write(encode_line(line))
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def split_lines(content: bytes) -> tuple[list[tuple[int, bytes]], bool]:
    """The lines of a file that are not blank, with their numbers; and whether the last is torn."""
    *whole, last = content.split(b"\n")
    lines = [(number, line) for number, line in enumerate(whole, start=1) if line.strip()]
    torn = bool(last.strip()) and not is_json(last)
    if last.strip() and not torn:
        lines.append((len(whole) + 1, last))
    return lines, torn


def whole_lines(path: Path) -> Iterator[Any]:
    """The values of a log's lines; a torn last one is passed over, an absent file has none.

    Raises:
        ValueError: If a line is no JSON; the text names the file and the line.
        OSError: If it cannot be read.
    """
    if not path.exists():
        return
    lines, _ = split_lines(path.read_bytes())
    for number, line in lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: {error}") from error


def is_json(line: bytes) -> bool:
    """Whether a line is JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def encode_line(line: dict[str, Any]) -> bytes:
    """One line of JSON with its line feed; half a surrogate pair is written as an escape."""
    try:
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(line).encode() + b"\n"


def mend_end(path: Path) -> None:
    """Let the file end with a line feed: after a whole last line by adding it, else by cutting."""
    with path.open("rb+") as stream:
        content = stream.read()
        cut = content.rfind(b"\n") + 1
        last = content[cut:]
        if not last:
            return
        if is_json(last):
            stream.write(b"\n")
        else:
            stream.truncate(cut)
        stream.flush()
        os.fsync(stream.fileno())
