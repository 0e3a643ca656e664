"""Do two runs over the same stream decide the same? A live session and the replay of its recording.

Words, deictics, strokes, bindings and questions are compared, each by what it says: indexes of two
runs may differ, so a binding is compared by its word's and its stroke's times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streaming.events import Seconds

SAME_WITHIN: Seconds = 0.0015
"""A recording's times are whole milliseconds."""
KINDS = ("words", "deictics", "strokes", "bindings", "questions")
_FAR: Seconds = 0.25
"""Decisions of the same content that are farther apart are two."""
REASONS: dict[str, str] = {
    "hops_skipped": "steps of hearing left out, as the machine was behind",
    "sound_blocks_left_out": "sound left out, as hearing was far behind",
    "frames_skipped": "pictures not looked at; they are not in the recording",
    "answers_superseded": "answers taken back for a newer question",
    "answers_interrupted": "answers that the speaker interrupted",
    "turns_reopened": "turns that went on in the next question",
    "video_stopped": "times without pictures, in which no hand was seen",
    "audio_stopped": "times without sound",
    "recording_dropped": "pictures, sounds and lines that the disk was too slow for",
    "recording_late": "pictures whose time did not come after the one before",
    "model_failed": "questions that the model did not answer",
}
"""Counters of a live session that explain a difference, and what they count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision of a run.

    Attributes:
        what: Its content without times.
        times: When it says something happened; None where it says that nothing did.
    """

    what: str
    times: tuple[Seconds | None, ...]

    def apart(self, other: Decision) -> Seconds | None:
        """How far the times of two are apart, or None when they do not say the same."""
        if self.what != other.what or len(self.times) != len(other.times):
            return None
        apart = 0.0
        for one, two in zip(self.times, other.times, strict=True):
            if (one is None) != (two is None):
                return None
            if one is not None and two is not None:
                apart = max(apart, abs(one - two))
        return apart

    def told(self) -> str:
        """In one line, for people."""
        times = ", ".join("-" if time is None else f"{time:.3f} s" for time in self.times)
        return f"{self.what} at {times}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far two runs agree in one kind of decision.

    Attributes:
        same: In both, at the same times.
        moved: In both, at other times: by how much each.
        only_first, only_second: In one run only.
    """

    same: int
    moved: tuple[Seconds, ...] = ()
    only_first: tuple[Decision, ...] = ()
    only_second: tuple[Decision, ...] = ()

    @property
    def total(self) -> int:
        """Decisions of the first run."""
        return self.same + len(self.moved) + len(self.only_first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a trace decided.

    Attributes:
        decisions: By kind.
        counters: Of its last line.
        complete: It has a last line.
    """

    decisions: Mapping[str, list[Decision]]
    counters: Mapping[str, int] = field(default_factory=dict)
    complete: bool = False


def read_run(lines: Iterable[str], *, begin: Seconds = 0.0) -> Run:
    """What the trace in ``lines`` decided, on a timeline that begins at ``begin`` of its own.

    Raises:
        ValueError: If a line is no JSON.
        KeyError: If it is not of a trace.
    """
    decisions: dict[str, list[Decision]] = {kind: [] for kind in KINDS}
    spoken: dict[int, dict[str, Any]] = {}
    pointed: dict[int, Seconds] = {}
    counters: dict[str, int] = {}
    complete = False

    def word(index: int | None) -> tuple[str, Seconds | None]:
        said = None if index is None else spoken.get(index)
        return ("-", None) if said is None else (str(said["text"]), said["onset"] - begin)

    def stroke(index: int | None) -> Seconds | None:
        return None if index is None else pointed.get(index)

    def add(kind: str, what: str, *times: Seconds | None) -> None:
        decisions[kind].append(Decision(what=what, times=times))

    for text in lines:
        line = json.loads(text)
        match line["type"]:
            case "Word":
                add("words", line["text"], line["onset"] - begin, line["offset"] - begin)
            case "Deictic":
                spoken[line["index"]] = line
                add("deictics", f"{line['text']} ({line['kind']})", line["onset"] - begin)
            case "Stroke":
                pointed[line["index"]] = line["apex"] - begin
                add("strokes", line["side"], line["apex"] - begin)
            case "Binding":
                said, at = word(line["deictic"])
                add("bindings", said, at, stroke(line["stroke"]))
            case "Asked":
                said_all = [word(index) for index in line["deictics"]]
                what = ", ".join(said for said, _ in said_all)
                times = [at for _, at in said_all] + [stroke(one) for one in line["strokes"]]
                add("questions", what, *times)
            case "End":
                counters, complete = line.get("counters", {}), bool(line.get("complete"))
    return Run(decisions=decisions, counters=counters, complete=complete)


def agreement(first: list[Decision], second: list[Decision]) -> Agreement:
    """Pair the decisions of two runs, the nearest of the same content first."""
    pairs = sorted(
        (apart, one, two)
        for one, ours in enumerate(first)
        for two, theirs in enumerate(second)
        if (apart := ours.apart(theirs)) is not None and apart <= _FAR
    )
    left, right = set(range(len(first))), set(range(len(second)))
    same, moved = 0, []
    for apart, one, two in pairs:
        if one in left and two in right:
            left.discard(one)
            right.discard(two)
            if apart <= SAME_WITHIN:
                same += 1
            else:
                moved.append(apart)
    return Agreement(
        same=same,
        moved=tuple(moved),
        only_first=tuple(first[index] for index in sorted(left)),
        only_second=tuple(second[index] for index in sorted(right)),
    )


def reasons(live: Run) -> dict[str, int]:
    """Counters of a live session that explain why its replay may decide otherwise."""
    return {name: count for name in REASONS if (count := live.counters.get(name, 0))}
