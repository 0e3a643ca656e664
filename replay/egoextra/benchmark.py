"""Ego-EXTRA's questions as a benchmark that models are asked, in one of two readings.

``paper``: the clip before each question, its frames sampled ``US``, ``QA`` or ``TS``, without the
dialogue or with the benchmark's own transcript of the clip. The moment is the question's begin.

``stream`` (ours): the dialogue is replayed, and the question is answered from the prefix when it
has been asked, which is its end. The frames are those that the session's own store holds then, the
words are what our own ears had made certain by then, over the whole recording so far; in their
place may stand the benchmark's transcript up to the moment, or none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from replay.answers import Answer
from replay.benchmark import Item, UnaskableError
from replay.benchmark import Question as Asked
from replay.egoextra.answers import chosen_number
from replay.egoextra.dataset import EgoExtra
from replay.egoextra.questions import Protocol, Question
from replay.egoextra.replayed import Watching, read_frames, read_heard
from replay.egoextra.requests import (
    Context,
    Line,
    Shown,
    WordsFrom,
    lines_of_turns,
    lines_of_words,
    question_request,
)
from replay.egoextra.sampling import Sampling, choose_frames, clip_of
from replay.egoextra.scoring import EgoExtraScores, score_egoextra
from replay.egoextra.settings import EgoExtraPrompt, EgoExtraSettings
from replay.egoextra.tables import Run, Way, paper_tables, protocol_table
from replay.jobs import NotReplayed
from replay.loose_json import UnreadableJsonError
from replay.media.window import frame_times, frames_at
from replay.scoring.paper_values import PaperTable
from streaming.asking.request import Request
from streaming.events import Seconds
from streaming.picture_jpeg import jpeg_of, square_pixels
from streaming.prefix import PrefixSettings

Mode: TypeAlias = Literal["paper", "stream"]

_LONGEST_SIDE = 1920
_SPARSE: Seconds = 1.0
"""The newest frame may be so much older than the clip; an older one shows another moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How questions are put.

    Attributes:
        mode: ``paper`` or ``stream``.
        sampling: Of the clip's frames.
        length: Of the clip, seconds.
        words: Whose words are sent; our own only when the dialogue is replayed.
        protocol: Only the questions of this one; None takes all.

    Raises:
        ValueError: If our own words are wanted of a clip that is not replayed.
    """

    mode: Mode = "paper"
    sampling: Sampling = "US"
    length: Seconds = 5.0
    words: WordsFrom = "none"
    protocol: Protocol | None = None

    def __post_init__(self) -> None:
        if self.words == "ours" and self.mode == "paper":
            raise ValueError(
                "our own words need the dialogue replayed (mode stream); the paper's reading "
                "takes the benchmark's transcript or none"
            )
        if self.length <= 0:
            raise ValueError(f"a clip of {self.length} s")

    @property
    def way(self) -> Way:
        """The same, as the paper's tables tell it."""
        return Way(
            sampling=self.sampling,
            length=self.length,
            transcript=self.words != "none",
            stream=self.mode == "stream",
        )

    def watching(self, settings: EgoExtraSettings, prefix: PrefixSettings) -> Watching:
        """What of the pictures is kept when the dialogue is replayed."""
        return Watching(
            sampling=self.sampling,
            length=self.length,
            count=settings.frames,
            prefix=prefix,
            quality=settings.quality,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the frames and words of a moment come from.

    Attributes:
        dataset: What was found on disk.
        reading: How it is read.
        settings: Its numbers.
        replayed: Folder of replayed dialogues; unused where none are.
    """

    dataset: EgoExtra
    reading: Reading
    settings: EgoExtraSettings
    replayed: Path = Path()

    def context(self, video: str, now: Seconds) -> Context:
        """What is known of a recording at a moment.

        Raises:
            UnaskableError: If it cannot be read, or nothing of the clip before the moment is there.
            SourceError: If the film cannot be played.
        """
        if self.reading.mode == "stream":
            with _unaskable(f"{video} at {now:.3f} s was not replayed"):
                frames = read_frames(self.replayed / video, now)
                lines = self._lines_so_far(video, now)
        else:
            frames, lines = self._clip(video, now), self._lines_of_clip(video, now)
        if not frames:
            raise UnaskableError(f"{video} has no frame before {now:.3f} s")
        begin, _ = clip_of(now, self.reading.length)
        if frames[-1].time < begin - _SPARSE:
            raise UnaskableError(
                f"{video} has no frame between {begin:.3f} s and {now:.3f} s; "
                "is its film cut off, or another one?"
            )
        return Context(now=now, frames=frames, lines=lines, words=self.reading.words)

    def _clip(self, video: str, now: Seconds) -> list[Shown]:
        path = self.dataset.films.get(video)
        if path is None:
            raise UnaskableError(f"{video}: no film of that name below {self.dataset.root}")
        begin, end = clip_of(now, self.reading.length)
        times = frame_times(path, begin, end)
        chosen = choose_frames(
            times,
            asked_at=now,
            length=self.reading.length,
            sampling=self.reading.sampling,
            count=self.settings.frames,
        )
        frames = frames_at(path, [times[place] for place in chosen], max_side=_LONGEST_SIDE)
        return [
            Shown(
                time=frame.time,
                jpeg=jpeg_of(
                    square_pixels(
                        frame.image, pixel_aspect=frame.pixel_aspect, side=self.settings.side
                    ),
                    quality=self.settings.quality,
                ),
            )
            for frame in frames
        ]

    def _lines_of_clip(self, video: str, now: Seconds) -> list[Line]:
        if self.reading.words == "none":
            return []
        begin, _ = clip_of(now, self.reading.length)
        return lines_of_turns(self.dataset.dialogue(video).said_by(now, since=begin))

    def _lines_so_far(self, video: str, now: Seconds) -> list[Line]:
        if self.reading.words == "ours":
            return lines_of_words(read_heard(self.replayed / video, by=now))
        if self.reading.words == "benchmark":
            return lines_of_turns(self.dataset.dialogue(video).said_by(now))
        return []


@contextlib.contextmanager
def _unaskable(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, UnreadableJsonError) as error:
        raise UnaskableError(f"{what}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoExtraBenchmark:
    """A :class:`replay.benchmark.Benchmark`."""

    source: Source
    prompt: EgoExtraPrompt
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further facts in which two parts of a run must agree, such as whose ears listen."""

    name: str = "egoextra"

    @property
    def title(self) -> str:
        return f"Ego-EXTRA, {self.source.reading.way.name}"

    @property
    def left_out(self) -> Sequence[NotReplayed]:
        return [
            NotReplayed(source=one.name, reason=one.reason) for one in self.source.dataset.left_out
        ]

    @property
    def questions(self) -> tuple[Question, ...]:
        """Those of the protocol that is asked about."""
        dataset, protocol = self.source.dataset, self.source.reading.protocol
        return dataset.questions if protocol is None else dataset.of(protocol)

    def moment(self, question: Question) -> Seconds:
        """When a question is answered."""
        streamed = self.source.reading.mode == "stream"
        return question.question_end if streamed else question.question_start

    def facts(self) -> dict[str, Any]:
        return (
            facts_of(self.source, self.prompt)
            | {"protocol": self.source.reading.protocol}
            | {**self.more}
        )

    def items(self) -> Sequence[Item]:
        films = self.source.dataset.films
        return [
            Item(
                key=question.name,
                group=question.video,
                sources=(films[question.video],) if question.video in films else (),
                questions=(
                    Asked(
                        id=question.name,
                        asked_at=self.moment(question),
                        compose=partial(self.compose, question),
                        max_tokens=self.source.settings.answer_tokens,
                    ),
                ),
            )
            for question in self.questions
        ]

    def compose(self, question: Question) -> Request:
        """The request of one question.

        Raises:
            UnaskableError, SourceError: If its frames or words cannot be read.
        """
        context = self.source.context(question.video, self.moment(question))
        return question_request(question, context, self.prompt)

    def score(
        self, items: Sequence[Item], answers: Sequence[Answer], *, errors_as_wrong: bool = False
    ) -> EgoExtraScores:
        asked = {item.key for item in items}
        questions = [question for question in self.questions if question.name in asked]
        return score_egoextra(questions, answers, errors_as_wrong=errors_as_wrong)

    def tables(self, scores: EgoExtraScores, *, system: str = "this run") -> Sequence[PaperTable]:
        runs = [Run(system=system, way=self.source.reading.way, scores=scores)]
        return (*paper_tables(runs), protocol_table(runs))

    def files(self, answers: Sequence[Answer]) -> Mapping[str, Any]:
        """Chosen numbers by recording and question; 0 where none was chosen."""
        given = {answer.id: answer for answer in answers}
        chosen: dict[str, list[dict[str, Any]]] = {}
        for question in self.questions:
            answer = given.get(question.name)
            if answer is not None and answer.error is None:
                number = chosen_number(answer.output, question.options) or 0
                said = question.options[number - 1] if number else ""
                entry = {"id": question.id, "prediction": number, "prediction_text": said}
                chosen.setdefault(question.video, []).append(entry)
        return {"predictions.json": chosen} if chosen else {}


def facts_of(source: Source, prompt: EgoExtraPrompt) -> dict[str, Any]:
    """What every reading of a folder depends on."""
    reading = source.reading
    return {
        "root": str(source.dataset.root.resolve()),
        "mode": reading.mode,
        "sampling": reading.sampling,
        "length": reading.length,
        "words": reading.words,
        "settings": asdict(source.settings),
        "prompt": prompt.name,
    }
