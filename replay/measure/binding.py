"""How well and how soon words are bound to strokes, beside simpler and later ways to do it.

Measures, each a count that adds across scenes and clips:

* *accuracy*: of the deictics that the binder was given, those that got their own stroke, or none
  where they have none;
* *pairs*: precision and recall of the word-stroke pairs alone;
* *commit delay* of a pair: the moment in media time at which its binding was made, minus the later
  of the word's offset and the stroke's apex; and the same after the later of their arrivals at
  the binder, which leaves out the recognisers' own delays;
* *calibration*: stated probabilities against shares that were right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from replay.simulate import INSTANT, LEVELS, REALISTIC, Delays, Noise, Scene, arrivals, scenes
from streaming.binding import Binder, BindingSettings, Calibrations
from streaming.binding_assignment import Choice
from streaming.binding_baselines import hungarian, nearest_apex, offline_optimum
from streaming.binding_calibration import Evidence, Reliability, fit_curve, reliability
from streaming.events import Binding, Deictic, Seconds, Stroke

TUNE_SEED, TEST_SEED = 1, 2
"""Calibration is fitted on scenes of one seed and reported on those of the other."""

METHODS = ("online", "offline optimum", "hungarian", "nearest apex")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A binding and when it was made.

    Attributes:
        binding: As announced.
        at: Media time at which it was announced.
        after_events: Seconds since the later of word offset and apex.
        after_arrival: Seconds since the later of them came to the binder.
    """

    binding: Binding
    at: Seconds
    after_events: Seconds
    after_arrival: Seconds


@dataclass(slots=True)
class Tally:
    """What one way of binding got right.

    Attributes:
        words: Deictics it was given.
        right: Those bound as is true.
        pairs: Pairs that are true; ``said`` those it made; ``hit`` those that are both.
        scenes: Scenes; ``whole`` those with every word right.
    """

    words: int = 0
    right: int = 0
    pairs: int = 0
    said: int = 0
    hit: int = 0
    scenes: int = 0
    whole: int = 0

    def add(self, truth: Sequence[Choice], choices: Sequence[Choice]) -> None:
        good = [a == b for a, b in zip(truth, choices, strict=True)]
        self.words += len(good)
        self.right += sum(good)
        self.pairs += sum(stroke is not None for stroke in truth)
        self.said += sum(stroke is not None for stroke in choices)
        self.hit += sum(ok and stroke is not None for ok, stroke in zip(good, choices, strict=True))
        self.scenes += 1
        self.whole += all(good)

    @property
    def accuracy(self) -> float:
        return _ratio(self.right, self.words)

    @property
    def precision(self) -> float:
        return _ratio(self.hit, self.said)

    @property
    def recall(self) -> float:
        return _ratio(self.hit, self.pairs)

    @property
    def whole_share(self) -> float:
        return _ratio(self.whole, self.scenes)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


@dataclass(slots=True)
class Timing:
    """Commit delays in seconds, of pairs and of words left without a stroke."""

    pairs: list[Seconds] = field(default_factory=list)
    pairs_after_arrival: list[Seconds] = field(default_factory=list)
    none: list[Seconds] = field(default_factory=list)
    at_end: int = 0

    def add(self, made: Iterable[Made]) -> None:
        for item in made:
            if item.binding.deictic is None:
                continue
            if item.binding.reason == "end":
                self.at_end += 1
            elif item.binding.stroke is None:
                self.none.append(item.after_events)
            else:
                self.pairs.append(item.after_events)
                self.pairs_after_arrival.append(item.after_arrival)


def quantile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(values, share)) if values else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelResult:
    """One level of noise.

    Attributes:
        name: Of the level.
        tallies: By name of the method.
        instant: Commit delays when recognisers are instant.
        realistic: Commit delays with :data:`~replay.simulate.REALISTIC` ones.
        calibration: Of the online binder's probabilities.
    """

    name: str
    tallies: dict[str, Tally]
    instant: Timing
    realistic: Timing
    calibration: Reliability


def bind_scene(scene: Scene, settings: BindingSettings, delays: Delays) -> list[Made]:
    """Run the online binder over a scene as it arrives."""
    binder = Binder(settings)
    came: dict[Deictic | Stroke, Seconds] = {}
    words = {word.index: word for word in scene.words}
    strokes = {stroke.index: stroke for stroke in scene.strokes}
    made: list[Made] = []

    def note(bindings: Iterable[Binding], at: Seconds) -> None:
        for binding in bindings:
            about: list[Seconds] = []
            known: list[Seconds] = []
            if binding.deictic is not None:
                word = words[binding.deictic]
                about.append(word.offset)
                known.append(came[word])
            if binding.stroke is not None:
                stroke = strokes[binding.stroke]
                about.append(stroke.apex)
                known.append(came[stroke])
            made.append(
                Made(
                    binding=binding,
                    at=at,
                    after_events=at - max(about),
                    after_arrival=at - max(known),
                )
            )

    now = 0.0
    for arrival in arrivals(scene, delays):
        now = arrival.at
        if isinstance(arrival.event, Deictic | Stroke):
            came[arrival.event] = now
        note(binder.push(arrival.event), now)
    note(binder.finish(), max(now, scene.duration))
    return made


def choices_of(made: Iterable[Made], words: int) -> list[Choice]:
    """The stroke of every word, by its index."""
    by_word = {item.binding.deictic: item.binding.stroke for item in made}
    return [by_word[index] for index in range(words)]


def baselines(
    words: Sequence[Deictic], strokes: Sequence[Stroke], settings: BindingSettings
) -> dict[str, list[Choice]]:
    """The other methods' choices, as stroke indices."""
    methods: dict[str, Callable[[], list[Choice]]] = {
        "offline optimum": lambda: offline_optimum(words, strokes, settings.scores),
        "hungarian": lambda: hungarian(words, strokes, settings.scores),
        "nearest apex": lambda: nearest_apex(words, strokes),
    }
    return {
        name: [None if choice is None else strokes[choice].index for choice in method()]
        for name, method in methods.items()
    }


def simulate_level(
    noise: Noise, settings: BindingSettings, *, count: int, seed: int = TEST_SEED
) -> LevelResult:
    """Bind ``count`` scenes of one level in every way."""
    tallies = {name: Tally() for name in METHODS}
    instant, realistic = Timing(), Timing()
    stated: list[float] = []
    right: list[bool] = []
    for scene in scenes(noise, count=count, seed=seed):
        made = bind_scene(scene, settings, INSTANT)
        instant.add(made)
        realistic.add(bind_scene(scene, settings, REALISTIC))
        tallies["online"].add(scene.truth, choices_of(made, len(scene.words)))
        for name, choices in baselines(scene.words, scene.strokes, settings).items():
            tallies[name].add(scene.truth, choices)
        for item in made:
            if item.binding.deictic is not None:
                stated.append(item.binding.probability)
                right.append(scene.truth[item.binding.deictic] == item.binding.stroke)
    return LevelResult(
        name=noise.name,
        tallies=tallies,
        instant=instant,
        realistic=realistic,
        calibration=reliability(stated, right),
    )


def fit_calibration(settings: BindingSettings, *, count: int) -> Calibrations:
    """Curves under which the binder's probabilities are right on the tuning scenes."""
    plain = replace(settings, calibration=Calibrations())
    evidence: dict[bool, list[Evidence]] = {True: [], False: []}
    right: dict[bool, list[bool]] = {True: [], False: []}
    for noise in LEVELS:
        for scene in scenes(noise, count=count, seed=TUNE_SEED):
            for item in bind_scene(scene, plain, INSTANT):
                word, stroke = item.binding.deictic, item.binding.stroke
                if word is None:
                    continue
                evidence[stroke is not None].append(_evidence(item.binding, scene, settings))
                right[stroke is not None].append(scene.truth[word] == stroke)
    return Calibrations(
        bound=fit_curve(evidence[True], right[True]),
        unbound=fit_curve(evidence[False], right[False]),
        alone=settings.calibration.alone,
    )


def _evidence(binding: Binding, scene: Scene, settings: BindingSettings) -> Evidence:
    """What the probability of a binding of a word was made from, given the raw one."""
    if binding.stroke is None or binding.deictic is None:
        return Evidence(raw=binding.probability)
    stroke, word = scene.strokes[binding.stroke], scene.words[binding.deictic]
    return Evidence(
        raw=binding.probability,
        surprise=settings.scores.lag.surprise(stroke.apex - word.onset),
        quality=stroke.quality,
    )
