"""Simulated scenes, baselines, calibration, and measuring against an EcoG tree."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from client.commands.measure_binding import binding
from replay.measure.binding import Tally, Timing, bind_scene, quantile, simulate_level
from replay.measure.binding_ecog import measure_run, measure_true, places_of
from replay.measure.binding_prior import AnnotationError, fit_prior, read_lags
from replay.measure.binding_truth import load_true_clips
from replay.measure.deixis import SentenceError, read_sentences
from replay.simulate import CLEAN, HARSH, INSTANT, LEVELS, REALISTIC, arrivals, between, scenes
from streaming.binding import Binder, BindingSettings
from streaming.binding_baselines import hungarian, nearest_apex, offline_optimum
from streaming.binding_calibration import Curve, Evidence, fit_curve, reliability
from streaming.binding_scores import Scores
from streaming.config import config_path, load
from streaming.events import Binding, Deictic, DeicticsSeen, Event, Stroke, StrokesSeen
from streaming.trace import dump_line, encode_event
from tests.made_truths import clip_truth, pointed, said, write_tree

SETTINGS = load(BindingSettings, config_path("binding.toml"))


def word(index: int, onset: float) -> Deictic:
    return Deictic(index=index, text="this", onset=onset, offset=onset + 0.3, kind="object")


def stroke(index: int, apex: float) -> Stroke:
    return Stroke(
        index=index, onset=apex - 0.3, apex=apex, tip=(0.5, 0.5), knuckle=(0.4, 0.6), quality=0.9
    )


def write_run(root: Path, clips: dict[str, list[Event]]) -> Path:
    """A run with these events, all known after 5 s."""
    for name, events in clips.items():
        lines = [dump_line({"type": "Header", "format": 1, "version": "0", "clip": name})]
        lines += [
            dump_line(encode_event(e, known_at=5.0, emitted_at=5.0, stage="understanding"))
            for e in events
        ]
        (root / name).mkdir(parents=True)
        (root / name / "trace.jsonl").write_text("\n".join(lines), encoding="utf-8")
    record = {"format": 1, "clips": list(clips), "failed": []}
    (root / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return root


# --- simulation --------------------------------------------------------------------------------


def test_scenes_follow_from_the_seed() -> None:
    assert list(scenes(HARSH, count=5, seed=3)) == list(scenes(HARSH, count=5, seed=3))
    assert list(scenes(HARSH, count=5, seed=3)) != list(scenes(HARSH, count=5, seed=4))


def test_scenes_are_in_order_and_truth_names_their_strokes() -> None:
    for scene in scenes(HARSH, count=60, seed=0):
        onsets = [w.onset for w in scene.words]
        apexes = [s.apex for s in scene.strokes]
        assert onsets == sorted(onsets)
        assert apexes == sorted(apexes)
        named = [index for index in scene.truth if index is not None]
        assert len(set(named)) == len(named)
        assert set(named) <= {s.index for s in scene.strokes}
        assert len(scene.truth) == len(scene.words)


@pytest.mark.parametrize("delays", [INSTANT, REALISTIC])
def test_arrivals_keep_their_watermarks(delays: object) -> None:
    for scene in scenes(HARSH, count=20, seed=1):
        binder = Binder(SETTINGS)
        came = arrivals(scene, delays)  # type: ignore[arg-type]
        assert [a.at for a in came] == sorted(a.at for a in came)
        words = strokes = -math.inf
        for arrival in came:
            binder.push(arrival.event)
            match arrival.event:
                case DeicticsSeen(until=until):
                    words = max(words, until)
                case StrokesSeen(until=until):
                    strokes = max(strokes, until)
                case Deictic(onset=onset):
                    assert onset >= words
                case Stroke(apex=apex):
                    assert apex >= strokes - 1e-9


def test_levels_get_worse() -> None:
    assert between(0.5, name="half").missing == pytest.approx((CLEAN.missing + HARSH.missing) / 2.0)
    assert [level.missing for level in LEVELS] == sorted(level.missing for level in LEVELS)


def test_online_keeps_up_with_the_offline_optimum_and_beats_nearest_apex() -> None:
    pairs: list[float] = []
    right: dict[str, int] = {}
    words = 0
    for noise in LEVELS:
        level = simulate_level(noise, SETTINGS, count=60, seed=5)
        for name, tally in level.tallies.items():
            right[name] = right.get(name, 0) + tally.right
        words += level.tallies["online"].words
        assert level.tallies["online"].right >= level.tallies["nearest apex"].right
        pairs += level.instant.pairs
    assert right["online"] >= right["offline optimum"] - 0.01 * words
    assert quantile(pairs, 0.5) < 0.4


def test_realistic_delays_change_no_decision() -> None:
    for scene in scenes(HARSH, count=40, seed=2):
        one = [m.binding for m in bind_scene(scene, SETTINGS, INSTANT)]
        other = [m.binding for m in bind_scene(scene, SETTINGS, REALISTIC)]
        assert [(b.deictic, b.stroke) for b in one] == [(b.deictic, b.stroke) for b in other]


def test_tally_adds_up() -> None:
    tally = Tally()
    tally.add([0, None, 1], [0, None, None])
    tally.add([0], [0])
    assert (tally.accuracy, tally.precision, tally.recall) == (0.75, 1.0, pytest.approx(2 / 3))
    assert tally.whole_share == 0.5
    assert math.isnan(Tally().accuracy)
    assert math.isnan(quantile(Timing().pairs, 0.5))


# --- baselines ---------------------------------------------------------------------------------


def test_nearest_apex_takes_the_nearest_free_stroke() -> None:
    words, strokes = [word(0, 1.0), word(1, 1.4)], [stroke(0, 1.3), stroke(1, 4.0)]
    assert nearest_apex(words, strokes) == [0, None]


def test_only_the_hungarian_may_cross() -> None:
    scores = Scores()
    good = Stroke(index=0, onset=1.0, apex=2.35, tip=(0.5, 0.5), knuckle=(0.4, 0.6), quality=0.9)
    poor = Stroke(index=1, onset=2.3, apex=2.6, tip=(0.5, 0.5), knuckle=(0.4, 0.6), quality=0.45)
    anaphor = Deictic(index=0, text="it", onset=2.2, offset=2.3, kind="anaphor")
    words = [anaphor, word(1, 2.4)]
    for strokes in ([good, poor], [poor, good]):
        ordered = offline_optimum(words, strokes, scores)
        taken = [choice for choice in ordered if choice is not None]
        assert taken == sorted(taken)
        free = hungarian(words, strokes, scores)
        assert _total(words, strokes, free, scores) >= _total(words, strokes, ordered, scores)
    assert hungarian([], [good], scores) == []
    assert hungarian([anaphor], [], scores) == [None]


def _total(
    words: list[Deictic], strokes: list[Stroke], choices: list[int | None], scores: Scores
) -> float:
    pairs = zip(words, choices, strict=True)
    return sum(scores.gain(w, strokes[c]) for w, c in pairs if c is not None)


# --- calibration -------------------------------------------------------------------------------


def test_fit_mends_overconfidence() -> None:
    raw = [0.9] * 100 + [0.1] * 100
    right = [True] * 70 + [False] * 30 + [True] * 30 + [False] * 70
    curve = fit_curve([Evidence(raw=p) for p in raw], right, ridge=0.01)
    assert curve(Evidence(raw=0.9)) == pytest.approx(0.7, abs=0.02)
    assert curve(Evidence(raw=0.1)) == pytest.approx(0.3, abs=0.02)


def test_the_identity_curve_changes_nothing() -> None:
    assert Curve()(Evidence(raw=0.3)) == pytest.approx(0.3)
    assert 0.0 < Curve()(Evidence(raw=0.0)) < 1e-5


def test_reliability_counts() -> None:
    counts = reliability([0.95, 0.95, 0.05, 1.0], [True, False, False, True])
    assert counts.n == 4
    assert counts.total[9] == 3
    assert counts.ece == pytest.approx((abs(2.9 - 2) + 0.05) / 4)
    assert counts.brier == pytest.approx((0.05**2 + 0.95**2 + 0.05**2) / 4)
    with pytest.raises(ValueError, match="outside"):
        reliability([1.5], [True])


# --- made trees --------------------------------------------------------------------------------

HARD = clip_truth(
    words=(
        said("I", 300, 450),
        said("think", 460, 700),
        said("that", 710, 900, "non_deictic"),
        said("works", 910, 1200, punct="."),
        said("Take", 1500, 1750),
        said("this", 1760, 2100, "withdrawn", 0, punct=","),
        said("no,", 2300, 2500),
        said("uh,", 2600, 2800, "filler"),
        said("that", 3000, 3300, "deictic", 1),
        said("one", 3300, 3600),
        said("and", 3700, 3800),
        said("put", 3850, 4000),
        said("it", 4010, 4200, "anaphor"),
        said("right", 4300, 4500),
        said("over", 4500, 4650),
        said("there", 4650, 5000, "deictic", 2, punct="."),
    ),
    strokes=(pointed(0, 1900, withdrawn=True), pointed(1, 3100), pointed(2, 4700)),
    difficulty="hard",
)
EASY = clip_truth("b.mp4", strokes=(pointed(0, 1000),), difficulty="easy")


def expression(index: int, text: str, onset: float, offset: float) -> Deictic:
    return Deictic(index=index, text=text, onset=onset, offset=offset, kind="object")


def test_withdrawn_words_have_strokes_of_their_own(tmp_path: Path) -> None:
    clips, left_out = load_true_clips(write_tree(tmp_path, HARD, EASY))
    assert not left_out
    assert clips[0].deictics == {5: 0, 8: 1, 12: None, 15: 2}
    assert clips[0].roles == {
        2: "non_deictic",
        5: "withdrawn",
        7: "filler",
        8: "deictic",
        12: "anaphor",
        15: "deictic",
    }
    result = measure_true(clips, SETTINGS)
    assert (result.found, result.deictics, result.invented) == (4, 4, 0)
    assert result.roles.right == result.roles.words
    assert result.roles.words["withdrawn"] == 1
    assert result.alone == (1, 1)


def test_expression_is_the_true_word_inside_it(tmp_path: Path) -> None:
    clip = load_true_clips(write_tree(tmp_path, HARD))[0][0]
    over_there = expression(4, "right over there", 4.3, 5.0)
    that_one = expression(2, "that one", 3.0, 3.6)
    assert places_of([that_one, over_there], clip, within=0.0) == {2: 8, 4: 15}
    late = expression(0, "this", 2.05, 2.2)
    assert places_of([late], clip, within=0.0) == {}
    assert places_of([late], clip, within=0.3) == {0: 5}
    assert places_of([expression(0, "that", 0.71, 0.9)], clip, within=0.3) == {}


def test_run_is_judged_by_what_words_do(tmp_path: Path) -> None:
    clips, _ = load_true_clips(write_tree(tmp_path / "set", HARD, EASY))
    events: list[Event] = [
        expression(0, "that", 0.75, 0.9),
        expression(1, "this", 1.8, 2.1),
        expression(2, "that one", 3.05, 3.5),
        expression(3, "over there", 4.5, 5.0),
        *(stroke(index, apex) for index, apex in enumerate((1.9, 3.1, 4.7))),
        Binding(deictic=0, stroke=0, probability=0.9, reason="margin"),
        Binding(deictic=1, stroke=None, probability=0.9, reason="window"),
        Binding(deictic=2, stroke=1, probability=0.9, reason="margin"),
        Binding(deictic=3, stroke=2, probability=0.9, reason="margin"),
    ]
    result = measure_run(clips, write_run(tmp_path / "run", {"a": events, "b": []}))
    assert (result.found, result.invented) == (3, 1)
    assert result.roles.words == {
        "non_deictic": 1,
        "withdrawn": 1,
        "filler": 1,
        "deictic": 2,
        "anaphor": 1,
    }
    assert result.roles.right == result.roles.words | {"non_deictic": 0, "withdrawn": 0}
    tally = result.tallies["this run"]
    assert (tally.words, tally.right, tally.pairs, tally.said, tally.hit) == (4, 3, 3, 3, 2)
    assert result.mistakes == ("a.mp4: 'this,' at 1.76 s got none",)
    assert result.calibration.n == 4


def test_made_tree_is_told_by_difficulty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_tree(tmp_path / "set", HARD, EASY)
    run = write_run(tmp_path / "run", {"b": [stroke(0, 1.1)]})
    binding(root, run=run, json=True)
    parts = json.loads(capsys.readouterr().out)["ecog"]["by_difficulty"]
    assert list(parts) == ["easy", "hard"]
    assert parts["easy"]["run"]["alone"] == {"right": 0, "of": 1}
    assert list(parts["hard"]) == ["true"]
    assert parts["hard"]["true"]["roles"]["withdrawn"] == {"right": 1, "of": 1}
    binding(root)
    shown = capsys.readouterr().out
    assert "1 hard" in shown
    assert "withdrawn 1 of 1" in shown


# --- files -------------------------------------------------------------------------------------


def test_marks_that_are_not_closed_are_named(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text("Put {this here.\n", encoding="utf-8")
    with pytest.raises(SentenceError, match=r"s\.txt:1"):
        read_sentences(path)


def test_annotations_that_do_not_pair_up_are_named(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match="no"):
        read_lags(tmp_path)
    row = '"Point_form@1",0,58309,0,60215,0,1906,"x"\n'
    (tmp_path / "a_coart_time.csv").write_text(row, encoding="utf-8")
    with pytest.raises(AnnotationError, match="do not pair up"):
        read_lags(tmp_path)


def test_fit_finds_a_prior_again() -> None:
    lags = [0.1 + 0.05 * k for k in range(-8, 9)]
    fitted = fit_prior(lags)
    assert fitted.mode == pytest.approx(0.1, abs=0.15)
    assert fitted.earliest < -5.0


def test_nothing_to_measure_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to measure"):
        binding()


def test_one_json_object_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    binding(simulate=3, json=True)
    document = json.loads(capsys.readouterr().out)
    assert [level["level"] for level in document["simulated"]] == [n.name for n in LEVELS]


def test_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    binding(sentences=Path(__file__).parent / "data" / "deictic_sentences.zh.txt", language="zh")
    assert "precision" in capsys.readouterr().out


@pytest.mark.media
def test_true_words_and_strokes_of_the_small_tree_are_bound_right(shared_media: Path) -> None:
    clips, left_out = load_true_clips(shared_media / "ecog-mini")
    result = measure_true(clips, SETTINGS)
    assert not left_out
    assert (result.found, result.invented) == (result.deictics, 0)
    assert result.tallies["online"].accuracy == 1.0
    assert result.alone == (1, 1)
    assert not result.mistakes


@pytest.mark.media
def test_a_run_is_compared_by_time(shared_media: Path, tmp_path: Path) -> None:
    clips, _ = load_true_clips(shared_media / "ecog-mini")
    clip = next(c for c in clips if c.name.startswith("en3"))
    place, other = list(clip.deictics)
    events: list[Event] = [
        word(0, clip.words[place].onset + 0.1),
        stroke(0, clip.strokes[0].apex),
        Binding(deictic=0, stroke=0, probability=0.9, reason="margin"),
        word(1, clip.words[other].onset),
        Binding(deictic=1, stroke=None, probability=0.6, reason="window"),
    ]
    write_run(tmp_path, {Path(clip.name).stem: events})
    result = measure_run([clip], tmp_path)
    tally = result.tallies["this run"]
    assert (tally.words, tally.right, tally.said, tally.hit) == (2, 1, 1, 1)
    assert result.found == 2
    assert len(result.mistakes) == 1
    assert len(result.timing.pairs) == 1


@pytest.mark.media
def test_the_prior_is_near_what_people_do(shared_media: Path) -> None:
    studies = read_lags(shared_media / "annotations")
    assert [len(study.lags) for study in studies] == [38, 4]
    fitted = fit_prior([lag for study in studies for lag in study.lags])
    prior = SETTINGS.scores.lag
    assert abs(fitted.mode - prior.mode) < 0.2
    assert fitted.early == pytest.approx(prior.early, abs=0.2)
    assert fitted.late == pytest.approx(prior.late, abs=0.2)
