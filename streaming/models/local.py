"""The offline model: geometry, colours and option texts, no learned image-text model, no key.

*When* comes from the binding. *Where* is the object-like region along the pointing ray, carried to
the last frame and found there, or the free place beside one. *What* is the option whose description
(colour, shape, size, place beside other things) fits that region, all options being weighed
together. It says how sure it is, and gives no label where it would only guess.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Literal

from streaming.events import Answer, Point, Referent
from streaming.grounding_choice import Pointed
from streaming.grounding_query import ModelError, Query
from streaming.models.local_answer import benchmark_output, sentence
from streaming.models.local_colour import ColourNames
from streaming.models.local_describe import describe_beside, describe_object, describe_place
from streaming.models.local_judge import Judge, Spoken, Verdict
from streaming.models.local_look import Look, look
from streaming.models.local_pointing import Cone
from streaming.models.local_settings import (
    ColourSettings,
    LocalSettings,
    read_local_settings,
)
from streaming.models.local_speech import command, spoken_about
from streaming.models.local_text import Choice, TextReader, Vocabulary

_UNKNOWN_WAY = 0.6
"""Confidence that is left when the camera's path to the last frame is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    objects: tuple[Choice, ...]
    spaces: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A referent and why."""

    referent: Referent
    reason: str


class LocalModel:
    """Answers queries offline, on the CPU.

    Args:
        settings: Weights; the project's own without.
        colours: Colour examples; the project's own without.
        vocabulary: Words; the project's own without.

    Raises:
        ConfigError: If a settings file is missing or does not fit.
    """

    name: str = "local"
    coord_order: Literal["xy", "yx"] = "xy"

    def __init__(
        self,
        settings: LocalSettings | None = None,
        *,
        colours: ColourSettings | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        own_settings, own_colours, own_vocabulary = read_local_settings()
        self._settings = settings or own_settings
        self._colours = colours or own_colours
        self._names = ColourNames(self._colours.examples)
        self._reader = TextReader(vocabulary or own_vocabulary)

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        """One final answer.

        Raises:
            ModelError: If an option cannot be read.
        """
        yield await asyncio.to_thread(self.answer, query)

    def answer(self, query: Query) -> Answer:
        """The answer to ``query``, worked out in the calling thread.

        Raises:
            ModelError: If an option cannot be read.
        """
        options = self._options(query)
        seen = look(
            query,
            (*options.objects, *options.spaces),
            names=self._names,
            colours=self._colours,
            settings=self._settings,
        )
        found = [self._find(query, pointed, options, seen) for pointed in query.pointed]
        referents = tuple(one.referent for one in found)
        words = command(query, [(r.deictic, r.description) for r in referents])
        reasoning = " ".join(
            f"{position}. {one.reason}" for position, one in enumerate(found, start=1)
        )
        return Answer(
            turn=query.turn,
            referents=referents,
            frame_time=query.last.time if query.last is not None else query.asked_at,
            text=sentence(referents, query.language),
            model=self.name,
            raw=benchmark_output(referents, reasoning=reasoning, command=words),
            reasoning=reasoning,
        )

    def _options(self, query: Query) -> _Options:
        try:
            return _Options(
                objects=tuple(self._reader.choice(t, "object") for t in query.task.object_choices),
                spaces=tuple(self._reader.choice(t, "space") for t in query.task.space_choices),
            )
        except ValueError as error:
            raise ModelError(str(error)) from error

    def _find(self, query: Query, pointed: Pointed, options: _Options, seen: Look | None) -> _Found:
        if seen is None:
            return _abstained(pointed, "no picture")
        keyframe = query.keyframe(pointed.stroke)
        spoken = spoken_about(query, query.deictic(pointed.deictic), self._reader)
        cone, known = None, True
        if keyframe is not None:
            cone, known = seen.cone(keyframe.stroke.index, self._settings)
        choices = options.objects if pointed.kind == "object" else options.spaces
        if not choices:
            return self._described(query, pointed, seen, cone, spoken)
        judge = Judge(seen, self._settings)
        weigh = judge.object if pointed.kind == "object" else judge.space
        verdict = weigh(choices, cone, spoken)
        return self._judged(query, pointed, verdict, seen, spoken, known=known)

    def _judged(
        self,
        query: Query,
        pointed: Pointed,
        verdict: Verdict,
        seen: Look,
        spoken: Spoken,
        *,
        known: bool,
    ) -> _Found:
        confidence = self._confidence(pointed, verdict, known=known)
        silent = verdict.distance is None and verdict.share < 2 * verdict.others + 1e-9
        wanted = query.task.benchmark or confidence >= self._settings.abstain_below
        label = verdict.choice.label if wanted and not silent else None
        point = None if verdict.spot is None or silent else seen.point(verdict.spot)
        if point is None:
            point = self._pointed_spot(query, pointed, seen)
        reason = _reason(verdict, spoken, known=known, silent=silent, labelled=label is not None)
        return _Found(
            referent=_referent(
                pointed,
                point,
                label=label,
                description=verdict.choice.text if label is not None else "",
                confidence=0.0 if silent else confidence,
            ),
            reason=reason,
        )

    def _confidence(self, pointed: Pointed, verdict: Verdict, *, known: bool) -> float:
        confidence = verdict.share * verdict.told * (0.5 + 0.5 * pointed.probability)
        if verdict.distance is None:
            confidence *= 0.4
        else:
            beyond = max(0.0, verdict.distance - self._settings.doubtful_distance / 2)
            confidence *= max(0.1, 1 - beyond / self._settings.doubtful_distance)
        if verdict.spot is None:
            confidence *= 0.5
        return confidence if known else confidence * _UNKNOWN_WAY

    def _pointed_spot(self, query: Query, pointed: Pointed, seen: Look) -> Point | None:
        """Without a thing: just beyond the fingertip."""
        keyframe = query.keyframe(pointed.stroke)
        if keyframe is None:
            return None
        cone, _ = seen.cone(keyframe.stroke.index, self._settings)
        return seen.point(cone.spot_ahead(self._settings.pointing.reach))

    def _described(
        self, query: Query, pointed: Pointed, seen: Look, cone: Cone | None, spoken: Spoken
    ) -> _Found:
        """Without options: what lies there, or the place beside it when a relation was said."""
        if cone is None:
            return _abstained(pointed, "no pointing stroke was seen for it")
        names, language = self._names.names, query.language
        described = None
        if spoken.relation is not None:
            pointed = replace(pointed, kind="space")
            described = describe_beside(
                seen, cone, names, language, spoken.relation, self._settings.pointing
            )
        elif pointed.kind == "object":
            described = describe_object(seen, cone, names, language)
        else:
            described = describe_place(seen, cone, names, language)
        if described is None or described.distance > 2 * self._settings.doubtful_distance:
            spot = seen.point(cone.spot_ahead(self._settings.pointing.reach))
            referent = _referent(pointed, spot, confidence=0.05)
            return _Found(referent=referent, reason="nothing stands out where the finger points.")
        return _Found(
            referent=_referent(
                pointed,
                seen.point(described.spot),
                description=described.text,
                confidence=described.confidence * (0.5 + 0.5 * pointed.probability),
            ),
            reason=f"{described.text}: nearest to the ray.",
        )


def _referent(
    pointed: Pointed,
    point: Point | None,
    *,
    label: str | None = None,
    description: str = "",
    confidence: float = 0.0,
) -> Referent:
    return Referent(
        kind=pointed.kind,
        point=point,
        time=pointed.time,
        label=label,
        description=description,
        confidence=round(min(1.0, max(0.0, confidence)), 4),
        deictic=pointed.deictic,
        # A negative index is the grounder's own; no such stroke was announced.
        stroke=pointed.stroke if pointed.stroke is None or pointed.stroke >= 0 else None,
    )


def _abstained(pointed: Pointed, reason: str) -> _Found:
    return _Found(referent=_referent(pointed, None), reason=f"abstained: {reason}.")


def _reason(verdict: Verdict, spoken: Spoken, *, known: bool, silent: bool, labelled: bool) -> str:
    if silent:
        return "abstained: no stroke was seen for it and the words do not single out an option."
    parts = [f"{verdict.choice.label} ({verdict.share:.2f} among the options)"]
    if verdict.distance is None:
        parts.append("from the words alone")
    else:
        parts.append(f"{verdict.distance:.2f} picture heights from the ray")
    if spoken.relation is not None:
        parts.append(f"'{spoken.relation}' was said")
    if verdict.spot is None:
        parts.append("its thing was not found in the picture")
    if not known:
        parts.append("the camera's path to the last frame is unknown")
    if not labelled:
        parts.insert(0, "abstained, too unsure")
    return ", ".join(parts) + "."
