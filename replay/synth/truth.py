"""Everything that is true of a made clip, as JSON; times in milliseconds, pixels continuous."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import cv2
import numpy as np

from replay.synth.choosing import Option, StrokeSubject
from replay.synth.drawing import Drawn, place_of
from replay.synth.ecog_files import Window
from replay.synth.filming import Ray, Set
from replay.synth.scene import SceneObject, SceneSpace
from replay.synth.script import ScriptWord
from replay.synth.world import Floats
from streaming.events import Seconds


def milliseconds(time: Seconds) -> int:
    return round(1000.0 * time)


def describe(
    drawn: Drawn,
    ready: Set,
    *,
    options: Sequence[Option],
    rays: Sequence[Ray],
    windows: Sequence[Window],
) -> dict[str, Any]:
    """The clip's entry in ``truth.json``.

    Args:
        options: What a solver gets to choose from.
        rays: Of the strokes.
        windows: Of the strokes, as annotators set them.
    """
    order = drawn.order
    letters = {id(option.item): option.letter for option in options}
    return {
        "video_name": f"{order.name}.mp4",
        "instruction": order.instruction,
        "level": order.level,
        "language": order.language,
        "difficulty": order.difficulty,
        "seed": order.seed,
        "index": order.index,
        "attempt": drawn.attempt,
        "fps": order.frames.fps,
        "width": order.frames.width,
        "height": order.frames.height,
        "frames": len(drawn.frame_times),
        "duration_ms": milliseconds(drawn.seconds),
        "setting": drawn.scene.setting,
        "hand": drawn.arms[0].motion.placement.side,
        "arm_from": drawn.arms[0].motion.placement.kind,
        "text": drawn.script.text,
        "words": _words(drawn),
        "strokes": [
            _stroke(drawn, ready, number, rays[number], windows[number], letters)
            for number in range(drawn.script.strokes)
        ],
        "referents": list(drawn.script.referents),
        "beats": [
            {"kind": d.kind, "begin_ms": milliseconds(d.onset), "end_ms": milliseconds(d.offset)}
            for d in drawn.arms[0].motion.distractors
        ],
        "deictic_words_without_stroke": _places(drawn, "anaphor"),
        "non_deictic_words": _places(drawn, "non_deictic"),
        "objects": {
            option.letter: _object(drawn, ready, option.item)
            for option in options
            if isinstance(option.item, SceneObject)
        },
        "spaces": {
            option.letter: _space(drawn, ready, option.item)
            for option in options
            if isinstance(option.item, SceneSpace)
        },
        **_paths(drawn, ready),
        "drawn": _draws(drawn),
    }


def _words(drawn: Drawn) -> list[dict[str, Any]]:
    if drawn.spoken is None:
        return []
    start = drawn.spoken.start
    return [
        {
            "text": word.text,
            "punct": word.punctuation,
            "begin_ms": milliseconds(start + heard.onset),
            "end_ms": milliseconds(start + heard.offset),
            "role": word.role,
            "deictic": word.role in ("deictic", "withdrawn", "anaphor"),
            "non_deictic_use": word.role == "non_deictic",
            "stroke": word.stroke,
        }
        for word, heard in zip(drawn.script.words, drawn.spoken.speech.words, strict=True)
    ]


def _places(drawn: Drawn, role: str) -> list[int]:
    return [place for place, word in enumerate(drawn.script.words) if word.role == role]


def _stroke(
    drawn: Drawn, ready: Set, number: int, ray: Ray, window: Window, letters: dict[int, str]
) -> dict[str, Any]:
    truth = drawn.arms[0].motion.strokes[number]
    subject = drawn.subjects[number]
    at_apex, at_last = ready.camera(truth.apex), ready.camera(ready.last)
    meant, pointed = place_of(subject.meant), place_of(subject.pointed)
    referent = drawn.script.referents.index(number) if number in drawn.script.referents else None
    return {
        "index": number,
        "kind": "object" if isinstance(subject.meant, SceneObject) else "space",
        "withdrawn": referent is None,
        "referent": referent,
        "choice": letters.get(id(subject.meant)),
        "target": _name(subject.meant, drawn),
        "relation": None if subject.kind in ("object", "space") else subject.kind,
        "pointed_at": {
            "kind": "object" if isinstance(subject.pointed, SceneObject) else "space",
            "name": _name(subject.pointed, drawn),
        },
        **_word_of(drawn, number, truth.apex),
        "prep_begin_ms": milliseconds(truth.preparation),
        "onset_ms": milliseconds(truth.onset),
        "apex_ms": milliseconds(truth.apex),
        "hold_begin_ms": milliseconds(truth.apex),
        "hold_end_ms": milliseconds(truth.hold_offset),
        "offset_ms": milliseconds(truth.retraction_offset),
        "stroke_window_ms": [window.begin_ms, window.end_ms],
        "fingertip_px_at_apex": _px(at_apex.project(ray.tip)[0]),
        "pointed_px_at_apex": _px(at_apex.project(pointed)[0]),
        "target_px_at_apex": _px(at_apex.project(meant)[0]),
        "target_px_last": _px(at_last.project(meant)[0]),
        "table_homography_apex_to_last": _table_homography(ready, truth.apex),
        "fingertip": _numbers(ray.tip),
        "knuckle": _numbers(ray.knuckle),
        "direction": _numbers(ray.direction, 6),
        "hit": None if ray.point is None else _numbers(ray.point),
        "neighbours": round(ray.neighbours, 3),
        "distance_m": round(float(np.linalg.norm(pointed - ray.tip)), 4),
        "shifted_ms": milliseconds(drawn.times.shifts[number]),
        "aim": _plain(truth.describe()),
    }


def _word_of(drawn: Drawn, number: int, apex: Seconds) -> dict[str, Any]:
    nothing = {"word_index": None, "word": None, "word_begin_ms": None}
    if drawn.spoken is None:
        return {**nothing, "lag_apex_minus_word_begin_ms": None}
    place = next(i for i, word in enumerate(drawn.script.words) if word.stroke == number)
    word: ScriptWord = drawn.script.words[place]
    begin = drawn.spoken.start + drawn.spoken.speech.words[place].onset
    return {
        "word_index": place,
        "word": word.text,
        "word_begin_ms": milliseconds(begin),
        "lag_apex_minus_word_begin_ms": milliseconds(apex - begin),
    }


def _table_homography(ready: Set, apex: Seconds) -> list[list[float]]:
    """From pixels at the apex to pixels on the last frame, for points of the table's top.

    Fitted to a grid: a bent lens makes it approximate.
    """
    grid = np.stack(np.meshgrid(np.linspace(-0.4, 0.4, 9), np.linspace(0.05, 0.65, 7)), -1)
    points = np.concatenate([grid.reshape(-1, 2), np.zeros((63, 1))], 1)
    before, after = ready.camera(apex).project(points), ready.camera(ready.last).project(points)
    fine = np.isfinite(before).all(1) & np.isfinite(after).all(1)
    matrix, _ = cv2.findHomography(before[fine], after[fine])
    return [[round(float(value), 8) for value in row] for row in matrix]


def _object(drawn: Drawn, ready: Set, item: SceneObject) -> dict[str, Any]:
    return {
        "name": _name(item, drawn),
        "key": item.key,
        "label": item.label,
        "centre": _numbers(item.centre),
        "aim": _numbers(item.aim),
        "px_last": _px(ready.camera(ready.last).project(item.aim)[0]),
    }


def _space(drawn: Drawn, ready: Set, item: SceneSpace) -> dict[str, Any]:
    return {
        "name": _name(item, drawn),
        "point": _numbers(item.point),
        "radius": round(item.radius, 4),
        "beside": item.beside,
        "side": item.side,
        "px_last": _px(ready.camera(ready.last).project(item.point)[0]),
    }


def _paths(drawn: Drawn, ready: Set) -> dict[str, Any]:
    """Frame by frame: the index fingertip (null while the arm is out of the scene) and the camera.

    A camera's rotation is a rotation vector (OpenCV's) from its own axes to the world's.
    """
    one = drawn.arms[0]
    pixels: list[list[float] | None] = []
    world: list[list[float] | None] = []
    camera: list[dict[str, list[float]]] = []
    for time in drawn.frame_times:
        view, pose = ready.camera(time), one.motion.at(time)
        if pose is None:
            pixels.append(None)
            world.append(None)
        else:
            tip = one.arm.landmarks(pose)[8]
            place = view.project(tip)[0]
            pixels.append(_px(place) if np.isfinite(place).all() else None)
            world.append(_numbers(tip))
        turn, _ = cv2.Rodrigues(view.pose.rotation)
        about = np.asarray(turn, np.float64).ravel()
        camera.append({"position": _numbers(view.pose.position), "rotation": _numbers(about, 5)})
    return {"fingertip_px": pixels, "fingertip_m": world, "camera": camera}


def _draws(drawn: Drawn) -> dict[str, Any]:
    sound, lens, sensor = drawn.sound, drawn.lens, drawn.sensor
    spoken = drawn.spoken
    return {
        "scene": _plain(drawn.scene.describe()),
        "voice": None if spoken is None else spoken.speech.voice,
        "speech_speed": None if spoken is None else round(spoken.speech.speed, 4),
        "pitch": None if spoken is None else round(spoken.speech.shift, 4),
        "lags_wanted_ms": [] if spoken is None else [milliseconds(lag) for lag in spoken.lags],
        "sound": {
            "snr_db": round(sound.snr_db, 2),
            "kinds": list(sound.kinds),
            "reverb": round(sound.reverb, 3),
            "distance": round(sound.distance, 3),
            "level_db": round(sound.level_db, 2),
            "clipped": sound.clipped,
            "gain_controlled": sound.gain_controlled,
            "channels": int(sound.samples.shape[1]),
        },
        "lens": {"fov": round(lens.fov, 3), "k1": round(lens.k1, 5), "k2": round(lens.k2, 5)},
        "sensor": _plain(sensor),
        "arm": _plain(drawn.arms[0].motion.describe()),
        "hand": _plain(drawn.arms[0].arm.shape),
        "other_arms": [_plain(one.motion.describe()) for one in drawn.arms[1:]],
        "head": _plain(drawn.head.describe()),
    }


def _plain(value: Any) -> Any:
    """What was drawn as JSON has it; fields that are kept out of a ``repr`` are left out."""
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.repr}
    if isinstance(value, np.ndarray | tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, float | np.floating):
        # An absence may begin before time does; JSON has no infinity.
        return round(float(value), 5) if math.isfinite(value) else None
    return value


def _name(item: SceneObject | SceneSpace, drawn: Drawn) -> str:
    return item.names[drawn.order.language]


def _px(point: Floats) -> list[float]:
    return _numbers(point, 1)


def _numbers(values: Floats, digits: int = 4) -> list[float]:
    return [round(float(value), digits) for value in values]


def subject_windows(
    rng: np.random.Generator,
    drawn: Drawn,
    subjects: Sequence[StrokeSubject],
    letters: dict[int, str],
) -> tuple[Window, ...]:
    """The strokes' windows as annotators would set them: not to the frame exactly.

    A window always holds the apex.
    """
    windows = []
    for truth, subject in zip(drawn.arms[0].motion.strokes, subjects, strict=True):
        begin = min(truth.window + rng.normal(0.0, 0.025), truth.apex - 0.03)
        end = max(truth.hold_offset + rng.normal(0.02, 0.035), truth.apex + 0.08)
        windows.append(
            Window(
                letter=letters.get(id(subject.meant), ""),
                begin_ms=milliseconds(max(0.0, begin)),
                end_ms=milliseconds(min(end, drawn.seconds)),
            )
        )
    return tuple(windows)
