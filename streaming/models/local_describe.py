"""Without options: the thing or the free place that a finger points at, in words."""

from __future__ import annotations

from dataclasses import dataclass

from streaming.models.local_look import Look
from streaming.models.local_pointing import Cone, PointingSettings, Spot, place_beside
from streaming.models.local_regions import Region, objectness
from streaming.models.local_scene import beside, foot
from streaming.models.local_text import Direction

_PLAIN_CHINESE = {
    "red": "红色",
    "orange": "橙色",
    "yellow": "黄色",
    "green": "绿色",
    "cyan": "青色",
    "blue": "蓝色",
    "purple": "紫色",
    "pink": "粉色",
    "brown": "棕色",
    "black": "黑色",
    "grey": "灰色",
    "white": "白色",
}
_ENGLISH_RELATION: dict[Direction, str] = {
    "left": "to the left of",
    "right": "to the right of",
    "front": "in front of",
    "behind": "behind",
}
_CHINESE_RELATION: dict[Direction, str] = {
    "left": "左边",
    "right": "右边",
    "front": "前面",
    "behind": "后面",
}
_LEAST_OBJECTNESS = 2.0
_NEIGHBOUR_WITHIN = 0.5
_PLACE_AHEAD = 0.06
"""How far beyond the fingertip a free place is taken to lie, picture heights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a finger points at.

    Attributes:
        text: A few words.
        spot: Where, in pixels of the searched picture.
        confidence: 0...1.
        distance: From where the finger points, picture heights.
    """

    text: str
    spot: Spot
    confidence: float
    distance: float


def describe_object(
    look: Look, cone: Cone, names: tuple[str, ...], language: str
) -> Described | None:
    """The thing nearest to where the finger points; None when nothing stands out."""
    nearest = _nearest(look, cone)
    if nearest is None:
        return None
    best, confidence = nearest
    region = look.regions.regions[best]
    text = _thing_text(look, best, names, language)
    place = _neighbour_text(look, foot(region, look.regions.height), best, names, language)
    return Described(
        text=_joined(text, place, language),
        spot=region.inside,
        confidence=confidence,
        distance=cone.to_region(region),
    )


def describe_beside(
    look: Look,
    cone: Cone,
    names: tuple[str, ...],
    language: str,
    direction: Direction,
    settings: PointingSettings,
) -> Described | None:
    """The free place ``direction`` of the thing pointed at ("to the right of this")."""
    nearest = _nearest(look, cone)
    if nearest is None or direction not in _ENGLISH_RELATION:
        return None
    best, confidence = nearest
    region = look.regions.regions[best]
    thing = _thing_text(look, best, names, language)
    if language == "zh":
        text = f"{thing}{_CHINESE_RELATION[direction]}的空位"
    else:
        text = f"the free place {_ENGLISH_RELATION[direction]} {thing}"
    return Described(
        text=text,
        spot=place_beside(region, direction, height=look.regions.height, settings=settings),
        confidence=confidence,
        distance=cone.to_region(region),
    )


def describe_place(look: Look, cone: Cone, names: tuple[str, ...], language: str) -> Described:
    """The free place just beyond the fingertip."""
    spot = cone.spot_ahead(_PLACE_AHEAD)
    at = spot[0] / look.regions.height, spot[1] / look.regions.height
    place = _neighbour_text(look, at, None, names, language)
    text = "空位" if language == "zh" else "the free place"
    row = min(max(int(spot[1]), 0), look.regions.height - 1)
    column = min(max(int(spot[0]), 0), look.regions.width - 1)
    free = bool(look.regions.surface[row, column])
    return Described(
        text=_joined(text, place, language),
        spot=spot,
        confidence=0.6 if free else 0.3,
        distance=_PLACE_AHEAD,
    )


def _nearest(look: Look, cone: Cone) -> tuple[int, float] | None:
    """The thing that the finger means most likely, and how much likelier than the others."""
    regions = look.regions.regions
    likely = [
        (cone.likelihood(cone.to_region(region)) * objectness(region), index)
        for index, region in enumerate(regions)
        if objectness(region) >= _LEAST_OBJECTNESS
    ]
    weight, best = max(likely, default=(0.0, 0))
    if weight <= 0:
        return None
    rivals = sum(other for other, index in likely if not _touching(regions[index], regions[best]))
    return best, weight / (weight + rivals)


def _thing_text(look: Look, region: int, names: tuple[str, ...], language: str) -> str:
    colour = names[int(look.scene.names[region].argmax())]
    return f"{_PLAIN_CHINESE[colour]}物体" if language == "zh" else f"the {colour} thing"


def _neighbour_text(
    look: Look,
    at: tuple[float, float],
    own: int | None,
    names: tuple[str, ...],
    language: str,
) -> str:
    """``to the left of the red thing``; empty when nothing stands near."""
    found = _neighbour(look, at, own)
    if found is None:
        return ""
    index, direction = found
    thing = _thing_text(look, index, names, language)
    if language == "zh":
        return f"{thing}{_CHINESE_RELATION[direction]}"
    return f"{_ENGLISH_RELATION[direction]} {thing}"


def _neighbour(
    look: Look, at: tuple[float, float], own: int | None
) -> tuple[int, Direction] | None:
    regions, height = look.regions.regions, look.regions.height
    best: tuple[float, int, Direction] | None = None
    for index, region in enumerate(regions):
        if index == own or objectness(region) < _LEAST_OBJECTNESS:
            continue
        if own is not None and _touching(regions[own], region):
            continue
        x, y = foot(region, height)
        distance = abs(at[0] - x) + 2 * abs(at[1] - y)
        if distance > _NEIGHBOUR_WITHIN:
            continue
        for direction in _ENGLISH_RELATION:
            score = beside(direction, at, (x, y), foreshortening=2.0) - 3 * distance
            if best is None or score > best[0]:
                best = (score, index, direction)
    return None if best is None else best[1:]


def _touching(one: Region, other: Region) -> bool:
    return one.covers(other) > 0.1 or other.covers(one) > 0.1


def _joined(text: str, place: str, language: str) -> str:
    if not place:
        return text
    return f"{place}的{text}" if language == "zh" else f"{text} {place}"
