"""Pictures under a budget of visual tokens: what they cost, which are sent, how large."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import replay.asking.run_benchmark as running
from client.chosen_pictures import chosen_pictures
from client.usage import UsageError
from replay.asking.run_benchmark import Asking, run_benchmark
from replay.asking.visual import GazeError, VisualChoice, read_gaze
from replay.egoextra import load_egoextra
from replay.egoextra.benchmark import EgoExtraBenchmark, Reading, Source
from replay.egoextra.settings import load_egoextra_prompt, load_egoextra_settings
from streaming.asking.request import Part, PicturePart, Request, TextPart
from streaming.asking.visual_budget import (
    FRAMES_CHOICES,
    FramesChoice,
    SeenHand,
    VisualBudget,
    load_visual_settings,
    spread,
)
from streaming.asking.visual_regions import area, merge, widened
from streaming.asking.visual_tokens import TokenFormula, VisualTokens
from streaming.grounding_frames import Box, decoded
from streaming.picture_jpeg import jpeg_of
from tests.asking_fakes import FakeEndpoint, Told
from tests.egoextra_maker import egoextra_folder

SETTINGS = load_visual_settings()

# --- what pictures cost ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        # The providers' own examples.
        ("openai:gpt-4o", (1024, 1024), 765),
        ("openai:gpt-4o", (2048, 4096), 1105),
        ("openai:gpt-4.1-mini", (1024, 1024), 1659),
        ("gemini:gemini-2.5-flash", (384, 384), 258),
        ("gemini:gemini-2.5-flash", (960, 540), 6 * 258),
        ("gemini:gemini-3-flash-preview", (4000, 3000), 1120),
        # By hand.
        ("openai:gpt-5", (512, 512), 70 + 140),
        ("openai:Qwen3-VL-8B", (640, 320), 200),
        ("openai:some-other-model", (280, 280), 100),
    ],
)
def test_picture_costs_what_the_provider_says(
    model: str, size: tuple[int, int], tokens: int
) -> None:
    assert SETTINGS.tokens.of(model).tokens(*size) == tokens


def test_picture_above_the_cap_is_made_smaller_first() -> None:
    # The provider's example: 1800 x 2400 becomes 33 x 44 patches.
    assert replace(SETTINGS.tokens.of("openai:gpt-4.1-mini"), factor=1.0).tokens(1800, 2400) == 1452


def test_coarse_look_costs_less() -> None:
    assert SETTINGS.tokens.of("gemini:gemini-3-pro").tokens(100, 100, detail="low") == 280
    assert SETTINGS.tokens.of("openai:gpt-4o").tokens(2000, 2000, detail="low") == 85


SIDES = st.integers(1, 5000)


@given(SIDES, SIDES, st.sampled_from([one.models for one in SETTINGS.tokens.formula]))
def test_costs_are_positive_and_the_same_on_the_side(width: int, height: int, name: str) -> None:
    formula = next(one for one in SETTINGS.tokens.formula if one.models == name)
    tokens = formula.tokens(width, height)
    assert tokens >= 1
    assert tokens == formula.tokens(height, width)
    if formula.kind == "patches":
        assert tokens <= formula.cap * formula.factor + 1
        assert formula.tokens(min(width, 32), min(height, 32)) <= tokens


def test_settings_refuse_nonsense() -> None:
    formula = TokenFormula(models="a", source="s", kind="fixed", each=1)
    with pytest.raises(ValueError, match="the last formula must be for models"):
        VisualTokens(formula=(formula,))
    with pytest.raises(ValueError, match="sides and cap must be positive"):
        replace(formula, side=0)
    with pytest.raises(ValueError, match="must fall"):
        replace(SETTINGS, sides=(256, 512))
    with pytest.raises(ValueError, match="0 x 5 pixels"):
        formula.tokens(0, 5)


# --- which are sent ----------------------------------------------------------------------------

PATCHES = TokenFormula(models="*", source="", kind="patches", side=32)
"""A picture of 640 x 320 costs 200."""


SMALL = replace(SETTINGS, sides=(64, 48, 40, 32))


class Hands:
    """Finds a hand in pictures whose first pixel says so; its value is how much it points."""

    def find(self, image: NDArray[np.uint8]) -> Sequence[SeenHand]:
        mark = int(image[0, 0, 0])
        if mark < 100:
            return ()
        return (SeenHand(box=Box(left=0.4, top=0.4, right=0.5, bottom=0.6), pointing=mark / 255),)


def picture(mark: int = 0, size: tuple[int, int] = (640, 320)) -> bytes:
    return jpeg_of(np.full((size[1], size[0], 3), mark, np.uint8), quality=95)


def request_of(marks: Sequence[int], size: tuple[int, int] = (640, 320)) -> Request:
    parts: list[Part] = [TextPart(text="What is it?")]
    for time, mark in enumerate(marks):
        parts.append(TextPart(text=f"<time>{time}", until=float(time)))
        parts.append(PicturePart(jpeg=picture(mark, size), until=float(time)))
    return Request(
        system="You see.",
        parts=(*parts, TextPart(text="Answer.")),
        schema=None,
        interface="frames",
        prompt="en/1",
        words="none",
        asked_at=float(len(marks)),
    )


def budget(choice: FramesChoice, most: int | None, **more: Any) -> VisualBudget:
    fixed = {"formula": PATCHES, "hands": Hands(), "settings": SETTINGS}
    return VisualBudget(choice=choice, most=most, **(fixed | more))


def times(request: Request, what: str = "frame") -> list[float]:
    return [p.until for p in request.parts if isinstance(p, PicturePart) and p.what == what]


def texts(request: Request) -> list[str]:
    return [part.text for part in request.parts if isinstance(part, TextPart)]


def test_uniform_sends_as_many_as_fit_and_the_last() -> None:
    request, use = budget("uniform", 700).applied(request_of([0] * 9))
    assert times(request) == [0.0, 4.0, 8.0]
    assert texts(request) == ["What is it?", "<time>0", "<time>4", "<time>8", "Answer."]
    assert use.described() == {
        "pictures": 3, "left_out": 6, "cut_outs": 0, "tokens": 600, "offered": 1800,
    }  # fmt: skip


def test_without_a_budget_nothing_changes() -> None:
    asked = request_of([0, 200, 0])
    for choice in FRAMES_CHOICES:
        request, use = budget(choice, None).applied(asked)
        assert request.digest() == asked.digest()
        assert (use.tokens, use.offered) == (600, 600)


def test_roi_keeps_hands_at_full_resolution_and_reduces_the_rest() -> None:
    request, use = budget("roi", 700).applied(request_of([0, 200, 0, 200, 0]))
    assert times(request) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert times(request, "region") == [1.0, 3.0]
    shown = [decoded(p.jpeg).shape[:2] for p in request.parts if isinstance(p, PicturePart)]
    # The hand's box of 64 x 64 with room of 35 % on each side; 512 fits.
    whole, cut = (256, 512), (109, 109)
    assert shown == [whole, whole, cut, whole, whole, cut, whole]
    assert use.tokens == 5 * 16 * 8 + 2 * 16 <= 700
    assert texts(request).count(SETTINGS.explained) == 1
    assert '<zoom x="365-535" y="330-670">' in texts(request)


def test_roi_leaves_pictures_out_when_reducing_is_not_enough() -> None:
    request, use = budget("roi", 150).applied(request_of([0, 200, 0, 200, 0]))
    assert times(request)[-1] == 4.0
    assert use.left_out > 0
    assert use.tokens <= 150


def test_apex_sends_those_that_point_most_and_the_last() -> None:
    request, use = budget("apex", 600).applied(request_of([120, 250, 0, 200, 0, 0]))
    assert times(request) == [1.0, 3.0, 5.0]
    assert use.cut_outs == 0


def test_picture_that_does_not_fit_is_made_smaller_until_it_does() -> None:
    choices: tuple[FramesChoice, ...] = ("uniform", "apex")
    for choice in choices:
        request, use = budget(choice, 90).applied(request_of([0, 0]))
        assert times(request) == [1.0]
        assert use.tokens == 12 * 6
    both, use = budget("roi", 90).applied(request_of([0, 0]))
    assert times(both) == [0.0, 1.0]
    assert use.tokens == 2 * 8 * 4


@given(
    st.lists(st.sampled_from([0, 120, 200, 250]), min_size=1, max_size=7),
    st.integers(40, 1600),
    st.sampled_from(FRAMES_CHOICES),
)
def test_budget_is_kept_and_the_last_picture_sent(
    marks: list[int], most: int, choice: FramesChoice
) -> None:
    # Small pictures and patches, so that they are quick: one costs 200 again.
    asked = request_of(marks, (80, 40))
    small = replace(budget(choice, most, settings=SMALL), formula=replace(PATCHES, side=4))
    request, use = small.applied(asked)
    assert use.tokens <= most
    assert times(request)[-1] == len(marks) - 1
    assert times(request) == sorted(set(times(request)))
    assert use.left_out == len(marks) - len(times(request))
    assert use.pictures == sum(isinstance(part, PicturePart) for part in request.parts)
    more, wider = replace(small, most=most + 200).applied(asked)
    if choice != "roi":
        assert len(times(more)) >= len(times(request))
        assert wider.tokens >= use.tokens


def test_gaze_is_cut_out_too() -> None:
    looked = budget("roi", 120, gaze=lambda time: (0.5, 0.5) if time == 1.0 else None)
    request, _ = looked.applied(request_of([0, 0, 0]))
    assert times(request, "region") == [1.0]
    outside = budget("roi", 120, gaze=lambda time: (1.5, 0.5))
    assert outside.applied(request_of([0, 0, 0]))[1].cut_outs == 0


def test_request_without_pictures_is_left_alone() -> None:
    asked = replace(request_of([0]), parts=(TextPart(text="only words"),))
    request, use = budget("roi", 10).applied(asked)
    assert request is asked
    assert use.tokens == 0


def test_budget_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="a budget of 0 visual tokens"):
        budget("uniform", 0)
    with pytest.raises(ValueError, match="roi needs something that finds hands"):
        budget("roi", 100, hands=None)


@given(st.integers(1, 40), st.data())
def test_positions_are_spread_and_end_with_the_last(total: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, total))
    places = spread(total, count)
    assert len(set(places)) == count
    assert places == sorted(places)
    assert places[-1] == total - 1


# --- regions -----------------------------------------------------------------------------------

CORNERS = st.tuples(*[st.integers(0, 9)] * 2, *[st.integers(1, 5)] * 2)


@given(st.lists(CORNERS, max_size=6))
def test_merged_regions_cover_all_and_do_not_overlap(corners: list[tuple[int, ...]]) -> None:
    boxes = [
        Box(left=x / 14, top=y / 14, right=(x + w) / 14, bottom=(y + h) / 14)
        for x, y, w, h in corners
    ]
    merged = merge(boxes)
    for box in boxes:
        assert any(
            one.left <= box.left
            and one.top <= box.top
            and one.right >= box.right
            and one.bottom >= box.bottom
            for one in merged
        )
    assert sum(map(area, merged)) <= 1 + 1e-9
    assert merge(merged) == merged


def test_widened_region_stays_in_the_picture() -> None:
    box = widened(Box(left=0.0, top=0.5, right=0.2, bottom=0.9), 0.5)
    assert (box.left, box.bottom) == (0.0, 1.0)
    assert (box.right, box.top) == pytest.approx((0.3, 0.3))


# --- with a benchmark, and from the command line ------------------------------------------------


class Quiet:
    def begun(self, total: int, done: int) -> None: ...

    def came(self, question: str, error: str) -> None: ...

    def stopping(self) -> None: ...


@pytest.mark.threads
def test_any_benchmark_is_asked_under_a_budget_and_says_what_it_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeEndpoint(script=lambda request: Told(text="1", after=0.0))
    monkeypatch.setattr(running, "open_model", lambda *_, **__: fake)
    data = load_egoextra(egoextra_folder(tmp_path / "data"))
    source = Source(dataset=data, reading=Reading(), settings=load_egoextra_settings())
    asking = Asking(
        out=tmp_path / "run",
        model="openai:f",
        visual=VisualChoice(budget=budget("uniform", 16)),
    )
    outcome = run_benchmark(
        EgoExtraBenchmark(source=source, prompt=load_egoextra_prompt()), asking, Quiet()
    )
    # A frame of 64 x 48 costs 4; eight were composed for each of three questions.
    assert [len(times(request)) for request in fake.asked] == [4, 4, 4]
    assert outcome.facts["visual_tokens"] == {
        "requests": 3, "pictures": 12, "left_out": 12, "cut_outs": 0, "tokens": 48, "offered": 96,
    }  # fmt: skip
    line = json.loads((tmp_path / "run" / "asked.jsonl").read_text().splitlines()[0])
    assert line["visual"]["tokens"] == 16
    facts = json.loads((tmp_path / "run" / "run.json").read_text())["visual"]
    assert (facts["choice"], facts["most"]) == ("uniform", 16)


def test_gaze_is_read_by_recording(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("time,x,y\n2.0,0.5,0.25\n1.0,0.1,0.2\n")
    gaze = read_gaze(path)
    assert gaze(1.05) == (0.1, 0.2)
    assert gaze(1.95) == (0.5, 0.25)
    assert gaze(1.5) is None
    choice = VisualChoice(budget=budget("roi", 120), gaze=tmp_path)
    asked = request_of([0, 0, 0])
    assert choice.applied(asked, group="v")[1].cut_outs == 2
    assert choice.applied(asked, group="../other")[1].cut_outs == 0
    path.write_text("time,x,y\n1.0,left,0.2\n")
    with pytest.raises(GazeError, match=r"v.csv, line 2: no sample"):
        read_gaze(path)
    path.write_text("t,u,v\n")
    with pytest.raises(GazeError, match="expected the columns"):
        read_gaze(path)


@pytest.mark.parametrize(
    ("frames", "most", "gaze", "what"),
    [
        (None, 100, None, "go with --frames"),
        ("roi", None, None, "give --visual-budget"),
        ("uniform", 100, Path(), "is cut out with --frames roi only"),
        ("roi", 100, Path("nowhere"), "no such folder"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    frames: FramesChoice | None, most: int | None, gaze: Path | None, what: str
) -> None:
    with pytest.raises(UsageError, match=what):
        chosen_pictures("openai:x", frames, most=most, gaze=gaze)


def test_real_hands_are_found_in_a_still_picture() -> None:
    from replay.media.window import frames_at

    clip = Path(__file__).parents[1] / "replay/clips/easy/data_en/指令1/en1_easy_0_0000.mp4"
    with_hand, without = frames_at(clip, [2.6, 5.2], max_side=1024)
    choice = chosen_pictures("openai:x", "roi", most=500, gaze=None)
    assert choice is not None
    assert choice.budget.hands is not None
    (hand,) = choice.budget.hands.find(with_hand.image)
    assert 0.005 < area(hand.box) < 0.3
    assert choice.budget.hands.find(without.image) == ()
