"""The local model on drawn tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from streaming.events import IDENTITY, Answer, Homography
from streaming.grounding import ModelError, Task, View
from streaming.models.local import LocalModel
from tests.table_maker import (
    BLUE,
    GREEN,
    HEIGHT,
    RED,
    WHITE,
    WIDTH,
    WOOD,
    YELLOW,
    Colour,
    Item,
    hand_at,
    moved,
    pointing_at,
    query,
    said,
    table,
    with_last,
)

MUG = Item(x=180, y=260, width=46, height=52, colour=RED)
BOWL = Item(x=330, y=300, width=90, height=44, colour=BLUE, round=True)
BOTTLE = Item(x=470, y=250, width=30, height=80, colour=GREEN)
LEMON = Item(x=250, y=380, width=30, height=26, colour=YELLOW, round=True)
ITEMS = (MUG, BOWL, BOTTLE, LEMON)
OBJECTS = (
    "A. Red mug, to the left of the blue bowl",
    "B. Blue bowl, to the left of the green bottle",
    "C. Green bottle, behind the blue bowl",
    "D. Yellow lemon, in front of the red mug",
)
OBJECTS_ZH = (
    "A. 红色马克杯，在蓝色碗的左边",
    "B. 蓝色碗，在绿色瓶子的左边",
    "C. 绿色瓶子，在蓝色碗的后面",
    "D. 黄色柠檬，在红色马克杯的前面",
)
SPACES = (
    "a. Empty space to the right of the green bottle",
    "b. Empty space in front of the blue bowl",
    "c. Empty space to the left of the red mug",
    "d. Empty space behind the yellow lemon",
)
SPACES_ZH = ("a. 绿色瓶子右边的空位", "b. 蓝色碗前面的空位", "c. 红色马克杯左边的空位")


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel()


def task(count: int, **fields: Any) -> Task:
    fields.setdefault("object_choices", OBJECTS)
    return Task(referents=count, benchmark=True, **fields)


def inside(item: Item, answer: Answer, position: int = 0) -> bool:
    point = answer.referents[position].point
    assert point is not None
    x, y = point[0] * WIDTH, point[1] * HEIGHT
    return abs(x - item.x) < item.width / 2 and item.y - item.height < y < item.y


@pytest.mark.parametrize("surface", [WOOD, (70, 50, 40), (230, 228, 222)])
@pytest.mark.parametrize(("item", "label"), [(MUG, "A"), (BOWL, "B"), (BOTTLE, "C"), (LEMON, "D")])
def test_pointed_object_is_named_and_hit(
    model: LocalModel, item: Item, label: str, surface: Colour
) -> None:
    asked = query(table(ITEMS, surface=surface), [pointing_at(item.middle)], task=task(1))
    answer = model.answer(asked)
    assert answer.referents[0].label == label
    assert inside(item, answer)
    assert answer.referents[0].confidence > 0.5


@pytest.mark.parametrize(("item", "label"), [(MUG, "A"), (BOTTLE, "C")])
def test_chinese_options_are_understood(model: LocalModel, item: Item, label: str) -> None:
    asked = query(
        table(ITEMS),
        [pointing_at(item.middle)],
        task=task(1, object_choices=OBJECTS_ZH),
        language="zh",
    )
    answer = model.answer(asked)
    assert answer.referents[0].label == label
    assert answer.text.startswith("您指的是")


@pytest.mark.parametrize(
    "light", [(1.0, 1.0, 1.0), (1.15, 1.0, 0.8), (0.85, 1.0, 1.15), (0.5,) * 3]
)
def test_answer_holds_under_other_light(
    model: LocalModel, light: tuple[float, float, float]
) -> None:
    picture = np.clip(table(ITEMS) * np.array(light), 0, 255).astype(np.uint8)
    answer = model.answer(query(picture, [pointing_at(LEMON.middle)], task=task(1)))
    assert answer.referents[0].label == "D"
    assert inside(LEMON, answer)


def test_alike_things_are_told_apart_by_place(model: LocalModel) -> None:
    left = Item(x=150, y=260, width=40, height=40, colour=BLUE)
    right = Item(x=480, y=320, width=40, height=40, colour=BLUE)
    options = ("A. Right blue block", "B. Left blue block", "C. White jar")
    jar = Item(x=320, y=250, width=40, height=50, colour=WHITE)
    picture = table((left, right, jar))
    for item, label in ((left, "B"), (right, "A"), (jar, "C")):
        asked = query(picture, [pointing_at(item.middle)], task=task(1, object_choices=options))
        assert model.answer(asked).referents[0].label == label


def test_place_pointed_at_directly(model: LocalModel) -> None:
    place = (0.78, 0.51)
    asked = query(
        table(ITEMS),
        [pointing_at(MUG.middle, apex=1.0), pointing_at(place, apex=2.0)],
        task=task(2, space_choices=SPACES, instruction=3),
        **said("put this here", pointing=("this", "here")),
    )
    answer = model.answer(asked)
    assert [referent.label for referent in answer.referents] == ["A", "a"]
    point = answer.referents[1].point
    assert point is not None
    assert abs(point[0] - place[0]) * WIDTH < 40
    assert abs(point[1] - place[1]) * HEIGHT < 30


def test_spoken_relation_tells_place_from_thing_pointed_at(model: LocalModel) -> None:
    asked = query(
        table(ITEMS),
        [pointing_at(LEMON.middle, apex=1.0), pointing_at(BOWL.middle, apex=2.0)],
        task=task(2, space_choices=SPACES, instruction=4),
        **said("put this in front of that", pointing=("this", "that")),
    )
    answer = model.answer(asked)
    assert [referent.label for referent in answer.referents] == ["D", "b"]
    point = answer.referents[1].point
    assert point is not None
    assert point[1] * HEIGHT > BOWL.y


def test_spoken_relation_in_chinese_follows_the_word(model: LocalModel) -> None:
    asked = query(
        table(ITEMS),
        [pointing_at(LEMON.middle, apex=1.0), pointing_at(MUG.middle, apex=2.0)],
        task=task(2, object_choices=OBJECTS_ZH, space_choices=SPACES_ZH, instruction=4),
        **said("把 这个 放到 那个 的 左边", pointing=("这个", "那个"), language="zh"),
    )
    assert [r.label for r in model.answer(asked).referents] == ["D", "c"]


def test_point_follows_the_camera(model: LocalModel) -> None:
    shift: Homography = ((0.95, 0.02, 0.08), (-0.01, 0.97, -0.05), (0.0, 0.0, 1.0))
    first = table(ITEMS)
    asked = query(first, [pointing_at(BOTTLE.middle)], task=task(1), to_last=shift)
    last = View(time=10.0, image=moved(first, shift), to_last=IDENTITY)
    answer = model.answer(with_last(asked, last))
    x, y = BOTTLE.middle
    point = answer.referents[0].point
    assert answer.referents[0].label == "C"
    assert point is not None
    assert abs(point[0] - (0.95 * x + 0.02 * y + 0.08)) * WIDTH < 14
    assert abs(point[1] - (-0.01 * x + 0.97 * y - 0.05)) * HEIGHT < 40


def test_lost_background_is_found_again_by_features(model: LocalModel) -> None:
    rng = np.random.default_rng(3)
    specks = tuple(
        Item(x=int(x), y=int(y), width=6, height=6, colour=(120, 90, 70))
        for x, y in rng.integers((20, 150), (620, 470), (60, 2))
    )
    first = table((*specks, *ITEMS))
    shift: Homography = ((1.0, 0.0, 0.1), (0.0, 1.0, -0.06), (0.0, 0.0, 1.0))
    asked = query(first, [pointing_at(LEMON.middle)], task=task(1), to_last=None)
    last = View(time=10.0, image=moved(first, shift), to_last=IDENTITY)
    answer = model.answer(with_last(asked, last))
    assert answer.referents[0].label == "D"
    assert "path to the last frame is unknown" not in answer.reasoning


def test_hand_on_the_last_frame_hides_nothing_seen_before(model: LocalModel) -> None:
    pointing = pointing_at(MUG.middle, gap=0.02)
    clean = table(ITEMS)
    covered = clean.copy()
    covered[200:, 120:260] = (205, 150, 120)
    asked = query(clean, [pointing], task=task(1))
    last = View(time=10.0, image=covered, hands=(hand_at(pointing),), to_last=IDENTITY)
    clear = View(time=9.0, image=clean, to_last=IDENTITY)
    answer = model.answer(with_last(asked, last, clear=clear))
    assert answer.referents[0].label == "A"
    assert inside(MUG, answer)


def test_output_is_the_benchmarks(model: LocalModel) -> None:
    asked = query(
        table(ITEMS),
        [pointing_at(MUG.middle, apex=1.0), pointing_at((0.78, 0.51), apex=2.0)],
        task=task(2, space_choices=SPACES),
        **said("put this here", pointing=("this", "here")),
    )
    output = json.loads(model.answer(asked).raw)
    assert set(output) == {"reasoning", "explicit_command", "selected_options", "point_list"}
    assert output["selected_options"] == ["A", "a"]
    assert [entry["type"] for entry in output["point_list"]] == [
        "target_object",
        "spatial_affordance",
    ]
    for entry in output["point_list"]:
        assert isinstance(entry["timestamp"], int)
        assert all(isinstance(value, int) and 0 <= value <= 1000 for value in entry["point"])
    assert output["explicit_command"].startswith("put this (Red mug")


def test_missing_referent_keeps_its_place(model: LocalModel) -> None:
    asked = query(
        table(ITEMS), [pointing_at(MUG.middle)], task=task(2, space_choices=SPACES, instruction=3)
    )
    answer = model.answer(asked)
    output = json.loads(answer.raw)
    assert output["selected_options"] == ["A", ""]
    assert output["point_list"][1]["timestamp"] == -1
    assert answer.referents[1].label is None
    assert answer.referents[1].confidence == 0.0
    assert "abstained" in answer.reasoning


def test_words_alone_may_single_out_a_place(model: LocalModel) -> None:
    spoken = said("put this in front of that", pointing=("this", "that"))
    asked = query(
        table(ITEMS),
        [pointing_at(LEMON.middle)],
        task=task(2, space_choices=SPACES, instruction=4),
        **spoken,
    )
    second = model.answer(asked).referents[1]
    assert second.label == "b"
    assert 0 < second.confidence < 0.5


def test_far_pointing_is_not_trusted(model: LocalModel) -> None:
    near = query(table(ITEMS), [pointing_at(BOTTLE.middle)], task=task(1))
    far = query(table(ITEMS), [pointing_at((0.95, 0.9), gap=0.0, side=-1.0)], task=task(1))
    sure, unsure = (model.answer(asked).referents[0].confidence for asked in (near, far))
    assert unsure < 0.4 < sure


def test_without_options_the_thing_is_described(model: LocalModel) -> None:
    answer = model.answer(query(table(ITEMS), [pointing_at(LEMON.middle)]))
    assert answer.referents[0].label is None
    assert "yellow thing" in answer.referents[0].description
    assert inside(LEMON, answer)
    chinese = model.answer(query(table(ITEMS), [pointing_at(LEMON.middle)], language="zh"))
    assert "黄色" in chinese.text


def test_without_options_a_relation_makes_it_a_place(model: LocalModel) -> None:
    spoken = said("put it to the left of this", pointing=("this",))
    answer = model.answer(query(table(ITEMS), [pointing_at(MUG.middle)], **spoken))
    (place,) = answer.referents
    assert place.kind == "space"
    assert place.description == "the free place to the left of the red thing"
    assert place.point is not None
    assert place.point[0] * WIDTH < MUG.x - MUG.width / 2


def test_bare_name_is_believed_less(model: LocalModel) -> None:
    bare = ("A. Gadget", "B. Device", "C. Thing")
    picture = table(ITEMS)
    vague = query(picture, [pointing_at(MUG.middle)], task=task(1, object_choices=bare))
    plain = query(picture, [pointing_at(MUG.middle)], task=task(1))
    assert model.answer(vague).referents[0].confidence < 0.5
    assert model.answer(plain).referents[0].confidence > 0.7


def test_without_a_picture_or_a_stroke_it_abstains(model: LocalModel) -> None:
    asked = query(table(ITEMS), [], task=task(1))
    answer = model.answer(asked)
    assert answer.referents[0].point is None
    assert answer.referents[0].label is None
    seen = query(table(ITEMS), [pointing_at(MUG.middle)], task=task(1))
    blind = model.answer(replace(seen, last=None))
    assert blind.referents[0].label is None
    assert "no picture" in blind.reasoning


def test_unreadable_option_is_an_error(model: LocalModel) -> None:
    asked = query(table(ITEMS), [pointing_at(MUG.middle)], task=task(1, object_choices=("a mug",)))
    with pytest.raises(ModelError, match="does not begin with a label"):
        model.answer(asked)


def test_same_query_gets_the_same_answer(model: LocalModel) -> None:
    asked = query(table(ITEMS), [pointing_at(BOWL.middle)], task=task(1))
    assert model.answer(asked) == model.answer(asked)


@pytest.mark.threads
async def test_model_streams_one_final_answer(model: LocalModel) -> None:
    asked = query(table(ITEMS), [pointing_at(BOWL.middle)], task=task(1))
    answers = [answer async for answer in model.ground(asked)]
    assert [answer.final for answer in answers] == [True]
    assert answers[0].referents[0].label == "B"


@pytest.mark.parametrize("scale", [2, 3])
def test_answer_holds_at_other_sizes(model: LocalModel, scale: int) -> None:
    large = np.repeat(np.repeat(table(ITEMS), scale, axis=0), scale, axis=1)
    answer = model.answer(query(large, [pointing_at(BOWL.middle)], task=task(1)))
    assert answer.referents[0].label == "B"
    assert inside(BOWL, answer)
