"""Sets of made clips: complete, reproducible, resumable, and what their truth says is so."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.cli import run
from replay.ecog import EcogTree, load_ecog
from replay.measure.binding_truth import load_true_clips
from replay.measure.made_truth import made_clips
from replay.out_folder import OutFolderError
from replay.source import open_source
from replay.synth.folder import make_set
from replay.synth.orders import Frames, SetPlan
from replay.synth.stills_folder import make_stills
from replay.synth.strip import main as strip_main
from streaming.events import AudioBlock, VideoFrame

pytestmark = pytest.mark.usefixtures("speakers")

SMALL = Frames(width=240, height=180, fps=12)


def plan(clips: int = 2, seed: int = 6) -> SetPlan:
    return SetPlan(
        clips=clips,
        seed=seed,
        levels=("L2", "L3"),
        languages=("en",),
        difficulties=("easy",),
        frames=SMALL,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of two clips; tests only read it."""
    out = tmp_path_factory.mktemp("synth") / "set"
    summary = make_set(plan(), out, workers=1)
    assert (summary.made, summary.complete, summary.failed) == (2, 2, ())
    return out


@pytest.fixture(scope="module")
def tree(made: Path) -> EcogTree:
    return load_ecog(made)


@pytest.fixture(scope="module")
def truths(made: Path) -> list[dict[str, Any]]:
    content: dict[str, list[dict[str, Any]]] = json.loads(
        (made / "truth.json").read_text(encoding="utf-8")
    )
    return content["clips"]


def test_the_benchmarks_loader_takes_all_of_it(tree: EcogTree) -> None:
    assert [clip.instruction for clip in tree.clips] == [2, 3]
    assert not tree.left_out
    assert not tree.notes


def test_videos_are_as_long_and_as_large_as_said(
    tree: EcogTree, truths: list[dict[str, Any]]
) -> None:
    for clip, truth in zip(tree.clips, truths, strict=True):
        events = list(open_source(clip.video).events())
        frames = [event for event in events if isinstance(event, VideoFrame)]
        assert len(frames) == truth["frames"]
        assert frames[0].image.shape[:2] == (180, 240)
        seconds = sum(len(e.samples) / 16000 for e in events if isinstance(e, AudioBlock))
        assert seconds == pytest.approx(truth["duration_ms"] / 1000, abs=0.1)


def test_windows_hold_their_apexes_and_are_the_answers(
    tree: EcogTree, truths: list[dict[str, Any]]
) -> None:
    for clip, truth in zip(tree.clips, truths, strict=True):
        windows = []
        for stroke in truth["strokes"]:
            begin, end = stroke["stroke_window_ms"]
            assert begin < stroke["apex_ms"] < end
            assert stroke["prep_begin_ms"] <= stroke["onset_ms"] < stroke["apex_ms"]
            assert stroke["hold_end_ms"] <= stroke["offset_ms"]
            if not stroke["withdrawn"]:
                windows.append((stroke["choice"], (begin, end)))
        assert windows == [(answer.choice, answer.window) for answer in clip.answers]


def test_strokes_go_with_words_and_hit_what_they_mean(truths: list[dict[str, Any]]) -> None:
    for truth in truths:
        for stroke in truth["strokes"]:
            word = truth["words"][stroke["word_index"]]
            assert word["stroke"] == stroke["index"]
            assert word["begin_ms"] == stroke["word_begin_ms"]
            tip, direction = np.array(stroke["fingertip"]), np.array(stroke["direction"])
            way = np.array(stroke["hit"]) - tip
            assert way @ direction == pytest.approx(np.linalg.norm(way), abs=1e-3)


def test_the_marked_point_of_an_object_lies_in_its_mask(tree: EcogTree) -> None:
    for clip in tree.clips:
        for answer in clip.answers:
            if not answer.is_object:
                continue
            assert answer.mask is not None
            for x, y in answer.points:
                assert answer.mask.contains(int(x * 0.24), int(y * 0.18), width=240, height=180)


def test_measures_read_the_truth(made: Path, truths: list[dict[str, Any]]) -> None:
    known = made_clips(made)
    assert {len(clip.strokes) for clip in known.values()} == {1, 2}
    clips, left_out = load_true_clips(made)
    assert len(clips) == 2
    assert not left_out
    assert [len(clip.strokes) for clip in clips] == [len(t["strokes"]) for t in truths]


def test_the_same_seed_gives_the_same_bytes(made: Path, tmp_path: Path) -> None:
    make_set(plan(1), tmp_path / "again", workers=1)
    for name in ("made", "data_en"):
        for path in sorted((tmp_path / "again" / name).rglob("*")):
            twin = made / path.relative_to(tmp_path / "again")
            if path.is_file() and path.suffix == ".mp4":
                assert path.read_bytes() == twin.read_bytes()
    one, both = (json.loads((p / "truth.json").read_text()) for p in (tmp_path / "again", made))
    assert one["clips"] == both["clips"][:1]


def test_a_set_that_lost_a_clip_gets_it_back_and_keeps_the_other(
    made: Path, tmp_path: Path
) -> None:
    out = tmp_path / "set"
    shutil.copytree(made, out)
    videos = sorted(out.rglob("*.mp4"))
    before = videos[1].stat().st_mtime_ns
    gone = videos[0].read_bytes()
    videos[0].unlink()
    plans: list[tuple[int, int]] = []
    summary = make_set(plan(), out, workers=1, on_plan=lambda *both: plans.append(both))
    assert plans == [(2, 1)]
    assert (summary.made, summary.complete) == (1, 2)
    assert videos[0].read_bytes() == gone
    assert videos[1].stat().st_mtime_ns == before


def test_a_finished_set_is_left_alone(made: Path) -> None:
    assert make_set(plan(), made, workers=1).made == 0


def test_another_seed_is_refused(made: Path) -> None:
    with pytest.raises(OutFolderError, match="another seed"):
        make_set(plan(seed=7), made, workers=1)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(OutFolderError, match="something else"):
        make_set(plan(), tmp_path, workers=1)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"clips": 1}'])
def test_a_damaged_record_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "synth.json").write_text(content)
    with pytest.raises(OutFolderError, match="damaged"):
        make_set(plan(), tmp_path, workers=1)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_set_of_the_other_benchmark_is_refused_and_kept(made: Path, fresh: bool) -> None:
    before = sorted(path for path in made.rglob("*") if path.is_file())
    with pytest.raises(OutFolderError, match="another benchmark"):
        make_stills(plan(), made, workers=1, fresh=fresh)
    assert sorted(path for path in made.rglob("*") if path.is_file()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["--clips", "0"],
        ["--clips", "1", "--size", "big"],
        ["--clips", "1", "--size", "641x480"],
        ["--clips", "1", "--levels", "L9"],
        ["--clips", "1", "--languages", "fr"],
        ["--clips", "1", "--difficulty", "mild"],
        ["--clips", "1", "--seed", "-1"],
        ["--clips", "1", "--fps", "1"],
    ],
)
def test_wrong_use_ends_with_2(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["synth", "--out", str(tmp_path / "x"), *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_a_strip_shows_every_apex_and_the_words(
    made: Path, truths: list[dict[str, Any]], tmp_path: Path
) -> None:
    truth = truths[1]
    out = tmp_path / "strip.svg"
    assert strip_main([str(made), truth["video_name"], str(out)]) == 0
    svg = ElementTree.parse(out).getroot()
    images = [one for one in svg.iter() if one.tag.endswith("image")]
    assert len(images) == len(truth["strokes"]) + 2
    texts = {one.text for one in svg.iter() if one.tag.endswith("text")}
    assert {word["text"] + word["punct"] for word in truth["words"]} <= texts


def test_a_strip_of_no_made_clip_is_one_line(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert strip_main([str(made), "other.mp4", str(tmp_path / "x.svg")]) == 1
    assert strip_main([str(tmp_path), "other.mp4", str(tmp_path / "x.svg")]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 2
