"""One look at the scene of a query: the picture searched, its things, and the ways into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streaming import geometry
from streaming.events import IDENTITY, Homography, Point
from streaming.grounding_frames import Keyframe, Ray, View
from streaming.grounding_query import Query
from streaming.models.local_align import align
from streaming.models.local_colour import ColourNames, illuminants
from streaming.models.local_pointing import Cone, Spot
from streaming.models.local_regions import Regions, find_regions
from streaming.models.local_scene import Scene, nodes_of, understand
from streaming.models.local_settings import ColourSettings, LocalSettings
from streaming.models.local_text import Choice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """What was seen.

    Attributes:
        last: The frame that answers lie on.
        regions: Of the picture that was searched: ``last``, or the newest one without a hand.
        scene: Which region is which option's thing.
        to_last: From the searched picture's points to the last frame's.
        rays: Of each stroke by its index, in the searched picture; and whether the way from its
            keyframe is known. When the background was lost in between and features do not help,
            the camera is taken not to have moved.
    """

    last: View
    regions: Regions
    scene: Scene
    to_last: Homography
    rays: dict[int, tuple[Ray, bool]]

    def cone(self, stroke: int, settings: LocalSettings) -> tuple[Cone, bool]:
        """The stroke's pointing cone in the searched picture, and whether the way is known."""
        ray, known = self.rays[stroke]
        cone = Cone(
            ray, width=self.regions.width, height=self.regions.height, settings=settings.pointing
        )
        return cone, known

    def point(self, spot: Spot) -> Point:
        """A pixel of the searched picture as a point of the last frame, inside it."""
        x, y = (spot[0] + 0.5) / self.regions.width, (spot[1] + 0.5) / self.regions.height
        x, y = geometry.apply(self.to_last, (x, y))
        return min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)


def look(
    query: Query,
    choices: Sequence[Choice],
    *,
    names: ColourNames,
    colours: ColourSettings,
    settings: LocalSettings,
) -> Look | None:
    """Search the query's picture for the things of its options; None without a picture."""
    last = query.last
    if last is None:
        return None
    view, to_last = _clearest(last, query.clear)
    rays = {frame.stroke.index: _ray(frame, last, to_last) for frame in query.keyframes}
    regions = find_regions(
        view.image,
        settings.regions,
        names=names,
        hands=view.hands,
        focus=[ray.along(0.5) for ray, _ in rays.values()],
        pixel_aspect=view.pixel_aspect,
    )
    scene = understand(
        nodes_of(choices),
        regions,
        names=names,
        kin=colours.kin,
        settings=settings.scene,
        gains=illuminants(regions.light) if choices else illuminants(regions.light)[:1],
    )
    return Look(last=last, regions=regions, scene=scene, to_last=to_last, rays=rays)


def _clearest(last: View, clear: View | None) -> tuple[View, Homography]:
    """The last frame, or the newest one without a hand when the way from it is known."""
    if not last.hands or clear is None:
        return last, IDENTITY
    to_last = clear.to_last or align(clear.image, last.image)
    return (clear, to_last) if to_last is not None else (last, IDENTITY)


def _ray(frame: Keyframe, last: View, searched_to_last: Homography) -> tuple[Ray, bool]:
    """The keyframe's ray in the searched picture, and whether the way there is known."""
    to_last = frame.to_last
    if to_last is None:
        to_last = align(frame.image(), last.image, hands=frame.hands)
    return _carried(frame.ray, to_last or IDENTITY, searched_to_last), to_last is not None


def _carried(ray: Ray, to_last: Homography, from_searched: Homography) -> Ray:
    try:
        return ray.carried(geometry.compose(geometry.invert(from_searched), to_last))
    except ValueError:
        return ray
