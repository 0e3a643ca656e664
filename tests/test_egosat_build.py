"""Query sets out of Ego4D's annotations: what each asks, of whom, and the same by seed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.commands.egosat import build
from replay.egosat.build import build_query_sets, write_query_sets
from replay.egosat.embedding import WordsEmbedder
from replay.egosat.files import EgosatError
from replay.egosat.grid import grid, switches
from replay.egosat.names import PAIR_ROLES
from replay.egosat.narrations import Annotations, Interval, Segment, read_annotations, said
from replay.egosat.options import OptionSampler
from replay.egosat.prompts import read_texts
from replay.egosat.settings import read_settings
from tests.egosat_maker import hands_and_objects, write

SETTINGS = read_settings()


@pytest.fixture
def annotations(tmp_path: Path) -> Annotations:
    return read_annotations([write(tmp_path / "fho_main.json", hands_and_objects())])


def built(annotations: Annotations, seed: int = 0) -> dict[str, dict[str, Any]]:
    found = build_query_sets(
        annotations, WordsEmbedder(), settings=SETTINGS, texts=read_texts(), seed=seed
    )
    return dict(found.files)


def samples(files: dict[str, dict[str, Any]], place: str) -> Iterator[dict[str, Any]]:
    for path, content in files.items():
        if path.startswith(place):
            yield from content["samples"]


def test_same_seed_same_bytes_and_another_seed_other_options(
    annotations: Annotations, tmp_path: Path
) -> None:
    def read(folder: Path, seed: int) -> dict[str, bytes]:
        found = build_query_sets(
            annotations, WordsEmbedder(), settings=SETTINGS, texts=read_texts(), seed=seed
        )
        paths = write_query_sets(found, folder)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

    first = read(tmp_path / "a", 7)
    assert read(tmp_path / "b", 7) == first
    other = read(tmp_path / "c", 8)
    assert other.keys() == first.keys()
    assert other != first


def test_every_folder_of_the_main_table_is_built(annotations: Annotations) -> None:
    places = {path.rsplit("/", 1)[0] for path in built(annotations)}
    assert places == {
        "now_narration/cand_state",
        "now_narration/cand_mcq",
        *(f"now_state_switch/cand_state/sspos_t_{at}_0" for at in (1, 2, 4)),
        "sh_rtrv/cand",
        "sh_pred/cand_full",
        "ms_rtrv/cand",
        "ms_pred/cand",
    }


def test_every_window_ends_when_it_is_asked(annotations: Annotations) -> None:
    for content in built(annotations).values():
        assert content["num_samples"] == len(content["samples"]) > 0
        assert [one["idx"] for one in content["samples"]] == sorted(
            {one["idx"] for one in content["samples"]}
        )
        for one in content["samples"]:
            assert one["window_end_sec"] == one["t_eval"] == one["t_eval_rel"]
            assert 0 <= one["window_start_sec"] <= one["t_eval"]
            assert one["t_eval"] <= content["video_metadata"]["interval_len_sec"]


def test_options_are_four_with_one_right_and_one_absurd(annotations: Annotations) -> None:
    letters: Counter[str] = Counter()
    chosen = [one for one in samples(built(annotations), "") if "mcq" in one]
    for one in chosen:
        choice = one["mcq"]
        assert len(set(choice["options"])) == 4
        sources = Counter(choice["option_sources"])
        assert sources["gt"] == sources["absurd"] == 1
        assert sources["prev"] + sources["future"] == 2
        right = choice["options"]["ABCD".index(choice["answer"])]
        assert right == f"{one['verb']} {one['noun']}" == choice["options"][choice["answer_idx"]]
        assert all(option in one["prompt"] for option in choice["options"])
        letters[choice["answer"]] += 1
    assert min(letters.values()) > len(chosen) / 10  # shuffled: no letter is rare


def test_hard_negatives_are_near_and_absurd_ones_elsewhere(annotations: Annotations) -> None:
    first = annotations.intervals[0]
    sampler = OptionSampler(annotations.intervals, WordsEmbedder(), SETTINGS.building, seed=0)
    here = [one.action for one in first.segments]
    other = {one.action for one in annotations.intervals[1].segments}
    for place, right in enumerate(first.segments):
        choice = sampler.choice(first, right, str(place))
        assert choice is not None
        for option, source in zip(choice["options"], choice["option_sources"], strict=True):
            if source == "prev":
                assert option in here[:place]
            elif source == "future":
                assert option in here[place + 1 :]
            elif source == "absurd":
                assert option in other
        if 0 < place < len(here) - 1 and len({*here[place - 1 : place + 2]}) == 3:
            assert {here[place - 1], here[place + 1]} <= set(choice["options"])


def test_a_video_of_too_few_actions_asks_no_choice() -> None:
    few = tuple(
        Segment(start=start, end=start + 2, verb="take", noun="cup", text="take cup")
        for start in range(1, 40, 4)
    )
    made = Interval(video="v", clip="c", start=0, end=60, segments=few)
    found = build_query_sets(
        Annotations(intervals=(made,)), WordsEmbedder(), settings=SETTINGS, texts=read_texts(),
        seed=0,
    )  # fmt: skip
    assert not [one for one in samples(dict(found.files), "") if "mcq" in one]
    assert found.left_out["sh_pred: fewer than four different actions"] > 0


def test_truths_agree_with_the_annotations(annotations: Annotations) -> None:
    segments = {one.video: one.segments for one in annotations.intervals}
    starts = {one.video: one.start for one in annotations.intervals}

    def at(video: str, time: float) -> list[str]:
        found = [one for one in segments[video] if one.start <= starts[video] + time < one.end]
        return [one.action for one in found]

    for path, content in built(annotations).items():
        video = content["video_uid"]
        for one in content["samples"]:
            action, time = f"{one.get('verb')} {one.get('noun')}", one["t_eval"]
            match content["task"]:
                case "now_narration":
                    assert bool(at(video, time)) == (one["region"] == "segment")
                    assert "mcq" not in one or action in at(video, time)
                case "ms_pred":
                    assert action in at(video, time + one["lead_sec"])
                case "ms_rtrv":
                    assert action in at(video, time - one["lag_sec"])
                    assert one["window_start_sec"] == pytest.approx(one["gt_segment_start"])
                case "sh_pred_full":
                    begins = [seg for seg in segments[video] if seg.start > starts[video] + time]
                    assert action == begins[0].action
                    assert begins[0].start <= starts[video] + time + 8
                    assert re.fullmatch("[PN][PN]", one["state"])
                case "sh_rtrv":
                    begun = [seg for seg in segments[video] if seg.start < starts[video] + time]
                    assert action == begun[-1].action, path


def test_steps_come_in_whole_groups(annotations: Annotations) -> None:
    for task, name in (("ms_pred", "lead_sec"), ("ms_rtrv", "lag_sec")):
        groups: dict[Any, list[tuple[int, float]]] = {}
        for content in built(annotations).values():
            if content["task"] == task:
                for one in content["samples"]:
                    key = (content["video_uid"], one["anchor_idx"])
                    groups.setdefault(key, []).append((one["step_idx"], one[name]))
        assert groups
        assert all(group == [(0, 8.0), (1, 16.0), (2, 24.0)] for group in groups.values())


def test_probes_of_a_switch_lie_in_its_two_regions(annotations: Annotations) -> None:
    files = built(annotations)
    for at in (1, 2, 4):
        pairs: dict[Any, dict[str, Any]] = {}
        for path, content in files.items():
            if f"sspos_t_{at}_0" in path:
                for one in content["samples"]:
                    pair = pairs.setdefault((path, one["state_switch_pair_id"]), {})
                    pair[one["state_switch_role"]] = one
        assert pairs
        for pair in pairs.values():
            kind = next(iter(pair.values()))["state_switch_pair_type"]
            before, after = (pair[role] for role in PAIR_ROLES[kind])
            assert f"{before['region']}_to_{after['region']}" == kind
            assert before["t_eval"] < after["t_eval"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0.1, 9)), max_size=12))
def test_a_grid_tells_regions_and_their_bounds(gaps: list[tuple[float, float]]) -> None:
    segments, time = [], 0.0
    for gap, length in gaps:
        start = time + gap
        time = start + length
        segments.append(Segment(start=start, end=time, verb="take", noun="cup", text="x"))
    made = Interval(video="v", clip="c", start=0, end=time + 5, segments=tuple(segments))
    places = grid(made, 4.0)
    assert [place.time for place in places] == [4.0 * (n + 1) for n in range(len(places))]
    for place in places:
        assert place.start <= place.time <= place.end
        inside = [one for one in segments if one.start <= place.time < one.end]
        assert (place.region == "segment") == bool(inside)
    for switch in switches(places):
        assert switch.before.region != switch.after.region


def test_three_kinds_of_annotations_are_read(tmp_path: Path) -> None:
    lta = {
        "clips": [
            {
                "video_uid": "v", "clip_uid": "c", "clip_parent_start_sec": 5.0,
                "clip_parent_end_sec": 65.0, "action_idx": number, "verb": "take",
                "noun": "cup_(mug)", "action_clip_start_sec": 4.0 * number,
                "action_clip_end_sec": 4.0 * number + 2,
            }
            for number in (1, 0)
        ]
    }  # fmt: skip
    (one,) = read_annotations([write(tmp_path / "fho_lta_val.json", lta)]).intervals
    assert (one.start, one.end) == (5.0, 65.0)
    assert [(s.start, s.end, s.action) for s in one.segments] == [
        (5.0, 7.0, "take cup"),
        (9.0, 11.0, "take cup"),
    ]
    told = [
        {"timestamp_sec": 3.0, "narration_text": "#C C takes the red cup from the table"},
        {"timestamp_sec": 3.5, "narration_text": "#O man X walks"},
        {"timestamp_sec": 3.8, "narration_text": "#C C washes it"},
        {"timestamp_sec": "x", "narration_text": "#C C sits"},
    ]
    narrated = {"v2": {"narration_pass_1": {"narrations": told}}, "v3": {"status": "redacted"}}
    for content in (narrated, {"videos": narrated}):
        found = read_annotations([write(tmp_path / "narration.json", content)])
        (one,) = found.intervals
        assert [(s.action, s.start, s.end) for s in one.segments] == [
            ("take red cup", 2.0, pytest.approx(3.4)),
            ("wash", pytest.approx(3.4), 4.8),
        ]
        assert found.left_out["not the camera wearer"] == 1


def test_rejected_actions_and_odd_names_are_left_out_and_counted(tmp_path: Path) -> None:
    content = hands_and_objects(1)
    actions = content["videos"][0]["annotated_intervals"][0]["narrated_actions"]
    actions[0]["is_rejected"] = True
    actions[1]["is_invalid_annotation"] = True
    actions[2]["start_sec"] = None
    odd = {"video_uid": "../x", "annotated_intervals": [{"start_sec": 0, "end_sec": 9}]}
    content["videos"].append(odd)
    found = read_annotations([write(tmp_path / "fho_main.json", content)])
    assert len(found.intervals) == 1
    assert len(found.intervals[0].segments) == len(actions) - 3
    assert found.left_out == {
        "a name that is no uid": 1,
        "action without verb or times": 1,
        "invalid annotation": 1,
        "rejected": 1,
    }


@pytest.mark.parametrize("content", [{}, [], {"videos": []}, {"clips": 3}, "x"])
def test_a_file_of_something_else_is_one_clear_line(tmp_path: Path, content: Any) -> None:
    with pytest.raises(EgosatError, match="is none of Ego4D's"):
        read_annotations([write(tmp_path / "x.json", content)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#C C carries the wooden chopping board to the sink", ("carry", "chopping board")),
        ("#C C watches", ("watch", "none")),
        ("C C presses the button (twice).", ("press", "button")),
        ("", ("", "none")),
    ],
)
def test_narrations_say_a_verb_and_a_thing(text: str, expected: tuple[str, str]) -> None:
    assert said(text) == expected


def test_build_command_writes_what_bench_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "fho_main.json", hands_and_objects())
    build(source, out=tmp_path / "sets", embedder="words", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == len(list((tmp_path / "sets").rglob("*.json")))
    assert told["queries"]["now_narration/cand_state"] == 26
    build(source, out=tmp_path / "sets", embedder="words")
    assert "sh_rtrv/cand:" in capsys.readouterr().out


def test_annotations_of_which_no_query_set_comes_are_refused(tmp_path: Path) -> None:
    told = {"v": {"narration_pass_1": {"narrations": [{"timestamp_sec": "x"}]}}}
    path = write(tmp_path / "narration.json", told)
    with pytest.raises(EgosatError, match="no query set comes of it"):
        build(path, out=tmp_path / "sets", embedder="words")
    assert not (tmp_path / "sets").exists()
