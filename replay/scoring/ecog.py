"""Scores on EcoG-Bench (Zhou et al., arXiv 2603.07966): what, where and when.

Conventions: a referent of the answer is compared with the prediction at the same position; further
predictions are ignored, missing ones are wrong. Points are thousandths of the **last frame**, times
milliseconds.

* ``cls`` (what): the predicted label equals the answer's, both stripped.
* ``s`` (where): the predicted pixel lies in the object's mask, or, without one, strictly less than
  100 pixels from the mean of the annotated points.
* ``t`` (when): the predicted time, truncated to whole milliseconds, lies in the stroke's window,
  both ends included. For silent clips too.
* ``eco``: all three. ``seq``: 1 when every referent of the clip is eco-right.

A clip scores the mean over its referents, and a set of clips the mean of its clips: this
reproduces the paper's tables. The mean over referents is given too, labelled; there a clip's
``seq`` weighs as much as the clip has referents.

Scores follow the authors' **code**, oddities included:

1. Pixels are truncated, not rounded: ``int(x * width / 1000)``. The annotated points are each
   truncated first, then their mean is.
2. A mask counts for upper-case labels only, and only when it has a picture; a mask without a box
   contains nothing.
3. A window of which either end is missing makes ``t`` wrong, whatever was predicted.
4. A bool is a number, as in Python; a text never is, not even ``"1500"``.
5. Structure that their scorer stumbles over (a NaN or infinite time or coordinate, a point that is
   a text, a single number or a list of something else, an entry that is no object, ``point_list``
   null) makes the whole clip 0, labels included, as does an output that cannot be parsed
   (:mod:`replay.scoring.model_output`). It must stand at the position of a referent, or, where
   ``[y, x]`` is swapped, anywhere. (Their present code takes a point that is a bare text or number
   for no point, and counts the label and the time; their earlier one stumbled, and so do we.)
6. A clip without a prediction counts 0.

One deviation, in running and not in scoring: a model that failed (time-out, refusal) is no wrong
answer. Such clips are listed, left out of the means, and the run is incomplete until they are run
again; ``errors_as_wrong`` counts them 0 as the authors do.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from replay.ecog import EcogAnswer, EcogClip, EcogTree, LeftOut, video_size
from replay.predictions import Prediction
from replay.scoring.matching import Matching, match_predictions
from replay.scoring.model_output import (
    BrokenAnswerError,
    ModelAnswer,
    Repair,
    parse_output,
    point_in_pixels,
    understand,
)

MAX_DISTANCE_PX = 100
"""A point without a mask must lie nearer than this."""

SizeOf = Callable[[Path], tuple[int, int]]


class Failure(StrEnum):
    """Why a referent is not eco-right."""

    WHAT = "only_what"
    WHERE = "only_where"
    WHEN = "only_when"
    JOINT = "joint"


class Status(StrEnum):
    """How a clip came by its score."""

    ANSWERED = "answered"
    UNPARSABLE = "unparsable"
    BROKEN = "broken"
    MISSING = "missing"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferentScore:
    """What, where and when of one referent."""

    cls: bool = False
    s: bool = False
    t: bool = False

    @property
    def eco(self) -> bool:
        return self.cls and self.s and self.t

    @property
    def failure(self) -> Failure | None:
        """None when all three are right; ``JOINT`` when two or three are wrong."""
        wrong = [
            kind
            for kind, right in (
                (Failure.WHAT, self.cls),
                (Failure.WHERE, self.s),
                (Failure.WHEN, self.t),
            )
            if not right
        ]
        if not wrong:
            return None
        return wrong[0] if len(wrong) == 1 else Failure.JOINT


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Fractions 0...1; NaN when there is nothing to divide by."""

    cls: float
    s: float
    t: float
    eco: float
    seq: float

    def as_json(self) -> dict[str, float | None]:
        """The five numbers; NaN becomes None, as JSON has none."""
        values = {name.name: getattr(self, name.name) for name in fields(self)}
        return {name: None if math.isnan(value) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What was counted over some clips; counts of disjoint sets add with ``+``.

    Attributes:
        clips, referents: How many.
        cls, s, t, eco: Referents that are right.
        cls_sum, s_sum, t_sum, eco_sum: Sums over the clips of the share of right referents, exact.
        seq: Clips of which every referent is right.
        seq_referents: Referents of those clips.
        failures: Referents that are not eco-right, by the reason.
    """

    clips: int = 0
    referents: int = 0
    cls: int = 0
    s: int = 0
    t: int = 0
    eco: int = 0
    cls_sum: Fraction = Fraction(0)
    s_sum: Fraction = Fraction(0)
    t_sum: Fraction = Fraction(0)
    eco_sum: Fraction = Fraction(0)
    seq: int = 0
    seq_referents: int = 0
    failures: Mapping[Failure, int] = field(default_factory=dict)

    def __add__(self, other: Counts) -> Counts:
        numbers = {
            name.name: getattr(self, name.name) + getattr(other, name.name)
            for name in fields(self)
            if name.name != "failures"
        }
        return Counts(failures=Counter(self.failures) + Counter(other.failures), **numbers)

    @property
    def scores(self) -> Scores:
        """Means of the clip means: the benchmark's own."""
        sums = (self.cls_sum, self.s_sum, self.t_sum, self.eco_sum, self.seq)
        return Scores(**dict(zip(_MEASURES, (_ratio(s, self.clips) for s in sums), strict=True)))

    @property
    def referent_weighted(self) -> Scores:
        """Means over referents."""
        sums = (self.cls, self.s, self.t, self.eco, self.seq_referents)
        ratios = (_ratio(s, self.referents) for s in sums)
        return Scores(**dict(zip(_MEASURES, ratios, strict=True)))


_MEASURES = ("cls", "s", "t", "eco", "seq")


def _ratio(part: Fraction | int, whole: int) -> float:
    return float(Fraction(part) / whole) if whole else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipScore:
    """The score of one clip.

    Attributes:
        clip: What was asked.
        referents: One for each of its answers, in order.
        status: How it came about.
        repair: What it took to parse the output; None when there was none.
        reason: Why it is broken, or the model's error; else empty.
    """

    clip: EcogClip
    referents: tuple[ReferentScore, ...]
    status: Status
    repair: Repair | None = None
    reason: str = ""

    @property
    def counts(self) -> Counts:
        return _total([self])

    @property
    def scores(self) -> Scores:
        return self.counts.scores


@dataclass(frozen=True, slots=True, kw_only=True)
class EcogScores:
    """The scores of a run over a tree.

    Attributes:
        clips: Clips that count, in the tree's order.
        errors: Clips whose model failed. They are among ``clips`` only with ``errors_as_wrong``.
        errors_as_wrong: Whether they count 0.
        left_out: As in :class:`~replay.ecog.EcogTree`.
        matching: Which prediction went to which clip, and those that went nowhere.
    """

    clips: tuple[ClipScore, ...]
    errors: tuple[ClipScore, ...]
    errors_as_wrong: bool
    left_out: tuple[LeftOut, ...]
    matching: Matching

    @property
    def missing(self) -> tuple[ClipScore, ...]:
        """Clips without a prediction; they count 0."""
        return tuple(clip for clip in self.clips if clip.status is Status.MISSING)

    @property
    def complete(self) -> bool:
        """Every clip of the tree has an answer, right or wrong."""
        return not self.errors and not self.missing

    @property
    def overall(self) -> Counts:
        return _total(self.clips)

    def by(self, key: Callable[[EcogClip], str]) -> dict[str, Counts]:
        """Counts of the clips that share a key, in order of the key."""
        groups: dict[str, list[ClipScore]] = {}
        for clip in self.clips:
            groups.setdefault(key(clip.clip), []).append(clip)
        return {name: _total(groups[name]) for name in sorted(groups)}

    @property
    def repairs(self) -> dict[Repair, int]:
        """How many outputs needed which repair; only those that occurred."""
        seen = Counter(clip.repair for clip in self.clips if clip.repair is not None)
        return {repair: seen[repair] for repair in Repair if seen[repair]}


def _total(clips: Iterable[ClipScore]) -> Counts:
    """Counts over some clips. Clips that came out alike are added in one step."""
    total = Counts()
    for referents, times in Counter(clip.referents for clip in clips).items():
        number = len(referents)
        right = {name: sum(getattr(one, name) for one in referents) for name in _MEASURES[:4]}
        whole = right["eco"] == number
        shares = {name: Fraction(count, number) * times for name, count in right.items()}
        failed = Counter(one.failure for one in referents if one.failure is not None)
        total += Counts(
            clips=times,
            referents=number * times,
            seq=times if whole else 0,
            seq_referents=number * times if whole else 0,
            failures={kind: count * times for kind, count in failed.items()},
            **{name: count * times for name, count in right.items()},
            cls_sum=shares["cls"],
            s_sum=shares["s"],
            t_sum=shares["t"],
            eco_sum=shares["eco"],
        )
    return total


def scene_of(clip: EcogClip) -> str:
    """``Industrial``, ``Kitchen`` or ``Office``, else the scene as written, else ``unknown``."""
    written = clip.scene.strip()
    for name, parts in _SCENES.items():
        if any(part in written.lower() for part in parts):
            return name
    return written or "unknown"


_SCENES = {
    "Industrial": ("industr", "工业", "工厂", "车间"),
    "Kitchen": ("kitchen", "厨房"),
    "Office": ("office", "办公"),
}


def score_ecog(
    tree: EcogTree,
    predictions: Iterable[Prediction],
    *,
    errors_as_wrong: bool = False,
    size_of: SizeOf = video_size,
) -> EcogScores:
    """Score predictions against the answers of a tree.

    Args:
        tree: The clips and their answers.
        predictions: In any order; of several for one clip, an answer counts before an error, and
            then the last.
        errors_as_wrong: Count a model's failure as a wrong answer, as the authors do.
        size_of: Displayed width and height of a video, in pixels.
    """
    matching = match_predictions(tree.clips, predictions)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:  # masks decode without the GIL
        scored = list(pool.map(partial(score_clip, size_of=size_of), tree.clips, matching.by_clip))
    failed = tuple(clip for clip in scored if clip.status is Status.ERROR)
    return EcogScores(
        clips=tuple(clip for clip in scored if errors_as_wrong or clip.status is not Status.ERROR),
        errors=failed,
        errors_as_wrong=errors_as_wrong,
        left_out=tree.left_out,
        matching=matching,
    )


def score_clip(
    clip: EcogClip, prediction: Prediction | None, *, size_of: SizeOf = video_size
) -> ClipScore:
    """Score one clip; without a prediction, or with a failed one, every referent is wrong."""
    wrong = (ReferentScore(),) * clip.k
    if prediction is None:
        return ClipScore(clip=clip, referents=wrong, status=Status.MISSING)
    if prediction.error is not None:
        reason = prediction.error
        return ClipScore(clip=clip, referents=wrong, status=Status.ERROR, reason=reason)
    parsed = parse_output(prediction.output)
    if parsed.repair in (Repair.EMPTY, Repair.UNPARSABLE):
        return ClipScore(clip=clip, referents=wrong, status=Status.UNPARSABLE, repair=parsed.repair)
    width, height = size_of(clip.video)
    try:
        answer = understand(parsed.value, prediction.coord_order)
        referents = tuple(
            _score_referent(truth, answer, position, width=width, height=height)
            for position, truth in enumerate(clip.answers)
        )
    except BrokenAnswerError as error:
        return ClipScore(
            clip=clip,
            referents=wrong,
            status=Status.BROKEN,
            repair=parsed.repair,
            reason=str(error),
        )
    return ClipScore(clip=clip, referents=referents, status=Status.ANSWERED, repair=parsed.repair)


def _score_referent(
    truth: EcogAnswer, answer: ModelAnswer, position: int, *, width: int, height: int
) -> ReferentScore:
    labels = answer.labels
    named = position < len(labels) and labels[position] == truth.choice.strip()
    if position >= len(answer.entries):
        return ReferentScore(cls=named)
    entry = answer.entries[position]
    if not isinstance(entry, dict):
        raise BrokenAnswerError(f"point_list[{position}] is a {type(entry).__name__}")
    pixel = point_in_pixels(entry.get("point"), width=width, height=height)
    return ReferentScore(
        cls=named,
        s=pixel is not None and _is_there(truth, pixel, width=width, height=height),
        t=_is_then(truth, entry.get("timestamp")),
    )


def _is_there(truth: EcogAnswer, pixel: tuple[int, int], *, width: int, height: int) -> bool:
    x, y = pixel
    if truth.is_object and truth.mask is not None:
        return truth.mask.contains(x, y, width=width, height=height)
    if not truth.points:
        return False
    count = len(truth.points)
    centre_x = int(sum(int(px * width / 1000) for px, _ in truth.points) / count)
    centre_y = int(sum(int(py * height / 1000) for _, py in truth.points) / count)
    try:
        return math.sqrt((x - centre_x) ** 2 + (y - centre_y) ** 2) < MAX_DISTANCE_PX
    except OverflowError as error:
        raise BrokenAnswerError("a point lies too far away for a float") from error


def _is_then(truth: EcogAnswer, time: Any) -> bool:
    if not isinstance(time, int | float) or truth.window is None:
        return False
    begin, end = truth.window
    try:
        return begin <= int(time) <= end
    except (ValueError, OverflowError) as error:
        raise BrokenAnswerError(f"a time is {time}") from error
