"""The synthetic camera against truths that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.synth.render import Camera, Lens, Renderer, cast
from replay.synth.world import CLUTTER, ROOM, TABLE, Body, Floats, Lighting, Material, Mesh, Pose

LIGHT = Lighting(
    towards=np.array([-0.6, 0.0, 0.8]),
    colour=(1.0, 1.0, 1.0),
    ambient=(0.3, 0.3, 0.3),
    softness=0.1,
)
CUBE, HAND = 10, 100


def body(vertices: Floats, faces: Floats, label: int, colour: float = 0.8) -> Body:
    return Body(
        mesh=Mesh(vertices=np.array(vertices, np.float32), faces=np.array(faces, np.int32)),
        material=Material(colour=(colour, colour, colour), gloss=0.0),
        label=label,
    )


def square(z: float, half: float, label: int, *, middle: tuple[float, float] = (0, 0.5)) -> Body:
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * half + middle
    vertices = np.column_stack([corners, np.full(4, z)])
    return body(vertices, np.array([(0, 1, 2), (0, 2, 3)]), label)


def box(low: tuple[float, ...], high: tuple[float, ...], label: int) -> Body:
    corners = np.array([[(low, high)[i >> k & 1][k] for k in range(3)] for i in range(8)])
    sides = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    faces = [face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))]
    return body(corners, np.array(faces), label)


def ball(middle: tuple[float, float, float], radius: float, label: int) -> Body:
    """An octahedron, split until it is round."""
    points = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], float)
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    triangles = points[np.array(faces)]
    for _ in range(4):
        a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
        ab, bc, ca = a + b, b + c, c + a
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        triangles = np.concatenate([np.stack(part, axis=1) for part in parts])
        triangles /= np.linalg.norm(triangles, axis=2, keepdims=True)
    vertices = triangles.reshape(-1, 3) * radius + middle
    return body(vertices, np.arange(len(vertices)).reshape(-1, 3), label)


def looking(eye: tuple[float, ...], at: tuple[float, ...], roll: float = 0.0) -> Pose:
    ahead = np.subtract(at, eye) / np.linalg.norm(np.subtract(at, eye))
    right = np.cross(ahead, [np.sin(roll), 0.0, np.cos(roll)])
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(ahead, right), ahead], axis=1)
    return Pose(rotation=rotation, position=np.array(eye, float))


def moved(given: Body, shift: tuple[float, float, float]) -> Body:
    vertices = given.mesh.vertices + np.array(shift, np.float32)
    return Body(
        mesh=Mesh(vertices=vertices, faces=given.mesh.faces),
        material=given.material,
        label=given.label,
    )


FROM_ABOVE = looking((0.0, 0.499, 1.0), (0.0, 0.5, 0.0))
FROM_THE_HEAD = looking((0.0, -0.1, 0.5), (0.05, 0.5, 0.0), roll=0.05)
WIDE = Lens(width=160, height=120, fov=110.0, k1=0.3, k2=0.12)
ROOMY = (
    square(0.0, 0.5, TABLE),
    square(-0.7, 4.0, ROOM),
    box((-0.1, 0.4, 0.0), (0.0, 0.5, 0.1), CUBE),
    ball((0.2, 0.6, 0.05), 0.05, CUBE + 1),
    ball((-0.3, 0.7, 0.02), 0.02, CLUTTER),
)
LENSES = st.builds(
    Lens,
    width=st.sampled_from([640, 1280]),
    height=st.sampled_from([480, 720]),
    fov=st.floats(60, 115),
    k1=st.floats(0, 0.4),
    k2=st.floats(0, 0.2),
)


@given(LENSES, st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20))
@settings(deadline=None, max_examples=60)
def test_rays_and_projection_are_each_others_inverse(
    lens: Lens, shares: list[tuple[float, float]]
) -> None:
    camera = Camera(lens=lens, pose=FROM_THE_HEAD)
    pixels = np.array(shares) * (lens.width, lens.height)
    origin, directions = camera.rays(pixels)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    np.testing.assert_allclose(camera.project(origin + 3.0 * directions), pixels, atol=1e-6)


@given(LENSES)
@settings(deadline=None, max_examples=20)
def test_the_field_of_view_is_that_between_the_left_and_right_edges(lens: Lens) -> None:
    middle = lens.height / 2
    _, (left, right) = Camera(lens=lens, pose=FROM_ABOVE).rays(
        np.array([[0.0, middle], [lens.width, middle]])
    )
    assert np.degrees(np.arccos(left @ right)) == pytest.approx(lens.fov)


def test_what_is_behind_the_camera_lands_nowhere() -> None:
    camera = Camera(lens=WIDE, pose=FROM_ABOVE)
    assert np.isnan(camera.project(np.array([[0.0, 0.5, 2.0]]))).all()


@pytest.mark.parametrize("wrong", [{"fov": 5.0}, {"k1": -0.1}, {"width": 2}])
def test_a_lens_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"."):
        Lens(**{"width": 640, "height": 480, "fov": 90.0, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize(("fov", "bend"), [(60.0, 0.0), (90.0, 0.15), (115.0, 0.35)])
def test_a_body_is_where_its_points_project(fov: float, bend: float) -> None:
    lens = Lens(width=320, height=240, fov=fov, k1=bend, k2=bend / 3)
    labels = Renderer(lens, LIGHT, ROOMY).label_picture(FROM_THE_HEAD, [])
    rows, columns = np.nonzero(labels == CUBE + 1)
    middle = Camera(lens=lens, pose=FROM_THE_HEAD).project(np.array([[0.2, 0.6, 0.05]]))[0]
    assert abs(columns.mean() + 0.5 - middle[0]) < 1.0
    assert abs(rows.mean() + 0.5 - middle[1]) < 1.0


@pytest.mark.parametrize(
    "lens",
    [WIDE, Lens(width=160, height=120, fov=60.0), Lens(width=192, height=108, fov=90.0, k1=0.2)],
)
@pytest.mark.parametrize(
    "pose", [FROM_THE_HEAD, FROM_ABOVE, looking((0.0, 0.3, 0.05), (0.1, 0.7, 0.0), roll=0.7)]
)
def test_every_pixel_sees_what_a_ray_through_its_centre_hits(lens: Lens, pose: Pose) -> None:
    hand = [ball((0.05, 0.45, 0.15), 0.03, HAND)]
    picture = Renderer(lens, LIGHT, ROOMY).frame(pose, hand)
    pixels = np.random.default_rng(3).integers(0, (lens.width, lens.height), (150, 2))
    origin, directions = Camera(lens=lens, pose=pose).rays(pixels + 0.5)
    different = 0
    for (column, row), direction in zip(pixels, directions, strict=True):
        hit = cast((*ROOMY, *hand), origin, direction)
        label = 0 if hit is None else hit.label
        if picture.labels[row, column] != label:  # an edge may go either way by rounding
            different += 1
        elif hit is not None:
            ahead = (hit.point - origin) @ pose.rotation[:, 2]
            assert picture.depth[row, column] == pytest.approx(ahead, rel=1e-4)
    assert different <= 1


def test_labels_alone_are_the_labels_of_the_frame() -> None:
    renderer = Renderer(WIDE, LIGHT, ROOMY)
    hand = [ball((0.05, 0.45, 0.15), 0.03, HAND)]
    labels = renderer.frame(FROM_THE_HEAD, hand).labels
    np.testing.assert_array_equal(renderer.label_picture(FROM_THE_HEAD, hand), labels)
    assert HAND in labels


def test_no_gap_opens_between_the_triangles_of_a_closed_surface() -> None:
    """A ball all around the camera leaves no pixel empty, wherever its edges fall."""
    around = ball((0.0, 0.5, 1.0), 3.0, ROOM)
    for roll in (0.0, 0.3, 1.1):
        pose = looking((0.1, 0.4, 1.0), (0.3, 0.9, 0.8), roll)
        assert (Renderer(WIDE, LIGHT, [around]).label_picture(pose, []) == ROOM).all()


def test_depth_is_along_the_view() -> None:
    depth = (
        Renderer(WIDE, LIGHT, [square(0.0, 9.0, TABLE)])
        .frame(looking((0.0, 0.5, 1.0), (0.0, 0.5 + 1e-9, 0.0)), [])
        .depth
    )
    np.testing.assert_allclose(depth, 1.0, rtol=1e-4)


def brightness(moving: list[Body]) -> tuple[Floats, Camera]:
    lens = Lens(width=200, height=200, fov=60.0)
    picture = Renderer(lens, LIGHT, [square(0.0, 0.9, TABLE)]).frame(FROM_ABOVE, moving)
    return picture.rgb.mean(axis=2), Camera(lens=lens, pose=FROM_ABOVE)


def test_shadows_fall_away_from_the_light() -> None:
    """Light comes from the left at 3 : 4, so a ball 0.2 m up throws its shadow 0.15 m right."""
    bright, camera = brightness([ball((0.0, 0.5, 0.2), 0.03, HAND)])
    (shaded, facing, plain) = (
        bright[int(row), int(column)]
        for column, row in camera.project(
            np.array([[0.15, 0.5, 0.0], [-0.15, 0.5, 0.0], [0.0, 0.8, 0.0]])
        )
    )
    assert shaded < 0.5 * plain
    assert facing == pytest.approx(plain, rel=0.05)


def test_what_hovers_low_darkens_the_table_below_it_more_than_what_hovers_high() -> None:
    def under(height: float) -> float:
        bright, camera = brightness([square(height, 0.1, HAND, middle=(0.0, 0.5))])
        side = camera.project(np.array([[-0.12, 0.5, 0.0]]))[0]
        return float(bright[int(side[1]), int(side[0])])

    assert under(0.05) < under(0.3) - 0.01


def test_white_paper_in_the_light_of_the_scene_gives_one() -> None:
    paper = body(
        square(0.0, 0.9, TABLE).mesh.vertices, np.array([(0, 1, 2), (0, 2, 3)]), TABLE, 1.0
    )
    picture = Renderer(WIDE, LIGHT, [paper]).frame(FROM_ABOVE, [])
    weights = (0.2126, 0.7152, 0.0722)
    assert float(picture.rgb[60, 80] @ np.array(weights)) == pytest.approx(1.0, abs=0.02)


def test_the_same_scene_gives_the_same_bytes() -> None:
    hand = [ball((0.05, 0.45, 0.15), 0.03, HAND)]
    before = (FROM_ABOVE, [moved(hand[0], (0.02, 0.0, 0.0))])
    first, second = (
        Renderer(WIDE, LIGHT, ROOMY).frame(FROM_THE_HEAD, hand, before=before) for _ in range(2)
    )
    assert first.rgb.tobytes() == second.rgb.tobytes()


def test_only_what_moves_is_blurred() -> None:
    lens = Lens(width=200, height=200, fov=60.0)
    renderer = Renderer(
        lens, LIGHT, [square(0.0, 0.9, TABLE), box((0.2, 0.7, 0), (0.3, 0.8, 0.05), CUBE)]
    )
    ending = ball((0.0, 0.5, 0.3), 0.05, HAND)
    start = moved(ending, (-0.06, 0.0, 0.0))
    sharp = renderer.frame(FROM_ABOVE, [ending])
    blurred = renderer.frame(FROM_ABOVE, [ending], before=(FROM_ABOVE, [start]))
    np.testing.assert_array_equal(blurred.labels, sharp.labels)
    changed = np.abs(blurred.rgb - sharp.rgb).max(axis=2) > 1e-3
    columns = np.nonzero(changed.any(axis=0))[0]
    camera = Camera(lens=lens, pose=FROM_ABOVE)
    left, right = camera.project(np.array([[-0.11, 0.5, 0.3], [0.05, 0.5, 0.3]]))[:, 0]
    assert left - 4 < columns.min() < left + 8  # its trail begins where it came from
    assert columns.max() < right + 4
    still = renderer.frame(FROM_ABOVE, [ending], before=(FROM_ABOVE, [ending]))
    np.testing.assert_array_equal(still.rgb, sharp.rgb)


def test_a_texture_far_away_is_its_mean() -> None:
    checks = (np.indices((64, 64)).sum(axis=0) % 2 * 255).astype(np.uint8)
    given = square(0.0, 0.9, TABLE)
    sheet = Body(
        mesh=Mesh(
            vertices=given.mesh.vertices,
            faces=given.mesh.faces,
            uv=np.array([(0, 0), (20, 0), (20, 20), (0, 20)], np.float32),
        ),
        material=Material(colour=(1, 1, 1), texture=np.dstack([checks] * 3), gloss=0.0),
        label=TABLE,
    )
    picture = Renderer(WIDE, LIGHT, [sheet]).frame(FROM_ABOVE, [])
    assert picture.rgb[50:70, 70:90].std() < 0.02
    assert picture.rgb[60, 80].mean() == pytest.approx(0.5, abs=0.05)


def test_a_ray_without_a_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="no length"):
        cast(ROOMY, np.zeros(3), np.zeros(3))
