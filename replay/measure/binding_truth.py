"""Which word of a clip belongs to which stroke, as far as an EcoG tree says it.

Of a made tree (one with a ``truth.json``) words, roles, strokes and their pairs are exact; a word
that is taken back ("this ... no, that one") has a stroke of its own, like any other that points.
Elsewhere a clip's pairs follow from its answer when it has as many object and place words as
referents; other clips are left out with the reason. Times in the files are milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from replay.ecog.clips import EcogClip, LeftOut
from replay.ecog.loader import load_ecog
from replay.measure.made_truth import MadeClip, made_clips
from streaming.deixis import DeixisFinder, load_lexicons
from streaming.deixis_lexicon import Lexicon
from streaming.events import Deictic, Seconds, Word

APEX_AFTER_BEGIN: Seconds = 0.1
"""Where only a stroke's window is known, its apex is taken to lie this long after the beginning
(60 to 140 ms in our own clips)."""

REFERRING = ("deictic", "withdrawn", "anaphor")
"""Roles of words that refer, with a stroke or (anaphors) without one."""

IDLE = ("non_deictic", "filler")
"""Roles of words that look or sound as if they referred, or get in the way, and do not refer."""


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
        deictics: Positions in ``words`` of those that refer, with the position of their stroke or
            None.
        strokes: In order.
        duration: Seconds.
        roles: Of the deictics and of :data:`IDLE` words, by position in ``words``.
        difficulty: Of a made clip, empty otherwise.
    """

    name: str
    words: tuple[Word, ...]
    deictics: dict[int, int | None]
    strokes: tuple[TrueStroke, ...]
    duration: Seconds
    roles: dict[int, str] = field(default_factory=dict)
    difficulty: str = ""


def load_true_clips(root: Path) -> tuple[list[TrueClip], list[LeftOut]]:
    """The clips of an EcoG tree whose pairs are known, and those left out.

    Raises:
        ValueError: If ``root`` holds no tree or an unreadable ``truth.json``.
    """
    tree = load_ecog(root)
    lexicons = load_lexicons()
    known = made_clips(root)
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


def _from_truth(clip: MadeClip) -> TrueClip:
    return TrueClip(
        name=clip.name,
        words=tuple(
            Word(
                text=word.text + word.punctuation,
                onset=word.onset,
                offset=word.offset,
                language=clip.language,
            )
            for word in clip.words
        ),
        deictics={
            place: word.stroke for place, word in enumerate(clip.words) if word.role in REFERRING
        },
        strokes=tuple(
            TrueStroke(apex=stroke.apex, begin=stroke.begin, end=stroke.end)
            for stroke in clip.strokes
        ),
        duration=clip.duration,
        roles={
            place: word.role
            for place, word in enumerate(clip.words)
            if word.role in REFERRING + IDLE
        },
        difficulty=clip.difficulty,
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
        name=clip.video_name,
        words=words,
        deictics=deictics,
        strokes=strokes,
        duration=last + 1.0,
        roles={p: "anaphor" if s is None else "deictic" for p, s in deictics.items()},
    )


def find_deictics(words: Iterable[Word], lexicons: dict[str, Lexicon]) -> list[Deictic]:
    """The referring expressions among ``words``."""
    finder = DeixisFinder(lexicons)
    said = [event for word in words for event in finder.push(word)] + finder.finish()
    return [event for event in said if isinstance(event, Deictic)]
