"""Made-up hand tracks with exact truth, to tune and test the stroke detector on.

A scene is a list of moves of one hand: each goes somewhere along a minimum-jerk path (Flash and
Hogan, 1985) and stays there for a while with a tremor. It is seen as a detector sees it: with
noise, outliers, missed frames (more of them in quick motion), a moving head, and a clock that may
be uneven. Lengths are metres at the hand; the picture is 0.5 to 1.2 m high there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streaming import geometry
from streaming.events import CameraMotion, Hand, HandsSeen, Point, Seconds, Side

Kind: TypeAlias = Literal["stroke", "preparation", "beat", "fidget", "retraction", "other"]
Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One way of the hand, and the rest after it.

    Attributes:
        kind: What it is; only a ``stroke`` should be found.
        to: Where the fingertip goes, metres from the picture's middle, y down.
        lasts: Seconds on the way.
        rests: Seconds still afterwards.
    """

    kind: Kind
    to: Point
    lasts: Seconds
    rests: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What one hand does.

    Attributes:
        start: Where the fingertip is at first; beyond the picture it is not seen.
        waits: Seconds before the first move.
        moves: One after the other.
        aim: Direction of the finger in the picture, radians, 0 to the right, clockwise as seen.
        curl: How far the other fingers are out, 0 (fist) to 1 (open hand).
        pointing: What the pose score says, 0...1.
        side: Which hand.
    """

    start: Point
    waits: Seconds
    moves: tuple[Move, ...]
    aim: float = -math.pi / 2
    curl: float = 0.1
    pointing: float = 0.95
    side: Side = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeing:
    """How a scene is seen.

    Attributes:
        fps: Frames a second.
        uneven: Deviation of a frame's time, in frame lengths (at most 0.4).
        skipped: Share of frames that never come.
        noise: Deviation of a landmark, metres.
        outliers: Share of sights with a far landmark error (1 cm).
        missed: Share of frames in which a hand in view is not found.
        blur: Speed at which half of the sights are lost, metres a second.
        tall: Height of the picture at the hand, metres.
        aspect: Displayed width over height.
        bob: How far walking moves the picture up and down, heights.
        turn: How far the head wanders, heights a second.
        drift: Deviation of the camera motion's own error, heights.
    """

    fps: float = 30.0
    uneven: float = 0.0
    skipped: float = 0.0
    noise: float = 0.0012
    outliers: float = 0.01
    missed: float = 0.02
    blur: float = 4.0
    tall: float = 0.6
    aspect: float = 4 / 3
    bob: float = 0.0
    turn: float = 0.03
    drift: float = 0.0003


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueStroke:
    """A stroke of the script: its apex, the end of its hold, and the fingertip at the apex."""

    onset: Seconds
    apex: Seconds
    offset: Seconds
    place: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Frames as the detector gets them, and the truth."""

    frames: tuple[tuple[HandsSeen, CameraMotion], ...]
    strokes: tuple[TrueStroke, ...]

    @property
    def duration(self) -> Seconds:
        return self.frames[-1][0].time if self.frames else 0.0


def true_strokes(script: Script) -> tuple[TrueStroke, ...]:
    """The strokes of a script."""
    time, found = script.waits, []
    for move in script.moves:
        apex = time + move.lasts
        if move.kind == "stroke":
            found.append(TrueStroke(onset=time, apex=apex, offset=apex + move.rests, place=move.to))
        time = apex + move.rests
    return tuple(found)


def fingertip(script: Script, time: Seconds) -> Point:
    """Where the fingertip is, without tremor, metres."""
    at, begin = script.start, script.waits
    for move in script.moves:
        if time <= begin:
            return at
        share = min(1.0, (time - begin) / move.lasts)
        if share < 1.0:
            gone = share**3 * (10 - 15 * share + 6 * share**2)
            return at[0] + (move.to[0] - at[0]) * gone, at[1] + (move.to[1] - at[1]) * gone
        at, begin = move.to, begin + move.lasts + move.rests
    return at


def see(
    scripts: Sequence[Script], seeing: Seeing, rng: np.random.Generator, *, after: Seconds = 0.5
) -> Scene:
    """Film the scripts (at most two hands) until ``after`` their end."""
    ends = [one.waits + sum(move.lasts + move.rests for move in one.moves) for one in scripts]
    times = _frame_times(max(ends) + after, seeing, rng)
    cameras = _cameras(times, seeing, rng)
    tremors = [_tremor(times, rng) for _ in scripts]
    frames = []
    for index, time in enumerate(times):
        hands = []
        for track, script in enumerate(scripts):
            tip = np.array(fingertip(script, time)) + tremors[track][index]
            hand = _sight(script, track, tip, time, cameras[index], seeing, rng)
            if hand is not None:
                hands.append(hand)
        to_stable = geometry.invert(geometry.from_matrix(cameras[index]))
        wrong = rng.normal(0.0, seeing.drift, 2) / (seeing.aspect, 1.0)
        shift = ((1.0, 0.0, float(wrong[0])), (0.0, 1.0, float(wrong[1])), (0.0, 0.0, 1.0))
        motion = CameraMotion(time=time, to_stable=geometry.compose(shift, to_stable))
        frames.append((HandsSeen(time=time, hands=tuple(hands), aspect=seeing.aspect), motion))
    strokes = sorted(
        (stroke for script in scripts for stroke in true_strokes(script)),
        key=lambda stroke: stroke.apex,
    )
    return Scene(frames=tuple(frames), strokes=tuple(strokes))


def _frame_times(duration: Seconds, seeing: Seeing, rng: np.random.Generator) -> list[Seconds]:
    count = max(2, round(duration * seeing.fps))
    jitter = np.clip(rng.normal(0.0, seeing.uneven, count), -0.4, 0.4)
    kept = rng.random(count) >= seeing.skipped
    return [
        float((index + jitter[index]) / seeing.fps)
        for index in range(count)
        if kept[index] or index == 0
    ]


def _cameras(times: list[Seconds], seeing: Seeing, rng: np.random.Generator) -> list[Array]:
    """For each frame the homography from the stabilised view to it, fractions."""
    phase, pace = rng.uniform(0, 2 * math.pi), rng.uniform(1.6, 2.1)
    waves = [
        (rng.uniform(0.1, 0.6), rng.uniform(0, 2 * math.pi), rng.uniform(0, 2 * math.pi))
        for _ in range(3)
    ]
    found = []
    for time in times:
        x = sum(math.sin(2 * math.pi * f * time + a) / f for f, a, _ in waves)
        y = sum(math.sin(2 * math.pi * f * time + b) / f for f, _, b in waves)
        scale = seeing.turn / (2 * math.pi * 1.2)
        bob = seeing.bob * math.sin(2 * math.pi * pace * time + phase)
        sway = 0.5 * seeing.bob * math.sin(math.pi * pace * time + phase)
        roll = 0.3 * scale * x
        turned = np.array(
            [
                [math.cos(roll), -math.sin(roll), scale * x + sway],
                [math.sin(roll), math.cos(roll), scale * y + bob],
                [0.0, 0.0, 1.0],
            ]
        )
        wide = np.diag([seeing.aspect, 1.0, 1.0])
        found.append(np.linalg.inv(wide) @ turned @ wide)
    first = np.linalg.inv(found[0])
    return [one @ first for one in found]


def _tremor(times: list[Seconds], rng: np.random.Generator) -> Array:
    """A slow wander and an 8 Hz tremor of a held hand, metres, shape ``(n, 2)``."""
    at = np.asarray(times)[:, None]
    slow = rng.uniform(0.001, 0.003, 2) * np.sin(
        2 * math.pi * rng.uniform(0.3, 0.7, 2) * at + rng.uniform(0, 6, 2)
    )
    fast = rng.uniform(0.0002, 0.0006, 2) * np.sin(
        2 * math.pi * rng.uniform(7, 9, 2) * at + rng.uniform(0, 6, 2)
    )
    return np.asarray(slow + fast)


def hand_points(script: Script, tip: Array) -> Array:
    """21 points of a hand whose index fingertip is at ``tip``, metres, shape ``(21, 2)``."""
    # Along the finger and across it; the wrist is at 0.
    along = np.zeros(21)
    across = np.zeros(21)
    along[1:5], across[1:5] = (0.03, 0.05, 0.06, 0.065), (-0.02, -0.03, -0.03, -0.025)
    for finger, (base, length, side) in enumerate(
        ((0.088, 0.085, -0.025), (0.09, 0.092, 0.0), (0.085, 0.085, 0.02), (0.078, 0.066, 0.038))
    ):
        out = 1.0 if finger == 0 else script.curl
        joints = np.array([0.0, 0.5, 0.78, 1.0]) * length
        bend = joints * out if finger == 0 else joints * out - 0.02 * (1 - out)
        bend[0] = 0.0
        along[5 + 4 * finger : 9 + 4 * finger] = base + bend
        across[5 + 4 * finger : 9 + 4 * finger] = side
    cos, sin = math.cos(script.aim), math.sin(script.aim)
    points = np.column_stack([along * cos - across * sin, along * sin + across * cos])
    return np.asarray(points - points[8] + tip)


def _sight(
    script: Script,
    track: int,
    tip: Array,
    time: Seconds,
    camera: Array,
    seeing: Seeing,
    rng: np.random.Generator,
) -> Hand | None:
    """The hand as a detector finds it in one frame, or None."""
    points = hand_points(script, tip)
    noisy = points + rng.normal(0.0, seeing.noise, points.shape)
    if rng.random() < seeing.outliers:
        noisy += rng.normal(0.0, 0.01, 2)
    heights = noisy / seeing.tall + (seeing.aspect / 2, 0.5)
    stable = heights / (seeing.aspect, 1.0)
    whole = np.column_stack([stable, np.ones(21)]) @ camera.T
    seen = whole[:, :2] / whole[:, 2:]
    step = 1e-3
    before, later = fingertip(script, time - step), fingertip(script, time + step)
    speed = math.dist(before, later) / (2 * step)
    lost = seeing.missed + 0.5 * (speed / seeing.blur) ** 3
    palm = seen[[0, 5, 9, 13, 17]]
    inside = ((palm > -0.05) & (palm < 1.05)).all(axis=1).mean()
    if rng.random() < lost or inside < 0.7:
        return None
    world = points - points.mean(axis=0) + rng.normal(0.0, 0.0008, points.shape)
    return Hand(
        track=track,
        side=script.side,
        score=0.9,
        landmarks=tuple((float(x), float(y)) for x, y in seen),
        world=tuple((float(x), float(y), 0.0) for x, y in world),
        pointing=float(np.clip(script.pointing + rng.normal(0.0, 0.08), 0.0, 1.0)),
    )


# --- scripts ---------------------------------------------------------------------------------


def pointing_script(rng: np.random.Generator, *, strokes: int, tall: float = 0.6) -> Script:
    """A hand that enters, points ``strokes`` times with what people do in between, and leaves."""
    start, aim = _outside(rng, tall)
    near = (start[0] * 0.75, start[1] * 0.7)
    moves: list[Move] = []
    if rng.random() < 0.6:
        moves.append(_move("preparation", near, rng, lasts=(0.5, 0.8), rests=(0.05, 0.35)))
    at = near
    for index in range(strokes):
        if index and rng.random() < 0.6:
            back = _toward(at, near, rng.uniform(0.04, 0.15))
            back = (back[0] + rng.normal(0, 0.02), back[1] + rng.normal(0, 0.02))
            moves.append(_move("preparation", back, rng, lasts=(0.3, 0.5), rests=(0.0, 0.22)))
            at = back
        if index and rng.random() < 0.15:
            moves += _beats(rng, at)
        target = _target(rng, at, tall)
        moves.append(_move("stroke", target, rng, lasts=(0.25, 0.5), rests=(0.3, 1.2)))
        at = target
    if rng.random() < 0.15:
        back = _toward(at, near, rng.uniform(0.05, 0.12))
        moves.append(_move("preparation", back, rng, lasts=(0.2, 0.4), rests=(0.0, 0.05)))
        moves += _beats(rng, back)
    moves.append(_move("retraction", start, rng, lasts=(0.45, 0.8), rests=(0.1, 0.2)))
    plain = rng.random() < 0.4  # the curled fingers are hidden, and guessed
    return Script(
        start=start,
        waits=float(rng.uniform(0.3, 1.0)),
        moves=tuple(moves),
        aim=aim,
        curl=float(rng.uniform(0.5, 0.7) if plain else rng.uniform(0.0, 0.3)),
        pointing=float(rng.uniform(0.0, 0.4) if plain else rng.uniform(0.75, 1.0)),
        side="right" if rng.random() < 0.7 else "left",
    )


def idle_script(rng: np.random.Generator, *, tall: float = 0.6) -> Script:
    """A hand that does things other than pointing: working, fidgeting, beating time, lying."""
    what = rng.choice(["work", "fidget", "beat", "still"])
    start = (float(rng.uniform(-0.2, 0.2)), float(rng.uniform(-0.1, 0.15)))
    moves: list[Move] = []
    at = start
    for _ in range(int(rng.integers(3, 8))):
        if what == "work":
            at = _target(rng, at, tall)
            moves.append(_move("other", at, rng, lasts=(0.3, 0.8), rests=(0.0, 0.8)))
        elif what == "fidget":
            at = (start[0] + rng.normal(0, 0.008), start[1] + rng.normal(0, 0.008))
            moves.append(_move("fidget", at, rng, lasts=(0.15, 0.5), rests=(0.1, 0.8)))
        elif what == "beat":
            moves += _beats(rng, start)
        else:
            moves.append(_move("other", start, rng, lasts=(0.3, 0.5), rests=(0.3, 0.5)))
    points = what != "work"
    return Script(
        start=start,
        waits=0.3,
        moves=tuple(moves),
        aim=float(rng.uniform(-math.pi, 0)),
        curl=float(rng.uniform(0.0, 0.3) if points else rng.uniform(0.85, 1.0)),
        pointing=float(rng.uniform(0.6, 1.0) if points else rng.uniform(0.0, 0.1)),
    )


def any_seeing(rng: np.random.Generator) -> Seeing:
    """A way of seeing within what real recordings show."""
    return Seeing(
        fps=float(rng.choice([10, 15, 20, 24, 25, 30, 30, 30, 50, 60])),
        uneven=float(rng.choice([0.0, 0.0, 0.15])),
        skipped=float(rng.choice([0.0, 0.0, 0.08])),
        noise=float(rng.uniform(0.0005, 0.002)),
        outliers=float(rng.uniform(0.0, 0.03)),
        missed=float(rng.choice([0.0, 0.02, 0.1])),
        blur=float(rng.uniform(1.0, 4.0)),
        tall=float(rng.uniform(0.45, 1.1)),
        aspect=float(rng.choice([4 / 3, 16 / 9])),
        bob=float(rng.choice([0.0, 0.0, 0.02])),
        turn=float(rng.uniform(0.0, 0.2)),
    )


def pointing_scene(seed: int, seeing: Seeing | None = None) -> Scene:
    """A hand that points one to four times."""
    rng = np.random.default_rng([seed, 1])
    seeing = seeing or any_seeing(rng)
    script = pointing_script(rng, strokes=int(rng.integers(1, 5)), tall=seeing.tall)
    return see([script], seeing, rng)


def idle_scene(seed: int, seeing: Seeing | None = None) -> Scene:
    """A hand that never points."""
    rng = np.random.default_rng([seed, 2])
    seeing = seeing or any_seeing(rng)
    return see([idle_script(rng, tall=seeing.tall)], seeing, rng)


def slower(script: Script, factor: float) -> Script:
    """The same script with every time multiplied."""
    moves = tuple(
        replace(move, lasts=move.lasts * factor, rests=move.rests * factor) for move in script.moves
    )
    return replace(script, waits=script.waits * factor, moves=moves)


def _move(
    kind: Kind,
    to: Point,
    rng: np.random.Generator,
    *,
    lasts: tuple[float, float],
    rests: tuple[float, float],
) -> Move:
    return Move(
        kind=kind,
        to=(float(to[0]), float(to[1])),
        lasts=float(rng.uniform(*lasts)),
        rests=float(rng.uniform(*rests)),
    )


def _beats(rng: np.random.Generator, at: Point) -> list[Move]:
    """One to three small strokes of the hand, up or down and back."""
    turn = rng.uniform(0, 2 * math.pi)
    size = rng.uniform(0.025, 0.06)
    far = (at[0] + size * math.cos(turn), at[1] + size * math.sin(turn))
    moves = []
    for _ in range(int(rng.integers(1, 4))):
        moves.append(_move("beat", far, rng, lasts=(0.1, 0.22), rests=(0.0, 0.06)))
        moves.append(_move("beat", at, rng, lasts=(0.1, 0.22), rests=(0.0, 0.1)))
    return moves


def _outside(rng: np.random.Generator, tall: float) -> tuple[Point, float]:
    """A place beyond the lower or a side border, and the finger's direction from there."""
    if rng.random() < 0.6:
        return (float(rng.uniform(-0.2, 0.2)), 0.5 * tall + 0.2), float(rng.normal(-1.57, 0.4))
    side = float(rng.choice([-1.0, 1.0]))
    aim = math.pi if side > 0 else 0.0
    return (side * (0.67 * tall + 0.2), float(rng.uniform(-0.05, 0.1))), float(
        aim + rng.normal(0, 0.3)
    )


def _target(rng: np.random.Generator, at: Point, tall: float) -> Point:
    """A place in the picture, 7 to 40 cm from ``at``."""
    for _ in range(200):
        to = (
            float(rng.uniform(-0.45, 0.45) * tall),
            float(rng.uniform(-0.35, 0.25) * tall),
        )
        if 0.07 < math.dist(at, to) < 0.45:
            return to
    return (0.0, 0.0)


def _toward(at: Point, goal: Point, length: float) -> Point:
    """The place ``length`` from ``at`` on the way to ``goal``."""
    whole = max(math.dist(at, goal), 1e-9)
    share = min(1.0, length / whole)
    return at[0] + (goal[0] - at[0]) * share, at[1] + (goal[1] - at[1]) * share
