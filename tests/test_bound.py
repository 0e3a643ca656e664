"""The interface ``bound``: what the pipeline worked out, in numbered and captioned pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from streaming.asking.bound_pictures import Mark, marked, zoomed
from streaming.asking.interface_settings import BoundSettings, InterfaceSettings
from streaming.asking.interfaces import compose
from streaming.asking.prompts import load_prompts
from streaming.asking.request import PicturePart, Request, TextPart
from streaming.events import Homography
from streaming.grounding import ModelError, Pointed, Query, Task, View
from streaming.grounding_frames import Box, decoded
from streaming.grounding_prefix import Prefix
from streaming.picture_jpeg import jpeg_of
from tests.query_maker import keyframe, query, table

PROMPTS = load_prompts()


def bound(asked: Query, **fields: Any) -> Request:
    fields = {"coord_order": "xy"} | fields
    return compose(asked, interface="bound", prompts=PROMPTS, **fields)


def texts(request: Request) -> list[str]:
    return [part.text for part in request.parts if isinstance(part, TextPart)]


def pictures(request: Request) -> list[PicturePart]:
    return [part for part in request.parts if isinstance(part, PicturePart)]


def targets(request: Request) -> list[dict[str, Any]]:
    block = next(text for text in texts(request) if text.startswith("<targets>"))
    return [json.loads(line) for line in block.split("\n")[1:-1]]


def test_words_targets_gestures_and_last_frame_follow_in_this_order() -> None:
    request = bound(query())
    assert [text.split("\n")[0][:30] for text in texts(request)[1:]] == [
        '<words> ["Put", 500, 800] ["th',
        "<targets>",
        "Gesture 1 (target 1): fully ex",
        "Picture 2: zoom into picture 1",
        "Gesture 2 (target 2): fully ex",
        "Picture 4: zoom into picture 3",
        "Picture 5: the last frame, at ",
        "Picture 6: the LAST frame with",
        "Now answer with the JSON objec",
    ]
    assert [part.what for part in pictures(request)] == [
        "keyframe of gesture 1",
        "crop of gesture 1",
        "keyframe of gesture 2",
        "crop of gesture 2",
        "last frame with marks",
        "last frame",
    ]
    assert texts(request)[-1].endswith("Points lie on picture 6.")


def test_target_says_its_word_gesture_moment_and_probability() -> None:
    assert targets(bound(query())) == [
        {
            "target": 1,
            "type": "target_object",
            "word": "this",
            "word_ms": [1500, 1800],
            "gesture": 1,
            "timestamp": 1750,
            "probability": 0.9,
        },
        {
            "target": 2,
            "type": "spatial_affordance",
            "word": "here.",
            "word_ms": [2500, 2800],
            "gesture": 2,
            "timestamp": 2750,
            "probability": 0.8,
        },
    ]


def test_fingertip_is_told_in_the_models_order_on_both_frames() -> None:
    moved: Homography = ((1.0, 0.0, 0.1), (0.0, 1.0, -0.2), (0.0, 0.0, 1.0))
    asked = query(keyframes=(keyframe(0, 1.6, (0.3, 0.5), to_last=moved),))
    xy, yx = "\n".join(texts(bound(asked))), "\n".join(texts(bound(asked, coord_order="yx")))
    assert "Fingertip [300, 500]" in xy
    assert "Fingertip [500, 300]" in yx
    assert "Gesture 1: fingertip [400, 300]" in xy
    assert "Gesture 1: fingertip [300, 400]" in yx


def test_gesture_says_whether_its_hold_is_over() -> None:
    going = query(keyframes=(keyframe(0, 1.6, (0.3, 0.5), hold_end=None),))
    assert "fully extended at 1600 ms, held until 2100 ms." in "\n".join(texts(bound(query())))
    assert "still held at 4000 ms" in "\n".join(texts(bound(going)))


def test_lost_background_and_fingertips_outside_are_said() -> None:
    away: Homography = ((1.0, 0.0, 0.9), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    asked = query(
        keyframes=(
            keyframe(0, 1.6, (0.3, 0.5), to_last=None),
            keyframe(1, 2.6, (0.6, 0.7), to_last=away),
        )
    )
    told = "\n".join(texts(bound(asked)))
    assert "Gesture 1: not known on it" in told
    assert "Gesture 2: its fingertip lies outside the last frame, at [1500, 700]." in told


def test_finger_into_the_picture_is_said_to_be_unsure() -> None:
    frame = keyframe(0, 1.6, (0.3, 0.5))
    deep = replace(frame, ray=replace(frame.ray, depth=0.9))
    assert "its direction is unsure" in "\n".join(texts(bound(query(keyframes=(deep,)))))
    assert "its direction is unsure" not in "\n".join(texts(bound(query())))


def test_last_frame_is_clean_and_marks_are_on_a_copy() -> None:
    request = bound(query())
    unmarked = jpeg_of(table(120), quality=BoundSettings().quality)
    assert pictures(request)[-1].jpeg == unmarked
    difference = decoded(pictures(request)[-2].jpeg).astype(int) - decoded(unmarked)
    assert np.abs(difference).max() > 80


def test_only_strokes_of_targets_are_shown_when_all_have_one() -> None:
    beat = keyframe(2, 3.3, (0.5, 0.5))
    request = bound(query(keyframes=(*query().keyframes, beat)))
    assert "Gesture 3" not in "\n".join(texts(request))


def test_other_strokes_and_frames_are_shown_where_a_target_has_none() -> None:
    asked = query(
        pointed=(
            Pointed(kind="object", time=1.75, deictic=0, stroke=0, probability=0.9),
            Pointed(kind="space", time=2.95, deictic=1, stroke=None, probability=0.2),
        )
    )
    request = bound(asked)
    told = "\n".join(texts(request))
    assert "Gesture 2 (of no target, as far as the tracker knows)" in told
    shown = [part.until for part in pictures(request) if part.what == "sampled frame"]
    assert shown == [2.0, 2.5, 3.0, 3.5]
    assert "gesture" not in targets(request)[1]


def test_doubtful_binding_is_shown_with_frames_around_it() -> None:
    doubtful = replace(query().pointed[0], probability=0.1)
    request = bound(query(pointed=(doubtful, query().pointed[1])))
    shown = [part.until for part in pictures(request) if part.what == "sampled frame"]
    assert shown == [1.0, 1.5, 2.0, 2.5]


def test_no_strokes_leave_the_words_and_frames() -> None:
    nothing = (Pointed(kind="object", time=None), Pointed(kind="space", time=None))
    request = bound(query(keyframes=(), bindings=(), pointed=nothing))
    assert [part.what for part in pictures(request)] == ["sampled frame"] * 8 + ["last frame"]
    assert targets(request) == [
        {"target": 1, "type": "target_object"},
        {"target": 2, "type": "spatial_affordance"},
    ]
    assert "with numbered marks" not in "\n".join(texts(request))


def test_bound_does_without_sampled_frames() -> None:
    request = bound(query(keyframes=(), prefix=Prefix()))
    assert [part.what for part in pictures(request)] == ["last frame"]


def test_query_without_perception_is_refused() -> None:
    with pytest.raises(ModelError, match="bound needs what the pipeline perceived"):
        bound(query(keyframes=(), pointed=()))


def test_stream_without_pictures_can_be_asked_about() -> None:
    request = bound(query(keyframes=(), last=None, prefix=Prefix()))
    assert pictures(request) == []
    assert texts(request)[-1].startswith("No picture has been seen.")


def test_clear_view_stands_before_the_last_frame() -> None:
    clear = View(time=3.2, image=table(100))
    request = bound(query(clear=clear))
    assert [part.what for part in pictures(request)][-3:] == [
        "clear view",
        "last frame with marks",
        "last frame",
    ]
    assert pictures(request)[-3].until == 3.2


def test_silent_clip_has_gestures_but_no_words() -> None:
    silent = Task(object_choices=("A. Cup",), referents=1, instruction=1, benchmark=True)
    request = bound(query(task=silent, pointed=query().pointed[:1]))
    assert "The user did not speak" in texts(request)[1]
    assert "word" not in targets(request)[0]
    assert not any(text.startswith("<words>") for text in texts(request))


def test_captions_are_in_the_language_of_the_query() -> None:
    told = texts(bound(query(language="zh")))
    assert any(text.startswith("手势 1（目标 1）：1600 毫秒时完全伸出") for text in told)
    assert told[-1] == "现在请回答 JSON 对象。坐标以图 6 为准。"


def test_estimated_moment_never_lies_after_the_question() -> None:
    late = Pointed(kind="object", time=4.2, deictic=0, stroke=0, probability=0.9)
    request = bound(query(pointed=(late,)))
    assert targets(request)[0]["timestamp"] == 4000


def test_number_of_gestures_and_size_of_pictures_are_bounded() -> None:
    many = tuple(keyframe(k, 1 + k / 10, (0.3, 0.5)) for k in range(12))
    settings = InterfaceSettings(
        bound=BoundSettings(most_gestures=2, keyframe_side=80, crop_side=32, last_side=100)
    )
    request = bound(query(keyframes=many, pointed=(), task=Task()), settings=settings)
    sizes = [max(decoded(part.jpeg).shape) for part in pictures(request)]
    assert sizes == [80, 32, 80, 32, 160, 100]


def test_oblong_pixels_are_made_square() -> None:
    oblong = View(time=4.0, image=table(), pixel_aspect=2.0)
    request = bound(query(last=oblong))
    assert decoded(pictures(request)[-1].jpeg).shape == (120, 320, 3)
    assert decoded(pictures(request)[0].jpeg).shape == (120, 320, 3)


def test_zoom_is_enlarged_but_not_without_end() -> None:
    box = Box(left=0.25, top=0.25, right=0.5, bottom=0.5)
    assert zoomed(table(), box, pixel_aspect=1.0, side=512).shape == (120, 160, 3)
    assert max(zoomed(table(), box, pixel_aspect=1.0, side=20).shape) == 20


def test_marks_outside_the_picture_do_no_harm() -> None:
    far = Mark(name="12", tip=(-1e9, 1e9), ahead=(1e9, 0.5))
    here = Mark(name="1", tip=(0.0, 1.0), ahead=(0.0, 1.0))
    assert marked(table(), [far, here]).shape == (120, 160, 3)


def test_settings_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        BoundSettings(crop_side=0)
    with pytest.raises(ValueError, match="not negative"):
        BoundSettings(most_frames=-1)
