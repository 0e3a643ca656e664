"""Which clips a set holds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.synth.orders import PARTS, SAID, SAYINGS, Frames, Order, SetPlan


def plan(clips: int, **more: object) -> SetPlan:
    return SetPlan(clips=clips, seed=1, **more)  # type: ignore[arg-type]


def test_sixty_clips_are_evenly_spread() -> None:
    orders = list(plan(60, difficulties=("easy", "real", "hard")).orders())
    assert set(Counter(order.instruction for order in orders).values()) == {10}
    assert set(Counter(order.language for order in orders).values()) == {30}
    assert set(Counter(order.difficulty for order in orders).values()) == {20}
    pairs = Counter((order.instruction, order.language) for order in orders)
    assert len(pairs) == 12
    assert min(pairs.values()) >= 4


def test_a_dozen_clips_have_every_instruction_in_both_languages() -> None:
    pairs = {(order.instruction, order.language) for order in plan(12).orders()}
    assert len(pairs) == 12


@given(st.integers(1, 40), st.integers(1, 40))
def test_a_clip_is_the_same_however_many_there_are(few: int, more: int) -> None:
    orders = list(plan(few + more).orders())
    assert orders[:few] == list(plan(few).orders())


def test_levels_pick_their_instructions() -> None:
    assert {o.instruction for o in plan(8, levels=("L1", "L4")).orders()} == {1, 5, 6}


def test_names_are_unique_in_a_set_and_between_seeds() -> None:
    one, two = plan(30), SetPlan(clips=30, seed=2)
    names = [order.name for both in (one, two) for order in both.orders()]
    assert len(set(names)) == 60


def test_parts_draw_from_streams_of_their_own() -> None:
    order = next(plan(1).orders())
    first = {name: rng.random() for name, rng in order.draws(0).items()}
    assert len(set(first.values())) == len(PARTS)
    again = {name: rng.random() for name, rng in order.draws(0).items()}
    assert again == first
    other = {name: rng.random() for name, rng in order.draws(1).items()}
    assert {name for name in PARTS if other[name] == first[name]} == set(SAID)
    later = {name: rng.random() for name, rng in order.draws(SAYINGS).items()}
    assert not set(later.values()) & set(first.values())


def test_draws_do_not_depend_on_the_size_of_the_picture() -> None:
    def draw(frames: Frames) -> float:
        order = Order(
            seed=3, index=4, instruction=2, language="en", difficulty="real", frames=frames
        )
        return float(order.draws(0)["scene"].random())

    assert draw(Frames()) == draw(Frames(width=1920, height=1080, fps=60))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"clips": 0}, "clips is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"levels": ("L5",)}, "levels is L5"),
        ({"languages": ()}, "languages is empty"),
        ({"languages": ("en", "en")}, "languages is en,en"),
        ({"difficulties": ("mild",)}, "difficulties is mild"),
    ],
)
def test_wrong_plans_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SetPlan(**({"clips": 1, "seed": 0} | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"width": 641}, {"height": 100}, {"fps": 5}, {"fps": 1000}, {"width": 8000}]
)
def test_wrong_frames_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"expected|even"):
        Frames(**wrong)


def test_seeds_beyond_32_bits_are_taken() -> None:
    order = next(SetPlan(clips=1, seed=2**40).orders())
    assert isinstance(order.draws(0)["scene"], np.random.Generator)
