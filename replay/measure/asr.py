"""Incremental speech recognition against what was said (measures of streaming ASR).

Conventions:

* times in seconds of media time; words compared as in :mod:`replay.measure.asr_text`;
* **live** are the committed words, **final** the words of the careful pass;
* **emission delay** of a word: when it was committed minus its *true* end, over the words that
  align with a true word, right or substituted. *Computation-unaware* counts computing as no time: a
  block is heard when its last sample is there. *Computation-aware* lets each step begin when its
  block is there and the step before has ended, and end after the wall time that it really took;
* **onset error**: over words that align and are right;
* **unstable words**: shown in a partial hypothesis and later changed or withdrawn, over committed
  words;
* **silent** recordings are those in which nothing is said: all words heard there are *invented*,
  and count as insertions in the pooled error rates too;
* **step**: one ``push`` into the VAD and the transcript behind it.

Measures are counts and lists that add across recordings; ratios are made last, and are NaN when
nothing was there to measure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import jiwer
import numpy as np

from replay.measure.asr_text import tokens_of
from replay.measure.asr_truth import TrueWord
from streaming.component import Component
from streaming.events import SAMPLE_RATE, AudioBlock, Partial, Seconds, Utterance, Word, WordsSeen
from streaming.transcript_words import fold

WITHIN = (0.05, 0.1, 0.2)


class Watch(Protocol):
    """Time since it was made (:class:`streaming.clock.Stopwatch`)."""

    def wall(self) -> float: ...

    def cpu(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """A committed word with the two times at which it came out."""

    word: Word
    unaware: Seconds
    aware: Seconds


@dataclass(slots=True, kw_only=True)
class Hearing:
    """What one recording brought out, and what it cost.

    Attributes:
        duration: Of the recording.
        end: Where the sound that was heard ends, the silence after the recording included.
        emitted, final: Committed words, and those of the final pass.
        unstable: Shown words that changed.
        cpu, wall: Seconds spent.
        steps: Wall seconds of each.
        lateness: The furthest that it ever was behind, computation-aware.
        watermark_faults: Words that began before a watermark said so.
    """

    duration: Seconds = 0.0
    end: Seconds = 0.0
    emitted: list[Emitted] = field(default_factory=list)
    final: list[Word] = field(default_factory=list)
    unstable: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    steps: list[float] = field(default_factory=list)
    lateness: Seconds = 0.0
    watermark_faults: int = 0


def listen(
    blocks: Iterable[AudioBlock],
    vad: Component,
    transcript: Component,
    *,
    watch: Callable[[], Watch],
) -> Hearing:
    """Play ``blocks`` through ``vad`` and ``transcript`` and note what comes out when."""
    heard = Hearing()
    shown = _Shown()
    free_at = 0.0
    seen = -math.inf

    def step(available: Seconds, run: Callable[[], list[Any]]) -> None:
        nonlocal free_at, seen
        spent = watch()
        said = run()
        wall, cpu = spent.wall(), spent.cpu()
        begun = max(available, free_at)
        free_at = begun + wall
        heard.steps.append(wall)
        heard.wall += wall
        heard.cpu += cpu
        heard.lateness = max(heard.lateness, free_at - available)
        for event in said:
            match event:
                case Word():
                    heard.watermark_faults += event.onset < seen
                    heard.emitted.append(Emitted(word=event, unaware=available, aware=free_at))
                    shown.commit(event)
                case Partial():
                    heard.unstable += shown.replace(event)
                case WordsSeen():
                    seen = event.until
                case Utterance():
                    heard.final += event.words

    def through(events: Sequence[Any]) -> list[Any]:
        return [said for event in events for said in transcript.push(event)]

    for block in blocks:
        heard.duration = heard.end = block.offset
        step(block.offset, lambda block=block: through(vad.push(block)))  # type: ignore[misc]
    step(heard.duration, lambda: [*through(vad.finish()), *transcript.finish()])
    return heard


class _Shown:
    """The words on the screen that are not committed."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._committed: list[str] = []

    def commit(self, word: Word) -> None:
        self._committed.append(fold(word.text))

    def replace(self, partial: Partial) -> int:
        """Show ``partial`` behind what was committed; how many shown words changed or went."""
        now = self._committed + [fold(word.text) for word in partial.words]
        changed = sum(
            1 for place, key in enumerate(self._keys) if place >= len(now) or now[place] != key
        )
        self._keys = [fold(word.text) for word in partial.words]
        self._committed = []
        return changed


# --- against the truth -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TextErrors:
    """Word (character) errors as counts."""

    reference: int = 0
    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Word error rate, for Chinese character error rate."""
        return self.errors / self.reference if self.reference else math.nan

    def __add__(self, other: TextErrors) -> TextErrors:
        return TextErrors(
            reference=self.reference + other.reference,
            hits=self.hits + other.hits,
            substitutions=self.substitutions + other.substitutions,
            deletions=self.deletions + other.deletions,
            insertions=self.insertions + other.insertions,
        )


def text_errors(reference: Sequence[str], heard: Sequence[str]) -> TextErrors:
    """Errors of the tokens ``heard`` (Levenshtein, by jiwer)."""
    if not reference:
        return TextErrors(insertions=len(heard))
    if not heard:
        return TextErrors(reference=len(reference), deletions=len(reference))
    found = jiwer.process_words(" ".join(reference), " ".join(heard))
    return TextErrors(
        reference=len(reference),
        hits=found.hits,
        substitutions=found.substitutions,
        deletions=found.deletions,
        insertions=found.insertions,
    )


def pair_words(
    true: Sequence[TrueWord], heard: Sequence[Word], *, language: str
) -> list[tuple[int, int, bool]]:
    """``(true index, heard index, right)`` of the words that align, in order.

    Words are aligned through their tokens; a pair is right when all tokens of the true word are.
    """
    left = [
        (token, at)
        for at, word in enumerate(true)
        for token in tokens_of(word.text, language=language)
    ]
    right = [
        (token, at)
        for at, word in enumerate(heard)
        for token in tokens_of(word.text, language=language)
    ]
    if not left or not right:
        return []
    found = jiwer.process_words(
        " ".join(token for token, _ in left), " ".join(token for token, _ in right)
    )
    pairs: dict[int, tuple[int, bool]] = {}
    for chunk in found.alignments[0]:
        if chunk.type not in ("equal", "substitute"):
            continue
        for shift in range(chunk.ref_end_idx - chunk.ref_start_idx):
            one = left[chunk.ref_start_idx + shift][1]
            other = right[chunk.hyp_start_idx + shift][1]
            right_so_far = pairs.get(one, (other, True))
            pairs[one] = (right_so_far[0], right_so_far[1] and chunk.type == "equal")
    return [(one, other, hit) for one, (other, hit) in sorted(pairs.items())]


@dataclass(slots=True, kw_only=True)
class Measures:
    """Measures of one recording or of many; :meth:`add` pools them."""

    files: int = 0
    duration: Seconds = 0.0
    live: TextErrors = field(default_factory=TextErrors)
    final: TextErrors = field(default_factory=TextErrors)
    reference: TextErrors | None = None
    words: int = 0
    unstable: int = 0
    onset_errors: list[float] = field(default_factory=list)
    delays_aware: list[float] = field(default_factory=list)
    delays_unaware: list[float] = field(default_factory=list)
    cpu: float = 0.0
    wall: float = 0.0
    longest_step: float = 0.0
    lateness: float = 0.0
    disorder: int = 0
    silent_files: int = 0
    silent_duration: Seconds = 0.0
    invented_live: int = 0
    invented_final: int = 0

    def add(self, other: Measures) -> None:
        self.files += other.files
        self.duration += other.duration
        self.live += other.live
        self.final += other.final
        if other.reference is not None:
            self.reference = (self.reference or TextErrors()) + other.reference
        self.words += other.words
        self.unstable += other.unstable
        self.onset_errors += other.onset_errors
        self.delays_aware += other.delays_aware
        self.delays_unaware += other.delays_unaware
        self.cpu += other.cpu
        self.wall += other.wall
        self.longest_step = max(self.longest_step, other.longest_step)
        self.lateness = max(self.lateness, other.lateness)
        self.disorder += other.disorder
        self.silent_files += other.silent_files
        self.silent_duration += other.silent_duration
        self.invented_live += other.invented_live
        self.invented_final += other.invented_final

    def summary(self) -> dict[str, Any]:
        """Plain numbers for JSON; ratios None where undefined."""
        absolute = np.abs(np.array(self.onset_errors, dtype=float))
        found: dict[str, Any] = {
            "files": self.files,
            "duration": round(self.duration, 3),
            "words": self.words,
            "error_rate_live": _number(self.live.rate),
            "error_rate_final": _number(self.final.rate),
            "reference_words": self.live.reference,
            "unstable_ratio": _number(self.unstable / self.words if self.words else math.nan),
            "onset_error": {
                "n": len(absolute),
                "median_signed": _number(_percentile(self.onset_errors, 50)),
                "p50": _number(_percentile(absolute, 50)),
                "p90": _number(_percentile(absolute, 90)),
                "within": {
                    f"{limit:g}": _number(
                        float(np.mean(absolute <= limit)) if len(absolute) else math.nan
                    )
                    for limit in WITHIN
                },
            },
            "delay_aware": _spread(self.delays_aware),
            "delay_unaware": _spread(self.delays_unaware),
            "cpu_per_second": _number(self.cpu / self.duration if self.duration else math.nan),
            "real_time_factor": _number(self.wall / self.duration if self.duration else math.nan),
            "longest_step": _number(self.longest_step),
            "most_behind": _number(self.lateness),
            "disorder": self.disorder,
        }
        if self.silent_files:
            found["silent"] = {
                "files": self.silent_files,
                "duration": round(self.silent_duration, 3),
                "invented_live": self.invented_live,
                "invented_final": self.invented_final,
            }
        if self.reference is not None:
            found["error_rate_offline"] = _number(self.reference.rate)
        return found


def measure(
    true: Sequence[TrueWord], heard: Hearing, *, language: str, offline: str | None = None
) -> Measures:
    """Compare what was heard with what was said."""
    reference = [token for word in true for token in tokens_of(word.text, language=language)]
    words = [emitted.word for emitted in heard.emitted]

    def errors(texts: Iterable[str]) -> TextErrors:
        return text_errors(
            reference, [token for text in texts for token in tokens_of(text, language=language)]
        )

    made = Measures(
        files=1,
        duration=heard.duration,
        live=errors(word.text for word in words),
        final=errors(word.text for word in heard.final),
        reference=None if offline is None else errors([offline]),
        words=len(words),
        unstable=heard.unstable,
        cpu=heard.cpu,
        wall=heard.wall,
        longest_step=max(heard.steps, default=0.0),
        lateness=heard.lateness,
        disorder=disorder(words, end=heard.end) + heard.watermark_faults,
    )
    if not true:
        made.silent_files, made.silent_duration = 1, heard.duration
        made.invented_live, made.invented_final = len(words), len(heard.final)
    for one, other, hit in pair_words(true, words, language=language):
        if math.isnan(true[one].onset):
            continue
        if hit:
            made.onset_errors.append(words[other].onset - true[one].onset)
        made.delays_aware.append(heard.emitted[other].aware - true[one].offset)
        made.delays_unaware.append(heard.emitted[other].unaware - true[one].offset)
    return made


def disorder(words: Sequence[Word], *, end: Seconds) -> int:
    """Words that overlap the one before, go back in time or lie outside the sound."""
    slack = 1.5 / SAMPLE_RATE
    faults = sum(
        1 for before, behind in itertools.pairwise(words) if behind.onset < before.offset - slack
    )
    return faults + sum(1 for word in words if word.onset < -slack or word.offset > end + slack)


def _percentile(values: Sequence[float] | np.ndarray[Any, Any], share: float) -> float:
    return float(np.percentile(values, share)) if len(values) else math.nan


def _spread(values: Sequence[float]) -> dict[str, Any]:
    return {
        "n": len(values),
        "p50": _number(_percentile(values, 50)),
        "p90": _number(_percentile(values, 90)),
        "p99": _number(_percentile(values, 99) if len(values) >= 100 else math.nan),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
