"""Kinds of things on a table: each can be built, named, and asked about."""

from __future__ import annotations

import numpy as np
import pytest

from replay.synth.scene import shapes, smoothing
from replay.synth.scene.choice import draw_things
from replay.synth.scene.kinds import BUILDERS, CATEGORIES, MATERIALS, PATTERNS, SETTINGS, catalogue
from replay.synth.scene.labels import label_picture
from replay.synth.scene.names import plain_name
from replay.synth.scene.palette import COLOURS, shade
from replay.synth.scene.settings import load_settings

KEYS = list(catalogue())


def test_there_are_many_kinds_everywhere() -> None:
    assert len(KEYS) >= 40
    for setting in SETTINGS:
        assert sum(setting[0] in kind.settings for kind in catalogue().values()) >= 35


def test_every_kind_has_a_builder_and_every_builder_a_kind() -> None:
    assert set(BUILDERS) == set(KEYS)


def test_kinds_say_what_is_known() -> None:
    for kind in catalogue().values():
        assert kind.category in CATEGORIES
        assert kind.material in MATERIALS
        assert kind.pattern in PATTERNS
        assert set(kind.palette) <= set(COLOURS)
        assert set(kind.settings) <= {"K", "O", "I"}
        assert all(kind.names)
        assert all(kind.use)


def test_nouns_are_unique_but_for_colour() -> None:
    for language in (0, 1):
        nouns = [kind.names[language] for kind in catalogue().values()]
        assert len(set(nouns)) == len(nouns)


def test_there_are_a_dozen_colours() -> None:
    assert len(COLOURS) >= 12


@pytest.mark.parametrize("key", KEYS)
def test_parts_are_closed_and_face_outwards(key: str) -> None:
    rng = np.random.default_rng(3)
    kind = catalogue()[key]
    model = BUILDERS[key](rng, shade(rng, COLOURS[kind.palette[0]]))
    triangles = 0
    for part in model.parts:
        triangles += len(part.mesh.faces)
        if part.material.texture is not None and not smoothing.is_closed(part.mesh):
            continue  # a printed sheet
        assert smoothing.is_closed(part.mesh)
        assert smoothing.volume(part.mesh) > 0
        smoothed = smoothing.smooth(part.mesh, part.crease)
        assert smoothed.normals is not None
        assert smoothing.is_closed(smoothed)
        assert np.allclose(np.linalg.norm(smoothed.normals, axis=1), 1.0, atol=1e-3)
    assert 70 <= triangles <= 3000


@pytest.mark.parametrize("key", KEYS)
def test_sizes_are_those_of_a_table(key: str) -> None:
    rng = np.random.default_rng(5)
    model = BUILDERS[key](rng, (0.5, 0.5, 0.5))
    points = np.concatenate([part.mesh.vertices for part in model.parts])
    size = np.ptp(points, axis=0)
    limits = {"tiny": 0.085, "small": 0.2, "medium": 0.26, "large": 0.34}
    assert 0.005 < size.max() <= limits[catalogue()[key].size]


def test_things_are_never_mixed_up() -> None:
    level = load_settings().hard
    for seed in range(6):
        things = draw_things(np.random.default_rng(seed), level, SETTINGS[seed % 3], 12, (0, 0, 0))
        assert len(things) == 12
        for i, one in enumerate(things):
            for other in things[i + 1 :]:
                if one.twins is not None and one.twins == other.twins:
                    continue
                same_group = (one.kind.group or one.key) == (other.kind.group or other.key)
                assert (
                    not same_group
                    or one.colour.family != other.colour.family
                    or (one.kind.names != other.kind.names)
                )
                assert (one.key, one.colour) != (other.key, other.colour)


def test_colours_that_begin_with_a_vowel_get_their_article() -> None:
    rng = np.random.default_rng(0)
    level = load_settings().real
    names = [
        plain_name(thing)["en"]
        for _ in range(25)
        for thing in draw_things(rng, level, "Industrial", 10, (0, 0, 0))
    ]
    assert not any(" a orange" in name for name in names)
    assert any(" an orange handle" in name for name in names)


def test_words_are_drawn_on_labels() -> None:
    picture = label_picture(
        np.random.default_rng(0), "OLIVE\nOIL", ground=(0.9, 0.9, 0.9), ink=(0, 0, 0), plain=True
    )
    dark = (picture.max(-1) < 90).any(1)
    rows = np.flatnonzero(np.diff(dark.astype(int)))
    assert len(rows) == 4  # two lines of writing


def test_cut_out_takes_any_outline() -> None:
    star = [
        (np.cos(a) * r, np.sin(a) * r)
        for a, r in zip(np.arange(10) * 0.6283, [2, 1] * 5, strict=True)
    ]
    for outline in (star, star[::-1]):
        plate = shapes.cut_out(outline, 0.5)
        assert smoothing.is_closed(plate)
        assert smoothing.volume(plate) == pytest.approx(0.5 * 5 * 2 * np.sin(0.6283), rel=1e-3)


def test_clockwise_outline_has_no_ears() -> None:
    with pytest.raises(ValueError, match="crosses itself"):
        shapes.ear_clip(np.array([(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)]))


def test_volumes_are_those_of_geometry() -> None:
    assert smoothing.volume(shapes.ball(1.0, rings=48, segments=96)) == pytest.approx(
        4.18879, rel=5e-3
    )
    assert smoothing.volume(shapes.cylinder(1.0, 2.0, segments=128)) == pytest.approx(
        6.2832, rel=1e-2
    )
    assert smoothing.volume(shapes.rounded_box((1, 2, 3), 1e-4)) == pytest.approx(6.0, rel=1e-3)


def test_edges_sharper_than_the_crease_stay() -> None:
    box = smoothing.smooth(shapes.plain_box(1.0, 1.0, 1.0), 30.0)
    assert len(box.vertices) == 24
    ball = shapes.ball(1.0)
    smooth = smoothing.smooth(ball, 60.0)
    assert smooth.normals is not None
    assert np.einsum("ij,ij->i", smooth.normals, smooth.vertices).min() > 0.99
