"""Colour names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.models.local_colour import ColourNames, illuminants, linear, oklab
from streaming.models.local_settings import read_local_settings
from tests.table_maker import BLUE, GREEN, RED, YELLOW, Item, table

NAMES = ColourNames(read_local_settings()[1].examples)


def name_of(rgb: tuple[int, int, int], *, light: float = 1.0) -> str:
    pixel = linear(np.array([rgb], dtype=np.uint8)) * np.float32(light)
    return NAMES.names[int(NAMES.likelihoods(pixel)[0].argmax())]


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((210, 25, 30), "red"),
        ((240, 125, 20), "orange"),
        ((245, 215, 40), "yellow"),
        ((40, 150, 60), "green"),
        ((20, 170, 175), "cyan"),
        ((35, 80, 210), "blue"),
        ((120, 50, 170), "purple"),
        ((240, 140, 180), "pink"),
        ((120, 70, 35), "brown"),
        ((15, 15, 18), "black"),
        ((125, 125, 125), "grey"),
        ((240, 240, 240), "white"),
    ],
)
def test_plain_colours_have_their_name(rgb: tuple[int, int, int], name: str) -> None:
    assert name_of(rgb) == name


@pytest.mark.parametrize(("rgb", "name"), [(RED, "red"), (GREEN, "green"), (BLUE, "blue")])
@pytest.mark.parametrize("light", [1.2, 0.6, 0.35])
def test_shadow_keeps_the_name(rgb: tuple[int, int, int], name: str, light: float) -> None:
    assert name_of(rgb, light=light) == name


def test_oklab_of_white_and_black() -> None:
    lab = oklab(linear(np.array([[255, 255, 255], [0, 0, 0]], dtype=np.uint8)))
    assert lab[0] == pytest.approx([1.0, 0.0, 0.0], abs=1e-3)
    assert lab[1] == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_shares_add_up(rgb: tuple[int, int, int]) -> None:
    shares = NAMES.likelihoods(linear(np.array([rgb], dtype=np.uint8)))
    assert shares.sum() == pytest.approx(1.0, abs=1e-4)
    assert (shares >= 0).all()


def test_table_of_names_agrees_with_the_likelihoods() -> None:
    image = np.array([[RED, GREEN], [BLUE, YELLOW]], dtype=np.uint8)
    best = NAMES.best(image)
    assert [NAMES.names[k] for k in best.ravel()] == ["red", "green", "blue", "yellow"]


def test_warm_light_is_estimated_warm() -> None:
    items = [
        Item(x=100 + 120 * k, y=300, width=50, height=50, colour=colour)
        for k, colour in enumerate((RED, GREEN, BLUE, YELLOW))
    ]
    picture = table(items, surface=(150, 150, 150))
    warm = linear(picture) * np.array([1.3, 1.0, 0.7], dtype=np.float32)
    plain_gains = illuminants(linear(picture))[2]
    warm_gains = illuminants(warm)[2]
    change = warm_gains / plain_gains
    assert change[0] < change[1] < change[2]


@pytest.mark.parametrize("text", ["red", "#12345", "#1234567", "#gg0000"])
def test_colour_that_is_no_colour_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not written #rrggbb"):
        ColourNames({"red": (text,)})
