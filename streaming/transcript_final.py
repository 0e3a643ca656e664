"""The careful pass over an utterance that is over, or over the part of it that is settled."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from streaming.events import SAMPLE_RATE, Seconds, Utterance, Word
from streaming.transcript_hearing import Request, hear
from streaming.transcript_recognizer import Recognizer
from streaming.transcript_sound import Sound


@dataclass(slots=True)
class _Piece:
    first: int
    last: int
    words: tuple[Word, ...]


@dataclass(slots=True)
class _Job:
    index: int
    sound: Sound
    onset: Seconds
    pieces: deque[_Piece] = field(default_factory=deque)
    taken: int = 0  # words that lie in a piece
    piece_from: int = 0
    words: list[Word] = field(default_factory=list)
    context: tuple[int, ...] = ()
    offset: Seconds = math.nan
    language: str = "en"
    over: bool = False


class FinalPass:
    def __init__(
        self, recognizer: Recognizer, beam: int, longest: Seconds, vocabulary: frozenset[str]
    ) -> None:
        self._recognizer = recognizer
        self._beam = beam
        self._longest = longest
        self._vocabulary = vocabulary
        self._jobs: deque[_Job] = deque()
        self._current: _Job | None = None

    @property
    def waiting(self) -> bool:
        return bool(self._jobs)

    @property
    def needs(self) -> int:
        """The first sample of the open utterance that is still needed."""
        assert self._current is not None
        if self._current.pieces:
            return self._current.pieces[0].first
        return self._current.piece_from

    def begin(self, index: int, sound: Sound, onset: Seconds) -> None:
        self._current = _Job(index, sound, onset)

    def cut(self, words: Sequence[Word], *, before: Seconds) -> None:
        job = self._current
        assert job is not None
        fresh = [word for word in words[job.taken :] if word.offset <= before]
        if not fresh:
            return
        last = job.sound.sample((fresh[-1].offset + before) / 2)
        if last - job.piece_from < self._longest / 2 * SAMPLE_RATE:
            return
        job.pieces.append(_Piece(job.piece_from, last, tuple(fresh)))
        job.taken += len(fresh)
        job.piece_from = last

    def end(self, words: Sequence[Word], offset: Seconds, language: str) -> None:
        job = self._current
        assert job is not None
        job.pieces.append(_Piece(job.piece_from, job.sound.received, tuple(words[job.taken :])))
        job.offset, job.language, job.over = offset, language, True
        self._jobs.append(job)
        self._current = None

    def step(self) -> list[Utterance]:
        if not self._jobs:
            return []
        job = self._jobs[0]
        piece = job.pieces.popleft()
        if piece.words:
            self._pass(job, piece)
        if job.pieces:
            return []
        self._jobs.popleft()
        if not job.words:
            return []
        return [
            Utterance(
                index=job.index,
                onset=min(job.onset, job.words[0].onset),
                offset=max(job.offset, job.words[-1].offset),
                language=job.language,
                words=tuple(job.words),
            )
        ]

    def _pass(self, job: _Job, piece: _Piece) -> None:
        sound = job.sound
        origin = sound.time(piece.first)
        duration = (piece.last - piece.first) / SAMPLE_RATE
        window = self._recognizer.listen(sound.between(piece.first, piece.last))
        request = Request(
            language=job.language,
            origin=origin,
            duration=duration,
            context=job.context,
            limit=12 + round((10 if job.language == "zh" else 7) * duration),
            beam=self._beam,
            pauses=tuple(sound.pauses(shortest=0.15)),
        )
        heard = hear(self._recognizer, window, request, self._vocabulary)
        last = job.words[-1].offset if job.words else -math.inf
        for word in heard.words:
            onset = min(sound.time(piece.last), max(word.onset, last))
            last = min(sound.time(piece.last), max(word.offset, onset + 0.04))
            job.words.append(
                Word(
                    text=word.text,
                    onset=onset,
                    offset=last,
                    utterance=job.index,
                    language=job.language,
                    probability=round(min(1.0, word.probability), 6),
                )
            )
