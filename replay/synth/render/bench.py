"""What a frame costs: ``python -m replay.synth.render.bench``.

Times the renderer on a table of balls with a moving arm of balls, and, where the package embreex
is installed, what its ray caster takes for one ray a pixel and one shadow ray each, without
textures, smooth edges or any shading. That comparison decided for the rasteriser.
"""

from __future__ import annotations

import importlib
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import cyclopts
import numpy as np

from replay.synth.render import Camera, Lens, Renderer, Sensor
from replay.synth.world import (
    FIRST_ARM,
    FIRST_OBJECT,
    ROOM,
    TABLE,
    Body,
    Floats,
    Lighting,
    Material,
    Mesh,
    Pose,
)

LIGHT = Lighting(
    towards=np.array([-0.48, 0.36, 0.8]), colour=(1.0, 0.95, 0.9), ambient=(0.4,) * 3, softness=0.3
)


def main(*, frames: int = 20, width: int = 640, height: int = 480) -> None:
    """Print processor milliseconds a frame, median of ``frames``."""
    rng = np.random.default_rng(0)
    static = [_sheet(rng, 0.0, 0.7, TABLE), _sheet(rng, -0.75, 3.0, ROOM)]
    for number in range(24):
        middle = rng.uniform((-0.5, 0.2, 0.03), (0.5, 0.9, 0.05))
        static.append(_ball(middle, 0.04, FIRST_OBJECT + number))
    lens = Lens(width=width, height=height, fov=95.0, k1=0.2, k2=0.06)
    renderer = Renderer(lens, LIGHT, static)
    sensor = Sensor.draw(rng, "real", lens, 7.0)
    now, before = _view(0.0), _view(0.004)
    arm, earlier = _arm(0.0), _arm(0.005)
    picture = renderer.frame(now, arm, before=(before, earlier))
    faces = [sum(len(body.mesh.faces) for body in bodies) for bodies in (static, arm)]
    print(f"{platform.processor() or platform.machine()}, {width}x{height}, n={frames}")
    print(f"{faces[0]} triangles at rest, {faces[1]} moving; processor ms, median:")
    rows: list[tuple[str, Callable[[], Any]]] = [
        ("frame, all still", lambda: renderer.frame(now, arm)),
        ("frame, all moving", lambda: renderer.frame(now, arm, before=(before, earlier))),
        ("labels alone", lambda: renderer.label_picture(now, arm)),
        ("sensor", lambda: sensor.expose(picture.rgb, 1.0)),
    ]
    for name, action in rows:
        print(f"  {name:32}{_median(action, frames):7.1f}")
    _ray_caster(Camera(lens=lens, pose=now), [*static, *arm], arm, frames)


def _ray_caster(camera: Camera, bodies: list[Body], moving: list[Body], frames: int) -> None:
    try:
        mesh_of = importlib.import_module("embreex.mesh_construction").TriangleMesh
        scene_of = importlib.import_module("embreex.rtcore_scene").EmbreeScene
    except ImportError:
        print("  (embreex is not installed: no comparison)")
        return
    lens = camera.lens
    rows, columns = np.mgrid[0 : lens.height, 0 : lens.width]
    origin, rays = camera.rays(np.stack([columns.ravel(), rows.ravel()], axis=1) + 0.5)
    rays = rays.astype(np.float32)
    origins = np.tile(origin.astype(np.float32), (len(rays), 1))
    scene, again = scene_of(), scene_of()
    mesh_of(scene, _corners(bodies))
    hits = scene.run(origins, rays, output=True)
    met = (origins + rays * np.minimum(hits["tfar"], 10.0)[:, None]).astype(np.float32)
    lamp = np.tile(LIGHT.towards.astype(np.float32), (len(rays), 1))

    def rebuild() -> None:
        nonlocal again
        again = scene_of()
        mesh_of(again, _corners(moving))
        again.run(origins[:1], rays[:1])

    for name, action in (
        ("embreex: a ray a pixel", lambda: scene.run(origins, rays, output=True)),
        ("embreex: a shadow ray a pixel", lambda: scene.run(met, lamp, query="OCCLUDED")),
        ("embreex: taking in what moves", rebuild),
    ):
        print(f"  {name:32}{_median(action, frames):7.1f}")


def _median(action: Callable[[], Any], times: int) -> float:
    spent = []
    for _ in range(times):
        start = time.process_time()
        action()
        spent.append(1000 * (time.process_time() - start))
    return statistics.median(spent)


def _corners(bodies: list[Body]) -> Any:
    return np.concatenate([body.mesh.vertices[body.mesh.faces] for body in bodies])


def _view(aside: float) -> Pose:
    ahead = np.array([aside, 0.6, -0.5])
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(ahead, right), ahead], axis=1)
    return Pose(rotation=rotation, position=np.array([0.0, -0.1, 0.5]))


def _arm(aside: float) -> list[Body]:
    steps = np.linspace(0.0, 1.0, 12)[:, None]
    middles = (1 - steps) * (0.3 + aside, 0.0, 0.15) + steps * (0.05 + aside, 0.45, 0.12)
    return [_ball(middle, 0.03, FIRST_ARM) for middle in middles]


def _sheet(rng: np.random.Generator, z: float, half: float, label: int) -> Body:
    low, high = 0.5 - half, 0.5 + half
    corners = [(-half, low, z), (half, low, z), (half, high, z), (-half, high, z)]
    mesh = Mesh(
        vertices=np.array(corners, np.float32),
        faces=np.array([(0, 1, 2), (0, 2, 3)], np.int32),
        uv=np.array([(0, 0), (3, 0), (3, 3), (0, 3)], np.float32),
    )
    texture = rng.integers(60, 220, (512, 512, 3), np.uint8)
    return Body(mesh=mesh, material=Material(colour=(1, 1, 1), texture=texture), label=label)


def _ball(middle: Floats, radius: float, label: int) -> Body:
    rows, columns = 16, 32
    down, round_ = np.mgrid[0 : rows + 1, 0 : columns + 1]
    up, turn = np.pi * down / rows, 2 * np.pi * round_ / columns
    normals = np.stack([np.sin(up) * np.cos(turn), np.sin(up) * np.sin(turn), np.cos(up)], axis=-1)
    normals = normals.reshape(-1, 3)
    first = (down[:-1, :-1] * (columns + 1) + round_[:-1, :-1]).ravel()
    below = first + columns + 1
    faces = np.concatenate(
        [np.stack([first, below, below + 1], 1), np.stack([first, below + 1, first + 1], 1)]
    )
    mesh = Mesh(
        vertices=(normals * radius + middle).astype(np.float32),
        faces=faces.astype(np.int32),
        normals=normals.astype(np.float32),
    )
    return Body(mesh=mesh, material=Material(colour=(0.7, 0.5, 0.4), gloss=0.4), label=label)


if __name__ == "__main__":
    cyclopts.run(main)
