"""How well and how soon pointing strokes are found.

Measures, each counts that add across clips:

* *True* strokes are the stroke windows of the answers; of a made tree all strokes of its
  ``truth.json``, those that are withdrawn ("this ... no, that one") and are in no answer included.
* A stroke *matches* a true one when its apex lies within 0.25 s of the annotated window, one to
  one, as many as possible. *Precision* and *recall* follow.
* *In window*: of the true strokes, those whose match has its apex inside the annotated window, ends
  included, as the benchmark's temporal score wants it.
* *Apex error*: found minus true apex, where the tree is a made one and says the exact ones.
* *Announcement delay*: the media time at which the stroke was said, minus the true apex (the found
  one where the true one is unknown). Strokes that only the end of the stream brought out have none.
* *False a minute*: strokes without a match, over the time watched. On a folder without annotations
  every stroke is one.

The pipeline runs at the ``fast`` pace: every frame is seen.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.ecog.clips import EcogClip
from replay.ecog.loader import EcogError, load_ecog
from replay.measure.made_truth import MadeClip, made_clips
from replay.measure.stroke_matching import match_windows
from replay.source import open_source
from streaming.component import Chain
from streaming.config import config_path, load
from streaming.ego_motion import EgoMotion, EgoMotionSettings
from streaming.events import HandsSeen, Point, Seconds, Stroke, VideoFrame
from streaming.hands import HandDetector, HandSettings, HandTracker
from streaming.stroke_settings import StrokeSettings
from streaming.strokes import StrokeDetector

TOLERANCE: Seconds = 0.25
"""How far outside the annotated window an apex still counts as that stroke's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueWindow:
    """An annotated stroke.

    Attributes:
        onset, offset: The annotated window.
        apex: The exact apex, or None when the tree does not say.
        tip: The index fingertip at the exact apex, or None when the tree does not say.
    """

    onset: Seconds
    offset: Seconds
    apex: Seconds | None = None
    tip: Point | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A clip to watch.

    Attributes:
        name: To show.
        path: The video.
        windows: None when nothing is annotated.
        difficulty: Of a made clip, empty otherwise.
    """

    name: str
    path: Path
    windows: tuple[TrueWindow, ...] | None = None
    difficulty: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What was found in a clip.

    Attributes:
        strokes: In order of apex.
        said_at: Media time at which each was said, infinite for the end of the stream.
        duration: Time of the last frame.
        frames: Frames; ``hands`` those with a hand.
        cpu: CPU seconds of each component.
    """

    strokes: tuple[Stroke, ...]
    said_at: tuple[Seconds, ...]
    duration: Seconds
    frames: int
    hands: int
    cpu: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Measures of one clip, or of several added up.

    Attributes:
        true: Annotated strokes.
        found: Strokes that were said in annotated clips.
        matched: Of both.
        in_window: Matched ones with the apex in the window.
        false: Strokes that match nothing, annotated clips or not.
        seconds: Time watched.
        frames: Frames watched; ``hands`` those with a hand.
        apex_errors: Seconds, one for each match with an exact apex.
        delays: Seconds, one for each match that was said before the end.
    """

    true: int = 0
    found: int = 0
    matched: int = 0
    in_window: int = 0
    false: int = 0
    seconds: Seconds = 0.0
    frames: int = 0
    hands: int = 0
    apex_errors: tuple[Seconds, ...] = ()
    delays: tuple[Seconds, ...] = ()

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            true=self.true + other.true,
            found=self.found + other.found,
            matched=self.matched + other.matched,
            in_window=self.in_window + other.in_window,
            false=self.false + other.false,
            seconds=self.seconds + other.seconds,
            frames=self.frames + other.frames,
            hands=self.hands + other.hands,
            apex_errors=self.apex_errors + other.apex_errors,
            delays=self.delays + other.delays,
        )

    @property
    def precision(self) -> float:
        return _share(self.matched, self.found)

    @property
    def recall(self) -> float:
        return _share(self.matched, self.true)

    @property
    def in_window_share(self) -> float:
        return _share(self.in_window, self.true)

    @property
    def false_a_minute(self) -> float:
        return 60 * self.false / self.seconds if self.seconds > 0 else math.nan

    def as_json(self) -> dict[str, Any]:
        """Counts and ratios; undefined ratios are None; times in milliseconds."""
        sizes = sorted(abs(error) for error in self.apex_errors)
        values = {
            "precision": self.precision,
            "recall": self.recall,
            "in_window": self.in_window_share,
            "false_per_minute": self.false_a_minute,
            "apex_error_ms_median": 1000 * quantile(sorted(self.apex_errors), 0.5),
            "apex_error_ms_abs_p50": 1000 * quantile(sizes, 0.5),
            "apex_error_ms_abs_p90": 1000 * quantile(sizes, 0.9),
            "delay_ms_p50": 1000 * quantile(sorted(self.delays), 0.5),
            "delay_ms_p90": 1000 * quantile(sorted(self.delays), 0.9),
        }
        return {
            "true": self.true,
            "found": self.found,
            "matched": self.matched,
            "in_window_count": self.in_window,
            "false": self.false,
            "seconds": round(self.seconds, 3),
            "frames": self.frames,
            "frames_with_hands": self.hands,
            **{
                name: round(value, 4) if math.isfinite(value) else None
                for name, value in values.items()
            },
        }


def tasks(root: Path, clips: Sequence[tuple[str, Path]]) -> list[Task]:
    """What to watch: the clips of an EcoG tree with their windows, else ``clips`` without.

    Raises:
        EcogError: If ``root`` holds a tree that cannot be read.
    """
    if not root.is_dir() or not _is_tree(root):
        return [Task(name=name, path=path) for name, path in clips]
    made = made_clips(root)
    found = []
    for clip in load_ecog(root).clips:
        exact = made.get(clip.video_name)
        found.append(
            Task(
                name=clip.video_name,
                path=clip.video,
                windows=_annotated_windows(clip) if exact is None else made_windows(exact),
                difficulty="" if exact is None else exact.difficulty,
            )
        )
    return found


def _annotated_windows(clip: EcogClip) -> tuple[TrueWindow, ...]:
    windows = sorted(answer.window for answer in clip.answers if answer.window is not None)
    return tuple(TrueWindow(onset=begin / 1000, offset=end / 1000) for begin, end in windows)


def made_windows(clip: MadeClip) -> tuple[TrueWindow, ...]:
    """All strokes of a made clip in order of their windows, withdrawn ones included."""
    windows = [
        TrueWindow(onset=stroke.begin, offset=stroke.end, apex=stroke.apex, tip=stroke.tip)
        for stroke in clip.strokes
    ]
    return tuple(sorted(windows, key=lambda window: (window.onset, window.offset)))


def _is_tree(root: Path) -> bool:
    try:
        return bool(load_ecog(root).clips)
    except EcogError:
        return False


def pictures(path: Path) -> Generator[VideoFrame]:
    """The frames of a clip.

    Raises:
        SourceError: If the clip cannot be opened.
    """
    with contextlib.closing(open_source(path).events()) as events:
        for event in events:
            if isinstance(event, VideoFrame):
                yield event


def watch(frames: Iterable[VideoFrame], detector: HandDetector, settings: HandSettings) -> Watched:
    """Stream pictures through hands, ego-motion and strokes."""
    chain = Chain(
        [
            ("hands", HandTracker(detector, settings)),
            ("ego_motion", EgoMotion(load(EgoMotionSettings, config_path("ego_motion.toml")))),
            ("strokes", StrokeDetector(load(StrokeSettings, config_path("strokes.toml")))),
        ]
    )
    said: list[tuple[Seconds, Stroke]] = []
    now, watched, hands = 0.0, 0, 0
    for frame in frames:
        now, watched = frame.time, watched + 1
        for one in chain.push(frame):
            if isinstance(one, Stroke):
                said.append((now, one))
            elif isinstance(one, HandsSeen) and one.hands:
                hands += 1
    said += [(math.inf, one) for one in chain.finish() if isinstance(one, Stroke)]
    return Watched(
        strokes=tuple(stroke for _, stroke in said),
        said_at=tuple(time for time, _ in said),
        duration=now,
        frames=watched,
        hands=hands,
        cpu=dict(chain.busy),
    )


def count(windows: Sequence[TrueWindow] | None, watched: Watched) -> Counts:
    """Compare what was found in one clip with what is true."""
    strokes = watched.strokes
    seen = {"seconds": watched.duration, "frames": watched.frames, "hands": watched.hands}
    if windows is None:
        return Counts(false=len(strokes), **seen)  # type: ignore[arg-type]
    pairs = match_windows(
        [(one.onset, one.offset) for one in windows],
        [stroke.apex for stroke in strokes],
        tolerance=TOLERANCE,
    )
    errors, delays, inside = [], [], 0
    for number, index in pairs:
        window, stroke = windows[number], strokes[index]
        inside += window.onset <= stroke.apex <= window.offset
        if window.apex is not None:
            errors.append(stroke.apex - window.apex)
        if math.isfinite(watched.said_at[index]):
            apex = stroke.apex if window.apex is None else window.apex
            delays.append(watched.said_at[index] - apex)
    return Counts(
        true=len(windows),
        found=len(strokes),
        matched=len(pairs),
        in_window=inside,
        false=len(strokes) - len(pairs),
        apex_errors=tuple(errors),
        delays=tuple(delays),
        **seen,  # type: ignore[arg-type]
    )


def quantile(ascending: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie, interpolated; NaN of nothing."""
    if not ascending:
        return math.nan
    place = share * (len(ascending) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (ascending[high] - ascending[low]) * (place - low)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
