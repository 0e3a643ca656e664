"""From a model's text to its JSON: each repair, and the order in which they are tried."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.scoring.model_output import Repair, parse_output

RIGHT = {"selected_options": ["A"], "point_list": [{"point": [1, 2], "timestamp": 3}]}
TEXT = json.dumps(RIGHT)


@pytest.mark.parametrize(
    ("text", "repair"),
    [
        (TEXT, Repair.NONE),
        (f"\n {TEXT} \n", Repair.NONE),
        (f"```json\n{TEXT}\n```", Repair.JSON_FENCE),
        (f"Here it is:\n```json{TEXT}``` Good luck!", Repair.JSON_FENCE),
        (f"```json\n{TEXT}", Repair.JSON_FENCE),
        (f"```\n{TEXT}\n```", Repair.FENCE),
        (f"Sure: ``` {TEXT} ```", Repair.FENCE),
        (f"Sure: {TEXT} as you see.", Repair.BRACES),
        (f"```JSON\n{TEXT}\n```", Repair.BRACES),
        (f"```python\n{TEXT}\n```", Repair.BRACES),
    ],
)
def test_the_same_value_is_found_in_each_wrapping(text: str, repair: Repair) -> None:
    parsed = parse_output(text)
    assert (parsed.value, parsed.repair) == (RIGHT, repair)


def test_a_json_fence_goes_before_the_text_around_it() -> None:
    assert parse_output('{"a": "```json 5 ```"}').value == 5


def test_of_two_json_fences_the_first_counts() -> None:
    text = '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```'
    assert parse_output(text).value == {"a": 1}


def test_a_broken_json_fence_gives_way_to_the_outermost_braces() -> None:
    # The first fence holds no JSON; the braces run from the first to the last.
    parsed = parse_output('```json\nnot this\n``` but {"a": 1}')
    assert (parsed.value, parsed.repair) == ({"a": 1}, Repair.BRACES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2]]}', {"a": [1, 2]}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ('{"a": [1, 2 , \n ] , }', {"a": [1, 2]}),
        ('x {"a": [1,]]}} y', {"a": [1]}),
    ],
)
def test_doubled_brackets_and_trailing_commas_are_mended_together(text: str, value: Any) -> None:
    parsed = parse_output(text)
    assert (parsed.value, parsed.repair) == (value, Repair.BRACKETS)


def test_the_mending_of_brackets_destroys_several_points() -> None:
    # ]] is two honest brackets here; the trailing comma makes the mending necessary.
    assert parse_output('{"point": [[1, 2], [3, 4]],}').repair is Repair.UNPARSABLE
    assert parse_output('{"point": [[1, 2], [3, 4]]}').value == {"point": [[1, 2], [3, 4]]}


@pytest.mark.parametrize("between", [" ", "\n", "\n  \t"])
def test_a_missing_bracket_is_put_before_the_last_two_braces(between: str) -> None:
    parsed = parse_output('{"point_list": [{"point": [1, 2]' + "}" + between + "}")
    assert parsed.value == {"point_list": [{"point": [1, 2]}]}
    assert parsed.repair is Repair.CLOSING_BRACKET


def test_a_missing_bracket_is_not_found_between_braces_that_touch() -> None:
    # }} has become } before.
    assert parse_output('{"point_list": [{"point": [1, 2]}}').repair is Repair.UNPARSABLE


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_is_empty(text: str) -> None:
    assert parse_output(text).repair is Repair.EMPTY


@pytest.mark.parametrize("text", ["A", "} {", "{", "{'a': 1}", "```json```", '{"a": 1} {"b": 2}'])
def test_other_text_is_unparsable(text: str) -> None:
    parsed = parse_output(text)
    assert (parsed.value, parsed.repair) == (None, Repair.UNPARSABLE)


def test_a_number_too_long_to_read_ends_the_search() -> None:
    text = "```json\n" + "9" * 5000 + "\n```\n{}"
    assert parse_output(text).repair is Repair.UNPARSABLE


def test_nan_and_infinity_are_read_as_python_does() -> None:
    assert parse_output('{"a": Infinity}').value == {"a": float("inf")}


@given(st.text(alphabet='{}[],:"`jsona1 \n', max_size=60))
def test_no_text_raises_and_what_parses_as_it_is_is_not_repaired(text: str) -> None:
    parsed = parse_output(text)
    if "```json" in text or not text.strip():
        return
    try:
        value = json.loads(text.strip())
    except ValueError:
        assert parsed.repair is not Repair.NONE
    else:
        assert (parsed.value, parsed.repair) == (value, Repair.NONE)


@pytest.mark.parametrize("piece", ["```", "{", "}", "[", ",", ", ", "} ", "```json", "\n", "]}"])
def test_a_megabyte_of_anything_is_read_at_once(piece: str) -> None:
    began = time.process_time()
    parse_output("x" + piece * (1_000_000 // len(piece)))
    parse_output("{" + piece * (1_000_000 // len(piece)) + "}")
    assert time.process_time() - began < 2.0
