"""SubRip: times such as ``00:00:09,000``, and files of numbered cues.

A cue is a line with its number, a line ``begin --> end``, and lines of text up to an empty one.
What is read here is lenient where files in the wild differ (a point for the comma, missing
milliseconds, a byte order mark, ``\\r\\n``), and strict where a wrong guess would move a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streaming.events import Seconds

_TIME = re.compile(r"\s*(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})(?:[,.](\d{1,6}))?\s*")
_ARROW = "-->"


class SubRipError(ValueError):
    """Text that is no SubRip; one line saying where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One cue.

    Attributes:
        number: As in the file.
        onset, offset: When it is shown, seconds.
        text: Its lines, joined by single spaces.
    """

    number: int
    onset: Seconds
    offset: Seconds
    text: str


def parse_time(text: str) -> Seconds:
    """Seconds of ``HH:MM:SS,mmm`` or ``MM:SS``; the fraction may be absent.

    Raises:
        SubRipError: If it is no such time.
    """
    match = _TIME.fullmatch(text)
    if match is None or int(match[2]) > 59 or int(match[3]) > 59:
        raise SubRipError(f"{text!r} is no time such as 00:00:09,000")
    whole = int(match[1] or 0) * 3600 + int(match[2]) * 60 + int(match[3])
    # Read as a decimal of the whole time: 9,007 is the float nearest to 9.007.
    return float(f"{whole}.{match[4] or 0}")


def format_time(time: Seconds) -> str:
    """``HH:MM:SS,mmm``, rounded to the millisecond.

    Raises:
        ValueError: If ``time`` is negative.
    """
    if time < 0:
        raise ValueError(f"time {time} is negative")
    seconds, thousandths = divmod(round(time * 1000), 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d},{thousandths:03d}"


def parse_cues(text: str) -> list[Cue]:
    """The cues of a file, in its order.

    Raises:
        SubRipError: At the first block that is no cue.
    """
    cues: list[Cue] = []
    lines = text.lstrip("\ufeff").splitlines()
    position = 0
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        begin = position
        while position < len(lines) and lines[position].strip():
            position += 1
        cues.append(_cue(lines[begin:position], line=begin + 1))
    return cues


def _cue(block: list[str], *, line: int) -> Cue:
    if not block[0].strip().isdigit() or len(block) < 2:
        raise SubRipError(f"line {line}: expected the number of a cue, got {block[0][:40]!r}")
    begin, arrow, rest = block[1].partition(_ARROW)
    end = rest.split(maxsplit=1)[:1]  # what stands behind is the place on the screen
    if not arrow or not begin.strip() or not end:
        raise SubRipError(f"line {line + 1}: expected begin --> end, got {block[1][:40]!r}")
    try:
        onset, offset = parse_time(begin.strip()), parse_time(end[0])
    except SubRipError as error:
        raise SubRipError(f"line {line + 1}: {error}") from error
    if offset < onset:
        raise SubRipError(f"line {line + 1}: a cue that ends before it begins")
    text = " ".join(part.strip() for part in block[2:])
    return Cue(number=int(block[0]), onset=onset, offset=offset, text=text)
