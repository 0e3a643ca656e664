"""Whether a request of a run held anything from after its question: read from its own record.

``asked.jsonl`` has every request as it was sent: its texts whole, its pictures by their times. What
is looked for:

* a part that says it reaches beyond the question;
* a frame whose time, as told to the model, lies after it;
* a line of a transcript that begins or ends after it;
* the text of a later turn of the expert in the transcript that was sent, unless it was also said
  before. Short turns, such as "Okay.", say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from replay.egoextra.dialogue import Dialogue
from replay.egoextra.questions import same_text
from replay.egoextra.requests import TRANSCRIPT
from replay.line_log import whole_lines
from replay.loose_json import Fields
from streaming.events import Seconds

_SAME: Seconds = 1.5e-3
"""Times are written in whole milliseconds."""
_FRAME = re.compile(r"<time>(\d+\.\d+)")
_LINE = re.compile(r"\[(\d+\.\d+)-(\d+\.\d+)\]")
_TELLING_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Something in a request that is from after its question."""

    id: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakReport:
    """What was found in a run's record.

    Attributes:
        requests: How many were looked at.
        leaks: What should not be there.
    """

    requests: int
    leaks: tuple[Leak, ...]


def audit_requests(asked: Path, dialogues: Mapping[str, Dialogue]) -> LeakReport:
    """Look through ``asked.jsonl``.

    Args:
        asked: The file.
        dialogues: The true transcripts, by recording.
    """
    requests, leaks = 0, []
    for value in whole_lines(asked):
        if not isinstance(value, dict):
            continue
        line = Fields(value)
        request = line.table("request")
        if not request:
            continue
        requests += 1
        name = line.text("id")
        found = leaks_in(request, _dialogue_of(name, dialogues))
        leaks += [Leak(id=name, what=what) for what in found]
    return LeakReport(requests=requests, leaks=tuple(leaks))


def _dialogue_of(name: str, dialogues: Mapping[str, Dialogue]) -> Dialogue:
    """The transcript of the recording that a question's or a choice's name begins with."""
    videos = [video for video in dialogues if name.startswith((f"{video}/", f"{video}@"))]
    return dialogues[max(videos, key=len)] if videos else Dialogue()


def leaks_in(request: Fields, dialogue: Dialogue) -> Iterator[str]:
    """What of one described request lies after its question."""
    asked_at = request.number("asked_at")
    if asked_at is None:
        yield "it does not say when it was asked"
        return
    for part in request.tables("parts"):
        until = part.number("until")
        if until is not None and until > asked_at + _SAME:
            yield f"a {part.text('type')} reaches to {until:.3f} s, asked at {asked_at:.3f} s"
        text = part.text("text")
        for time in _later(_FRAME.findall(text), asked_at):
            yield f"a frame of {time:.3f} s, asked at {asked_at:.3f} s"
        if text.startswith(TRANSCRIPT):
            yield from _in_transcript(text, asked_at, dialogue)


def _in_transcript(text: str, asked_at: Seconds, dialogue: Dialogue) -> Iterator[str]:
    spans = [time for span in _LINE.findall(text) for time in span]
    for time in _later(spans, asked_at):
        yield f"a transcript line of {time:.3f} s, asked at {asked_at:.3f} s"
    sent = _plain(text)
    before = _plain(" ".join(turn.text for turn in dialogue.said_by(asked_at, since=-1.0)))
    for turn in dialogue.of("expert"):
        said = _plain(turn.text)
        telling = len(said.split()) >= _TELLING_WORDS
        if turn.onset > asked_at and telling and said in sent and said not in before:
            yield f"the expert's turn {turn.number} of {turn.onset:.3f} s"


def _later(times: Iterable[str], asked_at: Seconds) -> list[Seconds]:
    return [float(time) for time in times if float(time) > asked_at + _SAME]


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", same_text(text)))
