"""The questions of Ego-EXTRA, checked where they enter.

A question has ``id``, ``text`` (also seen as ``question``), ``question_involved_ids`` and
``answer_involved_ids`` (numbers of transcript cues, such as ``"10-13"``), five ``options``,
``correct_answer`` (an option's text), and the SubRip times ``question_start_time``,
``question_end_time`` and ``answer_start_time``. Unknown fields are let through; nothing but what is
in :class:`Question` goes on.

What tells the recording, its scenario and its protocol may stand in the question (``video``,
``video_id`` or ``video_name``; ``scenario``; ``protocol``) or in the names of its file and folders,
see :mod:`replay.egoextra.dataset`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from replay.egoextra.dialogue import time_of
from replay.loose_json import Fields
from streaming.events import Seconds

Scenario: TypeAlias = Literal["bike workshop", "kitchen", "bakery", "assembly"]
Protocol: TypeAlias = Literal["PA", "OD"]
"""Pro-active: the expert speaks up. On-demand: the expert answers when asked."""

SCENARIOS: tuple[Scenario, ...] = ("bike workshop", "bakery", "assembly", "kitchen")
OPTIONS = 5

_SCENARIO_WORDS: dict[str, Scenario] = {
    "bike": "bike workshop",
    "bicycle": "bike workshop",
    "workshop": "bike workshop",
    "kitchen": "kitchen",
    "bakery": "bakery",
    "assembly": "assembly",
}
_PROTOCOL_WORDS: dict[str, Protocol] = {
    "pa": "PA",
    "proactive": "PA",
    "od": "OD",
    "ondemand": "OD",
}
_RANGE = re.compile(r"(\d{1,9})(?:\s*-\s*(\d{1,9}))?")
_MOST_CUES = 10_000
"""More cues than a recording has are damage."""


class QuestionError(ValueError):
    """A question that cannot be asked or scored; one line saying why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question.

    Attributes:
        video: Name of the recording, without a suffix.
        id: As in its file; one recording has it once.
        text: What is asked.
        options: The five texts, in order.
        correct: Text of the right one.
        question_start, question_end: When it is spoken, seconds of the recording.
        answer_start: When the expert's answer begins; None where it is not stated.
        question_turns, answer_turns: Numbers of the transcript's cues.
        scenario: None where nothing tells.
        protocol: None where nothing tells.
    """

    video: str
    id: str
    text: str
    options: tuple[str, ...]
    correct: str
    question_start: Seconds
    question_end: Seconds
    answer_start: Seconds | None = None
    question_turns: tuple[int, ...] = ()
    answer_turns: tuple[int, ...] = ()
    scenario: Scenario | None = None
    protocol: Protocol | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.video, self.id

    @property
    def name(self) -> str:
        """One name for records."""
        return f"{self.video}/{self.id}"

    @property
    def right_numbers(self) -> tuple[int, ...]:
        """Numbers from 1 of the options that are the right text; two when an option is repeated."""
        wanted = same_text(self.correct)
        return tuple(
            number for number, option in enumerate(self.options, 1) if same_text(option) == wanted
        )


def same_text(text: str) -> str:
    """What two option texts are compared by: case and white space aside."""
    return " ".join(text.split()).casefold()


def read_question(
    fields: Fields,
    *,
    video: str,
    scenario: Scenario | None,
    protocol: Protocol | None,
) -> Question:
    """A question from its JSON object.

    Args:
        fields: The object.
        video: Recording that the file is about, where it is about one.
        scenario, protocol: What the names of file and folders tell, for a question that is silent.

    Raises:
        QuestionError: If it cannot be asked or scored.
    """
    text = fields.text("text") or fields.text("question")
    if not text.strip():
        raise QuestionError("no text")
    options = fields.texts("options")
    if len(options) != OPTIONS or len(fields.items("options")) != OPTIONS:
        raise QuestionError(f"{len(fields.items('options'))} options, expected {OPTIONS} texts")
    begin, end = time_of(fields, "question_start_time"), time_of(fields, "question_end_time")
    if begin is None or begin < 0:
        raise QuestionError("no question_start_time such as 00:00:09,000")
    named = next((fields.text(key) for key in ("video", "video_id", "video_name")
                  if fields.text(key)), video)  # fmt: skip
    question = Question(
        video=without_suffix(named),
        id=_id(fields),
        text=text.strip(),
        options=tuple(options),
        correct=fields.text("correct_answer"),
        question_start=begin,
        question_end=max(begin, begin if end is None else end),
        answer_start=time_of(fields, "answer_start_time"),
        question_turns=turn_numbers(fields, "question_involved_ids"),
        answer_turns=turn_numbers(fields, "answer_involved_ids"),
        scenario=scenario_in(fields.text("scenario")) or scenario,
        protocol=protocol_in(fields.text("protocol")) or protocol,
    )
    if not question.video:
        raise QuestionError("nothing tells its recording")
    if not question.right_numbers:
        raise QuestionError("correct_answer is none of its options")
    return question


def _id(fields: Fields) -> str:
    value = fields.values.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise QuestionError("no id")
    return str(value).strip()


def turn_numbers(fields: Fields, key: str) -> tuple[int, ...]:
    """Cue numbers: ``"10-13"``, ``"10, 12"``, a number, or a list of such; others are dropped.

    Of a damaged value at most the first 10 000 are taken.
    """
    value = fields.values.get(key)
    items: Sequence[object] = value if isinstance(value, list) else [value]
    numbers = itertools.chain.from_iterable(map(_numbers_in, items))
    return tuple(dict.fromkeys(itertools.islice(numbers, _MOST_CUES)))


def _numbers_in(item: object) -> Iterator[int]:
    if isinstance(item, int) and not isinstance(item, bool):
        yield item
    if isinstance(item, str):
        for match in _RANGE.finditer(item):
            first = int(match[1])
            yield from range(first, (int(match[2]) if match[2] else first) + 1)


def scenario_in(name: str) -> Scenario | None:
    """The scenario that a name holds, such as ``bike_workshop``; None for none or several."""
    found = {_SCENARIO_WORDS[word] for word in _words(name) if word in _SCENARIO_WORDS}
    return found.pop() if len(found) == 1 else None


def protocol_in(name: str) -> Protocol | None:
    """The protocol that a name holds: ``PA``, ``pro-active``, ``OD``, ``on_demand`` and so on."""
    words = _words(name)
    joined = [first + second for first, second in itertools.pairwise(words)]
    found = {_PROTOCOL_WORDS[word] for word in (*words, *joined) if word in _PROTOCOL_WORDS}
    return found.pop() if len(found) == 1 else None


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", name.lower())


def without_suffix(name: str) -> str:
    """A recording's name without the suffix of a media file."""
    return re.sub(r"\.(mp4|mov|mkv|webm|avi)$", "", name.strip(), flags=re.IGNORECASE)
