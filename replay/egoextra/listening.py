"""Replays the recordings of a run, each once, before models are asked about them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from replay.egoextra.questions import Question
from replay.egoextra.replayed import (
    HEARD,
    HeardWord,
    Watching,
    all_heard,
    is_replayed,
    replay_dialogue,
)
from replay.source import SourceError, open_source
from streaming.build import Engines, EngineSettings
from streaming.events import Seconds
from streaming.grounding_query import Task

MAX_SIDE = 1920

Told = Callable[[str, str], None]
"""Told about each recording when it is done: its name, and why it could not be replayed."""


def replay_recordings(
    films: Mapping[str, Path],
    moments: Mapping[str, Sequence[Seconds]],
    out: Path,
    *,
    watching: Watching,
    ears: EngineSettings | None,
    language: str = "auto",
    begun: Callable[[int], None] = lambda total: None,
    told: Told = lambda recording, error: None,
) -> None:
    """Replay every recording that is not replayed yet.

    Args:
        films: By recording.
        moments: Of each recording, seconds.
        out: Where each has a folder of its name.
        watching: What of the pictures is kept.
        ears: Whose ears listen; None leaves the sound out.
        language: Spoken language.
        begun: Told how many recordings there are to replay.
        told: Told about each.

    Raises:
        WeightsError: If the ears' weights are missing.
    """
    todo = [
        video
        for video, asked in moments.items()
        if video in films and not is_replayed(out / video, asked)
    ]
    begun(len(todo))
    if not todo:
        return
    engines = None if ears is None else Engines(ears)
    for video in todo:
        error = ""
        try:
            _replay(films[video], moments[video], out / video, watching=watching,
                    engines=engines, language=language)  # fmt: skip
        except SourceError as why:
            error = str(why)
        told(video, error)


def _replay(
    film: Path,
    moments: Sequence[Seconds],
    folder: Path,
    *,
    watching: Watching,
    engines: Engines | None,
    language: str,
) -> None:
    source = open_source(film, max_side=MAX_SIDE)
    with contextlib.ExitStack() as stack:
        events = stack.enter_context(contextlib.closing(source.events()))
        hearing = None
        if engines is not None:
            pipeline = stack.enter_context(engines.pipeline(task=Task(), language=language))
            hearing = pipeline.hearing
        replay_dialogue(events, moments, folder, watching=watching, hearing=hearing)


def hearing_delays(replayed: Path, questions: Iterable[Question]) -> list[Seconds]:
    """How long after each question's end our own ears had all of it, ascending.

    What is heard between a question's begin and end is taken for it; a question of which nothing
    was heard has no delay. With the model's own time this is how long an answer takes that waits
    for the ears.
    """
    delays: list[Seconds] = []
    heard: dict[str, list[HeardWord]] = {}
    for question in questions:
        folder = replayed / question.video
        if question.video not in heard:
            heard[question.video] = all_heard(folder) if (folder / HEARD).is_file() else []
        known = [
            one.known_at
            for one in heard[question.video]
            if question.question_start
            <= (one.word.onset + one.word.offset) / 2
            <= question.question_end
        ]
        if known:
            delays.append(max(known) - question.question_end)
    return sorted(delays)


def duration_of(film: Path) -> Seconds:
    """How long a recording is, as its file says; 0 where it cannot be played.

    A recording without a stated length has no moments of its own: give it an index first.
    """
    try:
        return open_source(film).info.duration or 0.0
    except SourceError:
        return 0.0
