"""The measures of realism: what each is called and means, and its value for one file.

Frames and events of one file are reduced to one number each, mostly the median, so that files are
the sample. A photo gives only ``photo_*`` measures and the look of its picture and hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from replay.measure.realism_motion import (
    HAND_METRES,
    Hold,
    Movement,
    head_speeds,
    holds,
    movements,
    paths,
    runs_without,
)
from replay.measure.realism_picture import HandLook, PictureLook
from replay.measure.realism_sound import Values
from replay.measure.realism_watch import WatchedClip
from streaming.events import Hand
from streaming.stroke_path import heights_to_a_metre

One = TypeVar("One")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure.

    Attributes:
        key: Its name.
        unit: Empty for shares and ratios.
        meaning: One sentence.
    """

    key: str
    unit: str
    meaning: str


_TABLE = """
hit_rate||share of frames with a hand
hit_rate_between||the same, from the first sight of a hand to the last
longest_gap|s|longest time without a hand between two sights of one; 0 without any
hand_score||median confidence of the detector in the hands it finds
pointing||median pose score of the hands that it finds
photo_found||1 when a hand is found in a photo, 0 when none is
photo_hand_size|frame heights|hand length, wrist to middle knuckle, in a photo
hand_size|frame heights|hand length, wrist to middle knuckle, seen flat on
hand_seen|frame heights|wrist to middle knuckle as it is seen, foreshortened
hand_box|frame heights|height of the box around the landmarks
tip_x|frame widths|where the index fingertip mostly is, from the left
tip_y|frame heights|the same, from the top
move_peak|hand lengths/s|greatest speed of a whole movement
move_peak_widths|frame widths/s|the same in the picture
move_length|s|duration of a whole movement
move_to_stop|s|from the peak of speed to the stop
move_way|hand lengths|how far a whole movement goes
move_symmetry||when the peak of speed comes, as a share of the movement; minimum jerk: 0.5
move_peakedness||peak over mean speed of a movement; minimum jerk: 1.875
move_straight||straight distance over the way of a movement
approach_peak|hand lengths/s|greatest speed of a movement that a hold follows
approach_length|s|duration of a whole movement that a hold follows
approach_to_stop|s|from the peak of speed to the stop of a movement that a hold follows
hold_length|s|duration of a hold between two movements
hold_speed|hand lengths/s|mean speed in holds
hold_wobble|hand lengths|deviation of the finger from its straight drift in holds
hold_tremor|hand lengths|part of it between 4 and 12 Hz, in holds of half a second or more
jitter|hand lengths|deviation of a still hand's landmarks from frame to frame
stroke_hold|s|from apex to end of detected strokes
stroke_approach|s|from onset to apex of detected strokes
strokes_a_minute|1/min|detected strokes
head_p50|frame widths/s|median speed of the background
head_p90|frame widths/s|90th percentile of it
head_p99|frame widths/s|99th percentile of it
luminance|levels|mean luma
contrast|levels|standard deviation of the luma
saturation||mean (max - min) / max over the channels
warmth||mean red over mean blue
clipped||share of black and white pixels
drift|levels|standard deviation of the mean luma over the clip: exposure and view
vignette||luma of the corners over that of the middle
noise|levels|noise in single pictures
grain|levels|noise from frame to frame
sharpness|levels/pixel|99th percentile of the gradient, at 640 pixels of width
detail||share of the luma's variance finer than about 4 pixels
bits_per_pixel|bit|coded video for each pixel of each frame
hand_luminance|levels|mean luma of the hand
hand_saturation||saturation of the hand
hand_contrast|levels|standard deviation of the luma within the hand
hand_detail||share of it finer than about 4 pixels
hand_edge|levels|how far the hand's luma lies from its surroundings
hand_redness||mean red over mean green of the hand
snr|dB|voice over silence
voice_level|dBFS|mean power of voice
rate_en|words/s|English words for each second of them
rate_zh|characters/s|Chinese characters for each second of words
word_length|s|median length of a word
deictic_length|s|median length of the deictic words
pause|s|median pause of 0.15 s or more between words
gesture_length|s|annotated: of a pointing gesture; made: from stroke onset to the end of the hold
word_after_gesture|s|onset of the word less that of its gesture (made: of the stroke)
apex_after_word|s|apex less onset of the word
window_apart|s|between the beginnings of two annotated stroke windows
window_L1|s|annotated stroke window, level L1
window_L2|s|annotated stroke window, level L2
window_L3|s|annotated stroke window, level L3
window_L4|s|annotated stroke window, level L4
"""

MEASURES = tuple(
    Measure(key=key, unit=unit, meaning=meaning)
    for line in _TABLE.strip().splitlines()
    for key, unit, meaning in [line.split("|")]
)


def clip_values(clip: WatchedClip) -> Values:
    """The values of one watched file; a measure that it does not have is absent."""
    values = _look_values(clip.looks)
    if clip.photo:
        return values | _photo_values(clip)
    if not clip.frames:
        return {}
    values |= _sight_values(clip) | _motion_values(clip) | _stroke_values(clip)
    if clip.looks:
        values["drift"] = [float(np.std([look.luminance for look in clip.looks]))]
    values["grain"] = _median(clip.grain)
    values["bits_per_pixel"] = [clip.bits_per_pixel]
    return {key: found for key, found in values.items() if found}


def _median(values: Sequence[float]) -> list[float]:
    """The median of what is known, as a list of one; an empty list of nothing."""
    known = [value for value in values if math.isfinite(value)]
    return [float(np.median(known))] if known else []


def _medians(
    found: Sequence[One], names: dict[str, Callable[[One], float]]
) -> dict[str, list[float]]:
    return {key: _median([value(one) for one in found]) for key, value in names.items()}


def _photo_values(clip: WatchedClip) -> Values:
    hands = clip.frames[0].hands if clip.frames else ()
    sizes = [_hand_size(hand, clip.aspect) for hand in hands[:1]]
    return {"photo_found": [float(bool(hands))], "photo_hand_size": sizes}


def _hand_size(hand: Hand, aspect: float) -> float:
    return heights_to_a_metre(hand, aspect) * HAND_METRES


def _sight_values(clip: WatchedClip) -> Values:
    flags = [(frame.time, bool(frame.hands)) for frame in clip.frames]
    seen = [index for index, (_, flag) in enumerate(flags) if flag]
    values: Values = {"hit_rate": [len(seen) / len(flags)]}
    if not seen:
        return values
    between = flags[seen[0] : seen[-1] + 1]
    values["hit_rate_between"] = [len(seen) / len(between)]
    values["longest_gap"] = [max(runs_without(flags), default=0.0)]
    hands = [hand for frame in clip.frames for hand in frame.hands]
    aspect = clip.aspect
    return values | _medians(
        hands,
        {
            "hand_score": lambda hand: hand.score,
            "pointing": lambda hand: hand.pointing,
            "hand_size": lambda hand: _hand_size(hand, aspect),
            "hand_seen": lambda hand: _seen_length(hand, aspect),
            "hand_box": lambda hand: float(np.ptp([y for _, y in hand.landmarks])),
            "tip_x": lambda hand: hand.tip[0],
            "tip_y": lambda hand: hand.tip[1],
        },
    )


def _seen_length(hand: Hand, aspect: float) -> float:
    (x, y), (other_x, other_y) = hand.landmarks[0], hand.landmarks[9]
    return math.hypot((other_x - x) * aspect, other_y - y)


_MOVE: dict[str, Callable[[Movement], float]] = {
    "move_peak": lambda move: move.peak,
    "move_peak_widths": lambda move: move.peak_widths,
    "move_length": lambda move: move.duration,
    "move_to_stop": lambda move: move.offset - move.peak_at,
    "move_way": lambda move: move.amplitude,
    "move_symmetry": lambda move: move.symmetry,
    "move_peakedness": lambda move: move.peakedness,
    "move_straight": lambda move: move.straightness,
}
_APPROACH: dict[str, Callable[[Movement], float]] = {
    "approach_peak": lambda move: move.peak,
    "approach_to_stop": lambda move: move.offset - move.peak_at,
}
_HOLD: dict[str, Callable[[Hold], float]] = {
    "hold_speed": lambda hold: hold.speed,
    "hold_wobble": lambda hold: hold.wobble,
    "hold_tremor": lambda hold: hold.tremor,
    "jitter": lambda hold: hold.jitter,
}


def _motion_values(clip: WatchedClip) -> Values:
    ways = paths(clip.frames, clip.aspect)
    moves = [move for way in ways for move in movements(way)]
    stills = [hold for way in ways for hold in holds(way)]
    whole, held = [move for move in moves if move.whole], [move for move in moves if move.held]
    values = _medians(whole, _MOVE) | _medians(held, _APPROACH)
    values["approach_length"] = _median([move.duration for move in held if move.whole])
    values |= _medians(stills, _HOLD)
    values["hold_length"] = _median([hold.offset - hold.onset for hold in stills if hold.bounded])
    head = head_speeds(clip.frames, clip.aspect)
    if len(head):
        for level in (50, 90, 99):
            values[f"head_p{level}"] = [float(np.percentile(head, level))]
    return values


def _stroke_values(clip: WatchedClip) -> Values:
    length = clip.frames[-1].time - clip.frames[0].time
    ended = [stroke.offset - stroke.apex for stroke in clip.strokes if stroke.offset is not None]
    values = {
        "stroke_hold": _median(ended),
        "stroke_approach": _median([stroke.apex - stroke.onset for stroke in clip.strokes]),
    }
    if length > 0:
        values["strokes_a_minute"] = [60 * len(clip.strokes) / length]
    return values


_LOOK: dict[str, Callable[[PictureLook], float]] = {
    "luminance": lambda look: look.luminance,
    "contrast": lambda look: look.contrast,
    "saturation": lambda look: look.saturation,
    "warmth": lambda look: look.warmth,
    "clipped": lambda look: look.clipped,
    "vignette": lambda look: look.border,
    "noise": lambda look: look.noise,
    "sharpness": lambda look: look.sharpness,
    "detail": lambda look: look.detail,
}
_HAND_LOOK: dict[str, Callable[[HandLook], float]] = {
    "hand_luminance": lambda look: look.luminance,
    "hand_saturation": lambda look: look.saturation,
    "hand_contrast": lambda look: look.contrast,
    "hand_detail": lambda look: look.detail,
    "hand_edge": lambda look: look.edge,
    "hand_redness": lambda look: look.redness,
}


def _look_values(looks: Sequence[PictureLook]) -> Values:
    hands = [look.hand for look in looks if look.hand is not None]
    return _medians(looks, _LOOK) | _medians(hands, _HAND_LOOK)
