"""Hand tracking against boxes and frame ranges that a person labelled by looking.

Photos are searched from nothing, each by a fresh tracker; videos are tracked from their first
frame. Frames are played at ``fast`` pace, every one of them.

Conventions:

* A photo's hand is **found** when the centre of the landmarks' box lies in a labelled box, or the
  two boxes overlap by 0.3 or more (intersection over union).
* A **false find** is a hand in no labelled box (``others``, such as hands on a poster, do not
  count either way), or, in a video, any hand in a frame outside the ranges in which one is
  visible. Photos and frames with a false find are counted, not the finds.
* **Pointing** is a hand whose pose score is 0.5 or more.
* **Halves**: ``tune``, the files that the labels name as those that served to set the tracker's
  numbers, and ``report``, all others.
* CPU is that of the calling thread in the tracker, decoding left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.discover import find_clips
from replay.media.still import STILL_SUFFIXES, read_still
from replay.source import open_source
from streaming.clock import Stopwatch
from streaming.events import Hand, Seconds, VideoFrame
from streaming.hands import HandTracker

Box: TypeAlias = tuple[float, float, float, float]
Half: TypeAlias = Literal["tune", "report"]

POINTING = 0.5
LEAST_OVERLAP = 0.3
_SHARES = ("found_share", "pointing_share", "right_share", "false_share", "cpu_ms", "fps")


class LabelError(ValueError):
    """Labels that cannot be used; one line saying what and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person saw in one file.

    Attributes:
        boxes: Hands of a photo, ``(left, top, right, bottom)`` in fractions; empty: none visible.
        others: Hands that count neither way.
        visible: Ranges of frame numbers of a video, both ends included, that show a hand.
        half: Whether the file served to set numbers, or only to report.
    """

    boxes: tuple[Box, ...] = ()
    others: tuple[Box, ...] = ()
    visible: tuple[tuple[int, int], ...] = ()
    half: Half = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandCounts:
    """Counts over files; they add up.

    Attributes:
        files: How many.
        frames: Pictures looked at.
        found: Pictures with a hand.
        two: Pictures with two.
        pointing: Pictures with a hand that points.
        visible: Labelled pictures that show a hand.
        right: Of these, how many were found, for photos in the right place.
        judged: Labelled pictures.
        false: Of these, how many have a false find.
        cpu: Seconds of CPU in the tracker.
        media: Seconds of media, 0 for photos.
    """

    files: int = 0
    frames: int = 0
    found: int = 0
    two: int = 0
    pointing: int = 0
    visible: int = 0
    right: int = 0
    judged: int = 0
    false: int = 0
    cpu: float = 0.0
    media: Seconds = 0.0

    def __add__(self, other: HandCounts) -> HandCounts:
        return HandCounts(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__slots__}
        )

    @property
    def found_share(self) -> float:
        return _share(self.found, self.frames)

    @property
    def pointing_share(self) -> float:
        return _share(self.pointing, self.frames)

    @property
    def right_share(self) -> float:
        return _share(self.right, self.visible)

    @property
    def false_share(self) -> float:
        return _share(self.false, self.judged)

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a picture."""
        return _share(1000 * self.cpu, self.frames)

    @property
    def fps(self) -> float:
        """Pictures per CPU second."""
        return _share(self.frames, self.cpu)

    def as_json(self) -> dict[str, float | int | None]:
        """Counts and shares; a share of nothing is null."""
        made: dict[str, float | int | None] = {
            name: round(value, 4) if isinstance(value := getattr(self, name), float) else value
            for name in self.__slots__
        }
        for name in (
            "found_share",
            "pointing_share",
            "right_share",
            "false_share",
            "cpu_ms",
            "fps",
        ):
            value = getattr(self, name)
            made[name] = None if np.isnan(value) else round(value, 4)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredFile:
    """One file.

    Attributes:
        name: Its name.
        photo: A photo, not a video.
        counts: What was found.
        half: Its half, None without a label.
        tracks: Different track numbers that were given.
    """

    name: str
    photo: bool
    counts: HandCounts
    half: Half | None
    tracks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HandMeasures:
    """All files, and those that could not be played as ``(name, reason)``."""

    files: tuple[MeasuredFile, ...]
    failed: tuple[tuple[str, str], ...] = field(default=())

    def pooled(self, *, photo: bool, half: Half | None = None) -> HandCounts:
        """The counts of all photos or all videos, of one half if named."""
        total = HandCounts()
        for file in self.files:
            if file.photo == photo and (half is None or file.half == half):
                total += file.counts
        return total


def read_labels(path: Path) -> dict[str, Label]:
    """Labels by file name.

    Raises:
        LabelError: If the file is no such labels.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        photos, videos = document["photos"], document["videos"]
        tuned = set(document["tune"])
        labels = {
            name: Label(
                boxes=_boxes(value["hands"]),
                others=_boxes(value.get("others", [])),
                half=_half(name in tuned),
            )
            for name, value in photos.items()
        }
        labels |= {
            name: Label(
                visible=tuple((int(first), int(last)) for first, last in ranges),
                half=_half(name in tuned),
            )
            for name, ranges in videos.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LabelError(f"{path}: no hand labels ({type(error).__name__}: {error})") from error
    return labels


def _half(tuned: bool) -> Half:
    return "tune" if tuned else "report"


def _boxes(values: Iterable[Sequence[float]]) -> tuple[Box, ...]:
    boxes = []
    for value in values:
        left, top, right, bottom = (float(number) for number in value)
        if not (left < right and top < bottom):
            raise ValueError(f"box {list(value)} has no area")
        boxes.append((left, top, right, bottom))
    return tuple(boxes)


def hand_files(paths: Sequence[Path]) -> tuple[list[Path], list[tuple[str, str]]]:
    """Photos and videos under ``paths`` in order of name, and what is neither."""
    photos = [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.suffix.lower() in STILL_SUFFIXES
    ]
    found = find_clips([path for path in paths if path not in photos])
    failed = [(bad.path.name, bad.reason) for bad in found.failed]
    if photos:  # a folder of photos alone is no failure
        failed = [bad for bad in failed if not any(path.name == bad[0] for path in paths)]
    clips = [clip.path for clip in found.clips]
    return sorted({*photos, *clips}), failed


def measure_file(
    path: Path,
    make_tracker: Callable[[], HandTracker],
    label: Label | None,
    *,
    size: tuple[int, int] | None = None,
) -> MeasuredFile:
    """Track the hands of one file.

    Args:
        path: A photo or a video.
        make_tracker: A tracker that has seen nothing; it is finished afterwards.
        label: What is in the file, or None.
        size: Fit the pictures into this width and height, their shape kept, black around them.

    Raises:
        SourceError: If it cannot be played.
    """
    photo = path.suffix.lower() in STILL_SUFFIXES
    tracker = make_tracker()
    counts, tracks = HandCounts(files=1), set[int]()
    try:
        for index, frame in enumerate(_frames(path, photo=photo)):
            shown = frame if size is None else _fitted(frame, size)
            watch = Stopwatch(thread=True)
            seen = tracker.push(shown)
            cpu = watch.cpu()
            hands = seen[0].hands if seen else ()
            tracks |= {hand.track for hand in hands}
            counts += _judged(hands, label, photo=photo, index=index, cpu=cpu)
            media = 0.0 if photo else frame.time - counts.media
            counts += HandCounts(media=media)
    finally:
        tracker.finish()
    return MeasuredFile(
        name=path.name,
        photo=photo,
        counts=counts,
        half=label.half if label else None,
        tracks=len(tracks),
    )


def _judged(
    hands: Sequence[Hand], label: Label | None, *, photo: bool, index: int, cpu: float
) -> HandCounts:
    """The counts of one picture."""
    visible = right = false = 0
    if label is not None and photo:
        visible = int(bool(label.boxes))
        right = int(any(_in_boxes(hand, label.boxes) for hand in hands))
        known = (*label.boxes, *label.others)
        false = int(any(not _in_boxes(hand, known) for hand in hands))
    elif label is not None:
        visible = int(any(first <= index <= last for first, last in label.visible))
        right = int(bool(hands) and bool(visible))
        false = int(bool(hands) and not visible)
    return HandCounts(
        frames=1,
        found=int(bool(hands)),
        two=int(len(hands) > 1),
        pointing=int(any(hand.pointing >= POINTING for hand in hands)),
        visible=visible,
        right=right,
        judged=int(label is not None),
        false=false,
        cpu=cpu,
    )


def _in_boxes(hand: Hand, boxes: Sequence[Box]) -> bool:
    """Whether a hand lies in one of the boxes."""
    xs, ys = zip(*hand.landmarks, strict=True)
    own = (min(xs), min(ys), max(xs), max(ys))
    x, y = (own[0] + own[2]) / 2, (own[1] + own[3]) / 2
    return any(
        (box[0] <= x <= box[2] and box[1] <= y <= box[3]) or overlap(own, box) >= LEAST_OVERLAP
        for box in boxes
    )


def overlap(one: Box, other: Box) -> float:
    """Intersection over union of two boxes."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return width * height / (sum(areas) - width * height)


def _frames(path: Path, *, photo: bool) -> Iterable[VideoFrame]:
    if photo:
        return [VideoFrame(time=0.0, image=read_still(path))]
    events = open_source(path).events()
    return (event for event in events if isinstance(event, VideoFrame))


def _fitted(frame: VideoFrame, size: tuple[int, int]) -> VideoFrame:
    """The frame scaled into ``size``, black where it does not reach; pixels become square."""
    width, height = size
    scale = min(width / (frame.aspect * frame.image.shape[0]), height / frame.image.shape[0])
    inner_width = min(width, round(frame.aspect * frame.image.shape[0] * scale))
    inner_height = min(height, round(frame.image.shape[0] * scale))
    small = cv2.resize(frame.image, (inner_width, inner_height), interpolation=cv2.INTER_LINEAR)
    image: NDArray[np.uint8] = np.zeros((height, width, 3), dtype=np.uint8)
    left, top = (width - inner_width) // 2, (height - inner_height) // 2
    image[top : top + inner_height, left : left + inner_width] = small
    return VideoFrame(time=frame.time, image=image)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
