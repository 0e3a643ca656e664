"""Looking at a picture: the hand that points, and which thing the ray hits, is nearest, stands out.

Lengths are in picture heights, so that nothing depends on the resolution.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.egopoint.objects import SeenObject
from streaming.config import config_path, load
from streaming.events import Hand
from streaming.grounding_frames import Ray
from streaming.hand_geometry import FoundHand
from streaming.hand_pose import pointing_score
from streaming.hand_search import HandSearch
from streaming.hands import HandSettings
from streaming.models.local_colour import ColourNames
from streaming.models.local_pointing import Cone, PointingSettings
from streaming.models.local_regions import find_regions
from streaming.models.local_settings import read_local_settings

Image: TypeAlias = NDArray[np.uint8]
Box: TypeAlias = tuple[float, float, float, float]
HandsOf: TypeAlias = Callable[[Image], Sequence[FoundHand]]

_LOOKS, _STEP = 6, 100
"""A picture is shown to the hand search so often, so many milliseconds apart: it looks further."""
_GRID = 24
"""Points along each side of a box that stand for it."""
_KNUCKLE, _TIP = 5, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was seen on a picture; things by their place in the list of objects.

    Attributes:
        has_hand: A hand was found; the rest is None without one.
        hit: The thing that the pointing ray meets best.
        by_distance: Things by their distance to the hand, the nearest first.
        by_salience: Things by how much they stand out, the most first.
    """

    has_hand: bool
    hit: int | None = None
    by_distance: tuple[int, ...] = ()
    by_salience: tuple[int, ...] = ()


@contextlib.contextmanager
def still_hands() -> Iterator[HandsOf]:
    """Finds the hands of one picture after another, which have nothing to do with each other.

    Raises:
        HandModelError, WeightsError: If the models cannot be loaded.
    """
    from streaming.models.litert_hands import LiteRTHands

    settings = load(HandSettings, config_path("hands.toml")).search
    with contextlib.closing(LiteRTHands()) as models:

        def hands_of(image: Image) -> Sequence[FoundHand]:
            search = HandSearch(models, settings)
            aspect = image.shape[1] / image.shape[0]
            found: Sequence[FoundHand] = ()
            for look in range(_LOOKS):
                found = search.detect(image, milliseconds=look * _STEP, aspect=aspect) or found
            return found

        yield hands_of


def look(
    image: Image,
    objects: Sequence[SeenObject],
    hands: Sequence[FoundHand],
    *,
    pointing: PointingSettings,
) -> Looked:
    """What a picture shows.

    Args:
        image: RGB.
        objects: The things on it.
        hands: The hands found on it; the one whose pose points most counts.
        pointing: How far a thing may lie off the ray.
    """
    if not hands:
        return Looked(has_hand=False)
    height, width = image.shape[:2]
    aspect = width / height
    hand = max(
        hands, key=lambda one: pointing_score(one.landmarks, one.depths, one.world, aspect=aspect)
    )
    order = range(len(objects))
    marks = np.array(hand.landmarks) * (width, height)
    to_hand = [_to_marks(one, marks) for one in objects]
    cone = Cone(ray_of_hand(hand), width=width, height=height, settings=pointing)
    to_ray = [_to_cone(cone, one, pointing.centre_share) for one in objects]
    salience = saliences(image, objects)
    return Looked(
        has_hand=True,
        hit=min(order, key=to_ray.__getitem__, default=None),
        by_distance=tuple(sorted(order, key=to_hand.__getitem__)),
        by_salience=tuple(sorted(order, key=lambda place: -salience[place])),
    )


def things_on(
    image: Image, hands: Sequence[FoundHand], *, most: int, overlap: float
) -> tuple[SeenObject, ...]:
    """Object-like regions of a picture, the most object-like first, where no things are known.

    They have numbers for names: nothing tells what they are.

    Args:
        image: RGB.
        hands: The hands on it, which are no things.
        most: So many at most.
        overlap: How much of the smaller of two may lie in the other; the more object-like stays.
    """
    local, colours, _ = read_local_settings()
    aspect = image.shape[1] / image.shape[0]
    known = [
        Hand(
            track=place,
            side=one.side,
            score=one.score,
            landmarks=one.landmarks,
            depths=one.depths,
            world=one.world,
            pointing=pointing_score(one.landmarks, one.depths, one.world, aspect=aspect),
        )
        for place, one in enumerate(hands)
    ]
    found = find_regions(
        image,
        local.regions,
        names=ColourNames(colours.examples),
        hands=known,
        focus=[one.landmarks[_TIP] for one in hands],
    )
    across, down = image.shape[1] / found.width, image.shape[0] / found.height
    kept: list[SeenObject] = []
    for one in found.regions:
        box = (one.left * across, one.top * down, one.right * across, one.bottom * down)
        if all(_shared(box, other.box) <= overlap for other in kept):
            kept.append(SeenObject(name=f"thing {len(kept) + 1}", box=box))
        if len(kept) == most:
            break
    return tuple(kept)


def _shared(one: Box, other: Box) -> float:
    """How much of the smaller of two boxes lies in the other, 0...1."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    areas = [(x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in (one, other)]
    return max(0.0, wide) * max(0.0, high) / min(areas)


def ray_of_hand(hand: FoundHand) -> Ray:
    """Where its index finger points, from the finger's base through its tip."""
    depth = 0.0
    if hand.world:
        finger = np.subtract(hand.world[_TIP], hand.world[_KNUCKLE])
        length = float(np.linalg.norm(finger))
        depth = abs(float(finger[2])) / length if length > 0 else 0.0
    return Ray(tip=hand.landmarks[_TIP], knuckle=hand.landmarks[_KNUCKLE], depth=depth)


def saliences(image: Image, objects: Sequence[SeenObject]) -> list[float]:
    """How much each thing stands out: its colour's distance from the picture's mean, and its size.

    Frequency-tuned saliency (Achanta et al., CVPR 2009), the mean over the box, times the square
    root of the box's share of the picture.
    """
    lab = cv2.cvtColor(cv2.GaussianBlur(image, (5, 5), 0), cv2.COLOR_RGB2LAB).astype(np.float32)
    saliency = np.linalg.norm(lab - lab.reshape(-1, 3).mean(axis=0), axis=2)
    height, width = saliency.shape
    found = []
    for one in objects:
        x1, y1, x2, y2 = one.box
        rows = slice(int(np.clip(y1, 0, height)), int(np.clip(np.ceil(y2), 0, height)))
        columns = slice(int(np.clip(x1, 0, width)), int(np.clip(np.ceil(x2), 0, width)))
        part = saliency[rows, columns]
        share = part.size / saliency.size
        found.append(float(part.mean()) * share**0.5 if part.size else 0.0)
    return found


def _to_marks(one: SeenObject, marks: NDArray[np.float64]) -> float:
    """Pixels from a box to the nearest of the hand's points; 0 inside."""
    x1, y1, x2, y2 = one.box
    off_x = np.maximum(np.maximum(x1 - marks[:, 0], marks[:, 0] - x2), 0.0)
    off_y = np.maximum(np.maximum(y1 - marks[:, 1], marks[:, 1] - y2), 0.0)
    return float(np.hypot(off_x, off_y).min())


def _to_cone(cone: Cone, one: SeenObject, centre_share: float) -> float:
    """How far a thing lies from where the finger points, as the local model judges it."""
    x1, y1, x2, y2 = one.box
    across, down = np.meshgrid(np.linspace(x1, x2, _GRID), np.linspace(y1, y2, _GRID))
    spots = np.column_stack([across.ravel(), down.ravel()]).astype(np.float32)
    nearest = float(cone.distances(spots).min())
    centre = cone.distance(((x1 + x2) / 2, (y1 + y2) / 2))
    return (1 - centre_share) * nearest + centre_share * centre
