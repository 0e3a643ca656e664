"""Option texts and spoken words, English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.models.local_settings import read_local_settings
from streaming.models.local_text import Direction, TextReader

READER = TextReader(read_local_settings()[2])


@pytest.mark.parametrize(
    ("text", "colours", "shape", "size", "position"),
    [
        ("A. Green bottle", ("green",), "tall", None, None),
        ("B) brown bread roll", ("brown",), "compact", None, None),
        ("C: Large red bowl", ("red",), "hollow", "big", None),
        ("D. the orange", ("orange",), "round", None, None),
        ("E. Orange block", ("orange",), "compact", None, None),
        ("F. lemon", ("yellow",), "round", None, None),
        ("G. Left blue block", ("blue",), "compact", None, "left"),
        ("H. Screwdriver on the far right", (), "long", None, "right"),
        ("I. Small books", (), "flat", "small", None),
        ("A. 红色马克杯", ("red",), "upright", None, None),
        ("B、左边的蓝色方块", ("blue",), "compact", None, "left"),
        ("C. 柠檬", ("yellow",), "round", None, None),
        ("D. 粉红色的碗", ("pink",), "hollow", None, None),
        ("E：桌子右边的书", (), "flat", None, "right"),
        ("F. 大的白色盘子", ("white",), "flat", "big", None),
    ],
)
def test_thing_is_read(
    text: str, colours: tuple[str, ...], shape: str, size: str | None, position: Direction | None
) -> None:
    thing = READER.choice(text, "object").thing
    assert thing is not None
    assert (thing.colours, thing.shape, thing.size) == (colours, shape, size)
    assert thing.position == position


@pytest.mark.parametrize(
    ("text", "direction", "reference"),
    [
        ("A. Green bottle, to the left of the purple jar", "left", "purple jar"),
        ("A. Mug on the right side of the plate", "right", "plate"),
        ("A. Mug in front of the yellow lemon.", "front", "yellow lemon"),
        ("A. Mug behind the box", "behind", "box"),
        ("A. Mug next to the box", "near", "box"),
        ("a. Empty space to the right of the yellow lemon", "right", "yellow lemon"),
        ("a. the area between the cup and the plate", "near", "cup and plate"),
        ("A. 红色麦片盒，在白色牛奶盒的右边", "right", "白色牛奶盒"),
        ("A. 在白色牛奶盒右边的红色麦片盒", "right", "白色牛奶盒"),
        ("a. 白色牛奶盒前面的空位", "front", "白色牛奶盒"),
        ("a. 左边蓝色方块后面的空位", "behind", "蓝色方块"),
        ("a. 杯子旁边的空地", "near", "杯子"),
    ],
)
def test_relation_is_read(text: str, direction: Direction, reference: str) -> None:
    relation = READER.choice(text, "space" if text[0].islower() else "object").relation
    assert relation is not None
    assert relation.direction == direction
    assert relation.reference.name == reference


def test_reference_keeps_which_of_several() -> None:
    relation = READER.choice("a. 左边蓝色方块后面的空位", "space").relation
    assert relation is not None
    assert relation.reference.position == "left"


def test_thing_before_the_chinese_place_is_the_head() -> None:
    choice = READER.choice("A. 在牛奶盒右边的红色麦片盒", "object")
    assert choice.thing is not None
    assert choice.thing.name == "红色麦片盒"


def test_place_on_the_table_is_a_position_not_a_relation() -> None:
    choice = READER.choice("a. Empty space on the right side of the table", "space")
    assert choice.relation is None
    assert choice.position == "right"


@pytest.mark.parametrize("text", ["mug", "", "12. mug", "AB. mug"])
def test_option_without_a_label_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not begin with a label"):
        READER.choice(text, "object")


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        ("put this to the right of", "", "right"),
        ("in front of", "then take", "front"),
        ("and put it behind", "", "behind"),
        ("take", "and keep it", None),
        ("put this on top of", "", None),
        ("put this to the write of", "", "right"),
        ("把它放到", "的右邊", "right"),
        ("把这个放到", "的右边", "right"),
        ("放在", "后面", "behind"),
        ("请把", "拿给我", None),
    ],
)
def test_spoken_relation(before: str, after: str, direction: Direction | None) -> None:
    assert READER.spoken_relation(before, after) == direction


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    choice = READER.choice(f"A. {text}", "object")
    assert choice.label == "A"
    READER.spoken_relation(text, text)
