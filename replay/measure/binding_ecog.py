"""Binding on an EcoG tree: with true words and strokes, and as a run of the pipeline had it.

Where the tree holds a ``truth.json`` (our own generator's), pairs of words and strokes are taken
from it. Elsewhere a clip's pairs follow from its answer when it has as many object and place words
as referents; other clips are left out with the reason. Times in the files are milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from replay.ecog.clips import EcogClip, LeftOut
from replay.ecog.loader import load_ecog
from replay.loose_json import Fields, read_object
from replay.measure.binding import Tally, Timing, baselines, bind_scene, choices_of
from replay.run_folder import ClipRun, open_run, read_clip
from replay.simulate import INSTANT, Scene
from streaming.binding import BindingSettings
from streaming.binding_calibration import Reliability, reliability
from streaming.deixis import DeixisFinder, load_lexicons
from streaming.deixis_lexicon import Lexicon
from streaming.events import Binding, Deictic, Seconds, Stroke, Word

TRUTH = "truth.json"
SAME_WORD: Seconds = 0.3
"""A found word and a true one are the same when their onsets lie this close."""

APEX_AFTER_BEGIN: Seconds = 0.1
"""Where only a stroke's window is known, its apex is taken to lie this long after the beginning
(60 to 140 ms in our own clips)."""


class PairingError(ValueError):
    """Clips on which binding cannot be measured; one line saying why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueStroke:
    """A stroke and the window in which its moment counts as right."""

    apex: Seconds
    begin: Seconds
    end: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueClip:
    """What is true of a clip.

    Attributes:
        name: Video name.
        words: All words, with times.
        deictics: Positions in ``words`` of those that point or may, with the position of their
            stroke or None.
        strokes: By apex.
        duration: Seconds.
    """

    name: str
    words: tuple[Word, ...]
    deictics: dict[int, int | None]
    strokes: tuple[TrueStroke, ...]
    duration: Seconds


def load_true_clips(root: Path) -> tuple[list[TrueClip], list[LeftOut]]:
    """The clips of an EcoG tree whose pairs are known, and those left out.

    Raises:
        ValueError: If ``root`` holds no tree or an unreadable ``truth.json``.
    """
    tree = load_ecog(root)
    lexicons = load_lexicons()
    known: dict[str, Fields] = {}
    if (root / TRUTH).is_file():
        known = {c.text("video_name"): c for c in read_object(root / TRUTH).tables("clips")}
    clips: list[TrueClip] = []
    left_out = list(tree.left_out)
    for clip in tree.clips:
        if clip.video_name in known:
            clips.append(_from_truth(known[clip.video_name]))
            continue
        made = _from_answer(clip, lexicons)
        if isinstance(made, TrueClip):
            clips.append(made)
        else:
            left_out.append(LeftOut(video_name=clip.video_name, folder=clip.folder, reason=made))
    return clips, left_out


def _from_truth(clip: Fields) -> TrueClip:
    language = clip.text("language")
    words = tuple(
        Word(
            text=word.text("text") + word.text("punct"),
            onset=(word.number("begin_ms") or 0.0) / 1000.0,
            offset=(word.number("end_ms") or 0.0) / 1000.0,
            language=language,
        )
        for word in clip.tables("words")
    )
    strokes = []
    for stroke in clip.tables("strokes"):
        begin, end = stroke.numbers("stroke_window_ms")
        apex = stroke.number("apex_ms") or 0.0
        strokes.append(TrueStroke(apex=apex / 1000.0, begin=begin / 1000.0, end=end / 1000.0))
    return TrueClip(
        name=clip.text("video_name"),
        words=words,
        deictics={
            place: word.count("stroke")
            for place, word in enumerate(clip.tables("words"))
            if word.flag("deictic")
        },
        strokes=tuple(strokes),
        duration=(clip.number("duration_ms") or 0.0) / 1000.0,
    )


def _from_answer(clip: EcogClip, lexicons: dict[str, Lexicon]) -> TrueClip | str:
    """The clip with pairs in order, or why they are not known."""
    windows = [answer.window for answer in clip.answers]
    if any(window is None for window in windows):
        return "a referent has no stroke window"
    strokes = tuple(
        TrueStroke(
            apex=min(window[0] / 1000.0 + APEX_AFTER_BEGIN, window[1] / 1000.0),
            begin=window[0] / 1000.0,
            end=window[1] / 1000.0,
        )
        for window in windows
        if window is not None
    )
    words = tuple(
        Word(
            text=word.text,
            onset=word.begin_ms / 1000.0,
            offset=max(word.begin_ms, word.end_ms) / 1000.0,
            language=clip.language,
        )
        for word in clip.words
        if word.begin_ms is not None and word.end_ms is not None
    )
    deictics: dict[int, int | None] = {}
    for deictic in find_deictics(words, lexicons):
        place = next(i for i, word in enumerate(words) if word.offset > deictic.onset)
        deictics[place] = None if deictic.kind == "anaphor" else -1
    pointing = [place for place, stroke in deictics.items() if stroke is not None]
    if words and len(pointing) != len(strokes):
        return f"{len(pointing)} object and place words for {len(strokes)} referents"
    deictics.update({place: order for order, place in enumerate(pointing)})
    last = max([stroke.end for stroke in strokes] + [word.offset for word in words])
    return TrueClip(
        name=clip.video_name, words=words, deictics=deictics, strokes=strokes, duration=last + 1.0
    )


def find_deictics(words: Iterable[Word], lexicons: dict[str, Lexicon]) -> list[Deictic]:
    """The referring expressions among ``words``."""
    finder = DeixisFinder(lexicons)
    said = [event for word in words for event in finder.push(word)] + finder.finish()
    return [event for event in said if isinstance(event, Deictic)]


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


def measure_true(clips: Iterable[TrueClip], settings: BindingSettings) -> EcogBinding:
    """Bind true words to true strokes: what is wrong then is the finder's and binder's own."""
    lexicons = load_lexicons()
    tallies: dict[str, Tally] = {}
    timing = Timing()
    stated: list[float] = []
    right: list[bool] = []
    mistakes: list[str] = []
    count = deictics = hits = invented = alone = alone_of = 0
    for clip in clips:
        count += 1
        words = find_deictics(clip.words, lexicons)
        truth, extra = _truth_of(words, clip)
        deictics += len(clip.deictics)
        hits += len(words) - extra
        invented += extra
        scene = Scene(
            words=tuple(words),
            strokes=tuple(
                Stroke(index=i, onset=s.apex, apex=s.apex, tip=(0.5, 0.5), knuckle=(0.4, 0.6))
                for i, s in enumerate(clip.strokes)
            ),
            truth=tuple(truth),
            duration=clip.duration,
        )
        made = bind_scene(scene, settings, INSTANT)
        timing.add(made)
        choices = {"online": choices_of(made, len(words))}
        choices |= baselines(scene.words, scene.strokes, settings)
        for name, chosen in choices.items():
            tallies.setdefault(name, Tally()).add(truth, chosen)
        for word, wanted, got in zip(words, truth, choices["online"], strict=True):
            if wanted != got:
                mistakes.append(f"{clip.name}: {word.text!r} at {word.onset:.2f} s got {got}")
        for item in made:
            if item.binding.deictic is not None:
                stated.append(item.binding.probability)
                right.append(truth[item.binding.deictic] == item.binding.stroke)
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
    )


def _truth_of(words: list[Deictic], clip: TrueClip) -> tuple[list[int | None], int]:
    """The true stroke of every announced deictic, and how many are no true deictics."""
    truth: list[int | None] = []
    extra = 0
    for word in words:
        place = next(
            (p for p in clip.deictics if _inside(word.onset, clip.words[p])),
            None,
        )
        extra += place is None
        truth.append(None if place is None else clip.deictics[place])
    return truth, extra


def _inside(onset: Seconds, word: Word) -> bool:
    return word.onset - 1e-6 <= onset < max(word.offset, word.onset + 1e-3)


def measure_run(clips: Iterable[TrueClip], run: Path) -> EcogBinding:
    """Compare a run's bindings with what is true, by time.

    A binding is right for a true word when its own word begins within :data:`SAME_WORD` of it and
    its stroke's apex lies in the annotated window; for a word without a stroke, when no such word
    was given one.

    Raises:
        PairingError: If the run has none of the clips.
    """
    traces = {trace.parent.resolve().name: trace for trace in open_run(run).traces}
    tally, timing = Tally(), Timing()
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
        bound = _RunBindings(read_clip(trace))
        verdicts = bound.judge(clip)
        deictics += len(clip.deictics)
        found += sum(verdict.heard for verdict in verdicts)
        invented += len(bound.deictics) - sum(verdict.heard for verdict in verdicts)
        tally.words += len(verdicts)
        tally.right += sum(verdict.right for verdict in verdicts)
        tally.pairs += sum(verdict.points for verdict in verdicts)
        tally.hit += sum(verdict.right and verdict.points for verdict in verdicts)
        tally.said += bound.pairs
        tally.scenes += 1
        tally.whole += all(verdict.right for verdict in verdicts)
        mistakes += [f"{clip.name}: {v.text}" for v in verdicts if not v.right]
        stated += bound.probabilities
        right += bound.rights(clip)
        timing.pairs += bound.delays
        timing.at_end += bound.at_end
        if not clip.words:
            alone_of += len(clip.strokes)
            alone += bound.alone(clip)
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
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    heard: bool
    points: bool
    right: bool
    text: str


class _RunBindings:
    """The bindings of one trace."""

    def __init__(self, clip: ClipRun) -> None:
        self.deictics = {r.event.index: r.event for r in clip.events(Deictic)}
        self.strokes = {r.event.index: r.event for r in clip.events(Stroke)}
        self._recorded = clip.events(Binding)

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

    def rights(self, clip: TrueClip) -> list[bool]:
        """Whether each binding of a word is right."""
        return [self._is_right(binding, clip) for binding in self.bindings]

    def _is_right(self, binding: Binding, clip: TrueClip) -> bool:
        word, apex = self._word(binding), self._apex(binding)
        assert word is not None
        places = [p for p in clip.deictics if _near(clip.words[p], word)]
        wanted = clip.deictics[places[0]] if places else None
        if wanted is None or apex is None:
            return wanted is None and apex is None
        return _in_window(apex, clip.strokes[wanted])

    def judge(self, clip: TrueClip) -> list[_Verdict]:
        verdicts = []
        for place, wanted in clip.deictics.items():
            true = clip.words[place]
            mine = [b for b in self.bindings if _near(true, self.deictics[b.deictic or 0])]
            apexes = [apex for b in mine if (apex := self._apex(b)) is not None]
            if wanted is None:
                right = not apexes
            else:
                right = any(_in_window(apex, clip.strokes[wanted]) for apex in apexes)
            said = ", ".join(f"{apex:.2f} s" for apex in apexes) or "none"
            verdicts.append(
                _Verdict(
                    heard=bool(mine),
                    points=wanted is not None,
                    right=right,
                    text=f"{true.text!r} at {true.onset:.2f} s "
                    + (f"got {said}" if mine else "was not found"),
                )
            )
        return verdicts

    def alone(self, clip: TrueClip) -> int:
        """Strokes of a silent clip that were announced alone."""
        apexes = [self._apex(r.event) for r in self._recorded if r.event.deictic is None]
        return sum(
            any(apex is not None and _in_window(apex, stroke) for apex in apexes)
            for stroke in clip.strokes
        )


def _near(true: Word, word: Deictic) -> bool:
    return abs(true.onset - word.onset) <= SAME_WORD


def _in_window(apex: Seconds, stroke: TrueStroke) -> bool:
    return stroke.begin <= apex <= stroke.end
