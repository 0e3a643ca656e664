"""The query that a cell puts to its model about a clip, from the clip and from what was seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from replay.asking.cells import Cell
from replay.asking.clip_query import benchmark_words, query_from_clip
from replay.asking.saved_query import load_query
from replay.jobs import Job
from streaming.asking.interfaces import needs
from streaming.events import Word
from streaming.grounding import Query


def question(job: Job, cell: Cell, seen: Path) -> Query:
    """The query about one clip; slow, as it decodes the clip where pictures of it are wanted.

    Args:
        job: The clip, with its benchmark entry.
        cell: Who is asked, and how.
        seen: Folder of what was watched; read only when the cell wants it.

    Raises:
        SourceError: If the clip cannot be opened.
        SavedQueryError: If what was seen of it is missing or damaged.
    """
    watched = load_query(seen / job.name, task=job.task) if cell.is_watched else None
    wanted = needs(cell.interface) - {"perception"}
    if watched is not None and not wanted:
        return watched
    query = query_from_clip(job, _words(job, cell, watched), wanted, words_from=_words_from(cell))
    if watched is None:
        return query
    return replace(
        watched,
        asked_at=query.asked_at,
        language=query.language,
        prefix=query.prefix,
        # The clip's own last frame where the model is to see the clip; ours where it sees ours.
        last=watched.last if cell.interface == "bound" else query.last,
        words=query.words,
        words_from=query.words_from,
        transcript=query.transcript,
    )


def _words_from(cell: Cell) -> Literal["ours", "benchmark"]:
    return "benchmark" if cell.words_from == "benchmark" else "ours"


def _words(job: Job, cell: Cell, watched: Query | None) -> tuple[Word, ...]:
    if cell.words_from == "benchmark":
        return benchmark_words(job.clip) if job.clip is not None else ()
    return watched.words if watched is not None else ()
