"""Table scenes: what can be said of them is true, and nothing stands in anything else."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from replay.synth.scene import Scene, SceneError, SceneObject, SceneSpace, View, draw_scene
from replay.synth.scene.layout import distance, gap
from replay.synth.scene.settings import load_settings
from replay.synth.script import Difficulty
from replay.synth.world import CLUTTER, FIRST_ARM, FIRST_OBJECT, TABLE

DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "real", "hard")
DRAWS = [(level, seed) for level in DIFFICULTIES for seed in range(3)]

every_draw = pytest.mark.parametrize(("level", "seed"), DRAWS)


@cache
def scene(level: Difficulty, seed: int) -> Scene:
    return draw_scene(np.random.default_rng(seed), level)


def by_label(drawn: Scene) -> dict[int, SceneObject]:
    return {item.label: item for item in drawn.objects}


@every_draw
def test_names_are_unique_in_both_languages(level: Difficulty, seed: int) -> None:
    drawn = scene(level, seed)
    for language in ("en", "zh"):
        names = [item.names[language] for item in (*drawn.objects, *drawn.spaces)]
        assert len(set(names)) == len(names)
        assert all(names)
    assert all(item.names["zh"][0] > "\u3000" or item.key == "usb_stick" for item in drawn.objects)


@every_draw
def test_objects_told_by_place_stand_there(level: Difficulty, seed: int) -> None:
    drawn = scene(level, seed)
    orders = {"Left ": (0, -1), "Right ": (0, 1), "Nearer ": (1, -1), "Front ": (1, -1),
              "Farther ": (1, 1), "Back ": (1, 1)}  # fmt: skip
    for item in drawn.objects:
        for word, (axis, sign) in orders.items():
            if item.names["en"].startswith(word):
                twins = [
                    other
                    for other in drawn.objects
                    if other is not item and (other.key, other.colour) == (item.key, item.colour)
                ]
                assert twins
                assert all(sign * (item.centre - other.centre)[axis] > 0.04 for other in twins)


@every_draw
def test_things_alike_are_named_apart(level: Difficulty, seed: int) -> None:
    alike = Counter((item.key, item.colour) for item in scene(level, seed).objects)
    if level == "easy":
        assert max(alike.values()) == 1
    for item in scene(level, seed).objects:
        told = item.names["en"].split()[0] in (
            "Left", "Right", "Middle", "Nearer", "Farther", "Front", "Back",
        ) or " next to the " in item.names["en"]  # fmt: skip
        assert told == (alike[item.key, item.colour] > 1)


@every_draw
def test_what_stands_next_to_another_is_nearest_to_it(level: Difficulty, seed: int) -> None:
    drawn = scene(level, seed)
    for item in drawn.objects:
        if " next to the " in item.names["en"]:
            phrase = item.phrases["en"].split(" next to the ")[1]
            (anchor,) = (one for one in drawn.objects if one.phrases["en"].startswith(phrase))
            twins = [
                one for one in drawn.objects if (one.key, one.colour) == (item.key, item.colour)
            ]
            nearest = min(twins, key=lambda one: gap(one.footprint, anchor.footprint))
            assert nearest is item


@every_draw
def test_no_footprints_meet(level: Difficulty, seed: int) -> None:
    least = load_settings().level(level).gap
    for one, other in combinations(scene(level, seed).objects, 2):
        assert gap(one.footprint, other.footprint) >= least - 1e-9


@every_draw
def test_spaces_are_free_and_apart(level: Difficulty, seed: int) -> None:
    drawn = scene(level, seed)
    assert 4 <= len(drawn.spaces) <= 6
    for space in drawn.spaces:
        assert space.radius >= 0.04
        away = [distance(item.footprint, space.point[:2]) for item in drawn.objects]
        assert min(away) >= space.radius - 1e-9
    for one, other in combinations(drawn.spaces, 2):
        assert np.linalg.norm(one.point - other.point) >= 0.1


def fits(space: SceneSpace, item: SceneObject, side: str) -> bool:
    """Whether the space lies on that side of the object, and near it."""
    middle = 0.5 * (item.footprint.min(0) + item.footprint.max(0))
    x, y = space.point[:2] - middle
    along = {"left": -x, "right": x, "front": -y, "behind": y}[side]
    across = abs(y) if side in ("left", "right") else abs(x)
    return along > 0 and across < 0.85 * along and distance(item.footprint, space.point[:2]) < 0.19


@every_draw
def test_each_space_alone_lies_where_its_name_says(level: Difficulty, seed: int) -> None:
    drawn = scene(level, seed)
    named = [space for space in drawn.spaces if space.beside is not None]
    assert sum(space.side in ("left", "right") for space in named) >= 2
    for space in named:
        assert space.beside is not None
        assert space.side is not None
        item = by_label(drawn)[space.beside]
        assert item.phrases["en"] in space.names["en"]
        assert item.phrases["zh"] in space.names["zh"]
        assert [one for one in drawn.spaces if fits(one, item, space.side)] == [space]


def on_surface(drawn: Scene, item: SceneObject) -> bool:
    """Whether the aim lies in one of the object's faces."""
    triangles = np.concatenate(
        [body.mesh.vertices[body.mesh.faces] for body in drawn.bodies if body.label == item.label]
    ).astype(np.float64)
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    whole = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    parts = [
        np.linalg.norm(np.cross(p - item.aim, q - item.aim), axis=1)
        for p, q in ((a, b), (b, c), (c, a))
    ]
    normal = np.cross(b - a, c - a) / np.maximum(whole, 1e-15)[:, None]
    off = np.abs(np.einsum("ij,ij->i", item.aim - a, normal))
    return bool(np.any((sum(parts) <= whole * 1.0001 + 1e-9) & (off < 1e-5)))


@every_draw
def test_everything_is_in_the_picture(level: Difficulty, seed: int) -> None:
    drawn = scene(level, seed)
    labels = {body.label for body in drawn.bodies}
    for item in drawn.objects:
        points = np.concatenate(
            [body.mesh.vertices for body in drawn.bodies if body.label == item.label]
        )
        assert drawn.view.holds(points, border=0.0)
        assert item.facts.seen >= load_settings().level(level).seen
        assert on_surface(drawn, item)
        assert np.all(item.aim >= points.min(0) - 1e-6)
        assert np.all(item.aim <= points.max(0) + 1e-6)
    for space in drawn.spaces:
        assert drawn.view.holds(space.point[None], border=0.0)
    assert {item.label for item in drawn.objects} | {TABLE} <= labels
    assert max(labels) < FIRST_ARM


@every_draw
def test_things_stand_on_the_table(level: Difficulty, seed: int) -> None:
    for body in scene(level, seed).bodies:
        if body.label >= FIRST_OBJECT:
            assert body.mesh.vertices[:, 2].min() > -1e-5, body.label
            assert body.mesh.normals is not None
        if body.label == CLUTTER:
            assert body.mesh.vertices[:, 2].min() > -1e-9


@every_draw
def test_scene_is_light_enough_to_be_rendered(level: Difficulty, seed: int) -> None:
    drawn = scene(level, seed)
    assert sum(len(body.mesh.faces) for body in drawn.bodies) < 40_000
    for body in drawn.bodies:
        assert body.mesh.faces.max() < len(body.mesh.vertices)
        assert np.isfinite(body.mesh.vertices).all()
    top = next(body for body in drawn.bodies if body.label == TABLE).mesh
    sides = top.vertices[top.faces] - top.vertices[np.roll(top.faces, 1, axis=1)]
    assert np.abs(sides).max() <= 0.06


def test_same_seed_gives_the_same_scene() -> None:
    one, other = (draw_scene(np.random.default_rng(7), "hard") for _ in range(2))
    assert json.dumps(one.describe(), ensure_ascii=False) == json.dumps(
        other.describe(), ensure_ascii=False
    )
    assert len(one.bodies) == len(other.bodies)
    for a, b in zip(one.bodies, other.bodies, strict=True):
        assert a.mesh.vertices.tobytes() == b.mesh.vertices.tobytes()
        assert a.mesh.faces.tobytes() == b.mesh.faces.tobytes()
        assert (a.material.texture is None) == (b.material.texture is None)
        if a.material.texture is not None and b.material.texture is not None:
            assert a.material.texture.tobytes() == b.material.texture.tobytes()


def test_counts_follow_the_difficulty() -> None:
    for level, fewest, most in (("easy", 6, 7), ("real", 6, 10), ("hard", 8, 12)):
        assert all(fewest <= len(scene(level, seed).objects) <= most for seed in range(3))


def test_as_many_objects_as_asked_for() -> None:
    for count in (9, 12):
        drawn = draw_scene(np.random.default_rng(count), "real", objects=count)
        assert len(drawn.objects) == count


def test_setting_is_as_asked_for() -> None:
    drawn = draw_scene(np.random.default_rng(1), "easy", setting="Kitchen")
    assert drawn.setting == "Kitchen"
    assert drawn.describe()["setting"] == "Kitchen"


def test_view_without_room_is_an_error() -> None:
    away = View(eye=(0.0, -0.3, 0.5), look_at=(0.0, -5.0, 0.4), fov=60.0)
    with pytest.raises(SceneError, match="no room"):
        draw_scene(np.random.default_rng(0), "easy", objects=3, view=away)


@every_draw
def test_neighbours_are_where_they_are_said_to_be(level: Difficulty, seed: int) -> None:
    drawn = scene(level, seed)
    for item in drawn.objects:
        for side, label in item.facts.neighbours.items():
            dx, dy = (by_label(drawn)[label].centre - item.centre)[:2]
            along = {"left": -dx, "right": dx, "front": -dy, "behind": dy}[side]
            assert along > 0
