"""Answerability: values by hand, bounds and orders; and the embedders that it rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.egosat.answerability import (
    Moment,
    answerability,
    branchiness,
    probit_ranks,
    successors,
    surprises,
    window_similarity,
)
from replay.egosat.embedding import (
    EmbedderError,
    Remembered,
    Vectors,
    WordsEmbedder,
    open_embedder,
    open_picture_embedder,
)
from replay.egosat.narrations import Interval, Segment


class Letters:
    """Texts by their first letter: alike or at right angles. Counts the texts that it is given."""

    name = "letters"

    def __init__(self) -> None:
        self.given = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.given += len(texts)
        return np.array([np.eye(26)[ord(text[0]) - 97] for text in texts], dtype=np.float32)


class Pictures:
    """The picture of a window is the same until a moment, and another one after it."""

    name = "pictures"

    def embed_window(self, video: str, start: float, end: float) -> Vectors:
        return np.array([1, 0] if end <= 10 else [0, 1], dtype=np.float32)


def segment(start: float, action: str, end: float | None = None) -> Segment:
    verb, noun = action.split()
    return Segment(
        start=start, end=end if end is not None else start + 2, verb=verb, noun=noun, text=action
    )


def interval(*segments: Segment) -> Interval:
    return Interval(video="v", clip="c", start=0.0, end=60.0, segments=segments)


def test_branchiness_by_hand() -> None:
    # Two things as often, at right angles: S = ln 2, Q = 2 · ½ · ½ · 1.
    assert branchiness({"ab": 3, "cd": 3}, Letters()) == pytest.approx(math.log(2) / 2)
    # The same in other words: S = ln 2, but no spread.
    assert branchiness({"ab": 3, "ac": 3}, Letters()) == 0
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert branchiness({"ab": 3, "cd": 1}, Letters()) == pytest.approx(entropy * 2 * 0.75 * 0.25)
    assert branchiness({"ab": 3}, Letters()) == 0
    assert branchiness({}, Letters()) == 0
    with pytest.raises(ValueError, match="0 or more"):
        branchiness({"ab": -1, "cd": 1}, Letters())


def test_surprise_by_hand() -> None:
    # Ranks 1, 2, 3 of three: F̂ = 1/6, 1/2, 5/6.
    high = 0.9674215661017014
    assert probit_ranks([0.1, 0.9, 0.5]) == pytest.approx([-high, high, 0])
    assert surprises([0.1, 0.9, 0.5]) == pytest.approx([high, -high, 0])
    both = surprises([0.1, 0.9, 0.5], [0.5, 0.9, 0.1])
    assert both == pytest.approx([high / 2, -high, high / 2])
    assert probit_ranks([0.3, 0.3]) == pytest.approx([0, 0])
    assert np.isnan(probit_ranks([math.nan, 1.0])).tolist() == [True, False]
    with pytest.raises(ValueError, match="2 picture similarities for 1"):
        surprises([0.1], [0.2, 0.3])


def test_similarity_weighs_by_the_time_inside_the_window() -> None:
    made = interval(segment(0, "ab x", 4), segment(4, "cd x", 6), segment(6, "ab x", 12))
    moment = Moment(interval=made, time=6, observed=None)
    # Before: 4 s of a, 2 s of c; after: 4 s of a.
    found = window_similarity(moment, Letters(), before=6, after=4)
    assert found == pytest.approx(4 / math.hypot(4, 2), abs=1e-5)
    assert math.isnan(window_similarity(moment, Letters(), before=6, after=0))


def test_groups_are_above_the_quantiles() -> None:
    made = interval(
        segment(0, "ab x"), segment(4, "cd x"), segment(8, "ab x"), segment(12, "ef x"),
        segment(16, "gh x"),
    )  # fmt: skip
    moments = [Moment(interval=made, time=one.end, observed=one) for one in made.segments[:-1]]
    found = answerability(
        moments, successors([made]), Letters(), before=2, after=6, branch_quantile=0.5,
        surprise_quantile=0.5,
    )  # fmt: skip
    # What follows "ab x" is c or e; everything else is followed by one thing only.
    assert [one.branchiness > 0 for one in found] == [True, False, True, False]
    assert [one.state[0] for one in found] == ["P", "N", "P", "N"]
    seen = answerability(
        moments, successors([made]), Letters(), before=2, after=6, branch_quantile=0.5,
        surprise_quantile=0.5, pictures=Pictures(),
    )  # fmt: skip
    assert [one.branchiness for one in seen] == [one.branchiness for one in found]
    assert [one.surprise for one in seen] != [one.surprise for one in found]


COUNTS = st.dictionaries(
    st.sampled_from(["ab", "ac", "bd", "ce", "df"]), st.integers(0, 9), max_size=5
)


@settings(max_examples=50, deadline=None)
@given(COUNTS, st.integers(2, 5))
def test_branchiness_is_bounded_and_knows_shares_alone(counts: dict[str, int], times: int) -> None:
    found = branchiness(counts, Letters())
    known = [count for count in counts.values() if count]
    most = math.log(len(known)) * (1 - 1 / len(known)) if known else 0.0
    assert -1e-9 <= found <= most + 1e-6
    scaled = {action: count * times for action, count in reversed(counts.items())}
    assert branchiness(scaled, Letters()) == pytest.approx(found, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.randoms())
def test_surprise_falls_as_likeness_rises_whatever_the_order(
    likeness: list[float], random: Any
) -> None:
    found = surprises(likeness)
    order = np.argsort(likeness, kind="stable")
    assert np.all(np.diff(found[order]) <= 1e-12)
    assert np.isfinite(found).all()
    if len(set(likeness)) == len(likeness):
        assert abs(found.sum()) < 1e-6  # ranks without ties are even about the middle
    turned = list(range(len(likeness)))
    random.shuffle(turned)
    again = surprises([likeness[place] for place in turned])
    assert again == pytest.approx(found[turned])


def test_minilm_says_what_its_authors_publish() -> None:
    embedder = open_embedder("minilm")
    texts = [
        "That is a happy person",
        "That is a happy dog",
        "That is a very happy person",
        "Today is a sunny day",
    ]
    likeness = embedder.embed(texts) @ embedder.embed(texts[:1]).T
    # The four numbers of the model's own card.
    assert likeness.ravel() == pytest.approx([1, 0.695, 0.943, 0.257], abs=1e-3)
    assert embedder.embed([]).shape[0] == 0


def test_words_know_pieces_but_no_meanings() -> None:
    vectors = WordsEmbedder().embed(["opens the drawer", "open drawers", "take cup", ""])
    likeness = vectors @ vectors.T
    assert likeness[0, 1] > 0.3 > 0.1 > likeness[0, 2]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0])


def test_an_embedder_is_asked_about_a_text_once() -> None:
    asked = Letters()
    remembered = Remembered(asked, at_once=2)
    texts = ["ab", "cd", "ab", "ef"]
    assert np.array_equal(remembered.embed(texts), Letters().embed(texts))
    remembered.embed(texts)
    assert asked.given == 3


def test_own_embedders_are_named_by_module_and_name() -> None:
    here = __name__
    assert open_embedder(f"{here}:Letters").embed(["ab"]).shape == (1, 26)
    assert open_picture_embedder(f"{here}:Pictures").name == "pictures"
    for bad in ("clip", "no_such_module:X", f"{here}:Nothing", f"{here}:Pictures"):
        with pytest.raises(EmbedderError):
            open_embedder(bad)
    with pytest.raises(EmbedderError):
        open_picture_embedder(f"{here}:Letters")
