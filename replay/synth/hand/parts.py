"""The meshes of an arm at rest: skin, nails, sleeve, ring, watch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.synth.hand.cloth import sleeve_mesh, weave
from replay.synth.hand.colouring import skin_colours
from replay.synth.hand.flesh import Flesh, flesh_of, skin_mesh
from replay.synth.hand.rig import Skin, arm_weights, skin_weights
from replay.synth.hand.shape import HandShape
from replay.synth.hand.surface import vertex_normals
from replay.synth.hand.wearing import Worn, nails, ring, watch
from replay.synth.world import Floats, Material, Rgb


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One mesh that follows the bones.

    Attributes:
        skin: Its vertices and what moves them.
        faces, uv, tint: As in :class:`replay.synth.world.Mesh`.
        material: What it looks like.
    """

    skin: Skin
    faces: NDArray[np.int32]
    uv: NDArray[np.float32] | None
    tint: NDArray[np.float32] | None
    material: Material


def parts_of(shape: HandShape) -> tuple[Part, ...]:
    """All parts of one arm."""
    skeleton = shape.skeleton
    flesh = flesh_of(skeleton, shape.build)
    parts = [_bare(shape, flesh), _nails(shape, flesh), _sleeve(shape)]
    if shape.ring is not None:
        parts.append(_metal(shape, ring(flesh, skeleton), shape.ring, gloss=0.8))
    if shape.watch is not None:
        parts.append(_metal(shape, watch(flesh, shape.build.size), shape.watch, gloss=0.5))
    return tuple(parts)


def _bare(shape: HandShape, flesh: Flesh) -> Part:
    vertices, faces = skin_mesh(flesh, shape.skeleton, shape.build)
    normals = vertex_normals(vertices, faces)
    colours = skin_colours(shape, flesh, vertices, normals)
    weights = skin_weights(vertices, faces, flesh, shape.skeleton)
    return Part(
        skin=Skin.of(vertices, normals, weights),
        faces=_wound(shape, faces),
        uv=None,
        tint=_factors(colours, np.array(shape.skin.back)),
        material=Material(colour=shape.skin.back, gloss=0.25, wrap=0.3),
    )


def _nails(shape: HandShape, flesh: Flesh) -> Part:
    nail, edge = np.array(shape.skin.nail), np.array(shape.skin.edge)
    worn = nails(flesh, shape.skeleton)
    colours = nail + worn.shade[:, None] * (edge - nail)
    return _worn(shape, worn, colours, Material(colour=shape.skin.nail, gloss=0.55, wrap=0.2))


def _metal(shape: HandShape, worn: Worn, colour: Rgb, *, gloss: float) -> Part:
    plain, dial = np.array(colour), np.array([0.07, 0.08, 0.11])
    if max(colour) < 0.15:
        dial = np.array([0.75, 0.76, 0.78])
    colours = plain + worn.shade[:, None] * (dial - plain)
    return _worn(shape, worn, colours, Material(colour=colour, gloss=gloss))


def _worn(shape: HandShape, worn: Worn, colours: Floats, material: Material) -> Part:
    normals = vertex_normals(worn.vertices, worn.faces)
    return Part(
        skin=Skin.of(worn.vertices, normals, worn.weights),
        faces=_wound(shape, worn.faces),
        uv=None,
        tint=_factors(colours, np.array(material.colour)),
        material=material,
    )


def _sleeve(shape: HandShape) -> Part:
    rng = np.random.default_rng([shape.seed, 1])
    vertices, faces, uv = sleeve_mesh(shape, rng)
    return Part(
        skin=Skin.of(
            vertices,
            vertex_normals(vertices, faces),
            arm_weights(vertices[:, 1], shape.skeleton),
        ),
        faces=_wound(shape, faces),
        uv=np.asarray(uv, np.float32),
        tint=None,
        material=Material(
            colour=(1.0, 1.0, 1.0), texture=weave(shape.sleeve, rng), gloss=0.02, wrap=0.15
        ),
    )


def _wound(shape: HandShape, faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """Faces that are counter-clockwise after mirroring too."""
    return faces if shape.side == "right" else np.ascontiguousarray(faces[:, ::-1])


def _factors(colours: Floats, base: Floats) -> NDArray[np.float32]:
    """Factors, as sRGB, that make ``colours`` of ``base``; light multiplies, so linearly."""
    return np.asarray(_curved(_linear(colours) / _linear(base)), np.float32)


def _linear(colour: Floats) -> Floats:
    return np.asarray(np.where(colour < 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4))


def _curved(light: Floats) -> Floats:
    steep = 1.055 * np.maximum(light, 1e-6) ** (1 / 2.4) - 0.055
    return np.asarray(np.where(light < 0.0031308, 12.92 * light, steep))
