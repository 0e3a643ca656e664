"""How a hand and a head move: finger movements, holds, and the background's speed.

A *path* is the way of one track's index fingertip in the stabilised view (the head's motion taken
out), without a gap longer than 0.2 s or a change of anchor, and of a frame rate that shows how a
hand moves (15 a second or more). It is put on a grid of 60 a second and smoothed with a Gaussian
of 33 ms. Lengths are in *hand lengths*, wrist to middle knuckle (9 cm) as it would be seen flat on,
so that near and far hands compare, or in frame widths where that is said.

* A *movement* is a peak of speed of 2 hand lengths/s or more, from where the speed comes up from to
  where it falls under a tenth of the peak (or under 0.6 hand lengths/s, which jitter alone makes).
  Where the speed rises again before that to a second peak, by half of it or more, it is none. A
  movement is *whole* when the path does not begin within it.
* An *approach* is a movement that a hold follows within 0.15 s. It need not be whole: a hand that
  comes into the picture is seen late, but its arrival is seen.
* A *hold* is a time of 0.2 s or more under 1.2 hand lengths/s (the detector's own 0.11 m/s); its
  length counts only when a movement begins and ends it, as otherwise the clip cut it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from replay.measure.realism_watch import SeenFrame
from streaming import geometry
from streaming.events import Seconds
from streaming.stroke_path import heights_to_a_metre, sample

HAND_METRES = 0.09
RATE = 60.0
SMOOTHING: Seconds = 0.033
LONGEST_GAP: Seconds = 0.2
SLOWEST_FRAMES: Seconds = 0.07
SHORTEST_PATH: Seconds = 0.35
LEAST_PEAK = 2.0
END_SHARE = 0.1
END_SPEED = 0.6
HOLD_SPEED = 1.2
HOLD_LEAST: Seconds = 0.2
SETTLING: Seconds = 0.15
PEAK_AFTER: Seconds = 0.1
HEAD_SPAN: Seconds = 0.1

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """The way of a fingertip.

    Attributes:
        times: Of the sights, rising, shape ``(n,)``.
        tips: In the stabilised view, frame heights, shape ``(n, 2)``.
        seen: All landmarks in the frame itself, frame heights, shape ``(n, 21, 2)``.
        hand: Length of the hand, frame heights.
        aspect: Frame widths' length in heights.
    """

    times: Floats
    tips: Floats
    seen: Floats
    hand: float
    aspect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """One movement of a fingertip.

    Attributes:
        whole: Its beginning is seen; else ``onset`` is the path's, and ``amplitude`` what is left.
        onset, peak_at, offset: Its times.
        peak: Greatest speed, hand lengths/s.
        peak_widths: The same, frame widths/s.
        amplitude: Straight distance between its ends, hand lengths.
        straightness: That distance over the way, 0...1.
        held: A hold follows.
    """

    whole: bool
    onset: Seconds
    peak_at: Seconds
    offset: Seconds
    peak: float
    peak_widths: float
    amplitude: float
    straightness: float
    held: bool

    @property
    def duration(self) -> Seconds:
        return self.offset - self.onset

    @property
    def symmetry(self) -> float:
        """When the peak comes, as a share of the duration; 0.5 for a minimum-jerk movement."""
        return (self.peak_at - self.onset) / self.duration

    @property
    def peakedness(self) -> float:
        """Peak over mean speed; 1.875 for a minimum-jerk movement."""
        way = self.amplitude / max(1e-9, self.straightness)
        return self.peak * self.duration / max(1e-9, way)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A time in which a finger is still.

    Attributes:
        onset, offset: When.
        bounded: A movement begins and ends it.
        speed: Mean speed, hand lengths/s.
        wobble: Root mean square distance from the straight drift, hand lengths: tremor and jitter.
        tremor: The part of it between 4 and 12 Hz; NaN when shorter than half a second.
        jitter: Deviation of a landmark from where its neighbours in time put it, hand lengths.
    """

    onset: Seconds
    offset: Seconds
    bounded: bool
    speed: float
    wobble: float
    tremor: float
    jitter: float


def paths(frames: Sequence[SeenFrame], aspect: float) -> list[Path]:
    """The ways of the fingertips of a clip, by track and time."""
    tracks: dict[tuple[int, int], list[tuple[Seconds, Floats, Floats, float]]] = {}
    for frame in frames:
        for hand in frame.hands:
            sight = sample(frame.time, hand, frame.motion, aspect)
            if sight is None:
                continue
            seen = np.asarray(hand.landmarks, np.float64) * (aspect, 1.0)
            length = heights_to_a_metre(hand, aspect) * HAND_METRES
            key = (hand.track, frame.motion.anchor)
            tracks.setdefault(key, []).append((frame.time, sight.tip, seen, length))
    found = []
    for sights in tracks.values():
        for part in _unbroken(sights):
            times = np.array([one[0] for one in part])
            if times[-1] - times[0] < SHORTEST_PATH:
                continue
            if np.median(np.diff(times)) > SLOWEST_FRAMES:
                continue
            found.append(
                Path(
                    times=times,
                    tips=np.array([one[1] for one in part]),
                    seen=np.array([one[2] for one in part]),
                    hand=float(np.median([one[3] for one in part])),
                    aspect=aspect,
                )
            )
    return found


def _unbroken(
    sights: list[tuple[Seconds, Floats, Floats, float]],
) -> Iterator[list[tuple[Seconds, Floats, Floats, float]]]:
    begin = 0
    for index, (one, other) in enumerate(itertools.pairwise(sights), 1):
        if other[0] - one[0] > LONGEST_GAP:
            yield sights[begin:index]
            begin = index
    yield sights[begin:]


def grid(path: Path) -> tuple[Floats, Floats, Floats]:
    """Times, smoothed places (hand lengths) and speeds (hand lengths/s) on the even grid."""
    times = np.arange(path.times[0], path.times[-1] + 1e-9, 1 / RATE)
    places = np.column_stack([np.interp(times, path.times, path.tips[:, axis]) for axis in (0, 1)])
    places = gaussian_filter1d(places / path.hand, SMOOTHING * RATE, axis=0, mode="nearest")
    speeds = np.hypot(*np.gradient(places, 1 / RATE, axis=0).T)
    return times, places, speeds


def movements(path: Path) -> list[Movement]:
    """The movements of a path that end in it, in order."""
    times, places, speeds = grid(path)
    found = []
    for first, last, top in _humps(speeds):
        way = float(np.hypot(*np.diff(places[first : last + 1], axis=0).T).sum())
        straight = float(np.hypot(*(places[last] - places[first])))
        found.append(
            Movement(
                whole=speeds[first] < max(END_SPEED, END_SHARE * speeds[top]),
                onset=float(times[first]),
                peak_at=float(times[top]),
                offset=float(times[last]),
                peak=float(speeds[top]),
                peak_widths=float(speeds[top]) * path.hand / path.aspect,
                amplitude=straight,
                straightness=straight / max(1e-9, way),
                held=_held(speeds[last:]),
            )
        )
    return found


def _held(after: Floats) -> bool:
    """Whether a hold follows at once, or as soon as the rest of the movement has died away."""
    soon = np.flatnonzero(after[: round(SETTLING * RATE)] < HOLD_SPEED)
    if not len(soon):
        return False
    still = after[soon[0] : soon[0] + round(HOLD_LEAST * RATE)]
    return len(still) == round(HOLD_LEAST * RATE) and bool((still < HOLD_SPEED).all())


def _humps(speeds: Floats) -> Iterator[tuple[int, int, int]]:
    """First, last and highest index of every movement that ends."""
    begin = 0
    while begin < len(speeds):
        over = np.flatnonzero(speeds[begin:] >= LEAST_PEAK)
        if not len(over):
            return
        inside = begin + int(over[0])
        low = max(END_SPEED, END_SHARE * LEAST_PEAK)
        first, last = _fall(speeds, inside, -1, low), _fall(speeds, inside, 1, low)
        begin = len(speeds) if last is None else last + 1
        if last is None:
            continue
        first = first or 0
        top = first + int(speeds[first : last + 1].argmax())
        if _parted(speeds[first : last + 1], top - first) or top < round(PEAK_AFTER * RATE):
            continue
        low = max(END_SPEED, END_SHARE * float(speeds[top]))
        first, last = _fall(speeds, top, -1, low) or 0, _fall(speeds, top, 1, low)
        if last is not None and last - first >= 3:
            yield first, last, top


def _fall(speeds: Floats, start: int, step: int, low: float) -> int | None:
    """The first index from ``start`` on at which the speed is under ``low``; None at the end."""
    index = start
    while 0 <= index < len(speeds):
        if speeds[index] < low:
            return index
        index += step
    return None


def _parted(speeds: Floats, top: int) -> bool:
    """Whether there is a second peak: a rise by half its own height after a valley."""
    for side in (speeds[top:], speeds[top::-1]):
        valley = np.minimum.accumulate(side)
        if bool(((side >= LEAST_PEAK) & (side - valley > 0.5 * side)).any()):
            return True
    return False


def holds(path: Path) -> list[Hold]:
    """The holds of a path, in order."""
    times, places, speeds = grid(path)
    still = speeds < HOLD_SPEED
    found = []
    for begin, end in _runs(still):
        if (end - begin) / RATE < HOLD_LEAST:
            continue
        onset, offset = float(times[begin]), float(times[end - 1])
        found.append(
            Hold(
                onset=onset,
                offset=offset,
                bounded=begin > 0 and end < len(still),
                speed=float(speeds[begin:end].mean()),
                wobble=_wobble(places[begin:end]),
                tremor=_tremor(path, onset, offset),
                jitter=_jitter(path, onset, offset),
            )
        )
    return found


def _runs(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    yield from ((int(begin), int(end)) for begin, end in edges.reshape(-1, 2))


def _straight_off(places: Floats) -> Floats:
    """What is left of places when their straight drift is taken out."""
    steps = np.column_stack([np.ones(len(places)), np.arange(len(places))])
    return np.asarray(places - steps @ np.linalg.lstsq(steps, places, rcond=None)[0], np.float64)


def _wobble(places: Floats) -> float:
    return float(np.sqrt((_straight_off(places) ** 2).sum(axis=1).mean()))


def _tremor(path: Path, onset: Seconds, offset: Seconds) -> float:
    """Root mean square of the finger's unsmoothed path between 4 and 12 Hz."""
    if offset - onset < 0.5:
        return float("nan")
    times = np.arange(onset, offset, 1 / RATE)
    tips = [np.interp(times, path.times, path.tips[:, axis]) for axis in (0, 1)]
    places = _straight_off(np.column_stack(tips) / path.hand)
    window = np.hanning(len(places))[:, None]
    spectrum = np.abs(np.fft.rfft(places * window, axis=0)) ** 2
    frequencies = np.fft.rfftfreq(len(places), 1 / RATE)
    band = (frequencies >= 4) & (frequencies <= 12)
    power = 2 * spectrum[band].sum() / (len(places) * (window**2).sum())
    return float(np.sqrt(power))


def _jitter(path: Path, onset: Seconds, offset: Seconds) -> float:
    """Of second differences over three even steps, for one coordinate, the median landmark's."""
    inside = np.flatnonzero((path.times >= onset) & (path.times <= offset))
    seen, times = path.seen[inside], path.times[inside]
    if len(times) < 4:
        return float("nan")
    steps = np.diff(times)
    even = np.abs(steps[1:] - steps[:-1]) < 0.2 * steps[1:]
    second = (seen[:-2] - 2 * seen[1:-1] + seen[2:])[even]
    if len(second) < 2:
        return float("nan")
    each = np.sqrt((second**2).mean(axis=(0, 2)) / 6)
    return float(np.median(each) / path.hand)


def head_speeds(frames: Sequence[SeenFrame], aspect: float) -> Floats:
    """Speed of the background at the middle of the picture, frame widths/s.

    Over at least 0.1 s each, as between two frames a tenth of a pixel's error already shows; only
    where both ends are on one anchor and the background was seen.
    """
    seen = [frame for frame in frames if frame.motion.confidence > 0]
    speeds, later = [], 0
    for frame in seen:
        while later < len(seen) and seen[later].time - frame.time < HEAD_SPAN - 1e-6:
            later += 1
        if later >= len(seen):
            break
        after = seen[later]
        between = after.time - frame.time
        if after.motion.anchor != frame.motion.anchor or between > 2 * HEAD_SPAN + LONGEST_GAP:
            continue
        back = geometry.compose(geometry.invert(after.motion.to_stable), frame.motion.to_stable)
        x, y = geometry.apply(back, (0.5, 0.5))
        speeds.append(float(np.hypot(x - 0.5, (y - 0.5) / aspect)) / between)
    return np.asarray(speeds, np.float64)


def runs_without(flags: Iterable[tuple[Seconds, bool]]) -> list[Seconds]:
    """How long each run without a hand lasted, of those between two sights of one."""
    gaps, last, missed = [], None, False
    for time, seen in flags:
        if seen:
            if missed and last is not None:
                gaps.append(time - last)
            last, missed = time, False
        else:
            missed = True
    return gaps
