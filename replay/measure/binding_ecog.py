"""Binding on an EcoG tree: with true words and strokes, and as a run of the pipeline had it.

Conventions:

* An announced expression *is* a true word when the word begins within it, or, in a run, no further
  than :data:`SAME_WORD` from it; one to one, as many as possible. Others are *invented*.
* A word that points, withdrawn or not, is *right* when it got its own stroke; an anaphor when it
  got none, announced or not. An idle word (a filler, a *that* that points nowhere) is right unless
  an invented expression within the same reach was given a stroke.
* Of a run, a stroke is the true one when its apex lies in that one's window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from replay.measure.binding import Tally, Timing, baselines, bind_scene, choices_of
from replay.measure.binding_truth import IDLE, TrueClip, TrueStroke, find_deictics
from replay.measure.stroke_matching import match_windows
from replay.run_folder import ClipRun, open_run, read_clip
from replay.simulate import INSTANT, Scene
from streaming.binding import BindingSettings
from streaming.binding_calibration import Reliability, reliability
from streaming.deixis import load_lexicons
from streaming.events import Binding, Deictic, Seconds, Stroke, Word

SAME_WORD: Seconds = 0.3
"""How far from an expression of a run a true word may begin and still be meant by it."""


class PairingError(ValueError):
    """Clips on which binding cannot be measured; one line saying why."""


@dataclass(slots=True)
class Roles:
    """Words that were treated as is right, of all, by what they do in the sentence."""

    right: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)

    def add(
        self, clip: TrueClip, right: Mapping[int, bool], taken: Sequence[Deictic], within: Seconds
    ) -> None:
        """Count a clip's words.

        Args:
            right: Of the words that refer, by position.
            taken: Invented expressions that were given a stroke.
            within: Reach of an expression.
        """
        for place, role in clip.roles.items():
            good = right.get(place, True)
            if role in IDLE:
                good = not any(_reaches(word, clip.words[place], within) for word in taken)
            self.words[role] = self.words.get(role, 0) + 1
            self.right[role] = self.right.get(role, 0) + good


def places_of(words: Iterable[Deictic], clip: TrueClip, *, within: Seconds) -> dict[int, int]:
    """Positions in ``clip.words`` of the true words that ``words`` are, by the latter's index."""
    announced = sorted(words, key=_span)
    places = sorted(clip.deictics, key=lambda place: clip.words[place].onset)
    pairs = match_windows(
        [_span(word) for word in announced],
        [clip.words[place].onset for place in places],
        tolerance=within,
    )
    return {announced[one].index: places[other] for one, other in pairs}


def _span(word: Deictic) -> tuple[Seconds, Seconds]:
    # A word that begins as the expression ends is the next one.
    return word.onset - 1e-6, max(word.onset, word.offset - 1e-3)


def _reaches(word: Deictic, true: Word, within: Seconds) -> bool:
    begin, end = _span(word)
    return begin - within <= true.onset <= end + within


@dataclass(frozen=True, slots=True, kw_only=True)
class EcogBinding:
    """Counts over a tree.

    Attributes:
        clips: Clips measured.
        deictics: True ones, ``found`` those that were announced, and ``invented`` others announced.
        tallies: By method. With true input a tally counts the announced deictics; of a run, the
            true ones and, as alone, the strokes of silent clips.
        timing: Commit delays of the online binder.
        calibration: Of its probabilities.
        alone: Strokes without any word nearby that were announced as such, of how many.
        mistakes: One line each.
        roles: Words treated as is right by what they do.
    """

    clips: int
    deictics: int
    found: int
    invented: int
    tallies: dict[str, Tally]
    timing: Timing
    calibration: Reliability
    alone: tuple[int, int]
    mistakes: tuple[str, ...]
    roles: Roles


def measure_true(clips: Iterable[TrueClip], settings: BindingSettings) -> EcogBinding:
    """Bind true words to true strokes: what is wrong then is the finder's and binder's own."""
    lexicons = load_lexicons()
    tallies: dict[str, Tally] = {}
    timing, roles = Timing(), Roles()
    stated: list[float] = []
    right: list[bool] = []
    mistakes: list[str] = []
    count = deictics = hits = invented = alone = alone_of = 0
    for clip in clips:
        count += 1
        words = find_deictics(clip.words, lexicons)
        places = places_of(words, clip, within=0.0)
        scene = _true_scene(words, clip, places)
        deictics += len(clip.deictics)
        hits += len(places)
        invented += len(words) - len(places)
        made = bind_scene(scene, settings, INSTANT)
        timing.add(made)
        choices = {"online": choices_of(made, len(words))}
        choices |= baselines(scene.words, scene.strokes, settings)
        for name, chosen in choices.items():
            tallies.setdefault(name, Tally()).add(scene.truth, chosen)
        for word, wanted, got in zip(words, scene.truth, choices["online"], strict=True):
            if wanted != got:
                mistakes.append(f"{clip.name}: {word.text!r} at {word.onset:.2f} s got {got}")
        given = dict(zip((word.index for word in words), choices["online"], strict=True))
        bound = {place: given[index] for index, place in places.items()}
        roles.add(
            clip,
            {place: bound.get(place) == wanted for place, wanted in clip.deictics.items()},
            [word for word in words if word.index not in places and given[word.index] is not None],
            within=0.0,
        )
        for item in made:
            if item.binding.deictic is not None:
                stated.append(item.binding.probability)
                right.append(scene.truth[item.binding.deictic] == item.binding.stroke)
        if not clip.words:
            alone_of += len(clip.strokes)
            alone += sum(item.binding.deictic is None for item in made)
    return EcogBinding(
        clips=count,
        deictics=deictics,
        found=hits,
        invented=invented,
        tallies=tallies,
        timing=timing,
        calibration=reliability(stated, right),
        alone=(alone, alone_of),
        mistakes=tuple(mistakes),
        roles=roles,
    )


def _true_scene(words: Sequence[Deictic], clip: TrueClip, places: Mapping[int, int]) -> Scene:
    return Scene(
        words=tuple(words),
        strokes=tuple(
            Stroke(index=i, onset=s.apex, apex=s.apex, tip=(0.5, 0.5), knuckle=(0.4, 0.6))
            for i, s in enumerate(clip.strokes)
        ),
        truth=tuple(
            clip.deictics[places[word.index]] if word.index in places else None for word in words
        ),
        duration=clip.duration,
    )


def measure_run(clips: Iterable[TrueClip], run: Path) -> EcogBinding:
    """Compare a run's bindings with what is true, by time.

    Raises:
        PairingError: If the run has none of the clips.
    """
    traces = {trace.parent.resolve().name: trace for trace in open_run(run).traces}
    tally, timing, roles = Tally(), Timing(), Roles()
    stated: list[float] = []
    right: list[bool] = []
    mistakes: list[str] = []
    count = deictics = found = invented = alone = alone_of = 0
    for clip in clips:
        trace = next((traces[n] for n in (clip.name, Path(clip.name).stem) if n in traces), None)
        if trace is None:
            mistakes.append(f"{clip.name}: not in the run")
            continue
        count += 1
        bound = _RunBindings(read_clip(trace), clip)
        verdicts = bound.verdicts()
        deictics += len(clip.deictics)
        found += len(bound.places)
        invented += len(bound.deictics) - len(bound.places)
        tally.words += len(verdicts)
        tally.right += sum(verdict.right for verdict in verdicts)
        tally.pairs += sum(verdict.points for verdict in verdicts)
        tally.hit += sum(verdict.right and verdict.points for verdict in verdicts)
        tally.said += bound.pairs
        tally.scenes += 1
        tally.whole += all(verdict.right for verdict in verdicts)
        roles.add(clip, {v.place: v.right for v in verdicts}, bound.taken, within=SAME_WORD)
        mistakes += [f"{clip.name}: {v.text}" for v in verdicts if not v.right]
        stated += bound.probabilities
        right += [bound.is_right(binding) for binding in bound.bindings]
        timing.pairs += bound.delays
        timing.at_end += bound.at_end
        if not clip.words:
            alone_of += len(clip.strokes)
            alone += bound.alone
    if not count:
        raise PairingError(f"{run}: none of the tree's clips are in this run")
    return EcogBinding(
        clips=count,
        deictics=deictics,
        found=found,
        invented=invented,
        tallies={"this run": tally},
        timing=timing,
        calibration=reliability(stated, right),
        alone=(alone, alone_of),
        mistakes=tuple(mistakes),
        roles=roles,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    place: int
    points: bool
    right: bool
    text: str


class _RunBindings:
    """The bindings of one trace beside the truth of its clip.

    Attributes:
        deictics, strokes: Announced, by index.
        places: Of the true words, by index of the deictic that is this word.
    """

    def __init__(self, run: ClipRun, clip: TrueClip) -> None:
        self.deictics = {r.event.index: r.event for r in run.events(Deictic)}
        self.strokes = {r.event.index: r.event for r in run.events(Stroke)}
        self.places = places_of(self.deictics.values(), clip, within=SAME_WORD)
        self._recorded = run.events(Binding)
        self._clip = clip

    @property
    def bindings(self) -> list[Binding]:
        return [r.event for r in self._recorded if self._word(r.event) is not None]

    def _word(self, binding: Binding) -> Deictic | None:
        return None if binding.deictic is None else self.deictics.get(binding.deictic)

    def _apex(self, binding: Binding) -> Seconds | None:
        stroke = None if binding.stroke is None else self.strokes.get(binding.stroke)
        return None if stroke is None else stroke.apex

    @property
    def pairs(self) -> int:
        return sum(binding.stroke is not None for binding in self.bindings)

    @property
    def at_end(self) -> int:
        return sum(r.finish for r in self._recorded)

    @property
    def delays(self) -> list[Seconds]:
        """From the later of word offset and apex, of pairs not made by the end of the stream."""
        delays = []
        for recorded in self._recorded:
            word, apex = self._word(recorded.event), self._apex(recorded.event)
            if word is not None and apex is not None and not recorded.finish:
                delays.append(recorded.known_at - max(word.offset, apex))
        return delays

    @property
    def probabilities(self) -> list[float]:
        return [min(max(binding.probability, 0.0), 1.0) for binding in self.bindings]

    @property
    def taken(self) -> list[Deictic]:
        """Invented expressions that were given a stroke."""
        return [
            self.deictics[binding.deictic]
            for binding in self.bindings
            if binding.deictic is not None
            and binding.deictic not in self.places
            and self._apex(binding) is not None
        ]

    def is_right(self, binding: Binding) -> bool:
        """Whether the binding of a word is right."""
        place = None if binding.deictic is None else self.places.get(binding.deictic)
        wanted = None if place is None else self._clip.deictics[place]
        return self._fits(self._apex(binding), wanted)

    def _fits(self, apex: Seconds | None, wanted: int | None) -> bool:
        if wanted is None or apex is None:
            return wanted is None and apex is None
        return _in_window(apex, self._clip.strokes[wanted])

    def verdicts(self) -> list[_Verdict]:
        """On each true word that refers."""
        apexes = {
            self.places[binding.deictic]: self._apex(binding)
            for binding in self.bindings
            if binding.deictic in self.places
        }
        found = set(self.places.values())
        verdicts = []
        for place, wanted in self._clip.deictics.items():
            true, apex = self._clip.words[place], apexes.get(place)
            said = "none" if apex is None else f"{apex:.2f} s"
            verdicts.append(
                _Verdict(
                    place=place,
                    points=wanted is not None,
                    right=self._fits(apex, wanted),
                    text=f"{true.text!r} at {true.onset:.2f} s "
                    + (f"got {said}" if place in found else "was not found"),
                )
            )
        return verdicts

    @property
    def alone(self) -> int:
        """Strokes of a silent clip that were announced alone."""
        apexes = [self._apex(r.event) for r in self._recorded if r.event.deictic is None]
        return sum(
            any(apex is not None and _in_window(apex, stroke) for apex in apexes)
            for stroke in self._clip.strokes
        )


def _in_window(apex: Seconds, stroke: TrueStroke) -> bool:
    return stroke.begin <= apex <= stroke.end
