"""What was meant against what was answered, referent by referent, for one clip.

The hits are those of ``scores.json``. Where it has none for the clip, they are computed by the same
rules (:mod:`replay.scoring.ecog`) from the clip's ``truth.json`` and ``answer.json``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from replay.ecog import DEFAULT_SIZE, LEVELS, EcogAnswer, EcogClip
from replay.ecog.files import UnreadableError, check_truth
from replay.predictions import Prediction
from replay.report.pictures import Outline, mask_outline
from replay.report.scores_view import ScoredClip
from replay.run_folder import ClipRun
from replay.scoring.ecog import ReferentScore, score_clip
from streaming.events import Answer, Point, Referent, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the benchmark says of one referent; points and outline in fractions of the frame."""

    label: str
    text: str
    window: tuple[Seconds, Seconds] | None
    points: tuple[Point, ...]
    outline: Outline


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferentPair:
    """One position of the answer: the truth, the prediction, the hits; None where there is none."""

    truth: Truth | None
    predicted: Referent | None
    predicted_text: str
    hits: ReferentScore | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipAnswers:
    """All referents of a clip, and how its score came about."""

    pairs: tuple[ReferentPair, ...]
    status: str = ""
    reason: str = ""


def clip_answers(clip: ClipRun, scored: ScoredClip | None) -> ClipAnswers:
    """Set a clip's answer beside its truth.

    Args:
        clip: The clip.
        scored: Its hits, where the run has been scored.
    """
    said = final_referents(clip)
    size = _size(clip)
    asked = _asked(clip)
    if asked is None:
        pairs = tuple(
            ReferentPair(truth=None, predicted=one, predicted_text=one.description, hits=None)
            for one in said
        )
        return ClipAnswers(pairs=pairs)
    score = scored if scored is not None else _score(clip, asked, size)
    options = _options(asked)
    pairs = tuple(
        ReferentPair(
            truth=_truth(asked.answers[k], options, size) if k < asked.k else None,
            predicted=said[k] if k < len(said) else None,
            predicted_text=_predicted_text(said[k], options) if k < len(said) else "",
            hits=score.referents[k] if k < len(score.referents) else None,
        )
        for k in range(max(asked.k, len(said)))
    )
    return ClipAnswers(pairs=pairs, status=score.status, reason=score.reason)


def final_referents(clip: ClipRun) -> tuple[Referent, ...]:
    """The referents of the last answer, a whole one if there is any."""
    answers: list[Answer] = [item.event for item in clip.events(Answer)]
    whole = [answer for answer in answers if answer.final] or answers
    return whole[-1].referents if whole else ()


def _size(clip: ClipRun) -> tuple[int, int]:
    width, height = clip.truth.count("width"), clip.truth.count("height")
    if width and height and 0 < width <= 1 << 15 and 0 < height <= 1 << 15:
        return width, height
    if clip.header is not None and clip.header.source.width and clip.header.source.height:
        return clip.header.source.width, clip.header.source.height
    return DEFAULT_SIZE


def _asked(clip: ClipRun) -> EcogClip | None:
    """The benchmark's clip as ``truth.json`` states it; None when it states none."""
    if not clip.truth:
        return None
    try:
        truth = check_truth(dict(clip.truth.values))
        instruction = clip.truth.count("instruction") or 0
        return EcogClip(
            video=Path(clip.truth.text("video_name") or clip.name),
            folder=clip.truth.text("folder"),
            instruction=instruction if instruction in LEVELS else 1,
            language=clip.truth.text("language"),
            answers=truth.answers,
            object_choices=truth.object_choices,
            space_choices=truth.space_choices,
        )
    except (UnreadableError, ValueError):
        return None


def _score(clip: ClipRun, asked: EcogClip, size: tuple[int, int]) -> ScoredClip:
    if not clip.answer_text:
        return ScoredClip()
    said = Prediction(
        video_name=asked.video_name, instruction=asked.instruction, output=clip.answer_text
    )
    score = score_clip(asked, said, size_of=lambda _: size)
    return ScoredClip(referents=score.referents, status=score.status, reason=score.reason)


def _options(asked: EcogClip) -> dict[str, str]:
    """Each option's text by its label."""
    options = {}
    for option in (*asked.object_choices, *asked.space_choices):
        label, dot, text = option.partition(".")
        if dot:
            options[label.strip()] = text.strip()
    return options


def _predicted_text(referent: Referent, options: Mapping[str, str]) -> str:
    return options.get((referent.label or "").strip()) or referent.description


def _truth(answer: EcogAnswer, options: Mapping[str, str], size: tuple[int, int]) -> Truth:
    window, mask = answer.window, answer.mask if answer.is_object else None
    return Truth(
        label=answer.choice.strip(),
        text=options.get(answer.choice.strip(), ""),
        window=None if window is None else (window[0] / 1000, window[1] / 1000),
        points=tuple(
            (x / 1000, y / 1000) for x, y in answer.points if math.isfinite(x) and math.isfinite(y)
        ),
        outline=[] if mask is None else mask_outline(mask.png_base64, mask.bbox, *size),
    )
