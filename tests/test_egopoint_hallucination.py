"""Whether answers follow lures: things named by options, rays, and rates beside guessing."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import client.commands.measure_hallucination as command
from replay.egopoint.dataset import EgoPointError
from replay.egopoint.hallucination import Hallucination, hallucination_table, judge_answers
from replay.egopoint.looking import Looked, look, ray_of_hand, saliences
from replay.egopoint.objects import SeenObject, options_of, read_objects, spoken_of
from replay.egopoint.scoring import ItemScore
from streaming.hand_geometry import FoundHand
from streaming.models.local_pointing import PointingSettings
from tests.egopoint_maker import entry, item, write_set

MUG = SeenObject(name="red mug", box=(80, 40, 90, 50))
BOX = SeenObject(name="blue tea box", box=(40, 80, 50, 90))
BOOK = SeenObject(name="grey book", box=(5, 5, 35, 35))
OBJECTS = (MUG, BOX, BOOK)
OPTIONS = ("A. The red mug", "B. The blue tea box", "C. Book", "D. Nothing, only the bare table")


def hand(tip: tuple[float, float], knuckle: tuple[float, float]) -> FoundHand:
    """A hand whose points all lie at its index finger's base but for that finger."""
    points = [knuckle] * 21
    (x, y), (u, v) = tip, knuckle
    for place, share in ((6, 0.4), (7, 0.7), (8, 1.0)):
        points[place] = (u + share * (x - u), v + share * (y - v))
    return FoundHand(
        score=0.9, side="right", side_score=0.9, landmarks=tuple(points), depths=(0.0,) * 21,
        world=(),
    )  # fmt: skip


def picture(width: int = 100, height: int = 100) -> Any:
    image = np.full((height, width, 3), 120, dtype=np.uint8)
    image[40:50, 80:90] = (255, 0, 0)
    return image


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("The red mug on the left", 0),
        ("mug", 0),
        ("Blue", 1),
        ("Tea box", 1),
        ("Book.", 2),
        ("Nothing", None),
        ("the", None),
        ("", None),
        ("red mug or grey book", None),
        ("a red mug beside the blue tea box", 1),
    ],
)
def test_an_option_speaks_of_the_thing_that_it_names(text: str, place: int | None) -> None:
    assert spoken_of(text, OBJECTS) == place


def test_what_two_things_are_called_speaks_of_neither() -> None:
    two = [SeenObject(name=f"{side} banana", box=(0, 0, 1, 1)) for side in ("left", "right")]
    assert spoken_of("Banana", two) is None
    assert spoken_of("the right banana", two) == 1


def test_two_options_of_one_thing_are_left_out() -> None:
    one = item(options=("A. mug", "B. red mug", "C. grey book"))
    assert options_of(one, OBJECTS) == {"C": 2}


def test_objects_are_read_from_a_list_or_a_made_set(tmp_path: Path) -> None:
    things = [{"name": "red mug", "box": [1, 2, 3, 4]}, {"name": "", "box": [1, 2, 3, 4]},
              {"name": "x", "box": [3, 2, 1, 4]}, {"name": "y"}]  # fmt: skip
    plain, made = tmp_path / "plain.json", tmp_path / "truth.json"
    plain.write_text(json.dumps({"7": things}))
    made.write_text(json.dumps({"stills": [{"image_id": "7", "things": things}]}))
    for path in (plain, made):
        assert read_objects(path) == {"7": (SeenObject(name="red mug", box=(1, 2, 3, 4)),)}
    plain.write_text("{}")
    with pytest.raises(EgoPointError, match="no objects"):
        read_objects(plain)


# --- looking --------------------------------------------------------------------------------------


def test_the_ray_hits_what_lies_before_the_finger() -> None:
    # The finger points right, along the row of the mug; the tea box is nearer to the hand.
    found = look(picture(), OBJECTS, [hand((0.5, 0.45), (0.4, 0.45))], pointing=PointingSettings())
    assert found.has_hand
    assert found.hit == 0
    assert found.by_distance[0] in (1, 2)
    assert sorted(found.by_distance) == [0, 1, 2]


def test_without_a_hand_nothing_is_hit() -> None:
    assert look(picture(), OBJECTS, [], pointing=PointingSettings()) == Looked(has_hand=False)


def test_a_picture_without_things_has_no_hit() -> None:
    found = look(picture(), (), [hand((0.5, 0.5), (0.4, 0.5))], pointing=PointingSettings())
    assert (found.has_hand, found.hit, found.by_distance) == (True, None, ())


def test_the_hand_that_points_is_taken() -> None:
    curled = hand((0.1, 0.9), (0.1, 0.9))
    pointing = hand((0.5, 0.45), (0.4, 0.45))
    found = look(picture(), OBJECTS, [curled, pointing], pointing=PointingSettings())
    assert found.hit == 0
    assert ray_of_hand(pointing).tip == pytest.approx((0.5, 0.45))


def test_what_differs_from_the_rest_stands_out() -> None:
    salience = saliences(picture(), [*OBJECTS, SeenObject(name="out", box=(200, 200, 210, 210))])
    assert max(range(4), key=salience.__getitem__) == 0
    assert salience[3] == 0.0


# --- judging --------------------------------------------------------------------------------------

SEEN = Looked(has_hand=True, hit=0, by_distance=(1, 0, 2), by_salience=(2, 1, 0))


def answered(said: str, truth: str = "A", *, id: str = "1") -> ItemScore:
    one = item(id=id, image_id=id, options=OPTIONS, answer=truth)
    return ItemScore(item=one, truth=truth, said=said, right=said == truth)


def judged(*items: ItemScore, looked: Looked = SEEN) -> Hallucination:
    ids = [one.item.image_id for one in items]
    return judge_answers(items, dict.fromkeys(ids, OBJECTS), dict.fromkeys(ids, looked))


def test_answers_are_told_apart_by_what_they_are_about() -> None:
    found = judged(
        answered("A", id="right"), answered("B", id="near"), answered("C", id="salient"),
        answered("D", id="nothing"), answered("soap", id="odd"),
    )  # fmt: skip
    told = found.as_json()
    assert told["lures"] == {
        "nearest": {"offered": 5, "taken": 1, "rate": 0.2, "guess": 0.25},
        "salient": {"offered": 5, "taken": 1, "rate": 0.2, "guess": 0.25},
        "either": {"offered": 5, "taken": 2, "rate": 0.4, "guess": 0.5},
    }
    assert told["right"] == 1
    assert told["ray_agrees"] == {"items": 5, "agree": 5}
    assert told["judged_by_ray"] == 0


def test_a_lure_is_never_the_referent() -> None:
    # The right option's thing is the nearest one, so the next one is the lure.
    found = judged(answered("A", truth="B"))
    assert found.judged[0].lured == {"nearest": True, "salient": False, "either": True}
    assert found.judged[0].ray_agrees is False


def test_the_ray_tells_the_referent_where_the_right_option_speaks_of_nothing() -> None:
    found = judged(answered("B", truth="D"))
    assert found.judged[0].by_ray
    assert found.judged[0].ray_agrees is None
    assert found.judged[0].lured["nearest"]


def test_it_says_on_how_many_pictures_there_was_a_hand() -> None:
    items = [answered("B", id=str(n)) for n in range(4)]
    looked = {"0": SEEN, "1": Looked(has_hand=False), "2": SEEN}
    objects: dict[str, Sequence[SeenObject]] = {"0": OBJECTS, "1": OBJECTS, "2": ()}
    found = judge_answers(items, objects, looked)
    assert (found.pictures, found.with_objects, found.with_hand) == (4, 2, 1)
    assert (found.items, len(found.judged)) == (2, 1)
    table = hallucination_table(found)
    assert any("a hand was found" in note for note in table.notes)


def test_nothing_offered_gives_no_rate() -> None:
    found = judged()
    assert math.isnan(found.rate("nearest"))
    assert found.as_json()["lures"]["either"] == {
        "offered": 0, "taken": 0, "rate": None, "guess": None,
    }  # fmt: skip
    assert all(row.cells[2] is None for row in hallucination_table(found).rows)


PICKS = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from("ABCD"), st.permutations([0, 1, 2])),
    max_size=10,
)


def run_of(picks: list[tuple[str, str, list[int]]]) -> Hallucination:
    items = [answered(said, truth, id=str(n)) for n, (said, truth, _) in enumerate(picks)]
    looked = {
        str(n): Looked(
            has_hand=True, hit=order[0], by_distance=tuple(order), by_salience=tuple(order[::-1])
        )
        for n, (_, _, order) in enumerate(picks)
    }
    return judge_answers(items, {one.item.image_id: OBJECTS for one in items}, looked)


@given(picks=PICKS)
@settings(deadline=None, max_examples=40)
def test_rates_are_within_bounds_and_either_holds_both(
    picks: list[tuple[str, str, list[int]]],
) -> None:
    found = run_of(picks)
    for lure in ("nearest", "salient", "either"):
        assert 0 <= found.taken(lure) <= len(found.offered(lure))
        assert math.isnan(found.guessed(lure)) or 0 < found.guessed(lure) <= 0.5
    most = max(found.taken("nearest"), found.taken("salient"))
    assert most <= found.taken("either") <= found.taken("nearest") + found.taken("salient")
    assert found.as_json() == run_of(picks).as_json()


@given(picks=PICKS)
@settings(deadline=None, max_examples=30)
def test_the_order_of_items_changes_no_rate_and_a_right_answer_takes_no_lure(
    picks: list[tuple[str, str, list[int]]],
) -> None:
    assert run_of(picks).as_json() == run_of(picks[::-1]).as_json()
    right = run_of([(truth, truth, order) for _, truth, order in picks])
    assert right.taken("either") == 0


def test_the_command_looks_at_each_picture_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_set(
        tmp_path, entry("1", options=list(OPTIONS), answer="A. The red mug"),
        entry("1", options=list(OPTIONS), answer="A. The red mug"), entry("2"),
    )  # fmt: skip
    data.items[2].image.write_bytes(b"no picture")
    objects, answers = tmp_path / "objects.json", tmp_path / "answers.jsonl"
    named = [{"name": one.name, "box": list(one.box)} for one in OBJECTS]
    objects.write_text(json.dumps({"1": named, "2": named}))
    answers.write_text('{"id": "1", "output": "B"}\n{"id": "1#2", "output": "A"}\n')
    seen: list[Any] = []

    class Hands:
        def __enter__(self) -> Any:
            return lambda image: (seen.append(image.shape), [hand((0.5, 0.45), (0.4, 0.45))])[1]

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(command, "still_hands", Hands)
    command.hallucination(answers, data.path, objects=objects, as_json=True)
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert seen == [(48, 64, 3)]
    assert "2.jpg" in told.err
    assert (found["pictures_with_objects"], found["pictures_with_hand"]) == (2, 1)
    assert found["lures"]["either"]["offered"] == 2
    command.hallucination(answers, data.path, objects=objects)
    assert "Referential hallucination" in capsys.readouterr().out
