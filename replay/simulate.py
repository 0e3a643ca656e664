"""Made-up sequences of deictic words and pointing strokes with known pairs, to measure binding.

A scene is one instruction with 1 to 4 referents, about two seconds apart as in EcoG-Bench, and what
a recogniser and a tracker would make of it. What a :class:`Noise` level can do to it:

* lags between word and apex, drawn *not* from the binder's prior: each speaker has a bias of their
  own; most pairs lie around it as in laboratory studies, the rest as in free speech (quantiles of
  38 human-timed points, Tykhostup, CC-BY-4.0; see ``configs/binding.toml``);
* strokes that were not made or not seen, beats and false strokes;
* "it" without a stroke, and now and then with one;
* words that were dropped, invented, or heard as another kind; errors of onsets and apexes.

Everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from streaming.events import Deictic, DeicticKind, DeicticsSeen, Seconds, Stroke, StrokesSeen

# fmt: off
FREE_SPEECH_LAGS: tuple[Seconds, ...] = (
    -2.38, -1.4, -1.19, -0.77, -0.36, -0.02, 0.03, 0.13, 0.15, 0.23, 0.31, 0.36, 0.49, 0.68, 1.09,
)
# fmt: on
"""Apex minus word onset at equal steps of probability, 0.35 s taken from onset to apex."""

_KINDS: dict[int, tuple[DeicticKind, ...]] = {
    1: ("object",),
    2: ("object", "place"),
    3: ("object", "place", "object"),
    4: ("object", "place", "object", "place"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How bad it gets. Rates are per referent unless said otherwise; spreads are in seconds.

    Attributes:
        name: For tables.
        bias_spread: Of speakers' own mean lags.
        lag_spread: Of a speaker's lags around that, in the laboratory manner.
        free_share: Share of the pairs timed as in free speech.
        missing: Strokes that are not made or not seen.
        beats: Strokes without a word, a second.
        anaphors: Chance of an "it" after a referent.
        anaphor_points: Chance that an "it" has a stroke of its own.
        dropped: Deictics that the recogniser loses.
        invented: Deictics that nobody said, a second.
        misheard: Deictics taken for another kind.
        word_error, apex_error: Spread of onset and apex errors; one in twenty is four times that.
        quality_spread: Of the strokes' quality around what it should be.
    """

    name: str
    bias_spread: Seconds
    lag_spread: Seconds
    free_share: float
    missing: float
    beats: float
    anaphors: float
    anaphor_points: float
    dropped: float
    invented: float
    misheard: float
    word_error: Seconds
    apex_error: Seconds
    quality_spread: float


CLEAN = Noise(
    name="clean",
    bias_spread=0.05,
    lag_spread=0.12,
    free_share=0.0,
    missing=0.0,
    beats=0.0,
    anaphors=0.1,
    anaphor_points=0.0,
    dropped=0.0,
    invented=0.0,
    misheard=0.0,
    word_error=0.02,
    apex_error=0.02,
    quality_spread=0.05,
)
"""A careful speaker, and recognisers that hardly err."""

HARSH = Noise(
    name="harsh",
    bias_spread=0.3,
    lag_spread=0.4,
    free_share=0.5,
    missing=0.2,
    beats=0.2,
    anaphors=0.3,
    anaphor_points=0.2,
    dropped=0.12,
    invented=0.08,
    misheard=0.1,
    word_error=0.2,
    apex_error=0.12,
    quality_spread=0.25,
)
"""What hardly anyone could sort out."""


def between(share: float, *, name: str) -> Noise:
    """The level that lies ``share`` of the way from :data:`CLEAN` to :data:`HARSH`."""
    mixed = {
        knob.name: (1.0 - share) * getattr(CLEAN, knob.name) + share * getattr(HARSH, knob.name)
        for knob in fields(Noise)
        if knob.name != "name"
    }
    return Noise(name=name, **mixed)


LEVELS: tuple[Noise, ...] = (
    CLEAN,
    between(0.2, name="mild"),
    between(0.4, name="typical"),
    between(0.65, name="hard"),
    HARSH,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the recogniser and the tracker made of one instruction, and what is true.

    Attributes:
        words: Deictics as recognised, by onset.
        strokes: Strokes as found, by apex.
        truth: For each word, the index of its stroke or None.
        duration: When the scene ends.
    """

    words: tuple[Deictic, ...]
    strokes: tuple[Stroke, ...]
    truth: tuple[int | None, ...]
    duration: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """How long after the fact the binder hears of it; all 0 when recognisers are instant.

    Attributes:
        word: Median time from a word's end until it is committed.
        word_spread: Spread of its logarithm.
        hop: Words' watermark moves this often.
        stroke: From an apex until its stroke is announced.
        step: Strokes' watermark moves this often.
    """

    word: Seconds = 0.0
    word_spread: float = 0.0
    hop: Seconds = 0.05
    stroke: Seconds = 0.0
    step: Seconds = 0.05


INSTANT = Delays()
REALISTIC = Delays(word=0.9, word_spread=0.35, hop=0.4, stroke=0.15, step=1 / 30)


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event and when the binder is given it."""

    at: Seconds
    event: Any


@dataclass(slots=True, eq=False)
class _Stroke:
    apex: Seconds
    quality: float


@dataclass(slots=True, eq=False)
class _Word:
    onset: Seconds
    offset: Seconds
    kind: DeicticKind
    stroke: _Stroke | None
    probability: float = 1.0


def scenes(noise: Noise, *, count: int, seed: int) -> Iterator[Scene]:
    """``count`` scenes at one level of noise."""
    for number in range(count):
        yield _Maker(noise, np.random.default_rng((seed, number))).scene()


class _Maker:
    """Makes one scene; every step draws from one generator."""

    def __init__(self, noise: Noise, random: np.random.Generator) -> None:
        self._noise = noise
        self._random = random

    def scene(self) -> Scene:
        words, strokes = self._instruction()
        duration = max(word.offset for word in words) + 2.0
        self._add_anaphors(words, strokes)
        self._lose_strokes(words, strokes)
        self._add_strokes(strokes, duration)
        self._mishear(words, duration)
        return self._observed(words, strokes, duration)

    def _chance(self, probability: float) -> bool:
        return bool(self._random.random() < probability)

    def _instruction(self) -> tuple[list[_Word], list[_Stroke]]:
        kinds = _KINDS[int(self._random.integers(1, 5))]
        bias = self._random.normal(0.1, self._noise.bias_spread)
        apex = self._random.uniform(1.2, 3.0)
        words: list[_Word] = []
        strokes: list[_Stroke] = []
        for kind in kinds:
            onset = apex - self._lag(bias)
            if words:  # speech cannot overlap itself
                onset = max(onset, words[-1].offset + self._random.uniform(0.15, 0.4))
            onset = max(onset, 0.05)
            strokes.append(_Stroke(apex, self._quality(0.8)))
            words.append(_Word(onset, onset + self._length(), kind, strokes[-1]))
            apex += max(0.7, self._random.normal(2.0, 0.45))
        return words, strokes

    def _lag(self, bias: Seconds) -> Seconds:
        if self._chance(self._noise.free_share):
            steps = np.linspace(0.0, 1.0, len(FREE_SPEECH_LAGS))
            return float(np.interp(self._random.random(), steps, FREE_SPEECH_LAGS))
        return float(self._random.normal(bias, self._noise.lag_spread))

    def _length(self) -> Seconds:
        return float(np.clip(self._random.normal(0.28, 0.08), 0.12, 0.6))

    def _quality(self, middle: float) -> float:
        return float(np.clip(self._random.normal(middle, self._noise.quality_spread), 0.05, 1.0))

    def _add_anaphors(self, words: list[_Word], strokes: list[_Stroke]) -> None:
        for place in reversed(range(len(words))):
            onset = words[place].offset + self._random.uniform(0.25, 0.9)
            offset = onset + self._random.uniform(0.08, 0.2)
            free = place + 1 == len(words) or offset + 0.1 < words[place + 1].onset
            if not (free and self._chance(self._noise.anaphors)):
                continue
            stroke = None
            if self._chance(self._noise.anaphor_points):
                stroke = self._stroke_between(words, place, apex=onset + self._lag(0.1))
            if stroke is not None:
                strokes.append(stroke)
            # Half of those with a stroke tell a place ("right of it"), few of the others do.
            tells = self._chance(0.1 if stroke is None else 0.5)
            probability = 1.0 if tells else 0.5
            words.insert(place + 1, _Word(onset, offset, "anaphor", stroke, probability))

    def _stroke_between(self, words: list[_Word], place: int, *, apex: Seconds) -> _Stroke | None:
        """A stroke at ``apex`` if that lies between those of the words around."""
        before = words[place].stroke
        after = words[place + 1].stroke if place + 1 < len(words) else None
        follows = before is None or apex > before.apex + 0.3
        leads = after is None or apex < after.apex - 0.3
        return _Stroke(apex, self._quality(0.8)) if follows and leads else None

    def _lose_strokes(self, words: list[_Word], strokes: list[_Stroke]) -> None:
        for word in words:
            if word.stroke is not None and self._chance(self._noise.missing):
                strokes.remove(word.stroke)
                word.stroke = None

    def _add_strokes(self, strokes: list[_Stroke], duration: Seconds) -> None:
        for _ in range(int(self._random.poisson(self._noise.beats * duration))):
            apex = self._random.uniform(0.3, duration)
            if all(abs(apex - stroke.apex) > 0.4 for stroke in strokes):
                strokes.append(_Stroke(apex, self._quality(0.5)))

    def _mishear(self, words: list[_Word], duration: Seconds) -> None:
        words[:] = [word for word in words if not self._chance(self._noise.dropped)]
        kinds: list[DeicticKind] = ["object", "place", "anaphor"]
        for word in words:
            if self._chance(self._noise.misheard):
                word.kind = kinds[int(self._random.integers(0, 3))]
        for _ in range(int(self._random.poisson(self._noise.invented * duration))):
            onset = self._random.uniform(0.1, duration - 1.0)
            offset = onset + self._length()
            if all(offset < word.onset or onset > word.offset for word in words):
                kind = kinds[int(self._random.integers(0, 2))]
                words.append(_Word(onset, offset, kind, None, self._random.uniform(0.5, 1.0)))

    def _error(self, spread: Seconds) -> Seconds:
        return float(self._random.normal(0.0, spread * (4.0 if self._chance(0.05) else 1.0)))

    def _observed(self, words: list[_Word], strokes: list[_Stroke], duration: Seconds) -> Scene:
        shown = sorted(
            ((max(0.0, s.apex + self._error(self._noise.apex_error)), s) for s in strokes),
            key=lambda item: item[0],
        )
        number = {stroke: index for index, (_, stroke) in enumerate(shown)}
        heard = sorted(
            ((max(0.0, w.onset + self._error(self._noise.word_error)), w) for w in words),
            key=lambda item: item[0],
        )
        return Scene(
            words=tuple(
                Deictic(
                    index=index,
                    text="it" if word.kind == "anaphor" else "this",
                    onset=onset,
                    offset=onset + (word.offset - word.onset),
                    kind=word.kind,
                    probability=word.probability,
                )
                for index, (onset, word) in enumerate(heard)
            ),
            strokes=tuple(
                Stroke(
                    index=index,
                    onset=max(0.0, apex - 0.3),
                    apex=apex,
                    tip=(0.5, 0.5),
                    knuckle=(0.4, 0.6),
                    quality=stroke.quality,
                )
                for index, (apex, stroke) in enumerate(shown)
            ),
            truth=tuple(None if w.stroke is None else number[w.stroke] for _, w in heard),
            duration=duration,
        )


def arrivals(scene: Scene, delays: Delays, *, seed: int = 0) -> list[Arrival]:
    """The scene's events and watermarks in order of arrival, as a binder would get them.

    A word is known at the earliest when it ends and a stroke at its apex; their watermarks keep
    behind what is not announced yet.
    """
    random = np.random.default_rng((seed, len(scene.words), len(scene.strokes)))
    words: list[tuple[Seconds, Deictic]] = []
    for word in scene.words:
        late = delays.word * float(np.exp(random.normal(0.0, delays.word_spread)))
        known = max(word.offset + late, words[-1][0] if words else 0.0)
        words.append((known, word))
    strokes = [(stroke.apex + delays.stroke, stroke) for stroke in scene.strokes]
    made = [Arrival(at, event) for at, event in (*words, *strokes)]
    for tick in range(1, int(scene.duration / delays.hop) + 1):
        now = tick * delays.hop
        open_onsets = [word.onset for at, word in words if at > now]
        made.append(Arrival(now, DeicticsSeen(until=min([now - delays.word, *open_onsets]))))
    for tick in range(1, int(scene.duration / delays.step) + 1):
        now = tick * delays.step
        made.append(Arrival(now, StrokesSeen(until=now - delays.stroke)))
    # At one moment, what happened comes before the watermark that includes it.
    made.sort(key=lambda item: (item.at, isinstance(item.event, DeicticsSeen | StrokesSeen)))
    return made
