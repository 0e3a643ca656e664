"""What was said in a recording, from the file beside it.

Accepted, in this order, for ``name.wav`` (or any other audio or video file):

* ``name.TextGrid``: Praat's long or short text format, UTF-8 or UTF-16. The words are the first
  interval tier named ``words`` or ``word`` (any case, also ``speaker - words``), else the last
  interval tier that is not named after phones. Empty intervals and labels in brackets
  (``[SIL]``, ``<p:>``, ``sil``, ``sp``, ``spn``) are no words.
* ``name.align.json``: a list of words, or an object with the list under ``words``, ``alignment``
  or ``segments``. A word is ``{"word" | "text" | "char": ..., "start" | "begin" | "onset" |
  "begin_time" ..., "end" | "offset" | "end_time" ...}`` or ``[text, start, end]`` or
  ``[start, end, text]``. ``*_time`` and ``*_ms`` are milliseconds, everything else seconds.
* ``name.txt``: the words alone.

``<name>_words.TextGrid`` counts as ``<name>.TextGrid``.

A folder that is an EcoG-Bench tree is read as one: its clips are the recordings, in the tree's
languages, with the words of ``annotations.json``, or with those of a made tree's ``truth.json``,
which are exact. In a clip of the silent instruction (1), or one that the made truth has no words
for, nothing is to be heard; other clips without a transcript are left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.ecog.clips import EcogClip
from replay.ecog.loader import EcogError, load_ecog
from replay.measure.made_truth import MadeClip, made_clips
from streaming.events import Seconds
from streaming.transcript_words import is_han

AUDIO_SUFFIXES = frozenset(
    f".{name}"
    for name in (
        *("wav", "flac", "mp3", "m4a", "ogg", "opus", "aac", "wma", "g722", "aiff", "aif"),
        *("mp4", "mkv", "mov", "webm"),
    )
)
_NO_WORD = re.compile(r"^(\[.*\]|<.*>|\{.*\}|sil|sp|spn|silence|noise|#|-)?$", re.IGNORECASE)


class TruthError(ValueError):
    """A truth file that cannot be read; one line saying which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueWord:
    """One word that was said; NaN times where the file gives none."""

    text: str
    onset: Seconds = math.nan
    offset: Seconds = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A sound file and what is said in it.

    Attributes:
        audio: The sound.
        words: In order; none when nothing is to be heard.
        language: ``zh`` when there are Chinese characters, else ``en``; of a tree's clip the
            tree's.
        origin: File or tree that the words come from.
        language_stated: The language is stated beside the words, not read off them.
        difficulty: Of a made clip, empty otherwise.
    """

    audio: Path
    words: tuple[TrueWord, ...]
    language: str
    origin: Path
    language_stated: bool = False
    difficulty: str = ""

    @property
    def timed(self) -> bool:
        return bool(self.words) and not math.isnan(self.words[0].onset)


def find_recordings(folder: Path) -> list[Recording]:
    """The recordings under ``folder`` (or the one file) that have a truth, in order of path.

    Raises:
        TruthError: If there is none, or a truth cannot be read.
        EcogError: If a tree's ``truth.json`` cannot be read.
    """
    if not folder.exists():
        raise TruthError(f"{folder} does not exist")
    clips = _tree_clips(folder)
    if clips is not None:
        return _tree_recordings(folder, clips)
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    found = [
        read_recording(path, truth)
        for path in paths
        if path.suffix.lower() in AUDIO_SUFFIXES and path.is_file()
        for truth in [_truth_beside(path)]
        if truth is not None
    ]
    if not found:
        raise TruthError(
            f"{folder} holds no sound with a .TextGrid, .align.json or .txt of the same name"
        )
    return found


def _tree_clips(folder: Path) -> tuple[EcogClip, ...] | None:
    """The clips of an EcoG tree; None when ``folder`` is none."""
    if not folder.is_dir():
        return None
    try:
        return load_ecog(folder).clips
    except EcogError:
        return None


def _tree_recordings(root: Path, clips: Sequence[EcogClip]) -> list[Recording]:
    made = made_clips(root)
    found = [_tree_recording(root, clip, made.get(clip.video_name)) for clip in clips]
    recordings = [recording for recording in found if recording is not None]
    if not recordings:
        raise TruthError(f"{root}: no clip of this tree has a transcript")
    return recordings


def _tree_recording(root: Path, clip: EcogClip, made: MadeClip | None) -> Recording | None:
    if made is None and not clip.words and clip.level != "L1":
        return None
    if made is None:
        words = [
            TrueWord(text=word.text, onset=_seconds(word.begin_ms), offset=_seconds(word.end_ms))
            for word in clip.words
        ]
    else:
        words = [
            TrueWord(text=word.text, onset=word.onset, offset=word.offset) for word in made.words
        ]
    return Recording(
        audio=clip.video,
        words=tuple(words),
        language=clip.language,
        origin=root,
        language_stated=True,
        difficulty="" if made is None else made.difficulty,
    )


def _seconds(milliseconds: float | None) -> Seconds:
    return math.nan if milliseconds is None else milliseconds / 1000.0


def _truth_beside(audio: Path) -> Path | None:
    stems = (audio.stem, f"{audio.stem}_words", audio.name)
    for suffix in (".TextGrid", ".textgrid", ".align.json", ".txt"):
        for stem in stems:
            path = audio.with_name(stem + suffix)
            if path.is_file():
                return path
    return None


def read_recording(audio: Path, truth: Path) -> Recording:
    """One recording with the words of ``truth``."""
    if truth.suffix.lower() == ".textgrid":
        words = tuple(read_textgrid(truth))
    elif truth.suffix == ".json":
        words = tuple(_read_json(truth))
    else:
        words = tuple(TrueWord(text=text) for text in _read_text(truth).split())
    chinese = any(is_han(letter) for word in words for letter in word.text)
    return Recording(audio=audio, words=words, language="zh" if chinese else "en", origin=truth)


def _read_text(path: Path) -> str:
    raw = path.read_bytes()
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"", "utf-8-sig")):
        if raw.startswith(mark):
            try:
                return raw.decode(encoding)
            except UnicodeDecodeError:
                break
    return raw.decode("latin-1")


# --- TextGrid --------------------------------------------------------------------------------

_TOKEN = re.compile(
    r'"((?:[^"]|"")*)"|(?<![\w\[])(-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w\]:])|<exists>'
)


def read_textgrid(path: Path) -> Iterator[TrueWord]:
    """The words of a TextGrid.

    Both formats hold the same strings and numbers in the same order; only the long one has names
    in between, which are passed over.

    Raises:
        TruthError: If it has no tier of words.
    """
    tiers = _tiers(path)
    named = [tier for tier in tiers if re.search(r"(^|\W)words?$", tier[0], re.IGNORECASE)]
    others = [tier for tier in tiers if not re.search("phone|phoneme|syll", tier[0], re.IGNORECASE)]
    chosen = named[:1] or others[-1:]
    if not chosen:
        raise TruthError(f"{path} has no tier of words")
    for onset, offset, label in chosen[0][1]:
        if not _NO_WORD.match(label.strip()):
            yield TrueWord(text=label.strip(), onset=onset, offset=offset)


def _tiers(path: Path) -> list[tuple[str, list[tuple[float, float, str]]]]:
    values: list[str | float] = []
    for match in _TOKEN.finditer(_read_text(path)):
        if match.group(1) is not None:
            values.append(match.group(1).replace('""', '"'))
        elif match.group(2) is not None:
            values.append(float(match.group(2)))
    try:
        return list(_read_tiers(values))
    except (IndexError, TypeError, ValueError) as error:
        raise TruthError(f"{path} is no TextGrid: {error}") from error


def _read_tiers(
    values: list[str | float],
) -> Iterator[tuple[str, list[tuple[float, float, str]]]]:
    if len(values) < 5 or values[1] != "TextGrid":
        raise ValueError("it does not begin as one")
    place = 5  # file type, object class, begin, end, number of tiers
    for _ in range(int(values[4])):
        kind, name, size = values[place], str(values[place + 1]), int(values[place + 4])
        place += 5
        width = 3 if kind == "IntervalTier" else 2
        rows = [values[place + width * row : place + width * (row + 1)] for row in range(size)]
        place += width * size
        if kind == "IntervalTier":
            yield name, [(float(on), float(off), str(label)) for on, off, label in rows]


# --- JSON ------------------------------------------------------------------------------------


def _read_json(path: Path) -> Iterator[TrueWord]:
    try:
        found = json.loads(_read_text(path))
        if isinstance(found, dict):
            found = next(found[key] for key in ("words", "alignment", "segments") if key in found)
        for entry in found:
            yield _json_word(entry)
    except (json.JSONDecodeError, StopIteration, KeyError, TypeError, ValueError) as error:
        raise TruthError(f"{path} is no word alignment: {error!r}") from error


def _json_word(entry: Any) -> TrueWord:
    if isinstance(entry, str):
        return TrueWord(text=entry)
    if isinstance(entry, list):
        if isinstance(entry[0], str):
            return TrueWord(text=entry[0], onset=float(entry[1]), offset=float(entry[2]))
        return TrueWord(text=str(entry[2]), onset=float(entry[0]), offset=float(entry[1]))
    text = next(str(entry[key]) for key in ("word", "text", "char", "token") if key in entry)
    return TrueWord(
        text=text,
        onset=_json_time(entry, ("onset", "start", "begin", "start_time", "begin_time")),
        offset=_json_time(entry, ("offset", "end", "stop", "end_time")),
    )


def _json_time(entry: dict[str, Any], names: tuple[str, ...]) -> Seconds:
    for name in names:
        if entry.get(name) is not None:
            return float(entry[name]) / (1000.0 if name.endswith("_time") else 1.0)
        if entry.get(f"{name}_ms") is not None:
            return float(entry[f"{name}_ms"]) / 1000.0
    return math.nan
