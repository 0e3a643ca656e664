"""Which region is which described thing: all descriptions at once.

Every description says something of its own thing (colour, shape) and most say where it is beside
another, so one clear thing helps to find the next. A beam search over the joint assignments keeps
the best; their weights say how sure it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streaming.models.local_colour import ColourNames, Pixels, oklab
from streaming.models.local_regions import Region, Regions, objectness
from streaming.models.local_text import Choice, Direction, Relation, Thing


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapePrior:
    """How a class of shapes looks: height over width, as the log's mean and spread."""

    log_aspect: float
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSettings:
    """Settings of the assignment, see ``configs/local.toml``.

    Attributes:
        shapes: By the class names of ``configs/local_words.toml``.
        colour_weight: Of the log-likelihood of the colour.
        shape_weight: Of that of the shape.
        objectness_weight: Of how much a region looks like a thing.
        relation_weight: Of the places beside other things.
        absent: Log-likelihood of a thing that no region shows.
        foreshortening: How much shorter a step in depth looks than one sideways.
        beam: Assignments kept at each step.
        candidates: Regions tried for each thing.
    """

    shapes: dict[str, ShapePrior] = field(default_factory=dict)
    colour_weight: float = 1.0
    shape_weight: float = 0.6
    objectness_weight: float = 0.6
    relation_weight: float = 1.0
    absent: float = -4.0
    foreshortening: float = 2.0
    beam: int = 150
    candidates: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A thing to be found.

    Attributes:
        thing: Its description.
        label: Of the option that it comes from; None for one that is only referred to.
        relation: Where it is, or None.
        reference: Position of the relation's other thing among the nodes, or None.
        position: Where it is in the picture, when nothing else is called the same.
        twins: Nodes that are called the same.
    """

    thing: Thing
    label: str | None
    relation: Relation | None = None
    reference: int | None = None
    position: Direction | None = None
    twins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """One assignment: for each node the position of its region, or None; and its share of trust."""

    regions: tuple[int | None, ...]
    share: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """What is where.

    Attributes:
        nodes: The things.
        hypotheses: Assignments to ``regions``, the likeliest first, shares adding up to 1.
        score: Log-likelihood of the best.
        names: Share of each colour name in each region, shape ``(regions, names)``.
        fits: Log-likelihood of each region for each node by itself, shape ``(nodes, regions)``.
    """

    nodes: tuple[Node, ...]
    hypotheses: tuple[Hypothesis, ...]
    score: float
    names: NDArray[np.float32]
    fits: NDArray[np.float64]


def nodes_of(choices: Sequence[Choice]) -> tuple[Node, ...]:
    """The things of all options, and those that are only referred to."""
    things = [(choice.thing, choice) for choice in choices if choice.thing is not None]
    nodes = [
        Node(thing=thing, label=choice.label, relation=choice.relation, position=thing.position)
        for thing, choice in things
    ]
    for choice in choices:
        if choice.relation is not None and find_node(nodes, choice.relation.reference) is None:
            reference = choice.relation.reference
            nodes.append(Node(thing=reference, label=None, position=reference.position))
    return tuple(_linked(nodes, index) for index in range(len(nodes)))


def find_node(nodes: Sequence[Node], thing: Thing) -> int | None:
    """The node that a reference means: the same name, else the same colour and shape."""

    def fits(node: Node) -> float:
        other = node.thing
        if thing.position is not None and other.position not in (None, thing.position):
            return 0.0
        if other.name == thing.name:
            return 3.0
        if thing.name and (thing.name in other.name or other.name in thing.name):
            return 2.0
        alike = thing.colours == other.colours and thing.shape == other.shape
        return 1.0 if alike and thing.colours and thing.shape else 0.0

    scores = [fits(node) for node in nodes]
    best = max(scores, default=0.0)
    return scores.index(best) if best > 0 else None


def _linked(nodes: Sequence[Node], index: int) -> Node:
    node = nodes[index]
    reference = None
    if node.relation is not None:
        found = find_node(nodes, node.relation.reference)
        reference = found if found != index else None
    twins = tuple(
        other
        for other, candidate in enumerate(nodes)
        if other != index and candidate.thing.name == node.thing.name
    )
    return Node(
        thing=node.thing,
        label=node.label,
        relation=node.relation,
        reference=reference,
        position=node.position,
        twins=twins,
    )


def understand(
    nodes: Sequence[Node],
    regions: Regions,
    *,
    names: ColourNames,
    kin: dict[str, dict[str, float]],
    settings: SceneSettings,
    gains: Sequence[Pixels],
) -> Scene:
    """Assign regions to things, under the light that explains the descriptions best.

    Args:
        nodes: From :func:`nodes_of`.
        regions: Of the picture.
        names: Colour names.
        kin: How far a thing called by one colour may look like another.
        settings: Weights.
        gains: Guesses at what undoes the light's colour; the first is no change.
    """
    scenes = []
    clashes = _clashes(regions.regions)
    for position, gain in enumerate(gains):
        shares = name_shares(regions.regions, names, gain)
        search = _Search(nodes, regions, shares, names.names, kin, settings, clashes)
        hypotheses, score = search.run()
        # A change of light must explain clearly more than none does.
        scenes.append(
            Scene(
                nodes=tuple(nodes),
                hypotheses=hypotheses,
                score=score - 0.5 * position,
                names=shares,
                fits=search.fits,
            )
        )
    return max(scenes, key=lambda scene: scene.score)


def name_shares(regions: Sequence[Region], names: ColourNames, gain: Pixels) -> NDArray[np.float32]:
    """Share of each colour name in each region, shape ``(regions, names)``.

    Vivid pixels count more: a red box with a pale print is a red box.
    """
    if not regions:
        return np.zeros((0, len(names.names)), dtype=np.float32)
    light = (np.concatenate([region.light for region in regions]) * gain).astype(np.float32)
    owner = np.repeat(np.arange(len(regions)), [len(region.light) for region in regions])
    likelihoods = names.likelihoods(light)
    plain = _mean_by_owner(likelihoods, np.ones(len(light)), owner, len(regions))
    lab = oklab(light)
    vivid = _mean_by_owner(likelihoods, np.hypot(lab[:, 1], lab[:, 2]) + 0.02, owner, len(regions))
    return np.asarray(0.5 * (plain + vivid), dtype=np.float32)


def _mean_by_owner(
    values: NDArray[np.float32], weights: NDArray[Any], owner: NDArray[np.int64], owners: int
) -> NDArray[np.float64]:
    """Weighted mean of the rows of ``values`` that belong to each owner."""
    sums = np.zeros((owners, values.shape[1]))
    np.add.at(sums, owner, values * weights[:, None])
    return sums / np.bincount(owner, weights=weights, minlength=owners)[:, None]


def beside(
    direction: Direction,
    this: tuple[float, float],
    other: tuple[float, float],
    *,
    foreshortening: float,
) -> float:
    """Log-likelihood that ``this`` is called ``direction`` of ``other`` (feet, in heights).

    ``front`` is nearer to the wearer, which is lower in the picture.
    """
    dx, dy = this[0] - other[0], foreshortening * (this[1] - other[1])
    distance = math.hypot(dx, dy)
    if distance < 1e-6:
        return -2.0
    toward = {"left": -dx, "right": dx, "front": dy, "behind": -dy}.get(direction)
    far = -0.8 * max(0.0, distance - 0.3)
    if toward is None:
        return -3.0 * max(0.0, distance - 0.15)
    return -math.log1p(math.exp(-6.0 * (toward / distance - 0.35))) + far


def _clashes(regions: Sequence[Region]) -> NDArray[np.bool_]:
    """Which regions share so much that they cannot be two things, shape ``(regions, regions)``."""
    count = len(regions)
    clash = np.eye(count, dtype=bool)
    for one in range(count):
        for other in range(one):
            shared = max(regions[one].covers(regions[other]), regions[other].covers(regions[one]))
            clash[one, other] = clash[other, one] = shared > 0.4
    return clash


class _Search:
    """The beam search; everything that does not change while it runs is worked out first."""

    def __init__(
        self,
        nodes: Sequence[Node],
        regions: Regions,
        shares: NDArray[np.float32],
        names: Sequence[str],
        kin: dict[str, dict[str, float]],
        settings: SceneSettings,
        clashes: NDArray[np.bool_],
    ) -> None:
        self._nodes = nodes
        self._regions = regions.regions
        self._settings = settings
        self._height = regions.height
        self._width = regions.width
        self._feet = [foot(region, regions.height) for region in self._regions]
        self.fits = self._unary(shares, names, kin)
        self._clash = clashes
        self._related = [self._related_to(node) for node in range(len(nodes))]

    def run(self) -> tuple[tuple[Hypothesis, ...], float]:
        """The best assignments and the best one's log-likelihood."""
        settings = self._settings
        tried = [self._candidates(node) for node in range(len(self._nodes))]
        order = sorted(range(len(self._nodes)), key=lambda node: self._doubt(node, tried[node]))
        beam: list[tuple[float, dict[int, int | None]]] = [(0.0, {})]
        for node in order:
            grown = []
            for score, chosen in beam:
                for region in (*tried[node], None):
                    gain = self._gain(node, region, chosen)
                    if gain is not None:
                        grown.append((score + gain, {**chosen, node: region}))
            grown.sort(key=lambda item: -item[0])
            beam = grown[: settings.beam]
        best = beam[0][0]
        weights = [math.exp(score - best) for score, _ in beam]
        total = sum(weights)
        hypotheses = tuple(
            Hypothesis(
                regions=tuple(chosen[node] for node in range(len(self._nodes))),
                share=weight / total,
            )
            for weight, (_, chosen) in zip(weights, beam, strict=True)
        )
        return hypotheses, best

    def _unary(
        self, shares: NDArray[np.float32], names: Sequence[str], kin: dict[str, dict[str, float]]
    ) -> NDArray[np.float64]:
        """Log-likelihood of each region for each node by itself, ``(nodes, regions)``."""
        settings = self._settings
        looks = np.array([min(objectness(region), 3.5) - 3.5 for region in self._regions])
        own = np.zeros((len(self._nodes), len(self._regions)))
        areas = np.array([region.area for region in self._regions], dtype=np.float64)
        for index, node in enumerate(self._nodes):
            own[index] = settings.objectness_weight * looks
            colour = _colour_fit(node.thing.colours, shares, names, kin)
            own[index] += settings.colour_weight * colour
            prior = settings.shapes.get(node.thing.shape or "")
            if prior is not None:
                own[index] += settings.shape_weight * self._shape_fit(prior)
            if node.thing.size is not None and len(areas):
                sign = 1.0 if node.thing.size == "big" else -1.0
                own[index] += 0.4 * sign * np.clip(np.log(areas / np.median(areas)), -1.5, 1.5)
            if node.position is not None and not node.twins:
                own[index] += [self._placed(node.position, region) for region in self._regions]
        return own

    def _shape_fit(self, prior: ShapePrior) -> NDArray[np.float64]:
        aspects = np.log([region.height / region.width for region in self._regions])
        return np.maximum(-0.5 * ((aspects - prior.log_aspect) / prior.spread) ** 2, -4.0)

    def _placed(self, position: Direction, region: Region) -> float:
        x, y = region.centre[0] / self._width - 0.5, region.centre[1] / self._height - 0.5
        toward = {"left": -x, "right": x, "front": y, "behind": -y}.get(position, -math.hypot(x, y))
        return -math.log1p(math.exp(-8.0 * toward))

    def _candidates(self, node: int) -> list[int]:
        """The most fitting regions; of those that share pixels two, or parts crowd out rivals."""
        kept: list[int] = []
        for region in np.argsort(-self.fits[node], kind="stable"):
            alike = sum(bool(self._clash[region, other]) for other in kept)
            if alike < 2:
                kept.append(int(region))
            if len(kept) == self._settings.candidates:
                break
        return kept

    def _doubt(self, node: int, tried: list[int]) -> float:
        """Nodes with one clear region come first."""
        if len(tried) < 2:
            return 0.0
        return float(self.fits[node][tried[1]] - self.fits[node][tried[0]])

    def _related_to(self, node: int) -> frozenset[int]:
        """The nodes that say something of their place beside ``node``, or it of its own."""
        described = self._nodes[node]
        own = {described.reference, *described.twins}
        theirs = {
            i for i, other in enumerate(self._nodes) if node in (other.reference, *other.twins)
        }
        return frozenset(index for index in own | theirs if index is not None)

    def _gain(self, node: int, region: int | None, chosen: dict[int, int | None]) -> float | None:
        """What giving ``region`` to ``node`` adds; None when another node has it."""
        if region is None:
            return self._settings.absent
        if any(other is not None and self._clash[region, other] for other in chosen.values()):
            return None
        gain = float(self.fits[node][region])
        for other in self._related[node]:
            taken = chosen.get(other)
            if taken is not None:
                gain += self._pair(node, region, other, taken)
                gain += self._pair(other, taken, node, region)
        return gain

    def _pair(self, node: int, region: int, other: int, taken: int) -> float:
        """What ``node`` says of its place beside ``other``."""
        described = self._nodes[node]
        gain = 0.0
        if described.reference == other and described.relation is not None:
            gain += self._settings.relation_weight * beside(
                described.relation.direction,
                self._feet[region],
                self._feet[taken],
                foreshortening=self._settings.foreshortening,
            )
        if other in described.twins and described.position is not None:
            (x, y), (u, v) = self._feet[region], self._feet[taken]
            toward = {"left": u - x, "right": x - u, "front": y - v, "behind": v - y}
            gain += 0.0 if toward.get(described.position, 1.0) > 0 else -4.0
        return gain


def foot(region: Region, height: int) -> tuple[float, float]:
    """Where a region stands on the table, in picture heights.

    The bottom of the outline is the near rim of the foot, so the foot's middle is a little higher.
    """
    depth = min(0.25 * region.width, 0.5 * region.height)
    return (region.left + region.width / 2) / height, (region.bottom - depth / 2) / height


def _colour_fit(
    colours: tuple[str, ...],
    shares: NDArray[np.float32],
    names: Sequence[str],
    kin: dict[str, dict[str, float]],
) -> NDArray[np.float64]:
    if not colours:
        return np.full(len(shares), math.log(0.3))
    weights = np.zeros(len(names))
    for colour in colours:
        for index, name in enumerate(names):
            likeness = 1.0 if name == colour else kin.get(colour, {}).get(name, 0.0)
            weights[index] = max(weights[index], likeness)
    return np.log(0.02 + 0.98 * (shares @ weights))
