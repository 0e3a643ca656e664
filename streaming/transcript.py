"""Incremental transcript: words committed one after the other while somebody speaks.

At fixed counts of samples (a *hop*), and once in each pause, the window since the last trim is
decoded afresh. A word is committed when it lies safely inside the window and is probable, or when
two hypotheses in a row agree on it (LocalAgreement-2 after Macháček et al., 2023), or when it has
waited long enough. Committed words are append-only: a later hypothesis that reads them otherwise
is laid against them, and only what comes after counts. (Forcing them as a prefix was measured: it
costs as much, and one wrong word spoils those that follow.)

When the utterance is over, a careful pass decodes it once more (:mod:`streaming.transcript_final`).
No more than one hop, or one step of that pass, happens in one ``push``.
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
from streaming.transcript_agreement import common_prefix, prefix_costs
from streaming.transcript_final import FinalPass
from streaming.transcript_hearing import Hypothesis, Request, Room, hear, levelled
from streaming.transcript_recognizer import Recognizer, Window
from streaming.transcript_sound import Sound
from streaming.transcript_words import Heard, fold

Said: TypeAlias = Partial | Word | WordsSeen | Utterance
Heeded: TypeAlias = Speech | SpeechStart | SpeechEnd | SpeechSeen


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
        doubtful: Probability under which two agreeing hypotheses do not suffice.
        patience: How far inside the window a word ends that is committed in any case.
        show_margin: How far inside the window a word ends that is shown before it is committed.
        show_sure: Probability from which it is shown.
        unlikely: Mean word probability under which a pause's words are taken for noise.
        level: Peak that a window is brought to.
        padding: Silence behind a hop's window.
        window: Longest window; then the committed words are trimmed away.
        keep: Sound with committed words that stays.
        final_padding: Silence behind a window of the final pass, 30 s in all at most.
        final_beam: Width of its search in windows up to ``final_wide_until``.
        final_wide_until: Longest window that is searched widely.
        final_long_beam: Width of its search in longer windows, which would take too long.
        final_long_beam_english: The same for a model that knows only English.
        final_piece: Longest window of it.
        final_wait: Silence after which an utterance shares no window with the next one.
        backlog: How far behind a hop is skipped (when :meth:`Transcript.set_backlog` is told).
        languages: Those that are told apart when the language is ``auto``.
        vocabulary: Chinese words of two characters or more that are kept together.
    """

    hop: Seconds = 0.5
    first_hop: Seconds = 1.0
    pause: Seconds = 0.256
    margin: Seconds = 0.4
    sure: float = 0.5
    agreed_margin: Seconds = 0.2
    doubtful: float = 0.3
    patience: Seconds = 1.2
    show_margin: Seconds = 0.3
    show_sure: float = 0.3
    unlikely: float = 0.35
    level: float = 0.9
    padding: Seconds = 4.0
    window: Seconds = 9.0
    keep: Seconds = 4.0
    final_padding: Seconds = 30.0
    final_beam: int = 5
    final_wide_until: Seconds = 10.0
    final_long_beam: int = 1
    final_long_beam_english: int = 2
    final_piece: Seconds = 28.0
    final_wait: Seconds = 2.5
    backlog: Seconds = 1.0
    languages: tuple[str, ...] = ("en", "zh")
    vocabulary: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("hop", "first_hop", "pause", "patience", "window", "final_piece"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0")
        if self.window + self.padding > 30.0 or self.final_piece > 30.0:
            raise ValueError("window + padding and final_piece must not exceed 30 s")
        if self.keep >= self.window:
            raise ValueError(f"keep is {self.keep}, expected less than window ({self.window})")


class _Open:
    """The utterance that is open: its sound, its committed words, its last hypothesis."""

    def __init__(self, index: int, sound: Sound, onset: Seconds, *, first_hop: int) -> None:
        self.index = index
        self.sound = sound
        self.onset = onset
        self.language: str | None = None
        self.guess: str | None = None
        self.window_from = 0
        self.next_hop = first_hop
        self.heard_at = 0
        self.words: list[Word] = []
        self.in_window = 0  # committed words at the end of `words` that the window holds
        self.waiting: tuple[Heard, ...] = ()


class Transcript:
    """Turns speech into committed words.

    Counters: ``hops``, ``hops_skipped``, ``tokens_cut`` (past the end, looping), ``words_rejected``
    (noise taken for words), ``windows_unread`` (left as they were committed, being behind).

    Args:
        recognizer: Hears the words.
        language: ISO 639-1 code, or ``auto``: found for each utterance.
        settings: See :class:`TranscriptSettings`.

    Raises:
        ValueError: If the recogniser does not know the language.
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
        self._settings = settings = settings or TranscriptSettings()
        self._vocabulary = frozenset(settings.vocabulary)
        self._language = _fixed(language, recognizer)
        self._hop_samples = round(settings.hop * SAMPLE_RATE)
        self._pause_samples = round(settings.pause * SAMPLE_RATE)
        self._final = FinalPass(
            recognizer,
            padding=settings.final_padding,
            beam=settings.final_beam,
            long_beam=(
                settings.final_long_beam
                if recognizer.multilingual
                else settings.final_long_beam_english
            ),
            wide_until=settings.final_wide_until,
            piece=settings.final_piece,
            wait=settings.final_wait,
            level=settings.level,
            vocabulary=self._vocabulary,
            counters=self.counters,
        )
        self._last_language: str | None = None
        self._started: SpeechStart | None = None
        self._open: _Open | None = None
        self._seen: Seconds = -math.inf
        self._spoken: Seconds = -math.inf
        self._backlog: Seconds = 0.0

    def set_backlog(self, seconds: Seconds) -> None:
        """Say how much sound waits; while it is too much, hops are skipped and counted."""
        self._backlog = seconds

    def push(self, event: Heeded) -> list[Said]:
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
                hurried = self._backlog > self._settings.backlog
                said = self._final.step(event.until, hurried=hurried)
                return [*said, *self._idle(event.until)]

    def finish(self) -> list[Said]:
        """Commit what is open and do what was put off."""
        said: list[Said] = []
        if self._open is not None:
            said += self._end(self._open.sound.time(self._open.sound.received))
        return [*said, *self._final.finish()]

    # --- watermarks --------------------------------------------------------------------------

    def _idle(self, until: Seconds) -> list[Said]:
        if self._open is None and self._started is None:
            return self._watermark(until)
        return []

    def _watermark(self, until: Seconds) -> list[Said]:
        if until <= self._seen:
            return []
        self._seen = until
        return [WordsSeen(until=until)]

    # --- one open utterance ------------------------------------------------------------------

    def _hear(self, speech: Speech) -> list[Said]:
        """Append sound up to each hop or pause, so that how it is cut changes nothing."""
        if self._open is None:
            self._begin(speech)
        now = self._open
        assert now is not None
        said: list[Said] = []
        place = 0
        while place < len(speech.samples):
            stops = [len(speech.samples) - place, now.next_hop - now.sound.received]
            if not speech.voiced:
                stops.append(self._pause_samples - now.sound.tail)
            step = min(stop for stop in stops if stop > 0)
            now.sound.append(speech.samples[place : place + step], voiced=speech.voiced)
            place += step
            said += self._maybe_hop(now)
        return said

    def _begin(self, speech: Speech) -> None:
        start = self._started or SpeechStart(utterance=speech.utterance, onset=speech.onset)
        self._started = None
        sound = Sound(speech.onset, voice=start.onset)
        first_hop = round(self._settings.first_hop * SAMPLE_RATE)
        self._open = _Open(speech.utterance, sound, start.onset, first_hop=first_hop)
        self._open.language = self._language
        self._final.begin(speech.utterance, sound, start.onset)

    def _maybe_hop(self, now: _Open) -> list[Said]:
        due = now.sound.received >= now.next_hop
        if due:
            now.next_hop += self._hop_samples
        if now.sound.tail >= self._pause_samples:
            if now.sound.tail == self._pause_samples:
                return self._hop(now, pause=True)
            return self._quiet(now)
        if not due or now.sound.tail > self._pause_samples // 3:
            return []
        if self._backlog > self._settings.backlog:
            self.counters.add("hops_skipped")
            return []
        return self._hop(now, pause=False)

    def _quiet(self, now: _Open) -> list[Said]:
        """In a pause with nothing left to commit, time goes on without words."""
        if now.waiting or now.sound.tail % (self._pause_samples // 2):
            return []
        return self._watermark(now.sound.time(now.sound.received - self._pause_samples))

    def _hop(self, now: _Open, *, pause: bool) -> list[Said]:
        self.counters.add("hops")
        sound, settings = now.sound, self._settings
        heard = levelled(sound.between(now.window_from, sound.received), settings.level)
        window = self._recognizer.listen(heard, padding=settings.padding)
        language = self._find_language(now, window, settle=pause)
        origin = sound.time(now.window_from)
        request = Request(
            language=language,
            origin=origin,
            duration=sound.time(sound.received) - origin,
            pauses=tuple(sound.pauses()),
        )
        hypothesis = hear(self._recognizer, window, request, self._vocabulary)
        self.counters.add("tokens_cut", hypothesis.cut)
        now.heard_at = sound.received
        fresh = hypothesis.words[self._known(now, hypothesis) :]
        count = self._believed(now, fresh, pause=pause) if now.language is not None else 0
        said = self._commit(now, fresh[:count], language)
        now.waiting = fresh[count:]
        said.append(self._partial(now, language, pause=pause))
        self._final.advance(now.words, language)
        self._trim(now)
        return said

    def _find_language(self, now: _Open, window: Window, *, settle: bool) -> str:
        """The utterance's language: certain once two hops agree, or at its first pause."""
        if now.language is not None:
            return now.language
        shares = dict(window.languages(self._settings.languages))
        if self._last_language in shares:
            shares[self._last_language] *= 1.5
        best = max(shares, key=lambda code: shares[code])
        share = shares[best] / (sum(shares.values()) or 1.0)
        if settle or (share >= 0.7 and best == now.guess):
            now.language = best
        now.guess = best
        return best

    def _known(self, now: _Open, hypothesis: Hypothesis) -> int:
        """How many words of the hypothesis say what is committed already.

        The cheapest end of an alignment with the committed words of the window, where being off
        in time costs as well: words that are said twice are told apart by when.
        """
        if not now.in_window:
            return 0
        committed, words = now.words[-now.in_window :], hypothesis.words
        costs = prefix_costs([fold(word.text) for word in committed], [word.key for word in words])
        ends = [committed[0].onset, *(word.offset for word in words)]
        totals = [
            cost + abs(end - committed[-1].offset) / 0.3
            for cost, end in zip(costs, ends, strict=True)
        ]
        known = totals.index(min(totals))
        before = words[known - 1].key if known else ""
        if known < len(words) and words[known].key == fold(committed[-1].text) != before:
            known += 1  # the last word again, heard later than before: it was said once
        return known

    def _believed(self, now: _Open, fresh: Sequence[Heard], *, pause: bool) -> int:
        """How many of the fresh words to commit."""
        settings = self._settings
        agreed = common_prefix([word.key for word in fresh], [word.key for word in now.waiting])
        end = now.sound.time(now.sound.received)
        count = 0
        for place, word in enumerate(fresh):
            inside = end - word.offset
            at_sight = inside >= settings.margin and word.probability >= settings.sure
            agreeing = (
                place < agreed
                and inside >= settings.agreed_margin
                and word.probability >= settings.doubtful
            )
            if not (at_sight or agreeing or inside >= settings.patience):
                break
            count = place + 1
        if pause and fresh:
            mean = sum(word.probability for word in fresh) / len(fresh)
            count = len(fresh) if mean >= settings.unlikely else 0
        while count and not fresh[count - 1].whole:
            count -= 1
        return count

    def _commit(self, now: _Open, words: Sequence[Heard], language: str) -> list[Said]:
        if not words:
            return []
        room = Room(max(self._seen, self._spoken), now.sound.time(now.sound.received))
        made = [room.place(word, now.index, language) for word in words]
        now.words += made
        now.in_window += len(made)
        self._spoken = room.begin
        return [*made, *self._watermark(self._spoken)]

    def _partial(self, now: _Open, language: str, *, pause: bool) -> Partial:
        """The words to show; those near the window's edge are still likely to change."""
        end = now.sound.time(now.sound.received)
        room = Room(max(self._spoken, self._seen, now.sound.origin), end)
        shown: list[Word] = []
        for word in now.waiting:
            settled = pause or end - word.offset >= self._settings.show_margin
            if not settled or word.probability < self._settings.show_sure:
                break
            shown.append(room.place(word, now.index, language))
        return Partial(utterance=now.index, words=tuple(shown))

    def _trim(self, now: _Open) -> None:
        """When the window is long, let go of sound whose words are committed."""
        sound, settings = now.sound, self._settings
        length = (sound.received - now.window_from) / SAMPLE_RATE
        if length < settings.window:
            return
        committed = now.words[len(now.words) - now.in_window :]
        newest = sound.time(sound.received) - settings.keep
        left = [place for place, word in enumerate(committed) if place and word.onset <= newest]
        if left:
            now.in_window -= left[-1]
            now.window_from = sound.sample(committed[left[-1]].onset - 0.05)
        elif length >= settings.window + settings.keep:
            # Nothing was believed for so long: noise. Let it go rather than grow.
            now.in_window = 0
            now.window_from = sound.received - round(settings.keep * SAMPLE_RATE)
            self.counters.add("words_rejected", len(now.waiting))
            now.waiting = ()
        sound.drop(min(now.window_from, self._final.needs))

    def _end(self, offset: Seconds) -> list[Said]:
        now = self._open
        if now is None:
            self._started = None
            return []
        said: list[Said] = []
        if now.sound.received - now.sound.tail > now.heard_at:
            said += self._hop(now, pause=True)
        self._open = None
        if now.waiting:
            self.counters.add("words_rejected", len(now.waiting))
            said.append(Partial(utterance=now.index, words=()))
        language = now.language or now.guess or "en"
        if now.words:
            self._last_language = language
        offset = max(offset, now.onset, *(word.offset for word in now.words[-1:]))
        self._final.end(now.words, offset, language)
        return [*said, *self._watermark(offset)]


def _fixed(language: str, recognizer: Recognizer) -> str | None:
    """The one language to decode in, None to find it out."""
    code = language_code(language)
    if recognizer.multilingual:
        return None if code == "auto" else code
    if code not in ("auto", "en"):
        raise ValueError(f"the model knows only English, not {language!r}; choose another model")
    return "en"


def language_code(name: str) -> str:
    """ISO 639-1 code of ``name``: ``zh-Hans``, ``cmn``, ``zh_CN`` and so on are ``zh``.

    Raises:
        ValueError: If it is no language tag.
    """
    code = name.strip().lower().replace("_", "-").split("-")[0]
    code = {"cmn": "zh", "chinese": "zh", "mandarin": "zh", "eng": "en", "english": "en"}.get(
        code, code
    )
    if code != "auto" and not (len(code) in (2, 3) and code.isascii() and code.isalpha()):
        raise ValueError(f"{name!r} is no language; give en, zh or auto")
    return code
