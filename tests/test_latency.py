"""Delays of decisions, ages and compute, from traces."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.cli import run as run_command
from replay.delays import MEASURES, clip_delays
from replay.latency import Change, LatencyTally, comparable, run_latency, summarise
from replay.latency_json import latency_document
from replay.run_folder import ClipRun, open_run, read_clip
from replay.trace_reader import End, Header, Machine, Recorded, Spent, Wall
from streaming.events import (
    Answer,
    Binding,
    Deictic,
    Partial,
    Skipped,
    Stroke,
    StrokeEnd,
    Word,
)
from tests.run_maker import ClipMaker, make_clip, make_run, write_trace
from tests.run_scripts import MUG, SCRIPTS


def recorded(event: Any, known_at: float, lag: float = 0.0, *, finish: bool = False) -> Recorded:
    return Recorded(event=event, known_at=known_at, emitted_at=known_at + lag, finish=finish)


def word(text: str, onset: float, offset: float, utterance: int = 0) -> Word:
    return Word(text=text, onset=onset, offset=offset, utterance=utterance)


def stroke(index: int, apex: float) -> Stroke:
    return Stroke(index=index, onset=apex - 0.4, apex=apex, tip=(0.5, 0.5), knuckle=(0.6, 0.6))


def deictic(index: int, onset: float, offset: float) -> Deictic:
    return Deictic(index=index, text="this", onset=onset, offset=offset, kind="object")


def clip_of(
    *items: Recorded,
    pace: str = "realtime",
    machine: str = "cpu",
    duration: float = 10.0,
    wall: Wall | None = None,
) -> ClipRun:
    return ClipRun(
        name="clip",
        folder=None,
        header=Header(pace=pace, machine=Machine(cpu=machine), model="local"),
        recorded=items,
        end=End(complete=True, duration=duration, wall=wall or Wall()),
    )


def delays_of(*items: Recorded) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(round(delay.unaware, 6), round(delay.aware, 6)) for delay in delays]
        for name, delays in clip_delays(clip_of(*items)).items()
    }


def test_word_is_late_by_its_commit_minus_its_end() -> None:
    found = delays_of(recorded(word("this", 1.0, 1.3), 2.0, 0.25))
    assert found["word_committed"] == [(0.7, 0.95)]


def test_word_is_shown_by_the_first_hypothesis_that_holds_it() -> None:
    found = delays_of(
        recorded(Partial(utterance=0, words=(word("Put", 0.5, 0.8),)), 1.0),
        recorded(Partial(utterance=0, words=(word("that", 1.0, 1.3),)), 1.4),
        recorded(Partial(utterance=0, words=(word("This!", 1.1, 1.3),)), 1.8, 0.1),
        recorded(word("this", 1.0, 1.3), 2.4),
    )
    assert found["partial_shown"] == [(0.8, 0.9)]


def test_word_that_no_hypothesis_held_is_shown_when_committed() -> None:
    elsewhere = Partial(utterance=1, words=(word("this", 1.0, 1.3, 1),))
    later = Partial(utterance=0, words=(word("this", 5.0, 5.3),))
    found = delays_of(
        recorded(elsewhere, 1.2), recorded(later, 1.5), recorded(word("this", 1.0, 1.3), 2.4)
    )
    assert found["partial_shown"] == [(1.4, 1.4)]


def test_stroke_is_late_by_its_announcement_minus_its_apex() -> None:
    found = delays_of(
        recorded(stroke(0, 3.0), 3.1, 0.05), recorded(StrokeEnd(index=0, offset=4.0), 4.2)
    )
    assert found["stroke_announced"] == [(0.1, 0.15)]
    assert found["stroke_ended"] == [(0.2, 0.2)]


@pytest.mark.parametrize(
    ("binding", "late"),
    [
        (Binding(deictic=0, stroke=0, probability=0.9, reason="margin"), 5.0 - 3.0),
        (Binding(deictic=1, stroke=0, probability=0.9, reason="margin"), 5.0 - 3.6),
        (Binding(deictic=0, stroke=None, probability=0.9, reason="window"), 5.0 - 2.5),
        (Binding(deictic=None, stroke=0, probability=0.9, reason="deadline"), 5.0 - 3.0),
    ],
)
def test_binding_is_late_after_the_later_of_word_and_apex(binding: Binding, late: float) -> None:
    found = delays_of(
        recorded(deictic(0, 2.0, 2.5), 2.7),
        recorded(deictic(1, 3.2, 3.6), 3.8),
        recorded(stroke(0, 3.0), 3.1),
        recorded(binding, 5.0),
    )
    assert found["binding_committed"] == [(round(late, 6), round(late, 6))]


def test_binding_to_things_that_the_trace_lacks_has_no_delay() -> None:
    lost = Binding(deictic=7, stroke=9, probability=0.5, reason="end")
    assert delays_of(recorded(lost, 5.0))["binding_committed"] == []


def test_answer_is_late_after_what_was_known_when_it_was_given() -> None:
    found = delays_of(
        recorded(word("this", 1.0, 1.5), 2.0),
        recorded(stroke(0, 1.8), 2.1),
        recorded(Answer(turn=0, referents=(), frame_time=2.0, final=False), 3.0, 0.1),
        recorded(Answer(turn=0, referents=(), frame_time=2.0), 3.0, 0.5),
        recorded(word("later", 4.0, 4.5), 5.0),
    )
    assert found["answer_first"] == [(1.2, 1.3)]
    assert found["answer_after_word"] == [(1.5, 2.0)]
    assert found["answer_after_stroke"] == [(1.2, 1.7)]


def test_silent_clip_has_no_answer_after_a_word() -> None:
    found = delays_of(
        recorded(stroke(0, 1.8), 2.1), recorded(Answer(turn=0, referents=(), frame_time=2.0), 3.0)
    )
    assert found["answer_after_word"] == []
    assert found["answer_after_stroke"] == [(1.2, 1.2)]


def test_what_only_the_end_brought_out_is_counted() -> None:
    tally = LatencyTally()
    tally.add(clip_of(recorded(word("this", 1.0, 1.3), 2.0, finish=True)))
    assert tally.total("run").delays["word_committed"].at_end == 1


# --- summaries ---


def test_summary_of_nothing_is_nothing() -> None:
    empty = summarise([])
    assert (empty.n, empty.p50, empty.p95, empty.p99, empty.most) == (0, None, None, None, None)


@pytest.mark.parametrize(("n", "there"), [(99, False), (100, True)])
def test_p99_needs_a_hundred_samples(n: int, there: bool) -> None:
    assert (summarise(range(n)).p99 is not None) is there


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_quantiles_rise_and_stay_inside_the_samples(samples: list[float]) -> None:
    summary = summarise(samples)
    assert summary.n == len(samples)
    assert summary.p50 is not None
    assert summary.p95 is not None
    assert min(samples) <= summary.p50 <= summary.p95 <= max(samples)
    assert math.isclose(summary.p50, float(np.median(samples)), abs_tol=1e-6)


@given(st.permutations(list(range(6))))
def test_order_of_the_clips_does_not_matter(order: list[int]) -> None:
    clips = [
        clip_of(recorded(word("this", 1.0, 1.3), 1.5 + 0.1 * n, 0.01 * n), duration=5.0 + n)
        for n in range(6)
    ]
    tally = LatencyTally()
    for n in order:
        tally.add(clips[n])
    total = tally.total("run")
    expected = [0.2 + 0.11 * n for n in range(6)]
    assert total.delays["word_committed"].samples == pytest.approx(expected)
    assert total.media_seconds == pytest.approx(45.0)


def test_fast_pace_has_no_aware_delay_and_says_so() -> None:
    tally = LatencyTally()
    tally.add(clip_of(recorded(word("this", 1.0, 1.3), 2.0), pace="fast"))
    total = tally.total("run")
    assert total.delays["word_committed"].aware is None
    assert total.delays["word_committed"].shown.p50 == pytest.approx(0.7)
    assert "compute counts as zero" in total.notes[0]


def test_mixed_paces_and_machines_are_named() -> None:
    tally = LatencyTally()
    tally.add(clip_of(pace="fast", machine="one"))
    tally.add(clip_of(pace="realtime", machine="two"))
    total = tally.total("run")
    assert total.pace == "fast + realtime"
    assert total.machine == "one + two"
    assert any("different paces" in note for note in total.notes)
    assert any("different machines" in note for note in total.notes)


def test_compute_is_added_up_and_divided_by_media() -> None:
    def wall(busy: float, longest: float) -> Wall:
        spent = Spent(busy=busy, longest=longest, steps=10)
        return Wall(cpu_seconds=4.0, wall_seconds=11.0, rss_mb=500.0, components={"vad": spent})

    tally = LatencyTally()
    tally.add(clip_of(wall=wall(1.0, 0.2)))
    tally.add(clip_of(wall=wall(3.0, 0.1)))
    tally.add(clip_of())
    cost = tally.total("run").compute
    assert cost.media_seconds == 20.0
    assert cost.busy["vad"] == Spent(busy=4.0, longest=0.2, steps=20)
    assert cost.real_time_factor == pytest.approx(0.2)
    assert cost.cpu_per_second == pytest.approx(0.4)
    assert cost.rss_mb == 500.0


def test_skipped_work_is_added_up_by_what_it_was() -> None:
    tally = LatencyTally()
    for count in (2, 3):
        tally.add(clip_of(recorded(Skipped(what="frame", onset=1.0, offset=1.0, count=count), 1.0)))
    total = tally.total("run")
    assert total.skipped == {"frame": 5}
    assert total.warnings == ("the machine was behind and left work out: frame 5",)


def test_change_has_no_ratio_over_zero_or_nothing() -> None:
    assert Change(base=0.0, other=1.0).ratio is None
    assert Change(base=None, other=1.0).delta is None
    assert Change(base=2.0, other=1.0).ratio == 0.5


def test_runs_that_cannot_be_compared_are_warned_about() -> None:
    def total(pace: str, machine: str, clips: int) -> Any:
        tally = LatencyTally()
        for _ in range(clips):
            tally.add(clip_of(pace=pace, machine=machine))
        return tally.total(f"{pace} run")

    assert comparable(total("fast", "a", 1), total("fast", "a", 1)) == ()
    said = comparable(total("fast", "a", 1), total("realtime", "b", 2))
    assert [text.split()[0] for text in said] == ["pace", "machine", "material"]


# --- the command ---


def test_command_prints_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "a", pictures=False)
    make_run(tmp_path / "b", pictures=False, pace="fast")
    assert run_command(["latency", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    first, second = document["runs"]
    assert (first["pace"], second["pace"]) == ("realtime", "fast")
    assert list(first["delays"]) == list(MEASURES)
    assert first["machine"].startswith("Imaginary CPU")
    assert first["delays"]["stroke_announced"]["unaware"]["p50"] == pytest.approx(0.1)
    assert first["delays"]["stroke_announced"]["aware"]["p50"] > 0.1
    assert second["delays"]["stroke_announced"]["aware"] is None
    assert first["ages"]["frame_age_ms"]["p99"] is not None
    assert first["compute"]["cpu_by_stage"]["hearing"] == pytest.approx(0.4, abs=0.001)
    assert first["compute"]["components"]["vad"]["cpu_per_second"] == pytest.approx(0.018, abs=1e-3)
    assert first["compute"]["real_time_factor"] == pytest.approx(0.622, abs=0.001)
    comparison = document["comparisons"][0]
    assert comparison["compared"] == "unaware"
    assert any("pace differs" in warning for warning in comparison["warnings"])
    assert comparison["delays"]["stroke_announced"]["p50"]["ratio"] == pytest.approx(1.0)


def test_command_names_pace_and_machine_and_shows_no_p99_of_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    make_clip(tmp_path / "one", MUG, pictures=False)
    assert run_command(["latency", str(tmp_path / "one" / "trace.jsonl")]) == 0
    printed = capsys.readouterr().out
    assert "pace realtime on Imaginary CPU @ 2.5 GHz, 2 cores" in printed
    committed = next(line for line in printed.splitlines() if "word committed" in line)
    *_, n, _, p50, p95, p99, most, _ = committed.split()
    assert (n, p99) == ("5", "–")
    assert float(p50) <= float(p95) <= float(most)


def test_command_without_a_run_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["latency"]) == 2
    assert "RUN" in capsys.readouterr().err.upper()


def test_command_on_nothing_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["latency", str(tmp_path)]) == 1
    said = capsys.readouterr().err.strip()
    assert "\n" not in said
    assert "is it a run folder?" in said


def test_markup_in_names_is_only_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_clip(tmp_path / "[bold]x[red]", MUG, pictures=False)
    assert run_command(["latency", str(tmp_path / "[bold]x[red]")]) == 0
    assert "[bold]x[red]" in capsys.readouterr().out


def test_document_is_strict_json(tmp_path: Path) -> None:
    folder = make_run(tmp_path, SCRIPTS, pictures=False)
    opened = open_run(folder)
    total = run_latency(opened, [read_clip(trace) for trace in opened.traces])
    json.dumps(latency_document([total, total]), allow_nan=False)


def test_damaged_numbers_never_reach_the_document(tmp_path: Path) -> None:
    lines = ClipMaker(MUG).lines()
    huge = 1.7e308
    lines[-1]["duration"] = huge
    lines[-1]["wall"] |= {"frame_age_ms": [huge, -huge] * 60, "cpu_seconds": huge}
    lines[-1]["wall"]["components"] = {
        name: {"busy": huge, "longest": huge, "steps": 1} for name in ("a", "b")
    }
    early = {"type": "Stroke", "known_at": 0.0, "emitted_at": 0.0, "stage": "seeing", "index": 9,
             "onset": -huge, "apex": 1.0, "tip": [0, 0], "knuckle": [0, 0]}  # fmt: skip
    write_trace(tmp_path / "trace.jsonl", [lines[0], early, *lines[1:]])
    opened = open_run(tmp_path / "trace.jsonl")
    total = run_latency(opened, [read_clip(trace) for trace in opened.traces])
    assert total.faults == 1
    assert total.media_seconds == MUG.duration
    json.dumps(latency_document([total, total]), allow_nan=False)


JOURNEY = {
    "within_ms": 0.4,
    "lead_ms": 60.0,
    "sound": {"network_ms": [20.0, 30.0], "decoding_ms": [1.0], "whole_ms": [25.0]},
    "pictures": {"network_ms": [40.0], "decoding_ms": [9.0], "whole_ms": [49.0]},
    "feed_ms": [1.0, 3.0],
    "reader_ms": [],
}


def live_trace(folder: Path, **journey: Any) -> Path:
    """A session in which a word of 1.0 to 1.4 s was emitted at 2.0 s, and one by the end."""
    words = [recorded(word("this", 1.0, 1.4), 1.9, 0.1), recorded(word("mug", 1.5, 1.9), 2.5)]
    lines: list[dict[str, Any]] = [
        {"type": "Header", "format": 1, "pace": "live", "source": {"name": "websocket"}},
        *(
            {
                "type": "Word",
                "known_at": item.known_at,
                "emitted_at": item.emitted_at,
                "stage": "hearing",
                **({"finish": True} if item is words[1] else {}),
                "text": item.event.text,
                "onset": item.event.onset,
                "offset": item.event.offset,
            }
            for item in words
        ),
        {"type": "End", "complete": True, "duration": 3.0, "wall": {"journey": journey}},
    ]
    folder.mkdir(parents=True)
    trace = folder / "trace.jsonl"
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return trace


def test_a_live_session_is_measured_from_the_glass(tmp_path: Path) -> None:
    run = open_run(live_trace(tmp_path / "s", **JOURNEY))
    live = run_latency(run, [read_clip(run.traces[0])]).live
    assert live is not None
    assert (live.sessions, live.compared, live.within) == (1, 1, 0.0004)
    committed = live.glass["word_committed"]
    assert committed.n == 1  # not the one that the end brought out
    assert committed.p50 == pytest.approx(0.6 + 0.06 + 0.002)
    assert live.ways["sound_network_ms"].p50 == 25.0
    assert live.ways["pictures_whole_ms"].p50 == 49.0
    assert live.ways["reader_ms"].n == 0


def test_what_a_reader_says_counts_more_than_what_the_server_knows(tmp_path: Path) -> None:
    run = open_run(live_trace(tmp_path / "s", **{**JOURNEY, "reader_ms": [10.0]}))
    live = run_latency(run, [read_clip(run.traces[0])]).live
    assert live is not None
    assert live.glass["word_committed"].p50 == pytest.approx(0.6 + 0.06 + 0.01)


def test_a_sender_without_a_clock_has_ways_but_no_glass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = live_trace(tmp_path / "s", **{**JOURNEY, "lead_ms": None})
    assert run_command(["latency", str(trace)]) == 0
    shown = capsys.readouterr().out
    assert "on the way" in shown
    assert "from the glass" not in shown
    assert "1 of 1 live sessions" in shown
    assert run_command(["latency", str(trace), "--json"]) == 0
    live = json.loads(capsys.readouterr().out)["runs"][0]["live"]
    assert live["glass"]["word_committed"]["n"] == 0
    assert live["ways"]["feed_ms"]["p50"] == 2.0


def test_a_folder_of_recorded_sessions_is_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        trace = live_trace(tmp_path / name, **JOURNEY)
        trace.rename(tmp_path / f"{name}.trace.jsonl")
    assert run_command(["latency", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "from the glass to the event" in shown
    assert "within 0.4 ms" in shown
    assert "2 clips" in shown


def test_a_damaged_journey_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    damaged = {"sound": [1], "pictures": {"network_ms": ["x", 5.0]}, "feed_ms": 3}
    run = open_run(live_trace(tmp_path / "s", **damaged))
    live = run_latency(run, [read_clip(run.traces[0])]).live
    assert live is not None
    assert live.ways["pictures_network_ms"].n == 1
    assert live.ways["feed_ms"].n == 0
