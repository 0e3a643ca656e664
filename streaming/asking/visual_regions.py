"""Regions of a picture that matter: boxes in fractions of it, widened, merged, around a point."""

from __future__ import annotations

from collections.abc import Sequence

from streaming.events import Point
from streaming.grounding_frames import Box


def widened(box: Box, margin: float) -> Box:
    """A box with room around it, cut off at the picture's edges."""
    across, down = margin * (box.right - box.left), margin * (box.bottom - box.top)
    return Box(
        left=max(0.0, box.left - across),
        top=max(0.0, box.top - down),
        right=min(1.0, box.right + across),
        bottom=min(1.0, box.bottom + down),
    )


def merge(boxes: Sequence[Box]) -> list[Box]:
    """The boxes, those that overlap replaced by the one around them."""
    left = list(boxes)
    apart: list[Box] = []
    while left:
        box = left.pop()
        touching = [one for one in (*left, *apart) if _overlap(box, one)]
        if not touching:
            apart.append(box)
            continue
        left = [one for one in left if one not in touching]
        apart = [one for one in apart if one not in touching]
        left.append(_around_all([box, *touching]))
    return sorted(apart, key=lambda one: (one.left, one.top))


def _overlap(first: Box, second: Box) -> bool:
    return (
        first.left < second.right
        and second.left < first.right
        and first.top < second.bottom
        and second.top < first.bottom
    )


def _around_all(boxes: Sequence[Box]) -> Box:
    return Box(
        left=min(box.left for box in boxes),
        top=min(box.top for box in boxes),
        right=max(box.right for box in boxes),
        bottom=max(box.bottom for box in boxes),
    )


def area(box: Box) -> float:
    """Its share of the picture."""
    return (box.right - box.left) * (box.bottom - box.top)


def around(point: Point, share: float, size: tuple[int, int]) -> list[Box]:
    """A square around a point; none when the point lies outside the picture."""
    x, y = point
    if not (0 <= x <= 1 and 0 <= y <= 1):
        return []
    side = share * min(size)
    across, down = side / size[0] / 2, side / size[1] / 2
    return [
        Box(
            left=max(0.0, x - across),
            top=max(0.0, y - down),
            right=min(1.0, x + across),
            bottom=min(1.0, y + down),
        )
    ]
