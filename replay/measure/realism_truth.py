"""What annotations say: stroke windows, lags between word and gesture, durations of gestures.

Two kinds of files are read: a tree in EcoG-Bench's format (with the exact ``truth.json`` of a made
one, if it is there), and tables as ELAN exports them (tier, then begin, end and duration, each as
``hh:mm:ss.ms`` and in milliseconds, or in milliseconds alone). A tier that is named after points
or gestures has the gestures, the first other one their words. Words that are as many as the
gestures belong to them in the same order; apexes belong to the word that begins nearest.

Each clip of a tree gives one value of each measure, the median over its strokes; each annotated
gesture of an ELAN table gives one.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replay.ecog.clips import EcogClip
from replay.ecog.loader import EcogError, load_ecog
from replay.measure.asr_truth import TrueWord
from replay.measure.realism_sound import Values, word_values

PUBLISHED_LEVELS = (5, 50, 95)
PUBLISHED_WINDOWS = {
    "window_L1": (0.612, 1.280, 2.073),
    "window_L2": (0.483, 1.515, 2.520),
    "window_L3": (0.287, 0.733, 1.323),
    "window_L4": (0.285, 0.620, 1.100),
}
"""Stroke windows of EcoG-Bench's own clips in seconds, 5th, 50th and 95th percentile (its
supplement)."""


def read_tree(root: Path) -> list[Values]:
    """Values of each clip of the EcoG trees under ``root``; nothing when there is none.

    Raises:
        EcogError: If a ``truth.json`` cannot be read.
    """
    if not root.is_dir():
        return []
    try:
        clips = load_ecog(root).clips
    except EcogError:
        return []
    exact = _exact(root)
    return [_clip_values(clip) | _exact_values(exact.get(clip.video_name)) for clip in clips]


def _clip_values(clip: EcogClip) -> Values:
    values: Values = {}
    windows = [answer.window for answer in clip.answers if answer.window is not None]
    if windows:
        lengths = [(end - begin) / 1000 for begin, end in windows]
        values[f"window_{clip.level}"] = [float(np.median(lengths))]
    begins = sorted(begin / 1000 for begin, _ in windows)
    if len(begins) > 1:
        values["window_apart"] = [
            float(np.median([other - one for one, other in itertools.pairwise(begins)]))
        ]
    words = [
        TrueWord(
            text=word.text,
            onset=math.nan if word.begin_ms is None else word.begin_ms / 1000,
            offset=math.nan if word.end_ms is None else word.end_ms / 1000,
        )
        for word in clip.words
    ]
    return values | word_values(words, clip.language)


def _exact(root: Path) -> dict[str, dict[str, Any]]:
    path = root / "truth.json"
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {str(clip["video_name"]): clip for clip in content["clips"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EcogError(f"{path}: cannot be read as made truth: {error!r}") from error


def _exact_values(clip: dict[str, Any] | None) -> Values:
    """Medians over the strokes of a made clip, of what its truth holds."""
    found: dict[str, list[float]] = {}
    for stroke in (clip or {}).get("strokes", ()):
        for key, (first, last) in _SPANS.items():
            if isinstance(stroke.get(first), int | float) and isinstance(
                stroke.get(last), int | float
            ):
                found.setdefault(key, []).append((stroke[last] - stroke[first]) / 1000)
    return {key: [float(np.median(values))] for key, values in found.items()}


_SPANS = {
    "apex_after_word": ("word_begin_ms", "apex_ms"),
    "word_after_gesture": ("onset_ms", "word_begin_ms"),
    "gesture_length": ("onset_ms", "hold_end_ms"),
}
"""Times of a stroke in ``truth.json``, from the first to the last of which a measure reaches."""


def read_tables(paths: Sequence[Path]) -> list[Values]:
    """Values of each gesture of exported tables; what another table has too counts once."""
    known: set[tuple[tuple[float, float], ...]] = set()
    values: list[Values] = []
    for path in paths:
        tiers: dict[str, list[tuple[float, float]]] = {}
        for name, onset, offset in _rows(path):
            tiers.setdefault(name, []).append((onset, offset))
        named = next((name for name in tiers if re.match("point|gesture", name, re.I)), None)
        if named is None or tuple(tiers[named]) in known:
            continue
        known.add(tuple(tiers[named]))
        words = next((spans for name, spans in tiers.items() if name != named), [])
        values += _gesture_values(tiers[named], words, apexes="apex" in named.lower())
    return values


def _gesture_values(
    gestures: Sequence[tuple[float, float]],
    words: Sequence[tuple[float, float]],
    *,
    apexes: bool,
) -> list[Values]:
    if apexes:
        return [{"apex_after_word": [_nearest(apex, words)]} for apex, _ in gestures if words]
    values: list[Values] = [{"gesture_length": [end - begin]} for begin, end in gestures]
    if len(words) == len(values):
        for value, (begin, _), (onset, _) in zip(values, gestures, words, strict=True):
            value["word_after_gesture"] = [onset - begin]
    return values


def _nearest(apex: float, words: Sequence[tuple[float, float]]) -> float:
    return min((apex - onset for onset, _ in words), key=abs)


def _rows(path: Path) -> Iterator[tuple[str, float, float]]:
    """Tier, begin and end in seconds of the rows that hold a begin, an end and their difference."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.reader(file):
            numbers = [int(cell) for cell in row if cell.strip().isdecimal()]
            for begin, end, length in zip(numbers, numbers[1:], numbers[2:], strict=False):
                if length > 0 and end - begin == length:
                    yield row[0], begin / 1000, end / 1000
                    break
