"""The benchmark's own files for made clips, read back by the benchmark's loader."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from replay.ecog import load_ecog
from replay.synth.ecog_files import Choice, TimedWord, Window, annotation, ground_truth
from replay.synth.orders import Frames, Order

ORDER = Order(
    seed=1,
    index=7,
    instruction=3,
    language="zh",
    difficulty="real",
    frames=Frames(width=320, height=240),
)


def square(x: int, y: int, side: int) -> NDArray[np.bool_]:
    pixels = np.zeros((240, 320), np.bool_)
    pixels[y : y + side, x : x + side] = True
    return pixels


def choices(*, full_frame: bool = False) -> tuple[Choice, ...]:
    return (
        Choice(
            letter="A",
            name="红色马克杯",
            points=np.array([[110.0, 60.0]]),
            pixels=square(100, 50, 20),
            full_frame=full_frame,
        ),
        Choice(letter="B", name="剪刀", points=np.array([[200.0, 90.0], [202.0, 92.0]])),
        Choice(letter="a", name="碗左边的空位", points=np.array([[40.0, 200.0]])),
    )


def written(tmp_path: Path, *, full_frame: bool = False) -> Path:
    folder = tmp_path / "data_zn" / "指令3"
    folder.mkdir(parents=True)
    options = choices(full_frame=full_frame)
    entry = annotation(
        ORDER,
        setting="Kitchen",
        folder="data_zn/指令3",
        choices=options,
        text="把这个放到那里。",
        words=(TimedWord(text="把", begin_ms=100, end_ms=200),),
    )
    truth = ground_truth(
        ORDER,
        choices=options,
        answer=(
            Window(letter="A", begin_ms=1000, end_ms=1500),
            Window(letter="a", begin_ms=2500, end_ms=3100),
        ),
    )
    (folder / "annotations.json").write_text(json.dumps([entry]), encoding="utf-8")
    gt = json.dumps({entry["video_name"]: truth})
    (folder / "eval_gt.json").write_text(gt, encoding="utf-8")
    (folder / entry["video_name"]).touch()
    return tmp_path


def test_the_loader_reads_what_was_meant(tmp_path: Path) -> None:
    tree = load_ecog(written(tmp_path))
    assert not tree.left_out
    assert not tree.notes
    (clip,) = tree.clips
    assert (clip.instruction, clip.language) == (3, "zh")
    assert clip.object_choices == ("A. 红色马克杯", "B. 剪刀")
    assert clip.space_choices == ("a. 碗左边的空位",)
    first, second = clip.answers
    assert (first.choice, first.window) == ("A", (1000, 1500))
    assert (second.choice, second.window) == ("a", (2500, 3100))
    assert second.points == ((125, 833),)


@pytest.mark.parametrize("full_frame", [True, False])
def test_masks_hold_the_object_and_nothing_else(tmp_path: Path, full_frame: bool) -> None:
    (clip,) = load_ecog(written(tmp_path, full_frame=full_frame)).clips
    mask = clip.answers[0].mask
    assert mask is not None
    inside = {
        (x, y)
        for x in range(90, 130)
        for y in range(40, 80)
        if mask.contains(x, y, width=320, height=240)
    }
    assert inside == {(x, y) for x in range(100, 120) for y in range(50, 70)}


@given(st.floats(-50, 400), st.floats(-50, 300))
def test_points_stay_within_the_frame(x: float, y: float) -> None:
    choice = Choice(letter="a", name="x", points=np.array([[x, y]]))
    truth = ground_truth(
        ORDER, choices=(choice,), answer=(Window(letter="a", begin_ms=0, end_ms=1),)
    )
    ((row, column),) = truth["answer"][0]["points"]
    assert 1 <= row <= 1000
    assert 1 <= column <= 1000


def test_an_object_that_is_hidden_has_no_mask() -> None:
    hidden = Choice(
        letter="A", name="x", points=np.array([[5.0, 5.0]]), pixels=np.zeros((240, 320), np.bool_)
    )
    truth = ground_truth(
        ORDER, choices=(hidden,), answer=(Window(letter="A", begin_ms=0, end_ms=1),)
    )
    assert "mask" not in truth["answer"][0]
