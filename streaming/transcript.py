"""Incremental transcript: words committed one after the other while somebody speaks.

At fixed counts of samples (a *hop*), and once in each pause, the window since the last trim is
decoded again with the committed words as forced prefix. A word is committed when it lies safely
inside the window and is probable, or when two hypotheses in a row agree on it (LocalAgreement-2
after Macháček et al., 2023). Committed words are append-only. When the utterance is over, a careful
pass with a beam decodes it once more, in pieces of bounded length, for the text that reports and
models read; its work is put off until the committed words are out.

No more than one hop, or one piece of the final pass, happens in one ``push``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from streaming.events import (
    SAMPLE_RATE,
    Counters,
    Partial,
    Seconds,
    Speech,
    SpeechEnd,
    SpeechSeen,
    SpeechStart,
    Utterance,
    Word,
    WordsSeen,
)
from streaming.transcript_agreement import common_prefix
from streaming.transcript_hearing import Hypothesis, Request, hear
from streaming.transcript_final import FinalPass
from streaming.transcript_recognizer import Recognizer, Window
from streaming.transcript_sound import Sound
from streaming.transcript_words import Heard

Said: TypeAlias = Partial | Word | WordsSeen | Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptSettings:
    """Settings of :class:`Transcript` (``configs/transcript.toml``).

    Attributes:
        hop: Sound between two hypotheses.
        first_hop: Sound before the first hypothesis of an utterance, pre-roll included.
        pause: Silence after which the words so far are committed.
        margin: How far inside the window a probable word ends that is committed at first sight.
        sure: Probability from which a word is probable.
        agreed_margin: How far inside the window a word ends on which two hypotheses agree.
        show_margin: How far inside the window a word ends that is shown before it is committed.
        unlikely: Mean word probability under which an utterance is taken for noise.
        window: Longest window; then the committed words are trimmed away.
        keep: Sound that stays before the first word that is not yet committed.
        piece: Longest piece of the final pass.
        beam: Width of the final pass's search.
        backlog: How far behind a hop is skipped (only when :meth:`Transcript.set_backlog` is told).
        languages: Those that are told apart when the language is ``auto``.
        vocabulary: Chinese words of two characters or more that are kept together.
    """

    hop: Seconds = 0.5
    first_hop: Seconds = 1.0
    pause: Seconds = 0.256
    margin: Seconds = 0.3
    sure: float = 0.5
    agreed_margin: Seconds = 0.1
    show_margin: Seconds = 0.3
    unlikely: float = 0.35
    window: Seconds = 8.0
    keep: Seconds = 3.0
    piece: Seconds = 9.0
    beam: int = 5
    backlog: Seconds = 1.0
    languages: tuple[str, ...] = ("en", "zh")
    vocabulary: tuple[str, ...] = ()


class _Open:
    """The utterance that is open: its sound, its committed words, its last hypothesis."""

    def __init__(self, index: int, sound: Sound, onset: Seconds) -> None:
        self.index = index
        self.sound = sound
        self.onset = onset
        self.language: str | None = None
        self.guess: str | None = None
        self.window_from = 0
        self.next_hop = 0
        self.prefix: tuple[int, ...] = ()
        self.prefix_words: list[tuple[int, Seconds]] = []
        self.context: tuple[int, ...] = ()
        self.words: list[Word] = []
        self.waiting: tuple[Heard, ...] = ()
        self.heard_at = -1


class Transcript:
    """Turns speech into committed words.

    Counters: ``hops``, ``hops_skipped``, ``tokens_cut``, ``utterances_rejected`` (noise),
    ``words_final_differs``.

    Args:
        recognizer: Hears the words.
        language: ISO 639-1 code, or ``auto`` (found for each utterance).
        settings: See :class:`TranscriptSettings`.
    """

    accepts: tuple[type, ...] = (Speech, SpeechStart, SpeechEnd, SpeechSeen)

    def __init__(
        self,
        recognizer: Recognizer,
        *,
        language: str = "en",
        settings: TranscriptSettings | None = None,
    ) -> None:
        self.counters = Counters()
        self._recognizer = recognizer
        self._settings = settings or TranscriptSettings()
        self._vocabulary = frozenset(self._settings.vocabulary)
        self._language = None if language == "auto" and recognizer.multilingual else language
        if self._language == "auto":
            self._language = "en"
        self._last_language: str | None = None
        self._started: SpeechStart | None = None
        self._open: _Open | None = None
        self._final = FinalPass(
            recognizer, self._settings.beam, self._settings.piece, self._vocabulary
        )
        self._seen: Seconds = -math.inf
        self._spoken: Seconds = -math.inf
        self._backlog: Seconds = 0.0

    def set_backlog(self, seconds: Seconds) -> None:
        """Say how much sound waits; when it is much, hops are skipped until it is less."""
        self._backlog = seconds

    def push(self, event: Speech | SpeechStart | SpeechEnd | SpeechSeen) -> list[Said]:
        """Take one event of the VAD."""
        match event:
            case SpeechStart():
                self._started = event
                return []
            case Speech():
                return self._hear(event)
            case SpeechEnd():
                return self._end(event.offset)
            case SpeechSeen():
                return [*self._final.step(), *self._idle(event.until)]

    def finish(self) -> list[Said]:
        """Commit what is open and do what was put off."""
        said: list[Said] = []
        if self._open is not None:
            said += self._end(self._open.sound.time(self._open.sound.received))
        while self._final.waiting:
            said += self._final.step()
        return said

    def _idle(self, until: Seconds) -> list[Said]:
        if self._open is not None or self._started is not None:
            return []
        return self._watermark(until)

    def _watermark(self, until: Seconds) -> list[Said]:
        if until <= self._seen:
            return []
        self._seen = until
        return [WordsSeen(until=until)]

    # --- one open utterance ------------------------------------------------------------------

    def _hear(self, speech: Speech) -> list[Said]:
        said: list[Said] = []
        if self._open is None:
            said += self._begin(speech)
        now = self._open
        assert now is not None
        samples, tail_limit = speech.samples, round(self._settings.pause * SAMPLE_RATE)
        place = 0
        while place < len(samples):
            room = now.next_hop - now.sound.received
            if not speech.voiced and now.sound.tail < tail_limit:
                room = (
                    min(room, tail_limit - now.sound.tail)
                    if room > 0
                    else tail_limit - now.sound.tail
                )
            step = min(len(samples) - place, room) if room > 0 else len(samples) - place
            now.sound.append(samples[place : place + step], voiced=speech.voiced)
            place += step
            said += self._maybe_hop(now, tail_limit)
        return said

    def _begin(self, speech: Speech) -> list[Said]:
        start = self._started or SpeechStart(utterance=speech.utterance, onset=speech.onset)
        self._started = None
        sound = Sound(speech.onset, voice=start.onset)
        self._open = _Open(speech.utterance, sound, start.onset)
        self._open.language = self._language
        self._open.next_hop = round(self._settings.first_hop * SAMPLE_RATE)
        self._final.begin(speech.utterance, sound, start.onset)
        return self._watermark(start.onset - 0.1)

    def _maybe_hop(self, now: _Open, tail_limit: int) -> list[Said]:
        received = now.sound.received
        in_pause = now.sound.tail >= tail_limit
        if now.sound.tail == tail_limit and received > now.heard_at:
            return self._hop(now, pause=True)
        if received < now.next_hop:
            return []
        hop = round(self._settings.hop * SAMPLE_RATE)
        now.next_hop += hop * (1 + (received - now.next_hop) // hop)
        if in_pause or now.sound.tail > 0.08 * SAMPLE_RATE:
            return []
        if self._backlog > self._settings.backlog:
            self.counters.add("hops_skipped")
            return []
        return self._hop(now, pause=False)

    def _hop(self, now: _Open, *, pause: bool) -> list[Said]:
        self.counters.add("hops")
        received = now.sound.received
        window_sound = now.sound.between(now.window_from, received)
        window = self._recognizer.listen(window_sound)
        language = self._find_language(now, window, settle=pause)
        hypothesis = hear(self._recognizer, window, self._request(now, language), self._vocabulary)
        self.counters.add("tokens_cut", hypothesis.cut)
        now.heard_at = received
        fresh = [word for word in hypothesis.words if word.last > len(now.prefix)]
        count = self._believed(now, fresh, pause=pause)
        if language is not now.language and now.language is None:
            count = 0
        said = self._commit(now, hypothesis, fresh, count, language)
        rest = tuple(fresh[count:])
        now.waiting = rest
        said.append(self._partial(now, rest, language, pause=pause))
        self._trim(now)
        return said

    def _request(self, now: _Open, language: str) -> Request:
        sound = now.sound
        duration = (sound.received - now.window_from) / SAMPLE_RATE
        open_since = max(
            sound.time(now.window_from), now.words[-1].offset if now.words else -math.inf
        )
        rate = 10.0 if language == "zh" else 7.0
        fresh = sound.time(sound.received) - open_since
        return Request(
            language=language,
            origin=sound.time(now.window_from),
            duration=duration,
            prefix=now.prefix,
            context=now.context if not now.prefix else now.context,
            limit=len(now.prefix) + 8 + round(rate * fresh),
            pauses=tuple(sound.pauses(shortest=0.15)),
        )

    def _find_language(self, now: _Open, window: Window, *, settle: bool) -> str:
        if now.language is not None:
            return now.language
        shares = dict(window.languages(self._settings.languages))
        if self._last_language in shares:
            shares[self._last_language] *= 1.5
        best = max(shares, key=lambda code: shares[code])
        sure = shares[best] / sum(shares.values()) >= 0.8
        if settle or (sure and best == now.guess):
            now.language = best
        now.guess = best
        return best

    def _believed(self, now: _Open, fresh: Sequence[Heard], *, pause: bool) -> int:
        settings = self._settings
        agreed = common_prefix([word.key for word in fresh], [word.key for word in now.waiting])
        end = now.sound.time(now.sound.received)
        count = 0
        for place, word in enumerate(fresh):
            inside = end - word.offset
            sight = inside >= settings.margin and word.probability >= settings.sure
            twice = place < agreed and inside >= settings.agreed_margin
            if pause:
                sight = word.probability >= settings.unlikely
            if not (sight or twice):
                break
            count = place + 1
        while count and not fresh[count - 1].whole:
            count -= 1
        return count

    def _commit(
        self,
        now: _Open,
        hypothesis: Hypothesis,
        fresh: Sequence[Heard],
        count: int,
        language: str,
    ) -> list[Said]:
        said: list[Said] = []
        for word in fresh[:count]:
            made = self._word(now, word, language)
            now.words.append(made)
            now.prefix_words.append((word.last, made.onset))
            said.append(made)
        if count:
            now.prefix = hypothesis.tokens[: fresh[count - 1].last]
            self._spoken = now.words[-1].offset
            said += self._watermark(self._spoken)
        return said

    def _word(self, now: _Open, word: Heard, language: str) -> Word:
        end = now.sound.time(now.sound.received)
        onset = min(end, max(word.onset, self._seen, self._spoken))
        offset = min(end, max(word.offset, onset + 0.04))
        self._spoken = offset
        return Word(
            text=word.text,
            onset=onset,
            offset=offset,
            utterance=now.index,
            language=language,
            probability=round(min(1.0, word.probability), 6),
        )

    def _partial(self, now: _Open, rest: Sequence[Heard], language: str, *, pause: bool) -> Partial:
        end = now.sound.time(now.sound.received)
        shown: list[Word] = []
        last = max(self._spoken, now.onset - 1.0)
        for word in rest:
            if not pause and end - word.offset < self._settings.show_margin:
                break
            onset = min(end, max(word.onset, last))
            last = min(end, max(word.offset, onset))
            shown.append(
                Word(
                    text=word.text,
                    onset=onset,
                    offset=last,
                    utterance=now.index,
                    language=language,
                    probability=round(min(1.0, word.probability), 6),
                )
            )
        return Partial(utterance=now.index, words=tuple(shown))

    def _trim(self, now: _Open) -> None:
        """Drop sound whose words are committed when the window is long."""
        sound, settings = now.sound, self._settings
        length = (sound.received - now.window_from) / SAMPLE_RATE
        if length <= settings.window or not now.prefix_words:
            return
        open_from = now.words[-1].offset
        for place, (_, onset) in enumerate(now.prefix_words):
            if open_from - onset <= settings.keep or place == len(now.prefix_words) - 1:
                break
        if place == 0:
            return
        tokens_out = now.prefix_words[place - 1][0]
        now.context = (*now.context, *now.prefix[:tokens_out])[-60:]
        now.prefix = now.prefix[tokens_out:]
        now.prefix_words = [(last - tokens_out, at) for last, at in now.prefix_words[place:]]
        now.window_from = max(now.window_from, sound.sample(now.prefix_words[0][1] - 0.05))
        self._final.cut(now.words, before=now.prefix_words[0][1])
        sound.drop(min(now.window_from, self._final.needs))

    def _end(self, offset: Seconds) -> list[Said]:
        now = self._open
        if now is None:
            self._started = None
            return []
        said: list[Said] = []
        if now.sound.received - now.sound.tail > now.heard_at and now.sound.received > 1600:
            said += self._hop(now, pause=True)
        self._open = None
        offset = max(offset, now.onset)
        rejected = [word for word in now.waiting]
        if rejected:
            said.append(Partial(utterance=now.index, words=()))
            self.counters.add("words_rejected", len(rejected))
        language = now.language or now.guess or "en"
        if now.words:
            self._last_language = language
        self._final.end(now.words, max([offset, *(w.offset for w in now.words[-1:])]), language)
        said += self._watermark(offset)
        return said
