"""The question that the pipeline puts to a model, and what a model is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from streaming.events import Answer, Binding, Deictic, Seconds, Word
from streaming.grounding_choice import Pointed, ReferentKind, kinds_of
from streaming.grounding_frames import Keyframe, View
from streaming.grounding_prefix import Prefix


class ModelError(RuntimeError):
    """A model that could not answer. The text is one line: what, where, what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked of the whole stream.

    Attributes:
        object_choices: Options such as ``A. Red mug, left of the bowl``; empty when none are given.
        space_choices: Options such as ``a. Empty space behind the bowl``.
        referents: How many referents there are (K); None when that is to be found.
        instruction: Instruction type of EcoG-Bench, 1 to 6, or None.
        language: ``en``, ``zh`` or ``auto``.
        benchmark: Ask once more at the end of the stream, about all of it.
    """

    object_choices: tuple[str, ...] = ()
    space_choices: tuple[str, ...] = ()
    referents: int | None = None
    instruction: int | None = None
    language: str = "auto"
    benchmark: bool = False

    @property
    def kinds(self) -> tuple[ReferentKind, ...] | None:
        """Kind of each referent, or None when their number is to be found."""
        return kinds_of(self.instruction, self.referents)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """A question for a model. Its pictures never go into a trace.

    Attributes:
        turn: Number of the query, from 0.
        asked_at: Media time up to which the stream was known.
        task: What is asked of the stream.
        pointed: The referents to find, in order of execution.
        keyframes: The strokes seen, each with its picture, by apex.
        last: The newest frame; points of the answer lie on it. None without a picture.
        clear: The newest frame without a hand, when ``last`` has one on it.
        words: The words heard.
        deictics: The words that refer by pointing.
        bindings: Which stroke each goes with.
        language: Of the words, as far as known.
        final: False when more of the stream may still follow.
        prefix: The stream so far, for models that look at all of it.
        words_from: Who heard the words: our own ``ours``, or a benchmark's transcript,
            ``benchmark``.
        supersedes: Number of the question about the same turn that was asked early, and that this
            one takes the place of; None when there was none.
        transcript: The words as their source writes them in one text; empty where it does not.
    """

    turn: int
    asked_at: Seconds
    task: Task
    pointed: tuple[Pointed, ...]
    keyframes: tuple[Keyframe, ...] = ()
    last: View | None = None
    clear: View | None = None
    words: tuple[Word, ...] = ()
    deictics: tuple[Deictic, ...] = ()
    bindings: tuple[Binding, ...] = ()
    language: str = "en"
    final: bool = False
    prefix: Prefix = field(default_factory=Prefix)
    words_from: Literal["ours", "benchmark"] = "ours"
    transcript: str = ""
    supersedes: int | None = None

    def keyframe(self, stroke: int | None) -> Keyframe | None:
        """The keyframe of stroke number ``stroke``."""
        return next((frame for frame in self.keyframes if frame.stroke.index == stroke), None)

    def deictic(self, index: int | None) -> Deictic | None:
        """Deictic number ``index``."""
        return next((deictic for deictic in self.deictics if deictic.index == index), None)


class Model(Protocol):
    """Something that answers queries.

    Attributes:
        name: As in the command line and the trace.
        coord_order: Order of the two numbers of a point in ``Answer.raw``.
    """

    name: str
    coord_order: Literal["xy", "yx"]

    def ground(self, query: Query) -> AsyncIterator[Answer]:
        """Partial answers as they come, then one with ``final=True``.

        Raises:
            ModelError: If there is no answer.
        """
        ...
