"""Whether strokes are found as well when the head moves as when it is still.

Each clip is replayed twice through hands, ego-motion and strokes, each time through a window that
is smaller than the frame: once it stands still, once it moves as a head does
(:mod:`replay.measure.moving_window`). What both show is the same to the pixel, only its place
differs. The motion comes on top of the clip's own.

* A stroke is *left out* of both replays, and named, when a window cannot show it: the annotated
  fingertip at the apex is not inside both windows with a margin, or (for a stroke without a match
  and without an exact fingertip) the fingertip that was found lies outside the other's window.
* A stroke of the still replay *matches* one of the moving replay when their apexes are no further
  apart than 0.25 s, one to one and in order, as many as possible. What is left is *missing* (still
  only) or *extra* (moving only).
* *Apart*: distance of the apexes of a match in frames of the clip, counted by the frames' own
  times.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from replay.measure.moving_window import MARGIN, Window, moving_window, still_window
from replay.measure.stroke_matching import match_windows
from replay.measure.strokes import (
    TOLERANCE,
    Counts,
    Task,
    TrueWindow,
    Watched,
    count,
    pictures,
    quantile,
    watch,
)
from streaming.events import Seconds, VideoFrame
from streaming.hands import HandDetector, HandSettings

_ONE_FRAME = 1 + 1e-6
"""Times are floats: a frame's distance may come out a hair above 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One replay of a clip.

    Attributes:
        window: What it was seen through.
        watched: What was found.
        times: Of the frames, rising.
    """

    window: Window
    watched: Watched
    times: tuple[Seconds, ...]

    def apex(self, index: int) -> Seconds:
        """Apex of a stroke."""
        return self.watched.strokes[index].apex

    def place(self, time: Seconds) -> float:
        """How many frames come before ``time``, in fractions between two frames."""
        return float(np.interp(time, self.times, range(len(self.times))))

    def only(self, indices: Iterable[int]) -> Watched:
        """What was found, without the other strokes."""
        kept = sorted(indices)
        return replace(
            self.watched,
            strokes=tuple(self.watched.strokes[index] for index in kept),
            said_at=tuple(self.watched.said_at[index] for index in kept),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A stroke that is not compared, and why."""

    apex: Seconds
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionCounts:
    """Both replays of one clip compared, or of several added up.

    Attributes:
        still, moving: Each replay against what is annotated, without what was left out.
        missing, extra: Strokes of the still and of the moving replay without a match.
        left_out: Strokes that a window cannot show.
        apart: Frames between the apexes, one for each match.
    """

    still: Counts = field(default_factory=Counts)
    moving: Counts = field(default_factory=Counts)
    missing: int = 0
    extra: int = 0
    left_out: int = 0
    apart: tuple[float, ...] = ()

    def __add__(self, other: MotionCounts) -> MotionCounts:
        return MotionCounts(
            still=self.still + other.still,
            moving=self.moving + other.moving,
            missing=self.missing + other.missing,
            extra=self.extra + other.extra,
            left_out=self.left_out + other.left_out,
            apart=self.apart + other.apart,
        )

    @property
    def matched(self) -> int:
        return len(self.apart)

    @property
    def found_still(self) -> int:
        return self.matched + self.missing

    @property
    def found_moving(self) -> int:
        return self.matched + self.extra

    @property
    def within(self) -> int:
        """Matches whose apexes are at most one frame apart."""
        return sum(frames <= _ONE_FRAME for frames in self.apart)

    def apart_at(self, share: float) -> float:
        """Quantile of the distances in frames; NaN without a match."""
        return quantile(sorted(self.apart), share)

    def as_json(self) -> dict[str, Any]:
        """Counts, and ratios that are None where undefined."""
        values = {
            "apart_frames_p50": self.apart_at(0.5),
            "apart_frames_p90": self.apart_at(0.9),
            "apart_frames_max": self.apart_at(1.0),
            "within_one_frame": self.within / self.matched if self.matched else math.nan,
        }
        return {
            "found_still": self.found_still,
            "found_moving": self.found_moving,
            "matched": self.matched,
            "missing": self.missing,
            "extra": self.extra,
            "left_out": self.left_out,
            "within_one_frame_count": self.within,
            **{
                name: round(value, 4) if math.isfinite(value) else None
                for name, value in values.items()
            },
            "still": self.still.as_json(),
            "moving": self.moving.as_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMotion:
    """A clip seen through both windows.

    Attributes:
        still, moving: The replays, whole.
        pairs: Apexes of the matches, still and moving.
        missing, extra: Apexes without a match, of the still and of the moving replay.
        left_out: What is not compared.
        counts: The measures.
    """

    still: Replay
    moving: Replay
    pairs: tuple[tuple[Seconds, Seconds], ...]
    missing: tuple[Seconds, ...]
    extra: tuple[Seconds, ...]
    left_out: tuple[LeftOut, ...]
    counts: MotionCounts

    def as_json(self) -> dict[str, Any]:
        return {
            **self.counts.as_json(),
            "pairs": [
                {"still": round(still, 4), "moving": round(moving, 4), "frames": round(frames, 3)}
                for (still, moving), frames in zip(self.pairs, self.counts.apart, strict=True)
            ],
            "missing_apexes": [round(apex, 4) for apex in self.missing],
            "extra_apexes": [round(apex, 4) for apex in self.extra],
            "left_out_strokes": [
                {"apex": round(one.apex, 4), "reason": one.reason} for one in self.left_out
            ],
            "window_fastest": [round(speed, 3) for speed in self.moving.window.fastest],
        }


def replay_twice(
    task: Task, open_detector: Callable[[], HandDetector], settings: HandSettings
) -> HeadMotion:
    """Watch a clip through a still and through a moving window.

    Args:
        task: The clip and what is annotated in it.
        open_detector: Makes the hand detector of one replay, which remembers nothing of another.
        settings: Numbers of the hand tracker.

    Raises:
        SourceError: If the clip cannot be opened.
    """
    tips = [
        (true.apex, true.tip)
        for true in task.windows or ()
        if true.apex is not None and true.tip is not None
    ]

    def replay(window: Window) -> Replay:
        times: list[Seconds] = []

        def shown() -> Generator[VideoFrame]:
            for frame in pictures(task.path):
                times.append(frame.time)
                yield window.cut(frame)

        with contextlib.closing(open_detector()) as detector:
            watched = watch(shown(), detector, settings)
        return Replay(window=window, watched=watched, times=tuple(times))

    still = replay(still_window(tip for _, tip in tips))
    moving = replay(moving_window(task.name, tips))
    return compare(task.windows, still, moving)


def compare(windows: Sequence[TrueWindow] | None, still: Replay, moving: Replay) -> HeadMotion:
    """Compare two replays of one clip; ``windows`` is what is annotated, None when nothing is."""
    kept, left_out = _comparable(windows or (), still.window, moving.window)
    first = _Judged.of(still, windows or (), kept)
    second = _Judged.of(moving, windows or (), kept)
    matched = match_windows(
        [(apex, apex) for apex in first.apexes], second.apexes, tolerance=TOLERANCE
    )
    pairs = [(first.compared[i], second.compared[j]) for i, j in matched]
    missing, unseen = first.unmatched({i for i, _ in pairs}, moving.window, "moving")
    extra, unshown = second.unmatched({j for _, j in pairs}, still.window, "still")
    left_out += unseen + unshown
    true = None if windows is None else kept
    return HeadMotion(
        still=still,
        moving=moving,
        pairs=tuple((still.apex(i), moving.apex(j)) for i, j in pairs),
        missing=tuple(still.apex(index) for index in missing),
        extra=tuple(moving.apex(index) for index in extra),
        left_out=tuple(sorted(left_out, key=lambda one: one.apex)),
        counts=MotionCounts(
            still=count(true, still.only([i for i, _ in pairs] + missing)),
            moving=count(true, moving.only([j for _, j in pairs] + extra)),
            missing=len(missing),
            extra=len(extra),
            left_out=len(left_out),
            apart=tuple(
                abs(moving.place(moving.apex(j)) - still.place(still.apex(i))) for i, j in pairs
            ),
        ),
    )


def _comparable(
    windows: Sequence[TrueWindow], still: Window, moving: Window
) -> tuple[list[TrueWindow], list[LeftOut]]:
    """The annotated strokes that both windows show, as far as is known, and the others."""
    kept, left_out = [], []
    for true in windows:
        if true.apex is None or true.tip is None:
            kept.append(true)
            continue
        outside = [
            name
            for name, window in (("still", still), ("moving", moving))
            if not window.holds(true.tip, true.apex, margin=MARGIN)
        ]
        if outside:
            reason = f"annotated fingertip not inside the {' and the '.join(outside)} window"
            left_out.append(LeftOut(apex=true.apex, reason=reason))
        else:
            kept.append(true)
    return kept, left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """The strokes of one replay that are compared, by their indices.

    Attributes:
        replay: The replay.
        compared: Those that serve no annotated stroke that was left out, ascending.
        known: Those that serve one whose exact fingertip both windows show.
    """

    replay: Replay
    compared: tuple[int, ...]
    known: frozenset[int]

    @classmethod
    def of(
        cls, replay: Replay, windows: Sequence[TrueWindow], kept: Sequence[TrueWindow]
    ) -> _Judged:
        apexes = [stroke.apex for stroke in replay.watched.strokes]
        spans = [(true.onset, true.offset) for true in windows]
        serves = {
            index: windows[number]
            for number, index in match_windows(spans, apexes, tolerance=TOLERANCE)
        }
        compared = [i for i in range(len(apexes)) if i not in serves or serves[i] in kept]
        known = {i for i in compared if i in serves and serves[i].tip is not None}
        return cls(replay=replay, compared=tuple(compared), known=frozenset(known))

    @property
    def apexes(self) -> list[Seconds]:
        return [self.replay.apex(index) for index in self.compared]

    def unmatched(
        self, matched: set[int], other: Window, name: str
    ) -> tuple[list[int], list[LeftOut]]:
        """Strokes without a match: those that the other window shows too, and the others."""
        alone, left_out = [], []
        for index in self.compared:
            if index in matched:
                continue
            stroke = self.replay.watched.strokes[index]
            tip = self.replay.window.in_frame(stroke.tip, stroke.apex)
            if index in self.known or other.holds(tip, stroke.apex):
                alone.append(index)
            else:
                reason = f"found fingertip outside the {name} window"
                left_out.append(LeftOut(apex=stroke.apex, reason=reason))
        return alone, left_out
