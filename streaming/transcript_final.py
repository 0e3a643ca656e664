"""The careful pass over what is settled, for the text that reports and models read.

It listens to longer pieces than the hops do, more than once: with little silence behind them and a
wide search, with much silence and a narrow one. The likeliest reading wins, and the committed words
are one of those that compete. The work is put off: one :meth:`FinalPass.step` encodes, the next one
decodes, so that no step is long and no committed word waits.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from streaming.events import SAMPLE_RATE, Seconds, Utterance, Word
from streaming.transcript_hearing import Request, Room, hear, levelled
from streaming.transcript_recognizer import Recognizer, Window
from streaming.transcript_sound import Sound
from streaming.transcript_words import Heard

WORTH = 1.4
"""A word is worth having when its probability exceeds the inverse, 0.71."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One way to listen to a piece.

    Attributes:
        padding: Silence behind it.
        beam: Width of the search.
    """

    padding: Seconds
    beam: int


@dataclass(slots=True)
class _Piece:
    first: int
    last: int
    committed: tuple[Word, ...]
    window: Window | None = None
    readings: list[tuple[Heard, ...]] = field(default_factory=list)


@dataclass(slots=True)
class _Job:
    """One utterance on its way through the pass."""

    index: int
    sound: Sound
    onset: Seconds
    pieces: deque[_Piece] = field(default_factory=deque)
    begun: int = 0  # sample at which the next piece begins
    taken: int = 0  # committed words that lie in a piece
    language: str = "en"
    offset: Seconds = math.nan
    over: bool = False
    words: list[Word] = field(default_factory=list)


class FinalPass:
    """Decodes utterances once more, piece by piece.

    Args:
        recognizer: Hears the words.
        looks: How to listen to each piece.
        piece: Longest piece.
        level: As in :func:`streaming.transcript_hearing.levelled`.
        vocabulary: As in :func:`streaming.transcript_words.assemble`.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        *,
        looks: Sequence[Look],
        piece: Seconds,
        level: float,
        vocabulary: frozenset[str],
    ) -> None:
        self._recognizer = recognizer
        self._looks = tuple(looks)
        self._longest = round(piece * SAMPLE_RATE)
        self._level = level
        self._vocabulary = vocabulary
        self._jobs: deque[_Job] = deque()

    @property
    def waiting(self) -> bool:
        """Whether there is work."""
        return any(job.pieces or job.over for job in self._jobs)

    @property
    def needs(self) -> int:
        """First sample of the newest utterance that is still needed."""
        job = self._jobs[-1]
        return job.pieces[0].first if job.pieces else job.begun

    def begin(self, index: int, sound: Sound, onset: Seconds) -> None:
        """An utterance opened."""
        self._jobs.append(_Job(index=index, sound=sound, onset=onset))

    def advance(self, words: Sequence[Word], language: str) -> None:
        """Cut a piece off the open utterance when it has grown long.

        The cut falls into the widest gap between committed words in the piece's later half.
        """
        job = self._jobs[-1]
        job.language = language
        if job.sound.received - job.begun < self._longest:
            return
        best, widest = -1, -1.0
        for place in range(job.taken, len(words) - 1):
            gap = words[place + 1].onset - words[place].offset
            middle = job.sound.sample((words[place + 1].onset + words[place].offset) / 2)
            if middle - job.begun >= self._longest / 2 and gap >= widest:
                best, widest = place, gap
        if best < 0:
            best = len(words) - 1
        if best < job.taken:
            self._push_piece(job, job.sound.received - self._longest // 4, ())
            return
        edge = words[best].offset
        if best + 1 < len(words):
            edge = (edge + words[best + 1].onset) / 2
        self._push_piece(job, job.sound.sample(edge), words[job.taken : best + 1])
        job.taken = best + 1

    def end(self, words: Sequence[Word], offset: Seconds, language: str) -> None:
        """The newest utterance is over."""
        job = self._jobs[-1]
        job.offset, job.language, job.over = offset, language, True
        self._push_piece(job, job.sound.received, words[job.taken :])

    def step(self) -> list[Utterance]:
        """Do one part of the work, if there is any."""
        if not self.waiting:
            return []
        job = self._jobs[0]
        while job.pieces and not job.pieces[0].committed:
            job.pieces.popleft()
        if job.pieces:
            self._look(job, job.pieces[0])
            if len(job.pieces[0].readings) == len(self._looks):
                self._choose(job, job.pieces.popleft())
        if job.pieces or not job.over:
            return []
        self._jobs.popleft()
        return self._utterance(job)

    def _push_piece(self, job: _Job, last: int, committed: Sequence[Word]) -> None:
        if last - job.begun >= SAMPLE_RATE // 5:
            job.pieces.append(_Piece(first=job.begun, last=last, committed=tuple(committed)))
            job.begun = last

    def _look(self, job: _Job, piece: _Piece) -> None:
        look = self._looks[len(piece.readings)]
        if piece.window is None:
            sound = job.sound.between(piece.first, piece.last)
            piece.window = self._recognizer.listen(
                levelled(sound, self._level), padding=look.padding
            )
            return
        origin, end = job.sound.time(piece.first), job.sound.time(piece.last)
        request = Request(
            language=job.language,
            origin=origin,
            duration=end - origin,
            beam=look.beam,
            pauses=tuple(job.sound.pauses()),
        )
        heard = hear(self._recognizer, piece.window, request, self._vocabulary)
        piece.window = None
        piece.readings.append(heard.words)

    def _choose(self, job: _Job, piece: _Piece) -> None:
        room = Room(
            job.words[-1].offset if job.words else job.onset - 1.0, job.sound.time(piece.last)
        )
        best = max(piece.readings, key=_worth)
        if _worth(piece.committed) > _worth(best):
            job.words += [room.move(word) for word in piece.committed]
        else:
            job.words += [room.place(word, job.index, job.language) for word in best]

    def _utterance(self, job: _Job) -> list[Utterance]:
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


def _worth(words: Sequence[Word] | Sequence[Heard]) -> float:
    """How good a reading is: a probable word adds to it, an improbable one takes away.

    With the mean of the words' logarithms alone, a reading would gain by leaving words out.
    """
    return sum(math.log(WORTH * max(word.probability, 1e-3)) for word in words)
