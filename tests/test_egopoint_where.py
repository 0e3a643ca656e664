"""Where the finger points: points, what they are about, and rates beside chance."""

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

import client.commands.measure_hallucination as looking
from client.commands.egopoint import where
from replay.answers import Answer
from replay.egopoint.dataset import EgoPointSet
from replay.egopoint.looking import Looked, things_on
from replay.egopoint.objects import SeenObject
from replay.egopoint.sighting import Sight, sights_of
from replay.egopoint.where import (
    ABOUT,
    EgoPointWhere,
    WhereScores,
    about_of,
    chances,
    kinds_of,
    point_of,
    where_table,
)
from streaming.asking.request import TextPart
from tests.egopoint_maker import entry, item, write_set
from tests.test_egopoint_hallucination import hand

MUG = SeenObject(name="mug", box=(80, 40, 90, 50))
BOX = SeenObject(name="box", box=(40, 80, 50, 90))
BOOK = SeenObject(name="book", box=(0, 0, 60, 35))
COIN = SeenObject(name="coin", box=(10, 10, 14, 14))


def sight(
    *objects: SeenObject, hit: int | None = 0, near: Sequence[int] = (), out: Sequence[int] = ()
) -> Sight:
    looked = Looked(has_hand=True, hit=hit, by_distance=tuple(near), by_salience=tuple(out))
    return Sight(width=100, height=100, objects=objects, looked=looked)


_SET = EgoPointSet(
    path=Path("set.json"),
    images=Path(),
    items=(item(id="1", image_id="1"), item(id="2", image_id="2")),
)
SIGHT = sight(MUG, BOX, BOOK, COIN, hit=0, near=(0, 1, 3, 2), out=(1, 2, 0, 3))


@pytest.mark.parametrize(
    ("text", "order", "point"),
    [
        ('{"point": [250, 500]}', "xy", (0.25, 0.5)),
        ("[250, 500]", "yx", (0.5, 0.25)),
        ("```json\n[[250.5, 500]]\n```", "xy", (0.2505, 0.5)),
        ("<think>1 2</think>(0, 1000)", "xy", (0.0, 1.0)),
        ("[1001, 5]", "xy", None),
        ("[-3, 5]", "xy", None),
        ("[250]", "xy", None),
        ("over there", "xy", None),
    ],
)
def test_a_point_is_the_first_two_numbers(text: str, order: Any, point: Any) -> None:
    assert point_of(text, order) == point


def test_a_thing_is_one_kind_and_a_lure_is_not_what_is_hit() -> None:
    assert kinds_of(SIGHT) == {0: "ray", 1: "nearest", 2: "salient", 3: "other"}


@pytest.mark.parametrize(
    ("point", "about"),
    [
        ((0.85, 0.45), "ray"),
        ((0.45, 0.85), "nearest"),
        ((0.3, 0.3), "salient"),
        ((0.12, 0.12), "other"),  # the coin on the book: the smallest box
        ((0.925, 0.45), "ray"),  # a little off the mug
        ((0.97, 0.97), "nothing"),
        (None, "nothing"),
    ],
)
def test_a_point_is_about_the_thing_it_lies_on(point: Any, about: str) -> None:
    assert about_of(point, SIGHT, reach=0.05) == about


def test_chance_is_any_thing_of_a_picture() -> None:
    two = sight(MUG, BOX, hit=0, near=(0, 1), out=(0, 1))
    assert chances([SIGHT, two, sight(hit=None)]) == pytest.approx(
        {"ray": 0.375, "nearest": 0.375, "salient": 0.125, "other": 0.125, "nothing": 0.0}
    )
    assert all(math.isnan(chance) for chance in chances([]).values())


def made(tmp_path: Path) -> tuple[EgoPointSet, EgoPointWhere]:
    data = write_set(tmp_path, entry("1"), entry("1"), entry("2"), entry("3"), entry("4"))
    gone = Sight(width=1, height=1, objects=(), looked=Looked(has_hand=False))
    sights = {"1": SIGHT, "2": SIGHT, "3": gone}
    return data, EgoPointWhere(data, sights, coord_order="yx")


def test_pictures_with_a_hand_are_asked_about_once(tmp_path: Path) -> None:
    _, benchmark = made(tmp_path)
    assert [item.key for item in benchmark.items()] == ["1", "2"]
    request = benchmark.items()[0].questions[0].compose()
    text = request.parts[1]
    assert isinstance(text, TextPart)
    assert '{"point": [y, x]}' in text.text
    assert "flavour" not in text.text


def test_answers_are_told_by_what_they_are_about(tmp_path: Path) -> None:
    _, benchmark = made(tmp_path)
    answers = [Answer(id="1", output="[450, 850]"), Answer(id="2", error="late", kind="too_slow")]
    scores = benchmark.score(benchmark.items(), answers)
    assert not scores.complete
    assert scores.as_json()["about"]["ray"] == {"rate": 1.0, "chance": 0.25}
    assert (scores.pictures, scores.without_hand, scores.failed) == (4, 2, ("2",))
    assert "found on 2 of 4" in scores.remarks()[0]
    strict = benchmark.score(benchmark.items(), answers, errors_as_wrong=True)
    assert strict.rate("nothing") == 0.5
    assert benchmark.score(benchmark.items(), []).missing == ("1", "2")
    (table,) = benchmark.tables(scores)
    assert table.rows[0].keys[0] == "what the ray hits"
    assert benchmark.files(answers) == {"points.json": {"1": [0.85, 0.45]}}


@given(
    points=st.lists(st.none() | st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=2),
    random=st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=30)
def test_rates_add_up_to_one_whatever_the_order(points: list[Any], random: Any) -> None:
    benchmark = EgoPointWhere(_SET, {"1": SIGHT, "2": SIGHT})
    answers = [
        Answer(id=str(n), output="none" if point is None else str(list(point)))
        for n, point in enumerate(points, start=1)
    ]
    scores = benchmark.score(benchmark.items(), answers)
    random.shuffle(answers)
    assert benchmark.score(benchmark.items(), answers) == scores
    if answers:
        assert sum(scores.rate(kind) for kind in ABOUT) == pytest.approx(1.0)
        assert sum(scores.by_chance.values()) == pytest.approx(1.0)
    assert all(0 <= scores.rate(kind) <= 1 for kind in ABOUT if answers)


def test_a_run_without_answers_has_a_table() -> None:
    none = WhereScores(
        pictures=0, without_hand=0, missing=(), failed=(), outcomes=(), by_chance=chances([])
    )
    assert all(cell is None for row in where_table(none).rows for cell in row.cells)


def test_regions_stand_in_for_things_that_are_not_known() -> None:
    image = np.full((120, 160, 3), 170, dtype=np.uint8)
    image[60:85, 100:125] = (200, 30, 30)
    image[20:40, 20:50] = (30, 30, 200)
    found = things_on(image, [hand((0.3, 0.9), (0.2, 0.95))], most=12, overlap=0.2)
    assert 1 <= len(found) <= 12
    assert any(one.box[0] < 112 < one.box[2] and one.box[1] < 72 < one.box[3] for one in found)
    assert len(things_on(image, [], most=1, overlap=0.2)) == 1


def test_pictures_are_looked_at_once_and_kept(tmp_path: Path) -> None:
    data = write_set(tmp_path / "set", entry("1"), entry("2"))
    data.items[1].image.write_bytes(b"no picture")
    opened: list[int] = []

    class Hands:
        def __enter__(self) -> Any:
            opened.append(1)
            return lambda image: [hand((0.5, 0.45), (0.4, 0.45))]

        def __exit__(self, *_: object) -> None: ...

    told: list[tuple[str, str]] = []
    kept = tmp_path / "run" / "looked.jsonl"
    objects = {"1": (MUG, BOX), "2": (MUG,)}
    first = sights_of(
        data.items, objects, kept=kept, open_hands=Hands, on_picture=lambda *of: told.append(of)
    )
    assert set(first) == {"1"}
    assert [name for name, error in told if error] == ["2"]
    again = sights_of(data.items[:1], objects, kept=kept, open_hands=Hands)
    assert again == first
    assert len(opened) == 1


def test_the_command_asks_scores_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_set(tmp_path / "set", entry("1"), entry("2"))
    objects, answers = tmp_path / "objects.json", tmp_path / "answers.jsonl"
    named = [{"name": one.name, "box": list(one.box)} for one in (MUG, BOX)]
    objects.write_text(json.dumps({"1": named, "2": named}))
    answers.write_text('{"id": "1", "output": "[1000, 900]"}\n{"id": "2", "output": "none"}\n')

    class Hands:
        def __enter__(self) -> Any:
            return lambda image: [hand((0.5, 0.9), (0.4, 0.9))]

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(looking, "still_hands", Hands)
    for _ in range(2):
        code = where(
            data.path, out=tmp_path / "run", model=f"scripted:{answers}", objects=objects,
            as_json=True,
        )  # fmt: skip
        told = json.loads(capsys.readouterr().out)
        assert code == 0
        assert told["with_hand"] == 2
        assert sum(one["rate"] for one in told["about"].values()) == pytest.approx(1.0)
