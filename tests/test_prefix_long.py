"""A long session in fast pace: the real stages over a made-up stream, and what they remember."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from client.commands.latency import remembered_line
from client.commands.measure_long import long


def test_long_session_says_what_it_asked_and_remembers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace = tmp_path / "kept.jsonl"
    assert long(minutes=1.0, trace=trace, print_json=True) == 0
    said = json.loads(capsys.readouterr().out)
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    kinds = Counter(line["type"] for line in lines)
    (sample,) = said["samples"]
    assert said["growth_mb"] is None  # of one sample nothing can be said
    assert said["counters"]["prefix_words"] == kinds["Word"] > 50
    assert said["queries"] == said["counters"]["queries"] == kinds["Answer"] >= 5
    assert said["most_frames"] == 64
    assert 50 < said["most_words"] <= kinds["Word"]
    assert 0 < sample["facts"]["prefix_frames"] <= 128
    assert sample["facts"]["prefix_bytes"] <= sample["facts"]["prefix_bytes_most"]
    assert lines[-1]["type"] == "End"
    assert lines[-1]["counters"]["prefix_frames"] == said["counters"]["prefix_frames"]


def test_latency_says_what_was_remembered() -> None:
    told = {"prefix_frames": 253, "prefix_bytes": 7_663_272, "prefix_bytes_most": 7_723_688}
    assert remembered_line({**told, "prefix_words": 2160}) == (
        "remembered of the stream: 253 frames, 7.7 MB (at most 7.7 MB), 2160 words"
    )
    assert remembered_line({"frames_skipped": 2}) == ""
