"""What, where and when, each rule with a value worked out by hand."""

from __future__ import annotations

import json
import math
import random
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.ecog import EcogTree, load_ecog
from replay.predictions import Prediction
from replay.scoring.ecog import (
    Counts,
    Failure,
    ReferentScore,
    Status,
    scene_of,
    score_clip,
    score_ecog,
)
from replay.scoring.ecog_json import as_json
from replay.scoring.model_output import BrokenAnswerError, point_in_pixels
from tests.ecog_maker import (
    TreeMaker,
    answer,
    clip,
    entry,
    filled,
    mask,
    perfect,
    png,
    prediction,
    raw_answer,
    said,
)


def full_hd(_: Any) -> tuple[int, int]:
    return 1920, 1080


def thousand(_: Any) -> tuple[int, int]:
    """One pixel for each thousandth."""
    return 1000, 1000


def only(wanted: Any, output: str, *, size_of: Any = thousand, order: Any = "xy") -> ReferentScore:
    """The score of a clip with one referent."""
    (referent,) = score_clip(wanted, prediction(output, order=order), size_of=size_of).referents
    return referent


def tree(*clips: Any, left_out: Any = ()) -> EcogTree:
    return EcogTree(root=Path("/nowhere"), clips=clips, left_out=left_out)


# --- what ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "right"),
    [
        (["A"], True),
        ([" A\n"], True),
        ("A", True),
        ("A, b", False),
        (["a"], False),
        (["A", "B", "C"], True),
        ([], False),
        (None, False),
        ({"0": "A"}, False),
        ([["A"]], False),
        (5, False),
    ],
)
def test_a_label_counts_when_it_is_the_same_text(options: Any, right: bool) -> None:
    assert only(clip(), said(options, entry())).cls is right


def test_a_number_is_compared_as_a_text() -> None:
    assert only(clip(answer("5")), said([5], entry())).cls


def test_the_annotated_label_is_stripped_too() -> None:
    assert only(clip(answer(" A ")), said(["A"], entry())).cls


def test_labels_are_compared_position_by_position() -> None:
    score = score_clip(
        clip(answer("A"), answer("b")), prediction(said(["b", "A"])), size_of=thousand
    )
    assert [referent.cls for referent in score.referents] == [False, False]


# --- where -----------------------------------------------------------------------------------


def test_pixels_are_truncated() -> None:
    # 333 * 1920 / 1000 = 639.36 and 999 * 1080 / 1000 = 1078.92
    assert point_in_pixels([333, 999], width=1920, height=1080) == (639, 1078)


def test_the_same_numbers_in_the_other_order_are_another_pixel() -> None:
    # 592 * 1.28 = 757.76 and 472 * 0.72 = 339.84
    inside = clip(answer(mask=mask((757, 339, 757, 339), filled(1, 1))))
    output = said(["A"], entry([472, 592]))
    assert only(inside, output, size_of=lambda _: (1280, 720), order="yx").s
    assert not only(inside, output, size_of=lambda _: (1280, 720), order="xy").s


@pytest.mark.parametrize(
    ("point", "right"),
    [
        ([10, 10], True),
        ([20, 20], True),
        ([20.9, 15], True),  # truncated to 20
        ([21, 15], False),
        ([9.9, 15], False),
        ([15, 21], False),
    ],
)
def test_a_box_includes_its_edges(point: Any, right: bool) -> None:
    boxed = clip(answer(mask=mask((10, 10, 20, 20), filled(10, 10))))
    assert only(boxed, said(["A"], entry(point))).s is right


@pytest.mark.parametrize(("value", "right"), [(128, False), (129, True), (0, False)])
def test_a_mask_pixel_must_be_above_128(value: int, right: bool) -> None:
    grey = clip(answer(mask=mask((0, 0, 10, 10), filled(10, 10, value))))
    assert only(grey, said(["A"], entry([5, 5]))).s is right


def test_a_cropped_mask_is_scaled_into_its_own_size_and_clamped() -> None:
    # The box is 10 wide, the PNG 5: pixel 3 falls on column int(3 * 5 / 10) = 1, pixel 10 on
    # column 5, clamped to 4.
    columns = np.zeros((5, 5))
    columns[:, 1] = columns[:, 4] = 255
    scaled = clip(answer(mask=mask((100, 100, 110, 110), png(columns))))
    hits = [x for x in range(99, 112) if only(scaled, said(["A"], entry([x, 105]))).s]
    assert hits == [102, 103, 108, 109, 110]


def test_a_box_without_extent_takes_the_first_pixel() -> None:
    flat = clip(answer(mask=mask((50, 50, 50, 50), png([[255, 0], [0, 0]]))))
    assert only(flat, said(["A"], entry([50, 50]))).s


def test_a_mask_of_the_videos_size_is_looked_up_directly() -> None:
    pixels = np.zeros((1080, 1920))
    pixels[540, 960] = 255
    full = clip(answer(mask=mask((900, 500, 1000, 600), png(pixels))))
    assert only(full, said(["A"], entry([500, 500])), size_of=full_hd).s
    # 499.9 * 1.92 = 959.8
    assert not only(full, said(["A"], entry([499.9, 500])), size_of=full_hd).s


def test_a_point_on_the_frames_far_edge_is_outside_a_full_frame_mask() -> None:
    full = clip(answer(mask=mask((0, 0, 1000, 1000), filled(1000, 1000))))
    assert only(full, said(["A"], entry([999.9, 999.9]))).s
    assert not only(full, said(["A"], entry([1000, 500]))).s


@pytest.mark.parametrize(
    "broken",
    [
        mask((), filled(10, 10)),
        mask((0, 0, 10), filled(10, 10)),
        mask((0, 0, 10, 10), "no base64!"),
        mask((0, 0, 10, 10), "AAAA"),
        mask((0, 0, math.inf, 10), filled(3, 3)),
        mask((-math.inf, 0, 10, 10), filled(3, 3)),
    ],
)
def test_a_mask_that_cannot_be_read_contains_nothing_or_its_first_pixel(broken: Any) -> None:
    score = only(clip(answer(mask=broken)), said(["A"], entry([5, 5])))
    assert score.cls
    assert score.t
    assert score.s is (broken.bbox[2:3] == (math.inf,))


def test_a_mask_decides_even_when_the_annotated_point_is_near() -> None:
    elsewhere = mask((0, 0, 10, 10), filled(10, 10))
    assert not only(clip(answer(mask=elsewhere)), said(["A"], entry([500, 500]))).s


def test_a_place_is_scored_by_distance_even_with_a_mask() -> None:
    elsewhere = mask((0, 0, 10, 10), filled(10, 10))
    assert only(clip(answer("a", mask=elsewhere)), said(["a"], entry([500, 500]))).s


@pytest.mark.parametrize(
    ("point", "right"),
    [([599, 500], True), ([600, 500], False), ([600.0, 500], False), ([599.99, 500], True)],
)
def test_a_distance_must_be_strictly_under_100_pixels(point: Any, right: bool) -> None:
    assert only(clip(answer("a")), said(["a"], entry(point))).s is right


def test_a_distance_is_euclidean_in_pixels_of_the_video() -> None:
    # (60, 79): 99.2; (60, 80): 100
    assert only(clip(answer("a")), said(["a"], entry([560, 579]))).s
    assert not only(clip(answer("a")), said(["a"], entry([560, 580]))).s
    # On 1920 pixels 52 thousandths are int(552 * 1.92) - 960 = 99, 53 are 101.
    assert only(clip(answer("a")), said(["a"], entry([552, 500])), size_of=full_hd).s
    assert not only(clip(answer("a")), said(["a"], entry([553, 500])), size_of=full_hd).s


def test_annotated_points_are_truncated_and_then_their_mean() -> None:
    # (1 + 2) / 2 = 1.5, truncated to 1: pixel 101 is 100 away, pixel 100 is 99 away.
    two = clip(answer("a", points=((1, 500), (2, 500))))
    assert not only(two, said(["a"], entry([101, 500]))).s
    assert only(two, said(["a"], entry([100, 500]))).s
    # 1.9 is truncated to 1 before the mean: (1 + 3) / 2 = 2, else (1.9 + 3) / 2 = 2.45.
    halves = clip(answer("a", points=((1.9, 500), (3.9, 500))))
    assert not only(halves, said(["a"], entry([102, 500]))).s


def test_no_annotated_place_is_never_found() -> None:
    assert not only(clip(answer("a", points=())), said(["a"], entry())).s


def test_several_points_for_one_referent_count_by_their_mean() -> None:
    assert point_in_pixels([[0, 100], [1000, 200]], width=1000, height=1000) == (500, 150)
    assert point_in_pixels([[1, 1], [2, 2]], width=1000, height=1000) == (1, 1)
    swapped = only(clip(answer("a")), said(["a"], entry([[500, 400], [500, 600]])), order="yx")
    assert swapped.s


@pytest.mark.parametrize("nothing", [None, [], "", 0, False, {}])
def test_no_point_is_wrong_and_harms_nothing_else(nothing: Any) -> None:
    assert only(clip(), said(["A"], entry(nothing))) == ReferentScore(cls=True, t=True)


def test_further_numbers_of_a_point_are_passed_over() -> None:
    assert point_in_pixels([1, 2, 3, 4], width=1000, height=1000) == (1, 2)
    assert point_in_pixels([[1, 2, 9]], width=1000, height=1000) == (1, 2)


def test_three_numbers_are_not_swapped() -> None:
    place = clip(answer("a", points=((100, 900),)))
    assert only(place, said(["a"], entry([100, 900, 5])), order="yx").s
    assert only(place, said(["a"], entry([[100, 900, 5]])), order="yx").s
    assert not only(place, said(["a"], entry([100, 900])), order="yx").s


def test_of_several_points_the_firsts_length_decides_whether_all_are_swapped() -> None:
    place = clip(answer("a", points=((900, 100),)))
    assert only(place, said(["a"], entry([[100, 900], [100, 900, 7]])), order="yx").s
    assert not only(place, said(["a"], entry([[100, 900, 7], [100, 900]])), order="yx").s


def test_a_bool_is_a_number() -> None:
    assert point_in_pixels([True, False], width=1000, height=2000) == (1, 0)


# --- when ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time_ms", "right"),
    [
        (1000, True),
        (2000, True),
        (999, False),
        (2001, False),
        (999.99, False),
        (2000.99, True),
        ("1500", False),
        (None, False),
        ([1500], False),
        ({"ms": 1500}, False),
        (True, False),
        (10**30, False),
        (-1500, False),
    ],
)
def test_a_time_must_lie_in_the_window_both_ends_included(time_ms: Any, right: bool) -> None:
    assert only(clip(), said(["A"], entry(time=time_ms))).t is right


def test_true_is_one_millisecond() -> None:
    assert only(clip(answer(window=(0, 5))), said(["A"], entry(time=True))).t


def test_an_absent_time_is_wrong() -> None:
    assert not only(clip(), said(["A"], {"point": [500, 500]})).t


def test_silent_clips_are_scored_in_time_too() -> None:
    silent = clip(answer(), instruction=1, folder="指令1")
    late = Prediction(video_name="a.mp4", instruction=1, output=said(["A"], entry(time=5)))
    assert score_clip(silent, late, size_of=thousand).referents == (
        ReferentScore(cls=True, s=True, t=False),
    )


@pytest.mark.parametrize("time_ms", [1500, math.nan, math.inf])
def test_without_a_window_every_time_is_wrong_and_none_is_read(time_ms: float) -> None:
    output = said(["A"], entry(time=time_ms))
    assert only(clip(answer(window=None)), output) == ReferentScore(cls=True, s=True)


# --- structure -------------------------------------------------------------------------------

BROKEN = [
    {"selected_options": ["A"], "point_list": None},
    {"selected_options": ["A"], "point_list": 5},
    {"selected_options": ["A"], "point_list": True},
    {"selected_options": ["A"], "point_list": "A"},
    {"selected_options": ["A"], "point_list": {"0": entry()}},
    *(
        {"selected_options": ["A"], "point_list": [bad]}
        for bad in (
            None,
            5,
            "point",
            [entry()],
            entry(time=math.nan),
            entry(time=math.inf),
            entry(time=-math.inf),
            entry("500, 500"),
            entry(500),
            entry(True),
            entry({"x": 500, "y": 500}),
            entry([500]),
            entry(["500", "500"]),
            entry(["500, 500"]),
            entry([None, None]),
            entry([500, None]),
            entry([math.nan, 500]),
            entry([500, math.inf]),
            entry([[]]),
            entry([[500]]),
            entry([[500, 500], 500]),
            entry([[500, 500], "ab"]),
            entry([[500, 500], None]),
            entry([{"x": 5}]),
            entry([10**400, 5]),
        )
    ),
]


@pytest.mark.parametrize("output", BROKEN, ids=lambda value: json.dumps(value)[-60:])
@pytest.mark.parametrize("order", ["xy", "yx"])
def test_structure_that_cannot_be_taken_makes_the_whole_clip_wrong(output: Any, order: Any) -> None:
    score = score_clip(clip(), prediction(json.dumps(output), order=order), size_of=thousand)
    assert score.referents == (ReferentScore(),)
    assert score.status is Status.BROKEN
    assert score.reason


def test_one_broken_referent_spoils_the_others() -> None:
    two = clip(answer("A"), answer("a"))
    output = said(["A", "a"], entry(), entry(time=math.nan))
    assert score_clip(two, prediction(output), size_of=thousand).referents == (
        ReferentScore(),
        ReferentScore(),
    )


@pytest.mark.parametrize("options", [["A"], "A"])
def test_labels_count_without_any_point(options: Any) -> None:
    for points in ({}, {"point_list": []}, {"point_list": ""}, {"point_list": {}}):
        output = json.dumps({"selected_options": options} | points)
        assert only(clip(), output) == ReferentScore(cls=True)


def test_further_entries_are_ignored_unless_the_swap_stumbles_over_them() -> None:
    for extra in (None, 5, "a point", ["point"], entry([[1, 2], 3])):
        output = said(["A", "B"], entry(), extra)
        assert only(clip(), output).eco
        assert not only(clip(), output, order="yx").cls
    for extra in ("text", [], entry("500"), entry([[1, 2, 3], 4]), entry(["a", 1]), {}):
        assert only(clip(), said(["A", "B"], entry(), extra), order="yx").eco


def test_missing_entries_are_wrong() -> None:
    two = clip(answer("A"), answer("a"))
    score = score_clip(two, prediction(said(["A"], entry())), size_of=thousand)
    assert score.referents == (ReferentScore(cls=True, s=True, t=True), ReferentScore())


def test_a_list_of_one_object_counts_and_is_not_swapped() -> None:
    place = clip(answer("a", points=((100, 900),)))
    wrapped = f"[{said(['a'], entry([100, 900]))}, 5]"
    assert only(place, wrapped, order="yx").eco
    assert only(place, wrapped, order="xy").eco
    assert not only(place, said(["a"], entry([100, 900])), order="yx").s


@pytest.mark.parametrize("output", ["[]", "[5]", "5", "null", "true", '"text"', "{}", "[[{}]]"])
def test_an_output_that_is_no_object_is_wrong(output: str) -> None:
    assert only(clip(), output) == ReferentScore()


@pytest.mark.parametrize(
    "output",
    [
        "[" * 100_000,
        "{" * 100_000,
        '{"a":' * 100_000,
        "}" * 100_000,
        "```" * 50_000,
        '{"selected_options": [' + "9" * 10_000 + "]}",
        ",   " * 50_000 + "]",
        "{" + "]" * 100_000 + "}",
        "\ud800",
        "\x00",
        "",
        "  \n",
        "No, I will not.",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_text_is_wrong_and_takes_no_time(output: str) -> None:
    began = time.process_time()
    score = score_clip(clip(), prediction(output), size_of=thousand)
    assert score.referents == (ReferentScore(),)
    assert score.status is Status.UNPARSABLE
    assert time.process_time() - began < 2.0


def test_a_coordinate_too_large_for_a_distance_is_broken_and_for_a_mask_outside() -> None:
    far = said(["A"], entry([1e300, 5]))
    assert only(clip(), far) == ReferentScore()
    boxed = clip(answer(mask=mask((0, 0, 10, 10), filled(10, 10))))
    assert only(boxed, far) == ReferentScore(cls=True, t=True)


def test_unicode_labels_are_compared_as_they_are() -> None:
    assert only(clip(answer("甲", points=((500, 500),))), said(["甲"], entry())).cls
    assert not only(clip(answer("A")), said(["\u0391"], entry())).cls  # Greek Alpha


# --- means -----------------------------------------------------------------------------------


def right_and_wrong() -> tuple[EcogTree, list[Prediction]]:
    """One referent right; three wrong."""
    one = clip(answer(), name="one.mp4", instruction=2, folder="data_en/指令2")
    three = clip(
        answer(),
        answer("a"),
        answer("B"),
        name="three.mp4",
        instruction=5,
        folder="data_zn/指令5",
        language="zh",
    )
    wrong = prediction(said([]), name="three.mp4", instruction=5)
    return tree(one, three), [perfect(one), wrong]


def test_the_overall_score_is_the_mean_of_clip_means() -> None:
    scores = score_ecog(*right_and_wrong(), size_of=thousand)
    assert scores.overall.scores.eco == 0.5
    assert scores.overall.scores.seq == 0.5
    assert scores.overall.referent_weighted.eco == 0.25
    assert scores.overall.referent_weighted.seq == 0.25


def test_scores_break_down_by_instruction_level_language_and_scene() -> None:
    encoded = as_json(score_ecog(*right_and_wrong(), size_of=thousand))
    right = dict.fromkeys(("cls", "s", "t", "eco", "seq"), 1.0)
    wrong = dict.fromkeys(("cls", "s", "t", "eco", "seq"), 0.0)
    assert encoded["by_instruction"] == {"2": right, "5": wrong}
    assert encoded["by_level"] == {"L2": right, "L4": wrong}
    assert encoded["by_language"] == {"en": right, "zh": wrong}
    assert encoded["by_scene"] == {"unknown": dict.fromkeys(right, 0.5)}
    assert encoded["clips"] == [
        {"video_name": "one.mp4", "instruction": 2} | right,
        {"video_name": "three.mp4", "instruction": 5} | wrong,
    ]


def test_instruction_types_three_and_four_share_a_level() -> None:
    levels = [clip(instruction=kind).level for kind in range(1, 7)]
    assert levels == ["L1", "L2", "L3", "L3", "L4", "L4"]


def test_a_clip_is_seq_right_only_when_all_its_referents_are() -> None:
    two = clip(answer("A"), answer("a"))
    half = score_clip(two, prediction(said(["A"], entry(), entry())), size_of=thousand)
    assert (half.scores.eco, half.scores.seq) == (0.5, 0.0)
    whole = score_clip(two, perfect(two), size_of=thousand)
    assert (whole.scores.eco, whole.scores.seq) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("referent", "failure"),
    [
        (ReferentScore(cls=True, s=True, t=True), None),
        (ReferentScore(s=True, t=True), Failure.WHAT),
        (ReferentScore(cls=True, t=True), Failure.WHERE),
        (ReferentScore(cls=True, s=True), Failure.WHEN),
        (ReferentScore(cls=True), Failure.JOINT),
        (ReferentScore(), Failure.JOINT),
    ],
)
def test_failures_are_told_apart(referent: ReferentScore, failure: Failure | None) -> None:
    assert referent.failure is failure


def test_failures_are_counted_over_referents() -> None:
    scores = score_ecog(*right_and_wrong(), size_of=thousand)
    assert scores.overall.failures == {Failure.JOINT: 3}


def test_a_clip_without_a_prediction_counts_zero() -> None:
    both, lines = right_and_wrong()
    scores = score_ecog(both, lines[:1], size_of=thousand)
    assert scores.overall.scores.eco == 0.5
    assert [clip.clip.video_name for clip in scores.missing] == ["three.mp4"]
    assert not scores.complete


def test_a_model_error_is_kept_apart_unless_asked() -> None:
    both, lines = right_and_wrong()
    failed = Prediction(video_name="three.mp4", instruction=5, error="time-out after 60 s")
    scores = score_ecog(both, [lines[0], failed], size_of=thousand)
    assert scores.overall.scores.eco == 1.0
    assert [clip.reason for clip in scores.errors] == ["time-out after 60 s"]
    assert not scores.complete
    counted = score_ecog(both, [lines[0], failed], errors_as_wrong=True, size_of=thousand)
    assert counted.overall.scores.eco == 0.5
    assert len(as_json(counted)["clips"]) == 2
    assert not counted.complete


def test_repairs_are_counted() -> None:
    both, _ = right_and_wrong()
    lines = [
        prediction(f"```json\n{said([])}\n```", name="one.mp4", instruction=2),
        prediction("I cannot say.", name="three.mp4", instruction=5),
    ]
    encoded = as_json(score_ecog(both, lines, size_of=thousand))
    assert encoded["repairs"] == {"json_fence": 1, "unparsable": 1}


def test_nothing_to_divide_by_is_nan_and_null() -> None:
    scores = score_ecog(tree(), [])
    assert math.isnan(scores.overall.scores.eco)
    assert as_json(scores)["overall"] == dict.fromkeys(("cls", "s", "t", "eco", "seq"))
    json.dumps(as_json(scores), allow_nan=False)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Kitchen Scene", "Kitchen"),
        ("厨房场景", "Kitchen"),
        ("industrial", "Industrial"),
        ("办公室", "Office"),
        ("Garden", "Garden"),
        ("", "unknown"),
    ],
)
def test_scenes_are_named_alike_in_both_languages(written: str, name: str) -> None:
    assert scene_of(clip(scene=written)) == name


# --- which prediction is whose -----------------------------------------------------------------


def test_names_that_repeat_over_instructions_are_told_apart() -> None:
    two = clip(answer("A"), instruction=2, folder="指令2")
    three = clip(answer("B"), instruction=3, folder="指令3")
    scores = score_ecog(tree(two, three), [perfect(three), perfect(two)], size_of=thousand)
    assert scores.overall.scores.eco == 1.0


def test_a_folder_tells_apart_clips_of_one_name() -> None:
    english = clip(answer("A"), folder="data_en/env1/指令3")
    chinese = clip(answer("B"), folder="data_zn/env1/指令3", language="zh")
    lines = [perfect(english, folder=english.folder), perfect(chinese, folder=chinese.folder)]
    scores = score_ecog(tree(english, chinese), lines, size_of=thousand)
    assert scores.overall.scores.eco == 1.0
    assert not scores.matching.ambiguous
    part = clip(answer("B"), folder="env1/指令3", language="zh")
    assert score_ecog(tree(part), lines[1:], size_of=thousand).overall.scores.eco == 1.0


def test_lines_of_a_whole_tree_find_their_clips_in_a_part_of_it(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path / "data_en")
    maker.clip("env1/指令3", answers=[raw_answer("A")])
    maker.clip("env2/指令3", answers=[raw_answer("B")])
    root = maker.write()
    lines = [perfect(one, folder=f"data_en/{one.folder}") for one in load_ecog(root).clips]
    for part in (tmp_path, root, root / "env1", root / "env1/指令3", root / "env2/指令3"):
        for order in (lines, lines[::-1]):
            scores = score_ecog(load_ecog(part), order)
            assert scores.overall.scores.seq == 1.0
            assert not scores.matching.ambiguous
            used = len(scores.clips) + scores.matching.superseded + len(scores.matching.unknown)
            assert used == 2


def test_a_line_without_a_folder_gives_way_to_one_with_its_clips() -> None:
    wanted = clip(answer("A"))
    lines = [prediction(said([])), perfect(wanted, folder=wanted.folder)]
    for order in (lines, lines[::-1]):
        assert score_ecog(tree(wanted), order, size_of=thousand).overall.scores.seq == 1.0


def test_a_line_with_its_own_clip_goes_to_no_other() -> None:
    near = clip(answer("A"), folder="指令3")
    far = clip(answer("A"), folder="b/指令3")
    scores = score_ecog(tree(near, far), [perfect(near, folder="指令3")], size_of=thousand)
    assert [one.status for one in scores.clips] == [Status.ANSWERED, Status.MISSING]


def test_a_line_that_fits_clips_in_two_folders_goes_to_both_and_is_reported() -> None:
    first = clip(answer("A"), folder="data_en/env1/指令3")
    second = clip(answer("B"), folder="data_en/env2/指令3")
    scores = score_ecog(tree(first, second), [perfect(first)], size_of=thousand)
    assert [one.scores.cls for one in scores.clips] == [1.0, 0.0]
    assert [line.video_name for line in scores.matching.ambiguous] == ["a.mp4"]


def test_an_answer_supersedes_an_error_and_a_later_answer_an_earlier_one() -> None:
    wanted = clip()
    failed = Prediction(video_name="a.mp4", instruction=3, error="refused")
    for lines in (
        [failed, perfect(wanted)],
        [perfect(wanted), failed],
        [prediction(said([])), perfect(wanted)],
    ):
        scores = score_ecog(tree(wanted), lines, size_of=thousand)
        assert scores.overall.scores.eco == 1.0
        assert scores.matching.superseded == 1


def test_a_prediction_for_no_clip_is_reported() -> None:
    scores = score_ecog(tree(clip()), [prediction(said([]), name="b.mp4")], size_of=thousand)
    assert [line.video_name for line in scores.matching.unknown] == ["b.mp4"]


# --- properties --------------------------------------------------------------------------------

numbers = st.one_of(st.integers(), st.floats(), st.booleans())
values = st.recursive(
    st.one_of(st.none(), numbers, st.text(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["point", "timestamp", "x"]), inner, max_size=3),
    ),
    max_leaves=8,
)
points = st.one_of(st.lists(numbers, max_size=3), st.lists(st.lists(numbers)), values)
entries = st.one_of(st.fixed_dictionaries({"point": points, "timestamp": values}), values)
outputs = st.one_of(
    st.fixed_dictionaries(
        {
            "selected_options": st.one_of(
                st.lists(st.sampled_from(["A", "a", " B"]), max_size=4), values
            ),
            "point_list": st.one_of(st.lists(entries, max_size=4), values),
        }
    ),
    values,
).map(json.dumps)
asked = st.lists(
    st.sampled_from(
        [
            answer("A"),
            answer("a", points=((10, 20), (30, 40))),
            answer("B", mask=mask((0, 0, 900, 900), filled(5, 5))),
            answer("C", window=None, points=()),
        ]
    ),
    min_size=1,
    max_size=4,
).map(lambda answers: clip(*answers))


@given(wanted=asked, output=st.one_of(outputs, st.text()), order=st.sampled_from(["xy", "yx"]))
def test_no_output_raises_and_every_score_is_a_fraction(
    wanted: Any, output: str, order: Any
) -> None:
    score = score_clip(wanted, prediction(output, order=order), size_of=full_hd)
    assert len(score.referents) == wanted.k
    measured = score.scores
    assert 0.0 <= measured.eco <= min(measured.cls, measured.s, measured.t) <= 1.0
    assert measured.seq == (1.0 if measured.eco == 1.0 else 0.0)


places = st.tuples(st.integers(1, 1000), st.integers(1, 1000))
truths = st.builds(
    lambda choice, place, begin, length: answer(
        choice, points=(place,), window=(begin, begin + length)
    ),
    st.sampled_from("ABab"),
    places,
    st.integers(0, 9000),
    st.integers(0, 3000),
)


@given(answers=st.lists(truths, min_size=1, max_size=4))
def test_the_truth_as_a_prediction_is_all_right(answers: Any) -> None:
    wanted = clip(*answers)
    assert score_clip(wanted, perfect(wanted), size_of=full_hd).scores.seq == 1.0


@given(point=st.one_of(points, values))
def test_a_point_is_a_pixel_or_nothing_or_broken(point: Any) -> None:
    try:
        pixel = point_in_pixels(point, width=1920, height=1080)
    except BrokenAnswerError:
        return
    assert pixel is None or all(type(part) is int for part in pixel)


@given(
    outcomes=st.lists(st.lists(st.booleans(), min_size=1, max_size=4), max_size=12),
    seed=st.integers(0, 1000),
)
def test_the_order_of_predictions_changes_nothing_and_counts_add(
    outcomes: list[list[bool]], seed: int
) -> None:
    clips, lines = [], []
    for number, right in enumerate(outcomes):
        wanted = clip(*(answer() for _ in right), name=f"{number}.mp4")
        clips.append(wanted)
        labels = ["A" if one else "B" for one in right]
        output = said(labels, *(entry() for _ in right))
        lines.append(prediction(output, name=wanted.video_name))
    ordered = as_json(score_ecog(tree(*clips), lines, size_of=thousand))
    random.Random(seed).shuffle(lines)
    shuffled = score_ecog(tree(*clips), lines, size_of=thousand)
    assert as_json(shuffled) == ordered
    parts = Counts()
    for score in shuffled.clips:
        parts += score.counts
    assert parts == shuffled.overall
    shares = [Fraction(sum(right), len(right)) for right in outcomes]
    assert shuffled.overall.eco_sum == sum(shares, Fraction(0))


def test_a_hundred_thousand_predictions_take_seconds() -> None:
    grey = mask((400, 400, 600, 600), filled(20, 20))
    clips = [clip(answer(mask=grey), answer("a"), name=f"{number}.mp4") for number in range(1000)]
    lines = [
        prediction(output, name=wanted.video_name)
        for wanted, output in ((wanted, perfect(wanted).output) for wanted in clips)
        for _ in range(100)
    ]
    began = time.process_time()
    scores = score_ecog(tree(*clips), lines, size_of=thousand)
    assert scores.overall.scores.seq == 1.0
    assert scores.matching.superseded == 99_000
    assert time.process_time() - began < 5.0
