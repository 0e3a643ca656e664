"""Calibration: values computed by hand, bounds, and what must change nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.egosat.calibration import (
    Judged,
    accuracy_at,
    area_under_risk,
    brier_of_answers,
    brier_of_forecasts,
    entropy,
    expected_calibration_error,
    reliability,
    risk_curve,
    slope,
)
from replay.loose_json import Fields
from replay.report.reliability import read_reliability

SURE = st.floats(0, 1)
ANSWERS = st.lists(st.tuples(SURE, st.booleans()), min_size=1, max_size=30)


def test_four_answers_by_hand() -> None:
    sure, right = [0.9, 0.8, 0.35, 0.4], [True, False, True, False]
    bins = reliability(sure, right, bins=2)
    # (0, 0.5]: 0.35 and 0.4, half right; (0.5, 1]: 0.9 and 0.8, half right.
    assert [(one.count, one.accuracy) for one in bins] == [(2, 0.5), (2, 0.5)]
    assert [one.confidence for one in bins] == [pytest.approx(0.375), pytest.approx(0.85)]
    assert expected_calibration_error(bins) == pytest.approx((0.125 + 0.35) / 2)
    assert brier_of_answers(sure, right) == pytest.approx((0.01 + 0.64 + 0.4225 + 0.16) / 4)
    curve = risk_curve(sure, right)  # surest first: 0.9, 0.8, 0.4, 0.35
    assert curve.tolist() == pytest.approx([1, 1 / 2, 1 / 3, 2 / 4])
    assert accuracy_at(curve, (0.25, 0.5, 0.6, 1.0)) == pytest.approx(
        {0.25: 1, 0.5: 1 / 2, 0.6: 1 / 3, 1.0: 1 / 2}
    )
    assert area_under_risk(curve) == pytest.approx((0 + 1 / 2 + 2 / 3 + 1 / 2) / 4)


def test_brier_of_a_whole_forecast_by_hand() -> None:
    forecast = {"A": 0.7, "B": 0.1, "C": 0.1, "D": 0.1}
    right = Judged(confidence=0.7, right=True, truth="A", forecast=forecast)
    wrong = Judged(confidence=0.7, right=False, truth="B", forecast=forecast)
    bare = Judged(confidence=0.7, right=False, truth="B")
    assert brier_of_forecasts([right]) == pytest.approx(0.09 + 3 * 0.01)
    assert brier_of_forecasts([right, wrong, bare]) == pytest.approx(
        (0.12 + 0.49 + 0.81 + 0.02) / 2
    )
    assert math.isnan(brier_of_forecasts([bare]))


def test_equally_sure_answers_count_with_their_mean() -> None:
    assert risk_curve([0.5, 0.5, 0.5, 0.5], [1, 1, 0, 0]).tolist() == [0.5] * 4
    assert risk_curve([0.9, 0.5, 0.5], [0, 1, 0]).tolist() == pytest.approx([0, 0.25, 1 / 3])


def test_edges_of_bins_belong_to_the_lower_one() -> None:
    counts = [one.count for one in reliability([0, 0.1, 0.2, 1], [1, 1, 1, 1], bins=10)]
    assert counts == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]


def test_a_line_through_points_on_a_line() -> None:
    found = slope([8, 16, 24, 8], [0.9, 0.7, 0.5, 0.9])
    assert (found.slope, found.intercept) == pytest.approx((-0.025, 1.1))
    assert math.isnan(slope([8, 8], [1, 0]).slope)
    assert math.isnan(slope([], []).slope)


def test_entropy_by_hand() -> None:
    assert entropy([0.5, 0.25, 0.25, 0]) == pytest.approx(1.5 * math.log(2))
    assert entropy([1, 0, 0, 0]) == 0
    assert entropy([0.25] * 4) == pytest.approx(math.log(4))


def test_nothing_measured_is_nan() -> None:
    assert math.isnan(expected_calibration_error(reliability([], [])))
    assert math.isnan(brier_of_answers([], []))
    assert math.isnan(area_under_risk(risk_curve([], [])))
    assert math.isnan(accuracy_at(risk_curve([], []))[1.0])


@pytest.mark.parametrize("bad", [1.5, -0.1, math.nan])
def test_a_confidence_outside_of_0_to_1_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"0\.\.\.1"):
        reliability([bad], [True])
    with pytest.raises(ValueError, match=r"0\.\.\.1"):
        Judged(confidence=bad, right=True, truth="A")


@settings(max_examples=60, deadline=None)
@given(ANSWERS, st.randoms())
def test_bounds_and_order(answers: list[tuple[float, bool]], random: Any) -> None:
    def measured(cases: list[tuple[float, bool]]) -> tuple[float, ...]:
        sure, right = zip(*cases, strict=True)
        curve = risk_curve(sure, right)
        return (
            expected_calibration_error(reliability(sure, right)),
            brier_of_answers(sure, right),
            area_under_risk(curve),
            *accuracy_at(curve).values(),
        )

    first = measured(answers)
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in first)
    shuffled = answers[:]
    random.shuffle(shuffled)
    assert measured(shuffled) == pytest.approx(first)
    accuracy = sum(right for _, right in answers) / len(answers)
    assert first[-1] == pytest.approx(accuracy)


@settings(max_examples=60, deadline=None)
@given(ANSWERS, st.data())
def test_a_wrong_answer_put_right_never_lowers_selective_accuracy(
    answers: list[tuple[float, bool]], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(answers) - 1))
    sure = [value for value, _ in answers]
    right = [float(one) for _, one in answers]
    better = [1.0 if number == place else one for number, one in enumerate(right)]
    assert np.all(risk_curve(sure, better) >= risk_curve(sure, right) - 1e-12)
    assert (
        area_under_risk(risk_curve(sure, better))
        <= area_under_risk(risk_curve(sure, right)) + 1e-12
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(SURE, min_size=1, max_size=20), st.floats(0, 1), st.floats(0, 1))
def test_brier_score_grows_as_confidence_leaves_the_truth(
    others: list[float], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    right = [True] * (len(others) + 1)
    assert (
        brier_of_answers([*others, high], right) <= brier_of_answers([*others, low], right) + 1e-12
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda shares: sum(shares) > 0.01))
def test_entropy_is_at_most_that_of_equal_shares(shares: list[float]) -> None:
    whole = sum(shares)
    found = entropy(share / whole for share in shares)
    assert 0 <= found <= math.log(4) + 1e-9
    assert found == pytest.approx(entropy(share / whole for share in reversed(shares)))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([8.0, 16.0, 24.0]), SURE), min_size=2, max_size=20),
    st.floats(-0.5, 0.5),
)
def test_a_slope_turns_with_its_values(cases: list[tuple[float, float]], lift: float) -> None:
    distances, values = zip(*cases, strict=True)
    first = slope(distances, values)
    if math.isnan(first.slope):
        assert len(set(distances)) == 1
        return
    assert slope(distances, [-value + lift for value in values]).slope == pytest.approx(
        -first.slope, abs=1e-9
    )
    assert slope(distances[::-1], values[::-1]).slope == pytest.approx(first.slope, abs=1e-9)


def test_a_damaged_calibration_is_left_out_of_the_page() -> None:
    good = {
        "count": 3,
        "ece": 0.25,
        "aurc": None,
        "bins": [{"low": 0.5, "high": 1, "confidence": 0.75, "accuracy": 0.5}, {"low": "x"}, 7],
        "accuracy_at_coverage": {"0.5": 1.0, "much": 0.5, "2": 1, "1.0": 0.5},
    }
    stated = {"a": good, "b": {"bins": 3}, "c": 7, "d": {"bins": [{"low": 2}]}}
    (found,) = read_reliability(Fields({"calibration": stated}))
    assert (found.name, found.count, found.error, found.risk) == ("a", 3, 0.25, None)
    assert list(found.bins) == [(0.5, 1, 0.75, 0.5)]
    assert found.coverage == {0.5: 1.0, 1.0: 0.5}
    assert found.diagram.count("<rect") == 2
    assert found.curve.count("<path") == 2
    assert read_reliability(Fields({"calibration": []})) == []
