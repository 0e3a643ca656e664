"""What annotations say: stroke windows, lags between word and gesture, durations of gestures.

Two kinds of files are read: a tree in EcoG-Bench's format (with the exact ``truth.json`` of a made
one, if it is there), and tables as ELAN exports them (tier, then begin, end and duration, each as
``hh:mm:ss.ms`` and in milliseconds, then the text), of which a tier named after points is gestures
and the next one their words, in the same order.

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


def read_elan(path: Path) -> list[Values]:
    """Values of each gesture of an exported table; nothing when it is none."""
    tiers: dict[str, list[tuple[float, float]]] = {}
    for row in _rows(path):
        tiers.setdefault(row[0], []).append((float(row[2]) / 1000, float(row[4]) / 1000))
    names = list(tiers)
    pointing = next((name for name in names if re.match("point", name, re.IGNORECASE)), None)
    if pointing is None:
        return []
    gestures = tiers[pointing]
    values: list[Values] = [{"gesture_length": [end - begin]} for begin, end in gestures]
    others = [tiers[name] for name in names if name != pointing]
    if others and len(others[0]) == len(gestures):
        for value, gesture, word in zip(values, gestures, others[0], strict=True):
            value["word_after_gesture"] = [word[0] - gesture[0]]
    return values


def _rows(path: Path) -> Iterator[Sequence[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.reader(file):
            if len(row) >= 8 and row[2].strip().isdecimal() and row[4].strip().isdecimal():
                yield row
