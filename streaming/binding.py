"""Which stroke each deictic word refers through, decided while both still happen.

Words and strokes arrive as two streams, each in order and with its own watermark, and the binder
pairs them one to one without crossings, leaving out words and strokes that go with nothing. What a
pair is worth is :mod:`streaming.binding_scores`; which pairing is best, and whether anything still
to come can change it, is :mod:`streaming.binding_assignment`.

The decision about a word is fixed by what is said and shown less than ``deadline`` after its
onset, and by the decisions about the words before it. It is *announced* at the first moment when
both streams have been seen up to the word and its stroke and no allowed future could change it. So
when the streams arrive changes when a binding is announced, never which, nor their order.

A stroke without a deictic anywhere near stands alone (the silent case) and is announced as such.
Other strokes without a word, such as beats among speech, are left out and counted.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from streaming.binding_assignment import Choice, choose, posterior, settle
from streaming.binding_calibration import Curve, Evidence
from streaming.binding_scores import Scores
from streaming.events import (
    Binding,
    Counters,
    Deictic,
    DeicticsSeen,
    Seconds,
    Stroke,
    StrokeEnd,
    StrokesSeen,
)

BinderInput: TypeAlias = Deictic | DeicticsSeen | Stroke | StrokeEnd | StrokesSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrations:
    """Curves from the model's probability to how often such a decision is right.

    Attributes:
        bound: For a word given a stroke.
        unbound: For a word given none.
        alone: For a stroke that stands alone, by its quality; not fitted.
    """

    bound: Curve = field(default_factory=Curve)
    unbound: Curve = field(default_factory=Curve)
    alone: Curve = field(default_factory=lambda: Curve(raw=0.0, quality=3.0, shift=-1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingSettings:
    """``configs/binding.toml``.

    Attributes:
        scores: What a pair is worth.
        deadline: What happens this long after a word's onset no longer bears on its decision.
        slack: A stroke is preferred to later ones while the best assignment with it is no more than
            this behind the best with any, in nats. It buys earlier decisions.
        context: A binding's probability takes in what happens up to this long after the later of
            word onset and apex; it is announced no earlier.
        silence: A stroke stands alone when no deictic but an anaphor begins within this of its
            apex, on either side.
        calibration: From model probabilities to shares.
    """

    scores: Scores = field(default_factory=Scores)
    deadline: Seconds = 3.0
    slack: float = 0.2
    context: Seconds = 0.15
    silence: Seconds = 3.0
    calibration: Calibrations = field(default_factory=Calibrations)

    def __post_init__(self) -> None:
        reach = max(self.scores.lag.latest, -self.scores.lag.earliest)
        if not 0.0 < self.context < self.deadline:
            raise ValueError(f"context is {self.context}, expected 0...{self.deadline}")
        if self.deadline <= self.scores.lag.latest:
            raise ValueError(
                f"deadline is {self.deadline}, expected above lag.latest {self.scores.lag.latest}"
            )
        if self.slack < 0.0:
            raise ValueError(f"slack is {self.slack}, expected at least 0")
        if self.silence <= reach:
            raise ValueError(f"silence is {self.silence}, expected above the longest lag {reach}")


class Binder:
    """Gives each deictic its stroke or none, in order, once and for all.

    Deictics must come in order of onset and strokes in order of apex; what breaks its own stream's
    watermark is still taken, and counted as ``late_deictic`` or ``late_stroke``.
    """

    accepts: tuple[type, ...] = (Deictic, DeicticsSeen, Stroke, StrokeEnd, StrokesSeen)

    def __init__(self, settings: BindingSettings | None = None) -> None:
        self._settings = settings or BindingSettings()
        self._scores = self._settings.scores
        self.counters = Counters()
        self._words: deque[Deictic] = deque()  # not decided yet
        self._strokes: list[Stroke] = []  # may still be given to a word
        self._open: deque[Stroke] = deque()  # not yet known whether they stand alone
        self._bound: set[int] = set()  # those of the open strokes that have a word
        self._pointed: deque[Seconds] = deque()  # onsets of deictics other than anaphors
        self._words_seen: Seconds = -math.inf
        self._strokes_seen: Seconds = -math.inf

    def push(self, event: BinderInput) -> list[Binding]:
        match event:
            case Deictic():
                self._take_word(event)
            case DeicticsSeen():
                self._words_seen = max(self._words_seen, event.until)
            case Stroke():
                self._take_stroke(event)
            case StrokesSeen():
                self._strokes_seen = max(self._strokes_seen, event.until)
            case StrokeEnd():
                return []
        return self._announce()

    def finish(self) -> list[Binding]:
        """Decide what is still open by what has been seen."""
        self._words_seen = self._strokes_seen = math.inf
        return self._announce(ended=True)

    def _take_word(self, word: Deictic) -> None:
        if word.onset < self._words_seen:
            self.counters.add("late_deictic")
        self._words_seen = max(self._words_seen, word.onset)
        self._words.append(word)
        if word.kind != "anaphor":
            self._pointed.append(word.onset)

    def _take_stroke(self, stroke: Stroke) -> None:
        if stroke.apex < self._strokes_seen:
            self.counters.add("late_stroke")
        self._strokes_seen = max(self._strokes_seen, stroke.apex)
        self._strokes.append(stroke)
        self._open.append(stroke)

    # --- announcing ---------------------------------------------------------------------------

    def _announce(self, *, ended: bool = False) -> list[Binding]:
        made: list[Binding] = []
        while self._words:
            made += self._stand_alone(before=self._words[0].onset)
            binding = self._decide(ended=ended)
            if binding is None:
                break
            made.append(binding)
        else:
            made += self._stand_alone(before=self._words_seen)
        self._forget()
        return made

    def _decide(self, *, ended: bool) -> Binding | None:
        """The first open word's binding, once it is certain and the context has been seen."""
        word = self._words[0]
        horizon = word.onset + self._settings.deadline
        words = [w for w in self._words if w.onset < horizon]
        strokes = [s for s in self._strokes if s.apex < horizon]
        gains = [[self._scores.gain(w, s) for s in strokes] for w in words]
        choice, certain = self._choose(words, strokes, gains, horizon=horizon)
        if not certain and min(self._words_seen, self._strokes_seen) < horizon:
            return None
        stroke = None if choice is None else strokes[choice]
        known = self._context_end(word, stroke)
        if min(self._words_seen, self._strokes_seen) < known:
            return None
        probability = self._probability(word, stroke, known=known)
        self._words.popleft()
        if stroke is not None:
            self._bound.add(stroke.index)
            self._strokes = self._strokes[self._strokes.index(stroke) + 1 :]
        self.counters.add("unbound" if stroke is None else "bound")
        return Binding(
            deictic=word.index,
            stroke=None if stroke is None else stroke.index,
            probability=probability,
            reason="end" if ended else _reason(stroke, certain=certain),
        )

    def _choose(
        self,
        words: list[Deictic],
        strokes: list[Stroke],
        gains: list[list[float]],
        *,
        horizon: Seconds,
    ) -> tuple[Choice, bool]:
        """The best choice for the first word, and whether no future can change it."""
        words_seen = min(self._words_seen, horizon)
        strokes_seen = min(self._strokes_seen, horizon)
        best_stroke, best_word = self._scores.best_stroke_to_come, self._scores.best_word_to_come
        settled = settle(
            gains,
            words_to_come=[best_word(s, since=words_seen) for s in strokes],
            strokes_to_come=[best_stroke(w, since=strokes_seen) for w in words],
            slack=self._settings.slack,
        )
        if settled is not None:
            return settled.stroke, True
        return choose(gains, slack=self._settings.slack), False

    def _context_end(self, word: Deictic, stroke: Stroke | None) -> Seconds:
        """Up to when both streams must have been seen for the word's binding.

        It follows from the decision alone, so that the probability, which is taken over what
        happened before it, does not depend on how much more was known when it was announced.
        """
        if stroke is None:
            return word.onset + self._scores.last_lag(word)
        return max(word.onset, stroke.apex) + self._settings.context

    def _probability(self, word: Deictic, stroke: Stroke | None, *, known: Seconds) -> float:
        words = [w for w in self._words if w.onset < known or w is word]
        strokes = [s for s in self._strokes if s.apex < known]
        shares = posterior([[self._scores.gain(w, s) for s in strokes] for w in words])
        if stroke is None:
            return self._settings.calibration.unbound(Evidence(raw=shares[-1]))
        evidence = Evidence(
            raw=shares[strokes.index(stroke)],
            surprise=self._scores.lag.surprise(stroke.apex - word.onset),
            quality=stroke.quality,
        )
        return self._settings.calibration.bound(evidence)

    # --- strokes without a word ---------------------------------------------------------------

    def _stand_alone(self, *, before: Seconds) -> list[Binding]:
        """Judge the open strokes whose neighbourhood ends at or before ``before``.

        All words with an onset before that are known and decided when this is called.
        """
        made: list[Binding] = []
        reach = self._settings.silence
        while self._open and self._open[0].apex + reach <= before:
            stroke = self._open.popleft()
            near = any(abs(onset - stroke.apex) < reach for onset in self._pointed)
            if stroke.index in self._bound:
                self._bound.discard(stroke.index)
            elif near:
                self.counters.add("stroke_left_out")
            else:
                self.counters.add("stroke_alone")
                made.append(
                    Binding(
                        deictic=None,
                        stroke=stroke.index,
                        probability=self._settings.calibration.alone(
                            Evidence(raw=0.5, quality=stroke.quality)
                        ),
                        reason="window",
                    )
                )
        return made

    def _forget(self) -> None:
        """Drop what no word can reach any more, so that memory stays flat."""
        word_from = self._words[0].onset if self._words else self._words_seen
        apex_from = word_from + self._scores.lag.earliest
        self._strokes = [s for s in self._strokes if s.apex >= apex_from]
        stroke_from = min(
            self._open[0].apex if self._open else math.inf, self._strokes_seen, self._words_seen
        )
        while self._pointed and self._pointed[0] <= stroke_from - self._settings.silence:
            self._pointed.popleft()


def _reason(stroke: Stroke | None, *, certain: bool) -> Literal["window", "margin", "deadline"]:
    if not certain:
        return "deadline"
    return "window" if stroke is None else "margin"
