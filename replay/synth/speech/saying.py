"""From a script to sound: phrases, pauses, pitch, and when each word is heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly

from replay.synth.script import Language, Script, ScriptWord, SpokenWord
from replay.synth.speech.phrase import PhraseModel, PhraseWord, Utterance, settled_edges
from replay.synth.speech.pronunciation import pronunciations, stressed
from replay.synth.speech.settings import SayingSettings, speech_settings
from replay.synth.world import Floats
from streaming.events import Seconds

RATE = 48_000
"""Samples a second of all speech and sound tracks."""

SPEEDS = (0.7, 1.4)
"""Slowest and fastest that a voice can be asked for."""

_COMMAS, _STOPS = ",;:…，、；：", ".?!。？！"
_SPEECH_LEVEL = 0.1
"""Root mean square of speech, where something is said."""

_SHIFT_STEPS = 96
"""A shift is a whole number of these steps an octave, and a ratio of small numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """A script, said.

    Attributes:
        samples: Mono, shape ``(n,)``, before any room or noise.
        rate: Samples a second.
        words: When each of the script's words is heard, from the first sample on.
        voice: Name of the voice.
        speed: How fast it was said; 1: as the voice does by itself.
        shift: Factor on pitch and formants.
    """

    samples: NDArray[np.float32] = field(repr=False)
    rate: int
    words: tuple[SpokenWord, ...]
    voice: str
    speed: float
    shift: float

    @property
    def seconds(self) -> Seconds:
        """How long it lasts."""
        return len(self.samples) / self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A speaker of one language.

    Attributes:
        pitch: Shift that belongs to this speaker, in semitones: one model, several people.
    """

    name: str
    language: Language
    model: PhraseModel = field(repr=False)
    pitch: float = 0.0

    def say(self, script: Script, *, speed: float, rng: np.random.Generator) -> Speech:
        """Say a script: pauses as asked, word times as the model laid its symbols.

        A word's pause is silence between the end of the word before it and its own start; the
        first word's stands in front. Punctuation without a pause gets a short one.

        Args:
            speed: 1: as the voice does by itself; 0.85...1.2 is what people do.

        Raises:
            ValueError: If the script is in another language, or the speed is out of reach.
            UnknownWordError: If a word's pronunciation is not known.
        """
        if script.language != self.language:
            raise ValueError(f"voice {self.name!r} speaks {self.language}, not {script.language}")
        if not SPEEDS[0] <= speed <= SPEEDS[1]:
            raise ValueError(f"speed {speed:g} is not within {SPEEDS[0]:g} ... {SPEEDS[1]:g}")
        settings = speech_settings().saying
        steps = round(
            _SHIFT_STEPS / 12 * (self.pitch + rng.uniform(-settings.shift, settings.shift))
        )
        shift = Fraction(2.0 ** (steps / _SHIFT_STEPS)).limit_denominator(250)
        pauses = _pauses(script.words, settings, rng)
        phrases = [
            self._phrase(script, chosen, settings, speed=speed, shift=shift, rng=rng)
            for chosen in _phrases(script.words, pauses, settings)
        ]
        samples, words = _lay(phrases, pauses, settings)
        return Speech(
            samples=samples,
            rate=RATE,
            words=words,
            voice=self.name,
            speed=speed,
            shift=float(shift),
        )

    def _phrase(
        self,
        script: Script,
        chosen: range,
        settings: SayingSettings,
        *,
        speed: float,
        shift: Fraction,
        rng: np.random.Generator,
    ) -> Utterance:
        """Words ``chosen`` of the script as sound at :data:`RATE`, in an even level."""
        table = pronunciations(self.language)
        words: list[PhraseWord] = []
        for place in chosen:
            word = script.words[place]
            said = table.of(word.text)
            pointing = word.role in ("deictic", "withdrawn")
            if pointing and self.language == "en":
                said = stressed(said)
            words.append(
                PhraseWord(
                    text=word.text,
                    said=said,
                    punctuation=_ending(script, place) if place == chosen[-1] else "",
                    emphasis=rng.uniform(*settings.emphasis) if pointing else 1.0,
                )
            )
        made = settled_edges(self.model.utter(words, speed=speed / float(shift), rng=rng))
        ratio = Fraction(RATE, made.rate) / shift
        samples = resample_poly(made.samples.astype(np.float64), ratio.numerator, ratio.denominator)
        bounds = np.round(made.bounds * float(ratio))
        loud = samples[int(bounds[0, 0]) : max(int(bounds[-1, 1]), int(bounds[0, 0]) + 1)]
        gain = _SPEECH_LEVEL / max(float(np.sqrt(np.mean(loud**2))), 1e-6)
        gain *= 10.0 ** (rng.uniform(-settings.level, settings.level) / 20.0)
        return Utterance(samples=(samples * gain).astype(np.float32), rate=RATE, bounds=bounds)


def _pauses(
    words: Sequence[ScriptWord], settings: SayingSettings, rng: np.random.Generator
) -> list[Seconds]:
    """Silence before each word; 0: it follows the word before as the voice says it."""
    pauses: list[Seconds] = []
    for place, word in enumerate(words):
        pause = word.pause
        mark = words[place - 1].punctuation[-1:] if place else ""
        if pause == 0.0 and mark:
            pause = float(rng.uniform(*(settings.stop if mark in _STOPS else settings.comma)))
        pauses.append(pause)
    return pauses


def _phrases(
    words: Sequence[ScriptWord], pauses: Sequence[Seconds], settings: SayingSettings
) -> list[range]:
    """Which words are said in one breath."""
    if not words:
        return []
    starts = [
        place
        for place in range(len(words))
        if place == 0 or pauses[place] >= settings.splice or words[place - 1].punctuation
    ]
    return [range(start, end) for start, end in zip(starts, [*starts[1:], len(words)], strict=True)]


def _ending(script: Script, place: int) -> str:
    """The mark that gives a phrase its melody: down, up, or still going on."""
    mark = script.words[place].punctuation[-1:]
    if mark in ("?", "？"):
        return "?"
    if place == len(script.words) - 1 or (mark and mark in _STOPS):
        return "."
    return ","


def _lay(
    phrases: Sequence[Utterance], pauses: Sequence[Seconds], settings: SayingSettings
) -> tuple[NDArray[np.float32], tuple[SpokenWord, ...]]:
    """Phrases one after the other, silence of exactly the asked length between their words."""
    pieces: list[tuple[int, NDArray[np.float32]]] = []
    times: list[SpokenWord] = []
    at, place = 0, 0
    for phrase in phrases:
        for first, last in _runs(pauses, place, len(phrase.bounds)):
            start = int(phrase.bounds[first, 0])
            end = int(phrase.bounds[last, 1])
            at += round(pauses[place + first] * RATE)
            before = round(settings.lead * RATE) if first == 0 else _FADE
            after = round(settings.tail * RATE) if last == len(phrase.bounds) - 1 else _FADE
            cut_from, sound = _cut(phrase.samples, start, end, before, after)
            pieces.append((at - (start - cut_from), sound))
            for onset, offset in phrase.bounds[first : last + 1]:
                times.append(
                    SpokenWord(
                        onset=float(at + onset - start) / RATE,
                        offset=float(at + offset - start) / RATE,
                    )
                )
            at += end - start
        place += len(phrase.bounds)
    early = -min((where for where, _ in pieces), default=0)
    early = max(early, 0)
    length = max((where + len(sound) for where, sound in pieces), default=0) + early
    samples = np.zeros(length, np.float32)
    for where, sound in pieces:
        samples[where + early : where + early + len(sound)] += sound
    late = early / RATE
    return samples, tuple(
        SpokenWord(onset=word.onset + late, offset=word.offset + late) for word in times
    )


_FADE = RATE // 100
"""Sound that goes on past a cut inside a phrase, fading."""


def _runs(pauses: Sequence[Seconds], place: int, words: int) -> list[tuple[int, int]]:
    """First and last word of each part of a phrase that no pause is cut into."""
    starts = [word for word in range(words) if word == 0 or pauses[place + word] > 0.0]
    return [(start, end - 1) for start, end in zip(starts, [*starts[1:], words], strict=True)]


def _cut(
    samples: NDArray[np.float32], start: int, end: int, before: int, after: int
) -> tuple[int, NDArray[np.float32]]:
    """Sound from ``start`` to ``end`` with what surrounds it fading in and out, and its start."""
    first, last = max(start - before, 0), min(end + after, len(samples))
    sound = samples[first:last].copy()
    rise, fall = start - first, last - end
    if rise > 0:
        sound[:rise] *= _slope(rise)
    if fall > 0:
        sound[-fall:] *= _slope(fall)[::-1]
    return first, sound


def _slope(length: int) -> Floats:
    return 0.5 - 0.5 * np.cos(np.pi * (np.arange(length) + 0.5) / length)
