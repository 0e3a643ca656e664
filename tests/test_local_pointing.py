"""The pointing cone and the places beside things."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.grounding_frames import Ray
from streaming.models.local_colour import ColourNames
from streaming.models.local_pointing import Cone, PointingSettings, place_beside
from streaming.models.local_regions import Region, find_regions
from streaming.models.local_scene import beside
from streaming.models.local_settings import read_local_settings
from streaming.models.local_text import Direction
from tests.table_maker import BLUE, RED, Item, hand_at, pointing_at, table

SETTINGS, COLOURS, _ = read_local_settings()
NAMES = ColourNames(COLOURS.examples)
POINTING = PointingSettings()
angles = st.floats(0.0, 2 * math.pi)


def cone(angle: float, *, size: int = 480, depth: float = 0.0) -> Cone:
    """A finger in the middle of a square picture, pointing at ``angle``."""
    knuckle = (0.5 - 0.1 * math.cos(angle), 0.5 - 0.1 * math.sin(angle))
    ray = Ray(tip=(0.5, 0.5), knuckle=knuckle, depth=depth)
    return Cone(ray, width=size, height=size, settings=POINTING)


def at(angle: float, distance: float, size: int = 480) -> tuple[float, float]:
    return (
        size / 2 + distance * size * math.cos(angle),
        size / 2 + distance * size * math.sin(angle),
    )


@given(angles, st.floats(0.01, 0.4))
def test_ahead_counts_less_than_aside_and_aside_less_than_behind(
    angle: float, distance: float
) -> None:
    ray = cone(angle)
    ahead = ray.distance(at(angle, distance))
    aside = ray.distance(at(angle + math.pi / 2, distance))
    behind = ray.distance(at(angle + math.pi, distance))
    assert ahead == pytest.approx(distance, rel=1e-3, abs=1e-4)
    assert ahead < aside < behind


@given(angles, angles, st.floats(0.01, 0.4))
def test_distance_turns_with_the_finger(angle: float, turn: float, distance: float) -> None:
    straight = cone(angle).distance(at(angle + 0.3, distance))
    turned = cone(angle + turn).distance(at(angle + turn + 0.3, distance))
    assert turned == pytest.approx(straight, rel=1e-3, abs=1e-4)


@given(angles, st.floats(0.01, 0.4))
def test_distance_does_not_depend_on_the_resolution(angle: float, distance: float) -> None:
    small = cone(angle, size=240).distance(at(angle + 0.5, distance, 240))
    large = cone(angle, size=960).distance(at(angle + 0.5, distance, 960))
    assert small == pytest.approx(large, rel=1e-3, abs=1e-4)


@given(angles)
def test_finger_into_the_picture_says_little_of_its_direction(angle: float) -> None:
    aside = at(angle + math.pi / 2, 0.1)
    assert cone(angle, depth=1.0).distance(aside) < cone(angle).distance(aside)


def region_of(item: Item) -> Region:
    picture = table((item,))
    found = find_regions(picture, SETTINGS.regions, names=NAMES).regions
    middle = (item.middle[0] * 640, item.middle[1] * 480)
    return min(found, key=lambda region: math.dist(region.inside, middle))


def test_drawn_thing_is_one_region() -> None:
    item = Item(x=300, y=300, width=60, height=50, colour=RED)
    region = region_of(item)
    assert abs(region.left - 270) < 8
    assert abs(region.bottom - 300) < 14  # its shadow may count in
    assert region.mask[int(region.inside[1]) - region.top, int(region.inside[0]) - region.left]


def test_hand_is_no_region() -> None:
    pointing = pointing_at((0.4, 0.5))
    hand = hand_at(pointing)
    picture = table((Item(x=100, y=250, width=40, height=40, colour=BLUE),))
    points = (np.array(hand.landmarks) * (640, 480)).astype(int)
    left, top = points.min(axis=0)
    right, bottom = points.max(axis=0)
    picture[top:bottom, left:right] = (205, 150, 120)
    seen = find_regions(picture, SETTINGS.regions, names=NAMES)
    masked = find_regions(picture, SETTINGS.regions, names=NAMES, hands=(hand,))
    middle = ((left + right) / 2, (top + bottom) / 2)

    def near(regions: tuple[Region, ...]) -> float:
        return min(math.dist(region.inside, middle) for region in regions)

    assert near(seen.regions) < 25 < near(masked.regions)


@pytest.mark.parametrize(
    ("direction", "dx", "dy"),
    [("left", -1, 0), ("right", 1, 0), ("front", 0, 1), ("behind", 0, -1)],
)
def test_place_lies_on_its_side(direction: Direction, dx: int, dy: int) -> None:
    region = region_of(Item(x=300, y=300, width=60, height=50, colour=RED))
    x, y = place_beside(region, direction, height=480, settings=POINTING)
    if dx:
        assert (x - 300) * dx > 30
        assert abs(y - 300) < 20
    if dy:
        assert abs(x - 300) < 10
        assert (y - 290) * dy > 5


@given(st.floats(-0.3, 0.3), st.floats(-0.2, 0.2))
def test_left_of_mirrors_right_of(dx: float, dy: float) -> None:
    here, there = (1.0 + dx, 0.5 + dy), (1.0, 0.5)
    mirrored = (1.0 - dx, 0.5 + dy)
    left = beside("left", here, there, foreshortening=2.0)
    right = beside("right", mirrored, there, foreshortening=2.0)
    assert left == pytest.approx(right, abs=1e-9)


def test_front_is_nearer_to_the_wearer() -> None:
    lower, upper = (0.5, 0.7), (0.5, 0.5)
    assert beside("front", lower, upper, foreshortening=2.0) > -0.2
    assert beside("behind", lower, upper, foreshortening=2.0) < -3.0
