"""Reading what a model wrote: forgiving, counted, never raising, never guessing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.scoring.model_output import parse_output, understand
from streaming.asking.endpoint import CoordOrder
from streaming.asking.json_so_far import JsonSoFar
from streaming.asking.reply import Reply, normalised_output, read_reply, without_thoughts
from streaming.grounding_query import Task
from tests.asking_fakes import ANSWER, TEXT

TASK = Task(
    object_choices=("A. Red mug", "B. Blue bowl, behind the mug"),
    space_choices=("a. Right of the bowl", "b. Left of the bowl"),
    instruction=3,
    referents=2,
)
OPEN = Task()


def read(text: str, *, task: Task = TASK, order: CoordOrder = "xy") -> Reply:
    return read_reply(text, task=task, coord_order=order)


def answered(**changed: Any) -> str:
    return json.dumps({**ANSWER, **changed})


def entries(*changed: dict[str, Any]) -> str:
    points = [
        {**was, **now}
        for was, now in zip(ANSWER["point_list"], changed, strict=True)  # type: ignore[arg-type]
    ]
    return answered(point_list=points)


def test_answer_in_the_asked_for_format_is_read_without_a_count() -> None:
    reply = read(TEXT)
    assert reply.counters == {}
    assert reply.command == ANSWER["explicit_command"]
    mug, place = reply.referents
    assert (mug.kind, mug.label, mug.point, mug.time) == ("object", "A", (0.35, 0.4), 2.3)
    assert (place.kind, place.label, place.point, place.time) == ("space", "b", (0.6, 0.5), 4.3)
    assert mug.description == "red mug"


def test_order_of_the_numbers_is_the_models() -> None:
    assert read(TEXT, order="yx").referents[0].point == (0.4, 0.35)
    listed = read(f"[{TEXT}]", order="yx")
    assert listed.referents[0].point == (0.4, 0.35)
    assert listed.counters == {"list_for_object": 1}


def test_gemini_point_lies_where_gemini_meant_it() -> None:
    text = entries({"point": [472, 592]}, {})
    x, y = read(text, order="yx").referents[0].point or (0, 0)
    assert (x * 1280, y * 720) == pytest.approx((757.76, 339.84))


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        (f"```json\n{TEXT}\n```", {"json_fence": 1}),
        (f"```\n{TEXT}\n```", {"fence": 1}),
        (f"Here: {TEXT} Done.", {"braces": 1}),
        (f"In {{braces}}: {TEXT} and {{more}}", {"other_object": 1}),
        (f"<think>maybe {{A}} or B</think>\n{TEXT}", {"think_removed": 1}),
        (f"maybe {{A}}</think>{TEXT}", {"think_removed": 1}),
        (TEXT.replace("]}", ",]}"), {"trailing_commas": 1}),
        (TEXT + "}", {"brackets_and_commas": 1}),
        (f'{{"answer": {TEXT}}}', {"wrapped": 1}),
        (TEXT.replace(', "timestamp": 2300}', ', "timestamp": 2300}}'), {"brackets_and_commas": 1}),
    ],
)
def test_wrapping_makes_no_difference(text: str, counted: dict[str, int]) -> None:
    reply = read(text)
    assert reply.referents == read(TEXT).referents
    assert reply.counters == counted
    assert reply.raw == text


def test_what_came_before_the_text_was_cut_off_counts() -> None:
    reply = read(TEXT[: TEXT.index("4300")])
    assert reply.counters["cut_off"] == 1
    assert reply.referents[0] == read(TEXT).referents[0]
    assert reply.referents[1].point == (0.6, 0.5)
    assert reply.referents[1].time is None


@pytest.mark.parametrize(
    ("label", "counted"),
    [
        ("A", None),
        (" A ", None),
        ("A. Red mug", "label_with_text"),
        ("A) the mug", "label_with_text"),
        ("(A)", "label_with_text"),
        ("**A**", "label_with_text"),
        ("Option A", "label_with_text"),
        ("Option A: red mug", "label_with_text"),
        ("选项A", "label_with_text"),
        ("A、红色杯子", "label_with_text"),
        ("red mug", "label_by_text"),
        ("The red mug.", "label_by_text"),
        (["A"], None),
        ({"label": "A"}, None),
    ],
)
def test_label_is_found_however_it_is_written(label: Any, counted: str | None) -> None:
    reply = read(answered(selected_options=[label, "b"]))
    assert [one.label for one in reply.referents] == ["A", "b"]
    assert reply.counters == ({} if counted is None else {counted: 1})


@pytest.mark.parametrize("label", ["C", "Z. Red thing", "bowl or mug", "a mug", "", None, 7])
def test_label_that_names_no_option_is_not_guessed(label: Any) -> None:
    reply = read(answered(selected_options=[label, "b"]))
    assert reply.referents[0].label is None
    assert reply.counters["label_missing"] == 1


def test_labels_in_one_text_are_parted() -> None:
    for text in ("A, b", "A;b", "A → b"):
        assert [one.label for one in read(answered(selected_options=text)).referents] == ["A", "b"]


def test_case_tells_objects_from_places_and_only_then_is_passed_over() -> None:
    both = read(answered(selected_options=["a", "B"]))
    assert [one.label for one in both.referents] == ["a", "B"]
    lone = Task(object_choices=("A. Mug",), referents=1)
    reply = read(answered(selected_options=["a"]), task=lone)
    assert reply.referents[0].label == "A"
    assert reply.counters["label_case"] == 1


@pytest.mark.parametrize(
    ("point", "counted"),
    [
        ([350, 400], None),
        ([350.0, 400.0], None),
        (["350", "400"], "number_text"),
        ("[350, 400]", "point_text"),
        ("(350, 400)", "point_text"),
        ("x=350, y=400", "point_text"),
        ({"x": 350, "y": 400}, "point_by_name"),
        ([[340, 390], [360, 410]], "several_points"),
        ([[350, 400]], None),
        ([340, 390, 360, 410], "box_for_point"),
        ([350, 400, 1], "point_too_long"),
    ],
)
def test_point_is_found_however_it_is_written(point: Any, counted: str | None) -> None:
    reply = read(entries({"point": point}, {}))
    assert reply.referents[0].point == pytest.approx((0.35, 0.4))
    assert reply.counters == ({} if counted is None else {counted: 1})


@pytest.mark.parametrize(
    "point", [None, [], [1], "nowhere", ["a", "b"], [None, 3], [True, 2], {"x": 1}, 5, [1e999, 2]]
)
def test_what_is_no_point_is_none(point: Any) -> None:
    reply = read(entries({"point": point}, {}))
    assert reply.referents[0].point is None
    assert reply.counters["point_missing"] == 1


def test_several_points_survive_a_trailing_comma() -> None:
    text = entries({"point": [[340, 390], [360, 410]]}, {})
    reply = read(text.removesuffix("]}") + ",]}")
    assert reply.referents[0].point == pytest.approx((0.35, 0.4))
    assert reply.counters == {"trailing_commas": 1, "several_points": 1}


def test_points_outside_the_frame_go_to_its_border_and_are_counted() -> None:
    reply = read(entries({"point": [-20, 1400]}, {}))
    assert reply.referents[0].point == (0.0, 1.0)
    assert reply.counters == {"clamped": 1}


def test_fractions_are_known_only_by_all_points_together() -> None:
    reply = read(entries({"point": [0.35, 0.4]}, {"point": [1, 0]}))
    assert [one.point for one in reply.referents] == [(0.35, 0.4), (1.0, 0.0)]
    assert reply.counters == {"fractions": 1}
    mixed = read(entries({"point": [0.35, 0.4]}, {}))
    assert mixed.referents[0].point == pytest.approx((0.00035, 0.0004))
    zeros = read(entries({"point": [0, 0]}, {"point": [1, 1]}))
    assert zeros.referents[1].point == (0.001, 0.001)


@pytest.mark.parametrize(
    ("time", "read_as"),
    [
        (2300, 2.3),
        (2300.7, 2.3007),
        ("2300", 2.3),
        ("2300 ms", 2.3),
        ("2300毫秒", 2.3),
        ("2.3s", 2.3),
        ("2.3 seconds", 2.3),
        ("00:02.3", 2.3),
        ("<timestamp_ms>2300", 2.3),
        ([2300], 2.3),
        (0, 0.0),
        (-1, None),
        (None, None),
        ("soon", None),
        (True, None),
        (float("nan"), None),
    ],
)
def test_time_is_found_however_it_is_written(time: Any, read_as: float | None) -> None:
    found = read(entries({"timestamp": time}, {})).referents[0].time
    assert found == (None if read_as is None else pytest.approx(read_as))


def test_bare_seconds_are_known_only_by_all_times_together() -> None:
    seconds = read(entries({"timestamp": 2.3}, {"timestamp": 4}))
    assert [one.time for one in seconds.referents] == [2.3, 4.0]
    assert seconds.counters == {"time_seconds": 2}
    mixed = read(entries({"timestamp": 2.3}, {}))
    assert mixed.referents[0].time == pytest.approx(0.0023)
    whole = read(entries({"timestamp": 2}, {"timestamp": 4}))
    assert whole.referents[1].time == pytest.approx(0.004)


def test_there_are_as_many_referents_as_were_asked_for() -> None:
    points = ANSWER["point_list"]
    assert isinstance(points, list)
    fewer = read(answered(selected_options=["A"], point_list=points[:1]))
    assert [one.label for one in fewer.referents] == ["A", None]
    assert fewer.referents[1].kind == "space"
    assert fewer.counters["fewer"] == 1
    more = read(answered(selected_options=["A", "b", "B"], point_list=points * 2))
    assert len(more.referents) == 2
    assert more.counters == {"more": 1}
    free = read(answered(point_list=points * 2), task=OPEN)
    assert [one.kind for one in free.referents] == ["object", "space"] * 2


def test_without_options_there_are_no_labels_and_none_is_missed() -> None:
    reply = read(TEXT, task=OPEN)
    assert [one.label for one in reply.referents] == [None, None]
    assert reply.counters == {}


def test_referents_without_a_list_of_options_may_carry_their_own() -> None:
    text = json.dumps({"point_list": [{"label": "A", "point": [1, 2], "timestamp": 5}]})
    assert read(text).referents[0].label == "A"
    assert read('[{"point": [1, 2], "timestamp": 5}, {"point": [3, 4]}]').referents[1].point


@pytest.mark.parametrize(
    "text", ["", " ", "I cannot see it.", "{", "null", "[[1, 2]]", "<think>hm"]
)
def test_text_without_an_answer_is_no_answer(text: str) -> None:
    reply = read(text)
    assert not reply.readable
    assert [one.point for one in reply.referents] == [None, None]
    assert reply.raw == text


def test_normalised_output_reads_the_same_for_the_benchmark() -> None:
    messy = entries({"point": "[400, 350]", "timestamp": "2.3s"}, {"point": [[500, 600]]})
    reply = read("Sure! " + messy, order="yx")
    text = normalised_output(reply)
    understood = understand(parse_output(text).value, "xy")
    assert understood.labels == ("A", "b")
    assert [one["point"] for one in understood.entries] == [[350, 400], [600, 500]]
    assert [one["timestamp"] for one in understood.entries] == [2300, 4300]
    assert read(text).referents == reply.referents


def test_referent_that_is_missing_keeps_its_place_for_the_benchmark() -> None:
    text = normalised_output(read("nothing"))
    assert [one["timestamp"] for one in json.loads(text)["point_list"]] == [-1, -1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["selected_options", "point_list", "point", "timestamp", "label", "x", "y", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.text() | st.text(alphabet='{}[]",:\\<think/>`json0123.e-+ Aab'))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for task in (TASK, OPEN):
        reply = read(text, task=task)
        assert reply.raw == text
        assert len(read(normalised_output(reply), task=task).referents) == len(reply.referents)


@given(JSON, st.integers(0, 30))
def test_any_json_is_read_without_an_error(value: Any, cut: int) -> None:
    for text in (json.dumps({"point_list": value, "selected_options": value}), json.dumps(value)):
        for piece in (text, text[: len(text) - cut]):
            for referent in read(piece).referents:
                assert referent.point is None or all(0 <= part <= 1 for part in referent.point)
                assert referent.time is None or 0 <= referent.time < float("inf")


@pytest.mark.parametrize(
    "text",
    [
        '{"point_list": ' + "[" * 100_000,
        '{"point_list": [{"point": [' + "9" * 5000 + ", 1]}]}",
        "{" * 50_000,
        '{"selected_options": ["' + "(" * 100_000 + '"]}',
        '{"selected_options": [' + '"A",' * 100_000 + '"A"]}',
        "<think>" * 20_000,
        "</think>" + "<think>" * 100_000,
        "<think></think>" * 100_000,
        '{"point_list": [' + "[]," * 100_000,
        '{"point_list": [{"timestamp": "' + "1" * 100_000 + '"}]}',
    ],
)
def test_hostile_text_takes_no_long_time(text: str) -> None:
    read(text)


def test_thoughts_are_taken_out_wherever_they_stand() -> None:
    assert without_thoughts("<think>a</think>b<think>c</think>d") == "bd"
    assert without_thoughts("a</think>b") == "b"
    assert without_thoughts("a<think>b") == "a"
    assert without_thoughts("plain") == "plain"


def test_json_so_far_tells_each_part_when_it_is_whole() -> None:
    reader = JsonSoFar()
    closed = reader.feed('Sure: {"a": [{"b": 1}, {"b": "x}"}], "c": 5')
    assert [json.loads(one) for one in closed] == [
        {"a": [{"b": 1}]},
        {"a": [{"b": 1}, {"b": "x}"}]},
        {"a": [{"b": 1}, {"b": "x}"}]},
    ]
    assert json.loads(reader.closed()) == {"a": [{"b": 1}, {"b": "x}"}]}
    assert reader.feed("7}") == []
    assert reader.over
    assert json.loads(reader.closed())["c"] == 57


@given(JSON.map(lambda value: json.dumps({"k": value})), st.data())
def test_pieces_make_no_difference_to_json_so_far(text: str, data: st.DataObject) -> None:
    whole = JsonSoFar().feed(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    reader, told = JsonSoFar(), []
    for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        told += reader.feed(text[begin:end])
        assert isinstance(json.loads(reader.closed() or "{}"), dict)
    assert told == whole
    assert reader.closed() == text
