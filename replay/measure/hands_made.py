"""Hand tracking on made clips, whose truth says frame by frame where the index fingertip is.

Clips are tracked from their first frame to their last, every frame, as the pipeline does it.

Conventions, lengths in widths of the frame:

* A frame is **true** when the fingertip lies in the picture, :data:`MARGIN` or more from its edges.
* It is **found** when a hand's index tip lies within :data:`REACH` of the fingertip, or the box
  around a hand's landmarks contains it; **near** when the former holds.
* **Holds** are the true frames from a stroke's apex to the end of its hold.
* **Tip error**: how far the index tip of the nearest of these hands lies from the fingertip, in
  found frames.
* A **false hand** is one whose landmarks' box lies :data:`FAR` or more from the fingertip, or any
  hand while the arm is out of the scene. Clips in which another arm comes into the scene are not
  judged: nothing says where that is.
* A **visit** begins with the first true frame after the fingertip was out of the picture (or the
  clip began) and ends when it leaves. Its **delay** is the time to its first found frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from replay.ecog.loader import load_ecog
from replay.measure.made_truth import MadeClip, Pixel, made_clips
from replay.source import open_source
from streaming.clock import Stopwatch
from streaming.events import Hand, Seconds, VideoFrame
from streaming.hands import HandTracker

MARGIN = 0.04
REACH = 0.06
FAR = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeVideo:
    """A made clip and its video."""

    path: Path
    truth: MadeClip


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeHandCounts:
    """Counts of one clip, or of several added up; terms as above.

    Attributes:
        clips: How many.
        frames: Looked at.
        true: True frames; ``found`` and ``near`` of these.
        hold: True frames in holds; ``hold_found`` of these.
        judged: Frames judged for false hands; ``judged_seconds`` they last.
        false: False hands in these frames.
        visits: Visits; ``missed`` those without a found frame.
        tip_px, tip_widths: Tip errors, in pixels and in widths of the frame.
        delays: Of the visits that were found, in seconds.
        cpu: Seconds of CPU in the tracker.
    """

    clips: int = 0
    frames: int = 0
    true: int = 0
    found: int = 0
    near: int = 0
    hold: int = 0
    hold_found: int = 0
    judged: int = 0
    judged_seconds: Seconds = 0.0
    false: int = 0
    visits: int = 0
    missed: int = 0
    tip_px: tuple[float, ...] = ()
    tip_widths: tuple[float, ...] = ()
    delays: tuple[Seconds, ...] = ()
    cpu: float = 0.0

    def __add__(self, other: MadeHandCounts) -> MadeHandCounts:
        names = [field.name for field in fields(self)]
        return MadeHandCounts(
            **{name: getattr(self, name) + getattr(other, name) for name in names}
        )

    @property
    def recall(self) -> float:
        return _share(self.found, self.true)

    @property
    def near_recall(self) -> float:
        return _share(self.near, self.true)

    @property
    def hold_recall(self) -> float:
        return _share(self.hold_found, self.hold)

    @property
    def false_a_minute(self) -> float:
        return _share(60.0 * self.false, self.judged_seconds)

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a frame."""
        return _share(1000.0 * self.cpu, self.frames)

    def tip_error(self, percent: float) -> tuple[float, float]:
        """A percentile of the tip errors, in pixels and in widths of the frame."""
        return _percentile(self.tip_px, percent), _percentile(self.tip_widths, percent)

    def delay(self, percent: float) -> Seconds:
        """A percentile of the visits' delays."""
        return _percentile(self.delays, percent)

    def as_json(self) -> dict[str, Any]:
        """Counts and ratios; a ratio of nothing is None."""
        ratios = {
            "recall": self.recall,
            "near_recall": self.near_recall,
            "hold_recall": self.hold_recall,
            "tip_error_px_p50": self.tip_error(50)[0],
            "tip_error_px_p90": self.tip_error(90)[0],
            "tip_error_widths_p50": self.tip_error(50)[1],
            "tip_error_widths_p90": self.tip_error(90)[1],
            "false_per_minute": self.false_a_minute,
            "first_find_s_p50": self.delay(50),
            "first_find_s_p90": self.delay(90),
            "cpu_ms": self.cpu_ms,
        }
        return {
            "clips": self.clips,
            "frames": self.frames,
            "true_frames": self.true,
            "found_frames": self.found,
            "near_frames": self.near,
            "hold_frames": self.hold,
            "hold_found_frames": self.hold_found,
            "judged_frames": self.judged,
            "judged_seconds": round(self.judged_seconds, 3),
            "false_hands": self.false,
            "visits": self.visits,
            "visits_missed": self.missed,
            **{name: None if math.isnan(x) else round(x, 4) for name, x in ratios.items()},
        }


def made_videos(root: Path) -> list[MadeVideo]:
    """The clips of the made tree at ``root`` that say where the fingertip is; else none.

    Raises:
        EcogError: If a ``truth.json`` cannot be read, or there is no tree beside it.
    """
    made = {name: clip for name, clip in made_clips(root).items() if clip.tips}
    if not made:
        return []
    return [
        MadeVideo(path=clip.video, truth=made[clip.video_name])
        for clip in load_ecog(root).clips
        if clip.video_name in made
    ]


def measure_video(video: MadeVideo, tracker: HandTracker) -> MadeHandCounts:
    """Track the hands of a made clip.

    Args:
        tracker: One that has seen nothing; it is finished afterwards.

    Raises:
        SourceError: If the video cannot be played.
    """
    try:
        events = open_source(video.path).events()
        return track(video.truth, (e for e in events if isinstance(e, VideoFrame)), tracker)
    finally:
        tracker.finish()


def track(truth: MadeClip, frames: Iterable[VideoFrame], tracker: HandTracker) -> MadeHandCounts:
    """Track the hands of a made clip's frames. Frames without a truth are not looked at."""
    tally = _Tally(truth)
    for frame in frames:
        watch = Stopwatch(thread=True)
        seen = tracker.push(frame)
        tally.cpu += watch.cpu()
        index = round(frame.time * truth.fps)
        if index < len(truth.tips):
            tally.add(index, seen[0].hands if seen else ())
    return tally.counts()


class _Tally:
    """Counts a clip's frames in order."""

    def __init__(self, truth: MadeClip) -> None:
        self.cpu = 0.0
        self._truth = truth
        self._total = MadeHandCounts()
        self._errors: list[float] = []
        self._delays: list[Seconds] = []
        self._entered: Seconds | None = None
        self._waiting = False

    def add(self, index: int, hands: Sequence[Hand]) -> None:
        """Count a frame."""
        truth = self._truth
        tip, time = truth.tips[index], index / truth.fps
        true = tip is not None and _inside(tip, truth, MARGIN * truth.width)
        errors = [] if tip is None else _finds(hands, tip, truth)
        found = true and bool(errors)
        hold = true and any(stroke.apex <= time <= stroke.hold_end for stroke in truth.strokes)
        judged = not truth.other_arms and (tip is not None or not truth.arm_there[index])
        visits = self._visit(time, tip, true=true, found=found)
        if found:
            self._errors.append(min(errors))
        self._total += MadeHandCounts(
            frames=1,
            true=int(true),
            found=int(found),
            near=int(found and min(errors) <= REACH * truth.width),
            hold=int(hold),
            hold_found=int(hold and found),
            judged=int(judged),
            judged_seconds=judged / truth.fps,
            false=sum(_is_far(hand, tip, truth) for hand in hands) if judged else 0,
            visits=visits,
        )

    def _visit(self, time: Seconds, tip: Pixel | None, *, true: bool, found: bool) -> int:
        """Follow the visits; 1 when one begins."""
        if tip is None or not _inside(tip, self._truth, 0.0):
            self._entered, self._waiting = None, False
            return 0
        begins = true and self._entered is None
        if begins:
            self._entered, self._waiting = time, True
        if found and self._waiting and self._entered is not None:
            self._delays.append(time - self._entered)
            self._waiting = False
        return int(begins)

    def counts(self) -> MadeHandCounts:
        """The clip's counts."""
        return self._total + MadeHandCounts(
            clips=1,
            missed=self._total.visits - len(self._delays),
            tip_px=tuple(self._errors),
            tip_widths=tuple(error / self._truth.width for error in self._errors),
            delays=tuple(self._delays),
            cpu=self.cpu,
        )


def _inside(tip: Pixel, truth: MadeClip, margin: float) -> bool:
    x, y = tip
    return margin <= x < truth.width - margin and margin <= y < truth.height - margin


def _finds(hands: Sequence[Hand], tip: Pixel, truth: MadeClip) -> list[float]:
    """Tip errors in pixels of the hands that find the fingertip."""
    errors = []
    for hand in hands:
        x, y = hand.landmarks[8]
        error = math.hypot(x * truth.width - tip[0], y * truth.height - tip[1])
        if error <= REACH * truth.width or _gap(hand, tip, truth) == 0.0:
            errors.append(error)
    return errors


def _is_far(hand: Hand, tip: Pixel | None, truth: MadeClip) -> bool:
    return tip is None or _gap(hand, tip, truth) >= FAR * truth.width


def _gap(hand: Hand, tip: Pixel, truth: MadeClip) -> float:
    """Pixels between a point and the box around a hand's landmarks, 0 inside."""
    xs, ys = zip(*hand.landmarks, strict=True)
    beside = max(min(xs) * truth.width - tip[0], tip[0] - max(xs) * truth.width, 0.0)
    above = max(min(ys) * truth.height - tip[1], tip[1] - max(ys) * truth.height, 0.0)
    return math.hypot(beside, above)


def _percentile(values: Sequence[float], percent: float) -> float:
    return float(np.percentile(values, percent)) if values else math.nan


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
