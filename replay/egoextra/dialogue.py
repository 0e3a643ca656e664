"""The dialogue of a recording: who says what, and when.

On disk it is SubRip (``.srt``, or ``.txt`` in the same form) or JSON, a list of objects with
``id``, ``text`` (or ``sentence``), ``start_time`` and ``end_time`` (SubRip times or seconds; also
``start`` and ``end``), and where it is known ``speaker`` (or ``role``).

**Who speaks** is taken, in this order, from the field, from a name before the text (``Expert: …``,
``[Trainee] …``), and from the questions: what they name as asked is the trainee's, what they name
as the answer is the expert's. What is left has no speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from replay.egoextra.subrip import SubRipError, parse_cues, parse_time
from replay.loose_json import Fields, UnreadableJsonError, finite, parse
from streaming.events import Seconds

Speaker: TypeAlias = Literal["expert", "trainee", ""]

_LONGEST: Seconds = 3_600_000
"""As much as SubRip can say: a thousand hours."""
_TAGGED = re.compile(r"^\s*(?:[\[(]\s*(expert|trainee)\s*[\])]|(expert|trainee)\s*[:：])\s*", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One cue of the transcript.

    Attributes:
        number: Its number, which questions refer to.
        onset, offset: Seconds of the recording.
        text: Without the speaker's name.
        speaker: ``expert``, ``trainee``, or empty when nothing tells.
    """

    number: int
    onset: Seconds
    offset: Seconds
    text: str
    speaker: Speaker = ""

    def __post_init__(self) -> None:
        if not 0 <= self.onset <= self.offset:
            raise ValueError(f"turn {self.number} spans [{self.onset}, {self.offset})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """All turns of a recording, by onset."""

    turns: tuple[Turn, ...] = ()

    def said_by(self, time: Seconds, *, since: Seconds = 0.0) -> tuple[Turn, ...]:
        """The turns that ended in ``(since, time]``: of one that goes on nothing is told yet.

        The text of a turn is the whole of it, so a turn that lasts beyond ``time`` would tell what
        is still to be said.
        """
        return tuple(turn for turn in self.turns if since < turn.offset <= time)

    def of(self, speaker: Speaker) -> tuple[Turn, ...]:
        """The turns of one speaker."""
        return tuple(turn for turn in self.turns if turn.speaker == speaker)

    def with_speakers(self, *, asked: Iterable[int], answered: Iterable[int]) -> Dialogue:
        """The same, with the speakers that the questions tell where none was marked.

        A turn that questions name both ways stays as it is.
        """
        trainee, expert = set(asked), set(answered)
        both = trainee & expert

        def told(turn: Turn) -> Turn:
            if turn.speaker or turn.number in both:
                return turn
            if turn.number in trainee:
                return replace(turn, speaker="trainee")
            return replace(turn, speaker="expert") if turn.number in expert else turn

        return Dialogue(turns=tuple(told(turn) for turn in self.turns))


def read_dialogue(path: Path) -> Dialogue:
    """Read a transcript.

    Raises:
        SubRipError, UnreadableJsonError: If it is none; one line saying where.
        OSError: If it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SubRipError(f"{path.name}: no UTF-8 at byte {error.start}") from error
    try:
        if path.suffix.lower() == ".json":
            turns = _turns_of_json(parse(text))
        else:
            turns = [
                _marked(number=cue.number, onset=cue.onset, offset=cue.offset, text=cue.text)
                for cue in parse_cues(text)
            ]
    except SubRipError as error:
        raise SubRipError(f"{path.name}: {error}") from error
    except UnreadableJsonError as error:
        raise UnreadableJsonError(f"{path.name}: {error}") from error
    return Dialogue(turns=tuple(sorted(turns, key=lambda turn: (turn.onset, turn.number))))


def _turns_of_json(value: Any) -> list[Turn]:
    if isinstance(value, dict):
        value = next((one for one in value.values() if isinstance(one, list)), None)
    if not isinstance(value, list):
        raise UnreadableJsonError("expected a list of turns")
    turns: list[Turn] = []
    for position, item in enumerate(value):
        if not isinstance(item, dict):
            raise UnreadableJsonError(f"turn {position}: expected an object")
        turns.append(_turn_of_json(Fields(item), position))
    return turns


def _turn_of_json(fields: Fields, position: int) -> Turn:
    number = whole_number(fields.values.get("id"))
    onset = time_of(fields, "start_time", "start")
    offset = time_of(fields, "end_time", "end")
    if onset is None or offset is None or not 0 <= onset <= offset:
        raise UnreadableJsonError(f"turn {position}: no times start_time and end_time that rise")
    speaker = (fields.text("speaker") or fields.text("role")).strip().lower()
    return _marked(
        number=position + 1 if number is None else number,
        onset=onset,
        offset=offset,
        text=fields.text("text") or fields.text("sentence"),
        speaker=speaker,
    )


def _marked(*, number: int, onset: Seconds, offset: Seconds, text: str, speaker: str = "") -> Turn:
    """A turn with the speaker that its field or the name before its text says."""
    known: Speaker = "expert" if speaker == "expert" else "trainee" if speaker == "trainee" else ""
    tag = _TAGGED.match(text)
    if tag is not None:
        text = text[tag.end() :]
        if not known:
            known = "expert" if (tag[1] or tag[2]).lower() == "expert" else "trainee"
    return Turn(number=number, onset=onset, offset=offset, text=text.strip(), speaker=known)


def time_of(fields: Fields, *keys: str) -> Seconds | None:
    """The first of ``keys`` that holds a time: SubRip text, or seconds as a number.

    A number beyond any recording is none.
    """
    for key in keys:
        value = fields.values.get(key)
        if isinstance(value, str):
            try:
                return parse_time(value)
            except SubRipError:
                continue
        number = finite(value)
        if number is not None and abs(number) <= _LONGEST:
            return number
    return None


def whole_number(value: Any) -> int | None:
    """``value`` as a whole number, from a number or digits; None when it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.strip().isdigit() and len(value) < 18:
        return int(value)
    return None
