"""The careful pass over what is settled, for the text that reports and models read.

It listens to what ``transcribe()`` would: up to :attr:`FinalPass.piece` seconds at once, with
silence behind them up to the 30 s that the model was trained on. Utterances that follow each other
closely share such a window, since Whisper hears a short one alone worse; so the pass waits a little
for the next one. What it reads replaces the committed words unless it has lost its way. The work is
put off: one :meth:`FinalPass.step` encodes, the next one decodes, a third one finds the times, so
that no step is long and no committed word waits.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streaming.events import SAMPLE_RATE, Counters, Seconds, Utterance, Word
from streaming.transcript_hearing import Request, Room, Spelled, decode, levelled, timed
from streaming.transcript_recognizer import Recognizer, Window
from streaming.transcript_sound import Sound
from streaming.transcript_words import Heard

LEAD: Seconds = 0.5
"""Silence before a window; Whisper hears words at its very beginning worse."""
UNLIKELY_ALONE = 0.4
"""Mean probability under which words do not count where none were committed."""
MOST_WAITING = 2
"""Windows that wait while hearing is behind: their sound is kept, a minute of it at most."""
LONGEST_WINDOW = 30
"""Seconds that a recogniser listens to at once."""
WORTH = 1.4
"""A word is worth having when its probability exceeds the inverse, 0.71."""
SHORTEST_READING = 0.6
"""Share of the committed words that a reading must have."""


@dataclass(slots=True)
class _Job:
    """One utterance on its way through the pass."""

    index: int
    sound: Sound
    onset: Seconds
    begun: int = 0  # sample at which the next piece begins
    taken: int = 0  # committed words that lie in a piece
    language: str = "en"
    offset: Seconds = math.nan
    over: bool = False
    unread: int = 0  # pieces
    words: list[Word] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class _Piece:
    """An utterance, or a part of a long one."""

    job: _Job
    samples: NDArray[np.float32]
    onset: Seconds
    pauses: tuple[tuple[Seconds, Seconds], ...]
    committed: tuple[Word, ...]

    @property
    def offset(self) -> Seconds:
        return self.onset + len(self.samples) / SAMPLE_RATE


class FinalPass:
    """Decodes utterances once more, window by window.

    Args:
        recognizer: Hears the words.
        padding: Silence behind a window, 30 s in all at most.
        beam: Width of the search in windows up to ``wide_until``.
        long_beam: Width of the search in longer ones, whose step would take too long otherwise.
        wide_until: Longest window that is searched widely.
        piece: Longest window.
        wait: Silence after which an utterance shares no window with the next one.
        level: As in :func:`streaming.transcript_hearing.levelled`.
        vocabulary: As in :func:`streaming.transcript_words.assemble`.
        counters: Told of ``windows_unread``, left as they were committed.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        *,
        padding: Seconds,
        beam: int,
        long_beam: int,
        wide_until: Seconds,
        piece: Seconds,
        wait: Seconds,
        level: float,
        vocabulary: frozenset[str],
        counters: Counters,
    ) -> None:
        self._counters = counters
        self._recognizer = recognizer
        self._padding = padding
        self._beam, self._long_beam = beam, long_beam
        self._wide_until = wide_until
        self._longest = piece - LEAD
        self._wait = wait
        self._level = level
        self._vocabulary = vocabulary
        self._jobs: deque[_Job] = deque()
        self._gathered: list[_Piece] = []  # what the next window holds so far
        self._ready: deque[list[_Piece]] = deque()
        self._window: Window | None = None  # of the first that is ready
        self._spelled: Spelled | None = None  # what was decoded in it

    @property
    def needs(self) -> int:
        """First sample of the newest utterance that is still needed."""
        return self._jobs[-1].begun

    def begin(self, index: int, sound: Sound, onset: Seconds) -> None:
        """An utterance opened."""
        self._jobs.append(_Job(index=index, sound=sound, onset=onset))

    def advance(self, words: Sequence[Word], language: str) -> None:
        """Close the window when the open utterance no longer fits; cut that when it has grown long.

        The cut falls into the widest gap between committed words in the piece's later half.
        """
        job = self._jobs[-1]
        job.language = language
        received = job.sound.time(job.sound.received)
        if self._gathered and received - self._gathered[0].onset > self._longest:
            self._close()
        begun = job.sound.time(job.begun)
        if received - begun < self._longest:
            return
        best, widest = -1, -1.0
        for place in range(job.taken, len(words) - 1):
            gap = words[place + 1].onset - words[place].offset
            middle = (words[place + 1].onset + words[place].offset) / 2
            if middle - begun >= self._longest / 2 and gap >= widest:
                best, widest = place, gap
        if best < 0:
            best = len(words) - 1
        if best < job.taken:
            self._gather(job, job.sound.sample(received - self._longest / 4), ())
            return
        edge = words[best].offset
        if best + 1 < len(words):
            edge = (edge + words[best + 1].onset) / 2
        self._gather(job, job.sound.sample(edge), words[job.taken : best + 1])
        job.taken = best + 1

    def end(self, words: Sequence[Word], offset: Seconds, language: str) -> None:
        """The newest utterance is over."""
        job = self._jobs[-1]
        job.offset, job.language, job.over = offset, language, True
        self._gather(job, job.sound.received, words[job.taken :])

    def step(self, until: Seconds, *, hurried: bool = False) -> list[Utterance]:
        """Do one part of the work, if there is any.

        Args:
            until: How far the sound was judged.
            hurried: Hearing is behind: put the work off, and when :data:`MOST_WAITING` windows
                wait already, leave their oldest as it was committed.
        """
        newest = self._jobs[-1] if self._jobs else None
        if newest is not None and newest.over and until - newest.offset >= self._wait:
            self._close()
        if not self._ready:
            return self._finished()
        if hurried:
            if len(self._ready) > MOST_WAITING:
                self._give_up()
            return self._finished()
        pieces = self._ready[0]
        if self._window is None:
            self._window = self._listen(pieces)
        elif self._spelled is None:
            self._spelled = decode(self._window, self._request(pieces))
        else:
            self._deal(self._ready.popleft(), self._window, self._spelled)
            self._window = self._spelled = None
        return self._finished()

    def finish(self) -> list[Utterance]:
        """Do all the work that is left; no utterance may be open."""
        said = self.step(math.inf)
        while self._ready:
            said += self.step(math.inf)
        return said

    def _gather(self, job: _Job, last: int, committed: Sequence[Word]) -> None:
        """Put a piece into the window that is being gathered, or into a new one."""
        first, job.begun = job.begun, max(job.begun, last)
        if last - first < SAMPLE_RATE // 5:
            return
        piece = _Piece(
            job=job,
            samples=job.sound.between(first, last).copy(),
            onset=job.sound.time(first),
            pauses=tuple(job.sound.pauses()),
            committed=tuple(committed),
        )
        if self._gathered and (
            piece.offset - self._gathered[0].onset > self._longest
            or self._gathered[-1].job.language != job.language
        ):
            self._close()
        job.unread += 1
        self._gathered.append(piece)

    def _close(self) -> None:
        """Have the gathered window read, unless nothing that was committed lies in it."""
        gathered, self._gathered = self._gathered, []
        if any(piece.committed for piece in gathered):
            self._ready.append(gathered)
        else:
            for piece in gathered:
                piece.job.unread -= 1

    def _listen(self, pieces: Sequence[_Piece]) -> Window:
        origin = pieces[0].onset - LEAD
        sound = np.zeros(round((pieces[-1].offset - origin) * SAMPLE_RATE) + 1, np.float32)
        for piece in pieces:
            place = round((piece.onset - origin) * SAMPLE_RATE)
            sound[place : place + len(piece.samples)] = piece.samples
        sound = sound[: LONGEST_WINDOW * SAMPLE_RATE]  # longer only when hops were skipped
        return self._recognizer.listen(levelled(sound, self._level), padding=self._padding)

    def _request(self, pieces: Sequence[_Piece]) -> Request:
        origin = pieces[0].onset - LEAD
        duration = pieces[-1].offset - origin
        return Request(
            language=pieces[0].job.language,
            origin=origin,
            duration=duration,
            beam=self._beam if duration <= self._wide_until else self._long_beam,
            pauses=tuple(pause for piece in pieces for pause in piece.pauses),
        )

    def _deal(self, pieces: Sequence[_Piece], window: Window, spelled: Spelled) -> None:
        """Find the times of the words and deal them to the pieces."""
        request = self._request(pieces)
        heard = timed(self._recognizer, window, request, spelled, self._vocabulary).words
        edges = [(piece.offset + behind.onset) / 2 for piece, behind in itertools.pairwise(pieces)]
        since = -math.inf
        for piece, edge in zip(pieces, [*edges, math.inf], strict=True):
            _choose(
                piece, [word for word in heard if since <= (word.onset + word.offset) / 2 < edge]
            )
            since = edge

    def _give_up(self) -> None:
        """Leave the first window that is ready as it was committed."""
        for piece in self._ready.popleft():
            _keep_committed(piece)
        self._window = self._spelled = None
        self._counters.add("windows_unread")

    def _finished(self) -> list[Utterance]:
        """The utterances that are read to their end, in order."""
        said: list[Utterance] = []
        while self._jobs and self._jobs[0].over and not self._jobs[0].unread:
            job = self._jobs.popleft()
            if job.words:
                said.append(_utterance(job))
        return said


def _choose(piece: _Piece, reading: Sequence[Heard]) -> None:
    if _broken(reading, piece.committed):
        _keep_committed(piece)
        return
    job = piece.job
    job.unread -= 1
    room = _room(piece)
    job.words += [room.place(word, job.index, job.language) for word in reading]


def _keep_committed(piece: _Piece) -> None:
    piece.job.unread -= 1
    room = _room(piece)
    piece.job.words += [room.move(word) for word in piece.committed]


def _room(piece: _Piece) -> Room:
    job = piece.job
    return Room(job.words[-1].offset if job.words else job.onset - 1.0, piece.offset)


def _utterance(job: _Job) -> Utterance:
    return Utterance(
        index=job.index,
        onset=min(job.onset, job.words[0].onset),
        offset=max(job.offset, job.words[-1].offset),
        language=job.language,
        words=tuple(job.words),
    )


def _broken(reading: Sequence[Heard], committed: Sequence[Word]) -> bool:
    """Whether a reading has lost its way: far too short, or unlikely where the other is likely.

    Nothing finer: letting the committed words compete on probability made the text worse.
    """
    if not committed:
        mean = sum(word.probability for word in reading) / max(1, len(reading))
        return mean < UNLIKELY_ALONE
    return len(reading) < SHORTEST_READING * len(committed) or (
        _worth(reading) < 0.0 < _worth(committed)
    )


def _worth(words: Sequence[Word] | Sequence[Heard]) -> float:
    """How good a reading is: a probable word adds to it, an improbable one takes away.

    With the mean of the words' logarithms alone, a reading would gain by leaving words out.
    """
    return sum(math.log(WORTH * max(word.probability, 1e-3)) for word in words)
