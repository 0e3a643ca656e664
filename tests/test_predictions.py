"""Predictions survive crashes, and say what they cannot read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.line_log import encode_line
from replay.predictions import (
    Prediction,
    PredictionError,
    PredictionLog,
    counting,
    read_predictions,
)

ONE = Prediction(video_name="a.mp4", instruction=3, output='{"x": 1}', coord_order="yx")
TWO = Prediction(video_name="b.mp4", instruction=1, output="你好\u2028\x85", folder="data_zn/指令1")
FAILED = Prediction(video_name="c.mp4", instruction=6, error="refused")


def written(path: Path, *lines: Prediction) -> Path:
    with PredictionLog(path) as log:
        for line in lines:
            log.append(line)
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = written(tmp_path / "deep" / "p.jsonl", ONE, TWO, FAILED)
    seen = read_predictions(path)
    assert seen.lines == (ONE, TWO, FAILED)
    assert not seen.torn
    assert seen.answered() == {ONE.key, TWO.key}


def test_a_line_holds_the_fields_of_the_contract() -> None:
    assert ONE.as_line() == {
        "video_name": "a.mp4",
        "instruction": 3,
        "output": '{"x": 1}',
        "coord_order": "yx",
    }
    assert FAILED.as_line() == {"video_name": "c.mp4", "instruction": 6, "error": "refused"}


def test_every_line_is_on_disk_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    with PredictionLog(path) as log:
        log.append(ONE)
        assert read_predictions(path).lines == (ONE,)
        log.append(TWO)
        assert log.answered == {ONE.key, TWO.key}


@given(text=st.text(st.characters(codec=None), max_size=20))
def test_any_text_survives_even_half_a_surrogate_pair(text: str) -> None:
    line = Prediction(video_name="a.mp4", instruction=1, output=text)
    encoded = encode_line(line.as_line())
    assert encoded.count(b"\n") == 1
    assert json.loads(encoded)["output"] == text


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_is_passed_over_and_removed(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "p.jsonl", ONE, TWO)
    path.write_bytes(path.read_bytes()[:-cut])
    seen = read_predictions(path)
    if cut > 1:  # else only the line feed is gone and the line is whole
        assert seen.lines == (ONE,)
        assert seen.torn
    with PredictionLog(path) as log:
        assert ONE.key in log.answered
        log.append(FAILED)
        log.append(TWO)
    after = read_predictions(path)
    assert after.lines == ((ONE, TWO) if cut == 1 else (ONE,)) + (FAILED, TWO)
    assert not after.torn


def test_zeros_at_the_end_after_a_power_cut_are_a_torn_line(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", ONE)
    path.write_bytes(path.read_bytes() + bytes(512))
    assert read_predictions(path).torn
    written(path, TWO)
    assert read_predictions(path).lines == (ONE, TWO)


def test_a_file_that_is_nothing_but_a_torn_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"video_na')
    written(path, ONE)
    assert read_predictions(path).lines == (ONE,)


def test_a_last_line_without_a_line_feed_counts_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(ONE.as_line()))
    assert read_predictions(path).lines == (ONE,)
    written(path, TWO)
    assert read_predictions(path).lines == (ONE, TWO)


def test_fresh_begins_with_an_empty_file(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", ONE)
    with PredictionLog(path, fresh=True) as log:
        assert log.answered == set()
        log.append(TWO)
    assert read_predictions(path).lines == (TWO,)


def test_an_error_is_asked_again_and_an_answer_is_not(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", ONE, FAILED)
    with PredictionLog(path) as log:
        assert log.answered == {ONE.key}


def test_an_answer_counts_before_an_error_and_then_the_last_line() -> None:
    later = Prediction(video_name="c.mp4", instruction=6, output="later")
    latest = Prediction(video_name="c.mp4", instruction=6, output="latest")
    again = Prediction(video_name="c.mp4", instruction=6, error="again")
    assert counting([FAILED, again])[FAILED.key] == again
    assert counting([FAILED, later, again])[FAILED.key] == later
    assert counting([latest, later, again])[FAILED.key] == later


@pytest.mark.parametrize(
    ("written_as", "instruction"), [(3, 3), ("3", 3), ("指令3", 3), ("Inst3", 3), (3.0, 3)]
)
def test_an_instruction_may_be_a_number_or_a_folders_name(
    tmp_path: Path, written_as: Any, instruction: int
) -> None:
    path = tmp_path / "p.jsonl"
    line = ONE.as_line() | {"instruction": written_as, "model": "other fields are let through"}
    path.write_text(json.dumps(line) + "\n\n")
    assert [seen.instruction for seen in read_predictions(path).lines] == [instruction]


@pytest.mark.parametrize(
    ("output", "text"), [(None, ""), ("x", "x"), ({"a": "你"}, '{"a": "你"}'), ([1], "[1]")]
)
def test_an_output_that_was_parsed_already_is_taken_as_its_json(
    tmp_path: Path, output: Any, text: str
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(ONE.as_line() | {"output": output}))
    assert read_predictions(path).lines[0].output == text


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"{", "line 2"),
        (b"[1]", "line 2"),
        (b"\xff\xfe", "line 2"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"instruction": 1}', "video_name"),
        (b'{"video_name": 5, "instruction": 1}', "video_name"),
        (b'{"video_name": "a", "instruction": 7}', "not 1 to 6"),
        (b'{"video_name": "a", "instruction": "x"}', "none of 1 to 6"),
        (b'{"video_name": "a", "instruction": 1, "coord_order": "zz"}', "coord_order"),
    ],
)
def test_a_bad_line_is_an_error_that_names_it(tmp_path: Path, bad: bytes, says: str) -> None:
    path = written(tmp_path / "p.jsonl", ONE)
    path.write_bytes(path.read_bytes() + bad + b"\n" + path.read_bytes())
    with pytest.raises(PredictionError, match=says) as caught:
        read_predictions(path)
    assert "p.jsonl, line 2" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(PredictionError):
        PredictionLog(path)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"error": None, "output": "x"}, None),
        ({"error": "", "output": "x"}, None),
        ({"error": False, "output": None}, None),
        ({"error": ""}, "no reason given"),
        ({"error": "refused", "output": "x"}, "refused"),
        ({"error": {"code": 429}}, '{"code": 429}'),
    ],
)
def test_an_error_is_told_from_an_answer(tmp_path: Path, fields: Any, error: str | None) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"video_name": "a.mp4", "instruction": 1} | fields))
    assert [line.error for line in read_predictions(path).lines] == [error]


def test_half_a_surrogate_pair_survives_the_file(tmp_path: Path) -> None:
    line = Prediction(video_name="a.mp4", instruction=1, output="\ud800", folder="指令1")
    assert read_predictions(written(tmp_path / "p.jsonl", line)).lines == (line,)
