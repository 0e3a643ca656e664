"""The question about a whole clip, without perception: its frames, its film and given words.

For the interfaces that send a model the clip itself. Decoding is all that it costs; what the
pipeline sees and hears plays no part in it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection
from typing import Literal

from replay.ecog import EcogClip
from replay.jobs import Job
from replay.media.cutting import FileFilm
from replay.run import MAX_SIDE
from replay.source import open_source
from streaming.events import Seconds, VideoFrame, Word
from streaming.grounding_frames import View
from streaming.grounding_prefix import Prefix
from streaming.grounding_query import Query
from streaming.prefix import PrefixSettings, SampledFrames, reach

_WORD_SECONDS: Seconds = 0.3
"""How long a word without a time counts, where nothing follows it."""


def benchmark_words(clip: EcogClip) -> tuple[Word, ...]:
    """The words of a benchmark's own transcript.

    A word without a time of its own lies between its neighbours, and is marked ``timed=False``.
    """
    words: list[Word] = []
    reached: Seconds = 0.0
    for number, word in enumerate(clip.words):
        onset, offset = word.begin_ms, word.end_ms
        timed = onset is not None and offset is not None and 0 <= onset <= offset
        if onset is not None and offset is not None and timed:
            span = (onset / 1000, offset / 1000)
        else:
            later = [one.begin_ms for one in clip.words[number + 1 :] if one.begin_ms is not None]
            until = later[0] / 1000 if later else reached + _WORD_SECONDS
            span = (reached, max(reached, until))
        words.append(
            Word(text=word.text, onset=span[0], offset=span[1], language=clip.language, timed=timed)
        )
        reached = span[1] if timed else reached
    return tuple(words)


def query_from_clip(
    job: Job,
    words: tuple[Word, ...],
    needs: Collection[str],
    *,
    words_from: Literal["ours", "benchmark"] = "benchmark",
    prefix: PrefixSettings | None = None,
) -> Query:
    """The question that a benchmark asks at the end of a clip.

    Args:
        job: The clip; its ``until`` is kept to.
        words: What was said, up to the clip's end.
        needs: As :func:`streaming.asking.interfaces.needs` says: of ``frames`` and ``film``.
        words_from: Whose words they are.
        prefix: How frames are sampled.

    Raises:
        SourceError: If the clip cannot be opened.
        ValueError: If ``needs`` asks for what only perception gives.
    """
    if "perception" in needs:
        raise ValueError(f"{job.name}: perception cannot be had from the clip alone; replay it")
    sampled = SampledFrames(prefix)
    newest: VideoFrame | None = None
    end: Seconds = 0.0
    source = open_source(job.path, until=job.until, max_side=MAX_SIDE)
    with contextlib.closing(source.events()) as events:
        for event in events:
            end = max(end, reach(event))
            if isinstance(event, VideoFrame):
                newest = event
                if "frames" in needs:
                    sampled.add(event)
    theirs = words_from == "benchmark" and job.clip is not None
    return Query(
        turn=0,
        asked_at=end,
        task=job.task,
        pointed=(),
        last=None if newest is None else _view(newest),
        words=tuple(word for word in words if word.onset < end),
        language=job.clip.language if job.clip is not None else job.language,
        final=True,
        prefix=Prefix(
            frames=sampled.up_to(math.inf), film=FileFilm(job.path) if "film" in needs else None
        ),
        words_from=words_from,
        transcript=job.clip.transcript if theirs and job.clip is not None else "",
    )


def _view(frame: VideoFrame) -> View:
    return View(time=frame.time, image=frame.image, pixel_aspect=frame.pixel_aspect)
