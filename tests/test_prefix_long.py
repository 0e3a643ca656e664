"""A long session in fast pace: the real stages over a made-up stream, and what they remember."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from client.commands.measure_long import long
from replay.measure.long_stream import run_long


def test_long_session_asks_and_remembers_words_and_frames(tmp_path: Path) -> None:
    lines: list[str] = []
    trace = tmp_path / "trace.jsonl"
    run = asyncio.run(run_long(1.0, trace, listeners=[lambda line: lines.append(line["type"])]))
    (sample,) = run.samples
    words = [kind for kind in lines if kind == "Word"]
    assert run.counters["prefix_words"] == len(words) > 50
    assert run.queries == run.counters["queries"] == lines.count("Answer") >= 5
    assert run.most_frames == 64
    assert 50 < run.most_words <= len(words)
    assert 0 < sample.facts["prefix_frames"] <= 128
    assert sample.facts["prefix_bytes"] <= sample.facts["prefix_bytes_most"]
    last = json.loads(trace.read_text().splitlines()[-1])
    assert last["type"] == "End"
    assert last["counters"]["prefix_frames"] == run.counters["prefix_frames"]


def test_command_says_what_is_remembered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert long(minutes=1.0, trace=tmp_path / "kept.jsonl", print_json=True) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["growth_mb"] is None
    assert said["queries"] > 0
    assert (tmp_path / "kept.jsonl").is_file()
