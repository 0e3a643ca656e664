"""Run folders as they come: whole, cut off, damaged, hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.run_folder import RunError, open_run, read_clip
from replay.trace_reader import FAULTS_KEPT, LONGEST_LINE, Recorded, TraceReader
from streaming.events import CameraMotion, HandsSeen, Stroke, Word
from streaming.trace import dump_line
from tests.run_maker import ClipMaker, make_clip, make_run, write_trace
from tests.run_scripts import CHINESE, MUG


def read_lines(*lines: str | bytes) -> tuple[list[Recorded], TraceReader]:
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    reader = TraceReader(raw)
    return list(reader), reader


def word_line(**changes: Any) -> str:
    line = {"type": "Word", "known_at": 2.0, "emitted_at": 2.1, "stage": "hearing"}
    return json.dumps(line | {"text": "this", "onset": 1.0, "offset": 1.3} | changes)


def test_whole_clip_reads_back_without_a_fault(tmp_path: Path) -> None:
    make_clip(tmp_path, MUG)
    clip = read_clip(tmp_path / "trace.jsonl")
    assert clip.faults == ()
    assert clip.complete
    assert clip.duration == MUG.duration
    assert [item.event.text for item in clip.events(Word)] == [said.text for said in MUG.words]
    assert clip.header is not None
    assert clip.header.pace == "realtime"
    assert str(clip.header.machine) == "Imaginary CPU @ 2.5 GHz, 2 cores, Linux 6.1"
    assert clip.end is not None
    assert clip.end.counters["frames_skipped"] == 2
    assert len(clip.end.wall.frame_age_ms) == int(MUG.duration * 30)
    assert clip.truth.text("level") == "L3"


def test_events_of_every_frame_go_to_the_caller_and_are_not_kept(tmp_path: Path) -> None:
    make_clip(tmp_path, MUG)
    dense: list[Recorded] = []
    clip = read_clip(tmp_path / "trace.jsonl", dense=dense.append)
    assert len(dense) == 2 * int(MUG.duration * 30)
    assert not clip.events(HandsSeen)
    assert not clip.events(CameraMotion)
    assert len(clip.events(Stroke)) == 2


def test_run_names_its_clips_in_order_and_what_failed(tmp_path: Path) -> None:
    make_run(tmp_path / "run", (CHINESE, MUG))
    run = open_run(tmp_path / "run")
    assert [trace.parent.name for trace in run.traces] == [CHINESE.name, MUG.name]
    assert (run.pace, run.model, run.benchmark) == ("realtime", "local", "ecog")
    assert [one.source for one in run.failed] == ["broken.mp4"]
    assert run.notes == ()


def test_clip_folder_and_trace_are_runs_of_one_clip(tmp_path: Path) -> None:
    make_clip(tmp_path / "one", MUG)
    for path in (tmp_path / "one", tmp_path / "one" / "trace.jsonl"):
        run = open_run(path)
        assert [trace.name for trace in run.traces] == ["trace.jsonl"]
        assert run.folder == tmp_path / "one"


def test_path_without_a_run_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no such run; give a run folder"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"no run\.json and no clip"):
        open_run(tmp_path)


def test_run_without_its_run_json_is_read_clip_by_clip(tmp_path: Path) -> None:
    make_run(tmp_path, (MUG, CHINESE))
    (tmp_path / "run.json").write_text('{"clips": [', encoding="utf-8")
    run = open_run(tmp_path)
    assert [trace.parent.name for trace in run.traces] == sorted((MUG.name, CHINESE.name))
    assert "run.json" in run.notes[0]


def test_clip_that_the_run_does_not_name_is_left_out_and_said(tmp_path: Path) -> None:
    make_run(tmp_path, (MUG,), pictures=False)
    make_clip(tmp_path / "unfinished", CHINESE, pictures=False)
    run = open_run(tmp_path)
    assert [trace.parent.name for trace in run.traces] == [MUG.name]
    assert run.notes == ("left out, as run.json does not name it: 'unfinished'",)


@pytest.mark.parametrize("name", ["../outside", "/etc", "a/../../outside", "\0", "x" * 5000])
def test_clip_names_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    make_clip(tmp_path / "outside", MUG, pictures=False)
    folder = make_run(tmp_path / "run", (MUG,), pictures=False)
    content = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(content | {"clips": [name, MUG.name]}))
    run = open_run(folder)
    assert [trace.parent.name for trace in run.traces] == [MUG.name]
    assert len(run.notes) == 1


def test_torn_last_line_is_counted_and_the_rest_kept(tmp_path: Path) -> None:
    lines = [dump_line(line) for line in ClipMaker(MUG).lines()]
    whole = "\n".join(lines[: len(lines) // 2]) + "\n" + lines[len(lines) // 2][:20]
    (tmp_path / "trace.jsonl").write_text(whole, encoding="utf-8")
    clip = read_clip(tmp_path / "trace.jsonl")
    assert not clip.complete
    assert clip.fault_count == 2
    assert "breaks off" in clip.faults[-1].text
    assert clip.recorded


def test_empty_trace_has_no_header_and_no_end(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_bytes(b"")
    clip = read_clip(tmp_path / "trace.jsonl")
    assert [fault.text for fault in clip.faults] == [
        "no header line",
        "no End line: the trace breaks off after line 0",
    ]
    assert clip.duration == 0.0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"\xff\xfe", "no UTF-8"),
        ("[1, 2]", "expected an object"),
        ("{" * 100_000, "at character"),
        ("[" * 100_000, "nested too deeply"),
        (word_line(type="Nonsense"), "unknown event type"),
        (word_line(type={}), "unknown event type"),
        (word_line(text=5), "expected str"),
        (word_line(onset="soon"), "could not convert"),
        (word_line(onset=3.0), "spans"),
        (word_line(known_at=None), "is no number"),
        (word_line(known_at=True), "is no number"),
        (word_line(known_at="2"), "is no number"),
        (word_line(probability=10**400), "too large"),
        (word_line().replace("2.1", "NaN"), "NaN is no JSON number"),
        (word_line().replace("2.1", "1" * 5000), "digits"),
        (b" " * 3 + b"x" * (LONGEST_LINE + 1), "longer than"),
    ],
)
def test_bad_line_is_named_and_passed_over(line: str | bytes, says: str) -> None:
    events, reader = read_lines(line, word_line())
    assert [item.event.text for item in events] == ["this"]
    assert reader.faults[0].line == 1
    assert says in reader.faults[0].text


def test_lines_out_of_place_are_named() -> None:
    header = json.dumps({"type": "Header", "format": 1})
    end = json.dumps({"type": "End", "complete": True})
    events, reader = read_lines(
        header, header, word_line(), word_line(known_at=1.0), end, word_line()
    )
    assert len(events) == 3
    said = [fault.text for fault in reader.faults]
    assert said == [
        "a second header",
        "known_at falls from 2.0 to 1.0",
        "comes after the End line",
    ]


def test_trace_of_another_format_says_so() -> None:
    _, reader = read_lines(json.dumps({"type": "Header", "format": 9}))
    assert "format 9, this reads 1" in reader.faults[0].text


def test_many_faults_are_counted_but_not_kept() -> None:
    _, reader = read_lines(*["nonsense"] * 500)
    assert reader.fault_count == 502
    assert len(reader.faults) == FAULTS_KEPT


def test_blank_lines_and_carriage_returns_are_nothing() -> None:
    events, reader = read_lines("\r\n", "   \n", word_line() + "\r\n")
    assert len(events) == 1
    assert [fault.line for fault in reader.faults] == [0, 0]


def test_header_and_end_of_wrong_types_are_empty_not_errors(tmp_path: Path) -> None:
    odd: dict[str, Any] = {"source": [], "machine": "fast", "pace": 7, "config": None}
    end = {"complete": "yes", "duration": "long", "counters": [1], "wall": {"components": [1]}}
    write_trace(
        tmp_path / "trace.jsonl",
        [{"type": "Header", "format": 1} | odd, {"type": "End"} | end],
    )
    clip = read_clip(tmp_path / "trace.jsonl")
    assert clip.faults == ()
    assert not clip.complete
    assert clip.header is not None
    assert str(clip.header.machine) == "unknown machine"


@given(st.lists(st.binary(max_size=80) | st.sampled_from([word_line().encode(), b"{}"])))
def test_no_bytes_make_reading_fail(lines: list[bytes]) -> None:
    events, reader = read_lines(*lines)
    assert len(events) <= len(lines)
    assert reader.fault_count >= 2


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
SOME_JSON = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    kind=st.sampled_from(["Header", "End", "Word", "Stroke", "HandsSeen", "Answer", "Binding"]),
    fields=st.dictionaries(
        st.sampled_from(
            ["known_at", "emitted_at", "text", "onset", "offset", "apex", "tip", "hands", "index",
             "referents", "turn", "wall", "counters", "source", "machine", "format", "deictic"]
        ),
        SOME_JSON,
    ),
)  # fmt: skip
def test_no_values_make_reading_fail(kind: str, fields: dict[str, Any]) -> None:
    times = {"known_at": 1.0, "emitted_at": 1.0}
    read_lines(json.dumps({**times, **fields, "type": kind}))
