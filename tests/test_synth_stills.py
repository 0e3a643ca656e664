"""Pointing stills: the finger's line hits the target, all can be seen, sets are resumable."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from replay.out_folder import OutFolderError
from replay.synth.legible import legible, words_of
from replay.synth.orders import Frames, SetPlan
from replay.synth.render import Camera, Lens
from replay.synth.scene.labels import label_picture, sheet
from replay.synth.stills import Still, StillOrder, draw_still, make_still
from replay.synth.stills_folder import make_stills
from replay.synth.world import Body, Material, Mesh, Pose

SMALL = Frames(width=320, height=240)


def order(index: int) -> StillOrder:
    return StillOrder(seed=5, index=index, difficulty="easy", width=320, height=240)


@pytest.fixture(scope="module")
def still() -> Still:
    return draw_still(order(0))


def test_a_still_is_reproduced_from_its_seed(still: Still) -> None:
    again = draw_still(order(0))
    assert np.array_equal(again.picture, still.picture)
    assert (again.item, again.truth) == (still.item, still.truth)


def test_a_still_has_the_benchmarks_fields(still: Still) -> None:
    item = still.item
    assert item["image_id"] == "easy_5_00000"
    assert item["image_path"] == "images/easy_5_00000.jpg"
    assert item["dimension"] == "Basic Perception"
    assert item["deixis_level"] == "L1"
    assert still.picture.shape == (240, 320, 3)


def test_the_fingers_line_leads_to_the_target(still: Still) -> None:
    truth = still.truth
    tip, along, hit = (np.array(truth[name]) for name in ("tip", "direction", "hit"))
    assert np.allclose(tip + truth["distance"] * along, hit, atol=2e-3)
    boxes = {thing["label"]: thing["box"] for thing in truth["things"]}
    left, top, right, bottom = boxes[truth["target"]["label"]]
    assert left - 15 <= truth["hit_px"][0] <= right + 15
    assert top - 15 <= truth["hit_px"][1] <= bottom + 15
    x, y = truth["landmarks_px"][8]
    assert 0 <= x < 320
    assert 0 <= y < 240


def test_a_made_still_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image, record = order(3).paths(tmp_path)
    image.parent.mkdir()
    record.parent.mkdir()
    image.write_bytes(b"there")
    record.write_text('{"item": 1, "truth": 2}', encoding="utf-8")
    made = make_still(5, 3, "easy", tmp_path, width=320, height=240)
    assert made == {"item": 1, "truth": 2}
    assert image.read_bytes() == b"there"


def test_a_set_is_put_together_from_its_stills_and_refuses_another_plan(tmp_path: Path) -> None:
    plan = SetPlan(clips=2, seed=5, difficulties=("easy",), frames=SMALL)
    (tmp_path / "set" / "made").mkdir(parents=True)
    (tmp_path / "set" / "images").mkdir()
    for index in range(2):
        image, record = order(index).paths(tmp_path / "set")
        image.write_bytes(b"")
        record.write_text(json.dumps({"item": {"image_id": index}, "truth": {"index": index}}))
    with pytest.raises(OutFolderError, match="something else"):
        make_stills(plan, tmp_path / "set", workers=1)
    (tmp_path / "set" / "synth.json").write_text('{"benchmark": "ecog", "seed": 1}')
    with pytest.raises(OutFolderError, match="another benchmark"):
        make_stills(plan, tmp_path / "set", workers=1)


def test_a_still_lands_in_a_set(still: Still, tmp_path: Path) -> None:
    plan = SetPlan(clips=1, seed=5, difficulties=("easy",), frames=SMALL)
    seen: list[tuple[int, int]] = []
    summary = make_stills(
        plan, tmp_path, workers=1, on_plan=lambda total, done: seen.append((total, done))
    )
    assert (summary.wanted, summary.complete, summary.made) == (1, 1, 1)
    assert json.loads((tmp_path / "synth_test.json").read_text()) == [still.item]
    assert json.loads((tmp_path / "truth.json").read_text())["stills"] == [still.truth]
    picture = cv2.imread(str(tmp_path / still.item["image_path"]))
    assert picture is not None
    assert picture.shape == (240, 320, 3)
    again = make_stills(
        plan, tmp_path, workers=1, on_plan=lambda total, done: seen.append((total, done))
    )
    assert (again.complete, again.made) == (1, 0)
    assert seen == [(1, 0), (1, 1)]
    with pytest.raises(OutFolderError, match="another seed"):
        make_stills(
            SetPlan(clips=1, seed=6, difficulties=("easy",), frames=SMALL), tmp_path, workers=1
        )


def label_before_the_camera(turned: float) -> tuple[Body, Camera, np.ndarray]:
    """A printed sheet 30 cm ahead, turned about its upright axis by degrees."""
    picture = label_picture(
        np.random.default_rng(0), "SALT", ground=(0.9, 0.9, 0.9), ratio=2.0, plain=True
    )
    flat = sheet(0.08, 0.04)
    angle = np.radians(turned)
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    mesh = Mesh(
        vertices=(flat.vertices @ turn.T + (0, 0.3, 0)).astype(np.float32),
        faces=flat.faces,
        uv=flat.uv,
    )
    body = Body(mesh=mesh, material=Material(colour=(1, 1, 1), texture=picture), label=10)
    ahead = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    camera = Camera(
        lens=Lens(width=320, height=240, fov=60.0), pose=Pose(rotation=ahead, position=np.zeros(3))
    )
    return body, camera, np.full((240, 320), 10, np.uint8)


def test_a_print_that_faces_the_camera_can_be_read() -> None:
    body, camera, labels = label_before_the_camera(0.0)
    assert legible([body], 10, camera, labels)
    assert not legible([body], 11, camera, labels)


def test_a_print_turned_away_or_half_hidden_cannot_be_read() -> None:
    body, camera, labels = label_before_the_camera(75.0)
    assert not legible([body], 10, camera, labels)
    body, camera, labels = label_before_the_camera(0.0)
    labels[:, :160] = 100
    assert not legible([body], 10, camera, labels)


def test_words_are_found_within_their_label() -> None:
    picture = label_picture(
        np.random.default_rng(0), "IT", ground=(0.9, 0.9, 0.9), ratio=4.0, plain=True
    )
    first, last = words_of(picture)
    assert 0.25 < first < 0.5 < last < 0.75
