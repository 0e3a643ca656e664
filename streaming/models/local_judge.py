"""Which option a stroke and the words around it mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streaming.models.local_look import Look
from streaming.models.local_pointing import Cone, Spot, place_beside
from streaming.models.local_scene import Node, find_node
from streaming.models.local_settings import LocalSettings
from streaming.models.local_text import Choice, Direction, Thing

_LEAST_FIT = -9.0
_NOT_SEEN_DISTANCE = 0.35
"""An option's thing that was not found counts as if it lay so far from the ray."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What the words around a pointing word say.

    Attributes:
        relation: "to the right of": where from the thing pointed at, or None.
        thing: "this *red cup*", or None.
        place: Whether the word itself means a place ("here"); None when there was no word.
    """

    relation: Direction | None = None
    thing: Thing | None = None
    place: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found for one referent.

    Attributes:
        choice: The option.
        share: How sure it is among the options, 0...1.
        spot: Where, in pixels of the searched picture; None when its thing was not seen.
        distance: From where the finger points, picture heights; None without a stroke.
        told: How much of what the option says can be seen at all, 0...1.
        others: Share of the second best option.
    """

    choice: Choice
    share: float
    spot: Spot | None
    distance: float | None
    others: float
    told: float = 1.0


class Judge:
    """Weighs the options of one query.

    Args:
        look: What was seen.
        settings: Weights.
    """

    def __init__(self, look: Look, settings: LocalSettings) -> None:
        self._look = look
        self._settings = settings
        self._nodes: Sequence[Node] = look.scene.nodes

    def object(self, choices: Sequence[Choice], cone: Cone | None, spoken: Spoken) -> Verdict:
        """The object meant, of at least one option."""
        weights = [
            self._object_weight(choice, cone) * _said(choice.thing, spoken.thing)
            for choice in choices
        ]
        best, share, second = _shares(weights)
        node = self._node_of(choices[best])
        region = None if node is None else self._region(node, cone)
        found = None if region is None else self._look.regions.regions[region]
        distance = None if cone is None or found is None else cone.to_region(found)
        spot = None if found is None else found.inside
        return Verdict(
            choice=choices[best],
            share=share,
            spot=spot,
            distance=distance,
            others=second,
            told=_told(choices[best]),
        )

    def space(self, choices: Sequence[Choice], cone: Cone | None, spoken: Spoken) -> Verdict:
        """The place meant, of at least one option."""
        pointing = self._settings.pointing
        weights = []
        for choice in choices:
            weight = self._space_weight(choice, cone, spoken)
            direction = None if choice.relation is None else choice.relation.direction
            unsaid = spoken.relation is not None and direction != spoken.relation
            weights.append(weight * (pointing.unsaid if unsaid else 1.0))
        best, share, second = _shares(weights)
        spot = self._spot(choices[best], cone)
        distance = None if cone is None or spot is None else cone.distance(spot)
        if distance is not None and spoken.relation is not None and cone is not None:
            distance = min(distance, self._reference_distance(choices[best], cone))
        return Verdict(
            choice=choices[best], share=share, spot=spot, distance=distance, others=second
        )

    def _object_weight(self, choice: Choice, cone: Cone | None) -> float:
        if cone is None:
            return 1.0
        node = self._node_of(choice)
        return self._mean(node, lambda region: self._at_region(cone, region), cone)

    def _space_weight(self, choice: Choice, cone: Cone | None, spoken: Spoken) -> float:
        if cone is None:
            return 1.0
        node = self._reference_of(choice)
        if node is None or choice.relation is None:
            return cone.likelihood(_NOT_SEEN_DISTANCE)
        pointing = self._settings.pointing
        at_thing = spoken.relation is not None or spoken.place is False
        share = pointing.place_share_thing if at_thing else pointing.place_share
        direction = choice.relation.direction

        def fit(region: int) -> float:
            at_place = cone.likelihood(cone.distance(self._place(region, direction)))
            return share * at_place + (1 - share) * self._at_region(cone, region)

        return self._mean(node, fit, cone)

    def _mean(self, node: int | None, fit: Callable[[int], float], cone: Cone) -> float:
        """Mean of ``fit(region)`` over what the node may be."""
        lost = cone.likelihood(_NOT_SEEN_DISTANCE)
        if node is None:
            return lost
        known: dict[int | None, float] = {}
        for hypothesis in self._look.scene.hypotheses:
            region = hypothesis.regions[node]
            known[region] = known.get(region, 0.0) + hypothesis.share
        return sum(
            share * (lost if region is None else fit(region)) for region, share in known.items()
        )

    def _at_region(self, cone: Cone, region: int) -> float:
        return cone.likelihood(cone.to_region(self._look.regions.regions[region]))

    def _place(self, region: int, direction: Direction) -> Spot:
        regions = self._look.regions
        return place_beside(
            regions.regions[region],
            direction,
            height=regions.height,
            settings=self._settings.pointing,
        )

    def _spot(self, choice: Choice, cone: Cone | None) -> Spot | None:
        node = self._reference_of(choice)
        region = None if node is None else self._region(node, cone)
        if region is None or choice.relation is None:
            return None
        return self._place(region, choice.relation.direction)

    def _reference_distance(self, choice: Choice, cone: Cone) -> float:
        node = self._reference_of(choice)
        region = None if node is None else self._region(node, cone)
        return math.inf if region is None else cone.to_region(self._look.regions.regions[region])

    def _region(self, node: int, cone: Cone | None) -> int | None:
        """The region that a thing most likely is, given where the finger points."""
        known: dict[int, float] = {}
        for hypothesis in self._look.scene.hypotheses:
            region = hypothesis.regions[node]
            if region is not None:
                known[region] = known.get(region, 0.0) + hypothesis.share
        if not known:
            return None if cone is None else self._unassigned(node, cone)
        return max(
            known,
            key=lambda region: (
                known[region] * (1.0 if cone is None else self._at_region(cone, region))
            ),
        )

    def _unassigned(self, node: int, cone: Cone) -> int | None:
        """The region by the ray that fits a thing best, when the scene as a whole has none."""
        fits = self._look.scene.fits[node]
        near = {
            index: float(fits[index]) - cone.to_region(region) / self._settings.pointing.reach
            for index, region in enumerate(self._look.regions.regions)
        }
        best = max(near, key=lambda index: near[index], default=None)
        return best if best is not None and near[best] > _LEAST_FIT else None

    def _node_of(self, choice: Choice) -> int | None:
        return next((i for i, node in enumerate(self._nodes) if node.label == choice.label), None)

    def _reference_of(self, choice: Choice) -> int | None:
        if choice.relation is None:
            return None
        return find_node(self._nodes, choice.relation.reference)


def _told(choice: Choice) -> float:
    """How much an object's option says that can be seen: a bare name says next to nothing."""
    thing = choice.thing
    if thing is None or thing.colours:
        return 1.0
    placed = choice.relation is not None or thing.position is not None
    return 0.5 + (0.2 if placed else 0.0) + (0.1 if thing.shape is not None else 0.0)


def _said(thing: Thing | None, spoken: Thing | None) -> float:
    """How far an option agrees with the thing that was named."""
    if thing is None or spoken is None:
        return 1.0
    weight = 1.0
    if spoken.colours and thing.colours and not set(spoken.colours) & set(thing.colours):
        weight *= 0.1
    if spoken.name and thing.name and spoken.name in thing.name:
        weight *= 3.0
    elif spoken.shape and thing.shape and spoken.shape != thing.shape:
        weight *= 0.3
    return weight


def _shares(weights: Sequence[float]) -> tuple[int, float, float]:
    """Position of the greatest weight, its share, and the second's."""
    total = sum(weights)
    if total <= 0:
        return 0, 1.0 / len(weights), 1.0 / len(weights)
    order = sorted(range(len(weights)), key=lambda index: -weights[index])
    second = weights[order[1]] / total if len(order) > 1 else 0.0
    return order[0], weights[order[0]] / total, second
