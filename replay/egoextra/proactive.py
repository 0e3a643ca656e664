"""Ego-EXTRA's pro-active protocol as a stream: the system decides when to speak.

The dialogue is replayed, and every few seconds the model sees and hears what is known so far and
answers ``SPEAK: …`` or ``WAIT``. Each choice is made from the prefix alone and on its own: the
model is not told when it spoke before. After an intervention the system is silent for ``rest``
seconds, whatever is answered.

Interventions are scored against the begins of the expert's turns, see
:mod:`replay.egoextra.interventions`: cues of the expert that follow one another within
``turn_gap`` are one turn. Recordings whose transcript does not tell who speaks cannot be scored and
are reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from replay.answers import Answer, counting
from replay.benchmark import Item, Outcome
from replay.benchmark import Question as Asked
from replay.egoextra.benchmark import Source, facts_of
from replay.egoextra.dialogue import Dialogue
from replay.egoextra.interventions import (
    InterventionCounts,
    match_interventions,
    regular_interventions,
)
from replay.egoextra.requests import proactive_request
from replay.egoextra.scoring import quantile, share
from replay.egoextra.settings import EgoExtraPrompt, ProactiveSettings
from replay.jobs import NotReplayed
from replay.scoring.paper_values import Amount, PaperCell, PaperRow, PaperTable, Share
from streaming.asking.request import Request
from streaming.events import Seconds

_LONGEST: Seconds = 86_400.0
"""A file that says that it is longer is damaged."""
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_CHOICE = re.compile(r"\b(speak|wait)\b", re.IGNORECASE)


def speaks(text: str) -> bool | None:
    """Whether a model's text chooses to speak, by its first ``SPEAK`` or ``WAIT``; None if none."""
    found = _CHOICE.search(_THOUGHTS.sub("", text[:100_000]))
    return None if found is None else found[1].lower() == "speak"


def expert_turns(dialogue: Dialogue, *, gap: Seconds) -> list[Seconds]:
    """Begins of the expert's turns: cues nearer than ``gap`` are one turn."""
    begins: list[Seconds] = []
    until = -math.inf
    for turn in dialogue.of("expert"):
        if turn.onset - until > gap:
            begins.append(turn.onset)
        until = max(until, turn.offset)
    return begins


def spoken_at(choices: Sequence[tuple[Seconds, bool]], *, rest: Seconds) -> list[Seconds]:
    """When the system speaks: at each choice to do so that is no longer its rest.

    Args:
        choices: Moment, and whether to speak; ascending.
        rest: Seconds of silence after an intervention.
    """
    spoken: list[Seconds] = []
    for moment, speak in choices:
        if speak and (not spoken or moment - spoken[-1] >= rest - 1e-9):
            spoken.append(moment)
    return spoken


def moments_of(duration: Seconds, *, every: Seconds) -> list[Seconds]:
    """The moments of a recording at which the system is asked, over a day at most."""
    duration = min(duration, _LONGEST)
    return [round(every * number, 3) for number in range(1, math.floor(duration / every) + 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProactiveScores:
    """The score of one run.

    Attributes:
        counts: All recordings together.
        by_video: Each.
        regular: As many interventions at equal steps: a baseline that knows nothing.
        asked: Choices.
        invalid: Answers that chose neither; they count as ``WAIT``.
        missing, errors: Choices without an answer, and those whose model failed.
        listed: One for each intervention and each turn.
        seconds: That answers took, ascending.
    """

    counts: InterventionCounts
    by_video: Mapping[str, InterventionCounts]
    regular: InterventionCounts
    asked: int
    invalid: int = 0
    missing: int = 0
    errors: int = 0
    listed: tuple[Outcome, ...] = ()
    seconds: tuple[float, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.missing and not self.errors

    @property
    def outcomes(self) -> Sequence[Outcome]:
        return self.listed

    def as_json(self) -> dict[str, Any]:
        return {
            "interventions": _counts_json(self.counts),
            "by_video": {name: _counts_json(one) for name, one in self.by_video.items()},
            "regular": _counts_json(self.regular),
            "asked": self.asked,
            "invalid": self.invalid,
            "missing": self.missing,
            "errors": self.errors,
            "latency": {
                "n": len(self.seconds),
                "p50": share(quantile(self.seconds, 0.5)),
                "p90": share(quantile(self.seconds, 0.9)),
            },
        }

    def remarks(self) -> Sequence[str]:
        lines = []
        for count, what in (
            (self.errors, "choices failed; run the same command again to go on"),
            (self.missing, "choices without an answer, taken as WAIT"),
            (self.invalid, "answers chose neither SPEAK nor WAIT, taken as WAIT"),
        ):
            if count:
                lines.append(f"{count} {what}")
        if self.seconds:
            middle, slow = quantile(self.seconds, 0.5), quantile(self.seconds, 0.9)
            lines.append(
                f"answer latency: p50 {middle:.2f} s, p90 {slow:.2f} s, n {len(self.seconds)}"
            )
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class ProactiveBenchmark:
    """A :class:`replay.benchmark.Benchmark`: one question for each moment of each recording.

    Attributes:
        source: Where frames and words come from; its reading is ``stream``.
        durations: Of each recording, seconds.
        prompt: The wording.
        more: Further facts in which two parts of a run must agree.
    """

    source: Source
    durations: Mapping[str, Seconds]
    prompt: EgoExtraPrompt
    more: Mapping[str, Any] = field(default_factory=dict)

    name: str = "egoextra-proactive"

    @property
    def title(self) -> str:
        return "Ego-EXTRA, pro-active, streamed"

    @property
    def settings(self) -> ProactiveSettings:
        return self.source.settings.proactive

    @property
    def videos(self) -> tuple[str, ...]:
        """The recordings of the pro-active protocol that can be scored."""
        return tuple(video for video in self._proactive() if self._why_not(video) is None)

    @property
    def left_out(self) -> Sequence[NotReplayed]:
        why = [(video, self._why_not(video)) for video in self._proactive()]
        return [
            *(NotReplayed(source=o.name, reason=o.reason) for o in self.source.dataset.left_out),
            *(NotReplayed(source=video, reason=reason) for video, reason in why if reason),
        ]

    def _why_not(self, video: str) -> str | None:
        """Why a recording cannot be scored, or None."""
        if not self._turns(video):
            return "no turn that is the expert's"
        return None if self.moments(video) else "no film of it that can be played"

    def _proactive(self) -> tuple[str, ...]:
        dataset = self.source.dataset
        return tuple(dict.fromkeys(question.video for question in dataset.of("PA")))

    def _turns(self, video: str) -> list[Seconds]:
        return expert_turns(self.source.dataset.dialogue(video), gap=self.settings.turn_gap)

    def moments(self, video: str) -> list[Seconds]:
        """When the system is asked, in this recording."""
        return moments_of(self.durations.get(video, 0.0), every=self.settings.every)

    def facts(self) -> dict[str, Any]:
        return facts_of(self.source, self.prompt) | {**self.more}

    def items(self) -> Sequence[Item]:
        films = self.source.dataset.films
        return [
            Item(
                key=video,
                group=video,
                sources=(films[video],) if video in films else (),
                questions=tuple(
                    Asked(
                        id=choice_name(video, moment),
                        asked_at=moment,
                        compose=partial(self.compose, video, moment),
                        max_tokens=self.settings.answer_tokens,
                    )
                    for moment in self.moments(video)
                ),
            )
            for video in self.videos
        ]

    def compose(self, video: str, moment: Seconds) -> Request:
        """The request of one choice.

        Raises:
            UnaskableError, SourceError: If its frames or words cannot be read.
        """
        return proactive_request(self.source.context(video, moment), self.prompt)

    def score(
        self, items: Sequence[Item], answers: Sequence[Answer], *, errors_as_wrong: bool = False
    ) -> ProactiveScores:
        known = {answer.id: answer for answer in counting(answers)}
        by_video: dict[str, InterventionCounts] = {}
        regular, listed = InterventionCounts(), []
        invalid = missing = errors = asked = 0
        for video in (item.key for item in items):
            choices: list[tuple[Seconds, bool]] = []
            for moment in self.moments(video):
                answer = known.get(choice_name(video, moment))
                asked += 1
                missing += answer is None
                errors += answer is not None and answer.error is not None and not errors_as_wrong
                if answer is None or answer.error is not None:
                    continue
                choice = speaks(answer.output)
                invalid += choice is None
                choices.append((moment, bool(choice)))
            spoken = spoken_at(choices, rest=self.settings.rest)
            turns = self._turns(video)
            window = self.settings.window
            by_video[video] = match_interventions(turns, spoken, window=window)
            even = regular_interventions(len(turns), self.durations.get(video, 0.0))
            regular += match_interventions(turns, even, window=window)
            listed += _outcomes(video, by_video[video])
        return ProactiveScores(
            counts=sum(by_video.values(), InterventionCounts()),
            by_video=by_video,
            regular=regular,
            asked=asked,
            invalid=invalid,
            missing=missing,
            errors=errors,
            listed=tuple(listed),
            seconds=tuple(sorted(a.seconds for a in known.values() if a.seconds is not None)),
        )

    def tables(self, scores: ProactiveScores, *, system: str = "this run") -> Sequence[PaperTable]:
        rows = [
            PaperRow(keys=(system,), cells=_cells(scores.counts), lacks=_lacks(scores)),
            PaperRow(keys=("as often, at equal steps",), cells=_cells(scores.regular), ours=False),
        ]
        window = self.settings.window
        return (
            PaperTable(
                name="egoextra_proactive",
                title=f"Ego-EXTRA, pro-active: interventions within {window:g} s (%)",
                keys=("system",),
                columns=("precision", "recall", "F1", "median lag, s", "spoken", "turns"),
                rows=tuple(rows),
            ),
        )

    def files(self, answers: Sequence[Answer]) -> Mapping[str, Any]:
        """The authors have no such protocol."""
        return {}


def choice_name(video: str, moment: Seconds) -> str:
    """Name of the choice at a moment."""
    return f"{video}@{moment:.3f}"


def _outcomes(video: str, counts: InterventionCounts) -> list[Outcome]:
    """Which interventions and turns agree does not matter for their means, only how many do."""
    listed = []
    for measure, total in (("precision", counts.interventions), ("recall", counts.turns)):
        for number in range(total):
            agreed = float(number < counts.agreed)
            key = f"{video}/{measure}/{number}"
            listed.append(Outcome(key=key, group=video, values={measure: agreed}))
    return listed


def _cells(counts: InterventionCounts) -> tuple[PaperCell, ...]:
    shares: list[PaperCell] = [
        None if math.isnan(value) else Share(value=value)
        for value in (counts.precision, counts.recall, counts.f1)
    ]
    lag = None if math.isnan(counts.median_lag) else Amount(value=counts.median_lag)
    return (*shares, lag, counts.interventions, counts.turns)


def _lacks(scores: ProactiveScores) -> str:
    parts = ((scores.errors, "failed"), (scores.missing, "not asked"))
    return ", ".join(f"{count} {what}" for count, what in parts if count)


def _counts_json(counts: InterventionCounts) -> dict[str, Any]:
    return {
        "precision": share(counts.precision),
        "recall": share(counts.recall),
        "f1": share(counts.f1),
        "median_lag": share(counts.median_lag),
        "agreed": counts.agreed,
        "interventions": counts.interventions,
        "turns": counts.turns,
    }
