"""Texts as vectors: the Protocol that answerability asks for, and the embedders that fulfil it.

``minilm`` is the default: all-MiniLM-L6-v2, a sentence embedder, whose weights come as a package.
``words`` needs no weights: counts of words and of pieces of words, hashed. It knows that "open the
drawer" and "opens drawers" are near each other, but not that a cup is a mug, so that what means the
same in other words looks like another branch. ``clip:FOLDER`` is CLIP where the user has it, and
``MODULE:NAME`` calls ``NAME()`` of a module of the user's own, which gives an :class:`Embedder`.
"""

from __future__ import annotations

import importlib
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]

_CLIP = "clip:"
_WORD = re.compile(r"[^\W_]+")
_WIDTH = 1 << 12
_PIECE = 4
_PIECE_WEIGHT = 0.5


class EmbedderError(ValueError):
    """An embedder that cannot be had. One line: what, why, what to do."""


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how near their meanings are.

    Attributes:
        name: For records.
    """

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row a text, shape ``(n, d)``, each of length 1 (or 0 for a text of nothing)."""
        ...


class PictureEmbedder(Protocol):
    """Turns the picture of a stretch of a video into a vector, such as CLIP's picture side."""

    @property
    def name(self) -> str: ...

    def embed_window(self, video: str, start: float, end: float) -> Vectors:
        """One vector of length 1 for ``[start, end)`` of a video, shape ``(d,)``.

        Args:
            video: The video's ``video_uid``.
            start, end: Seconds of the whole video.
        """
        ...


class WordsEmbedder:
    """Hashed counts of words and of their four-letter pieces."""

    name = "words"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :meth:`Embedder.embed`."""
        vectors = np.zeros((len(texts), _WIDTH), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature, weight in _features(text):
                row[zlib.crc32(feature.encode()) % _WIDTH] += weight
        return unit_rows(vectors)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(text.lower()):
        yield word, 1.0
        padded = f"<{word}>"
        for start in range(len(padded) - _PIECE + 1):
            yield "piece " + padded[start : start + _PIECE], _PIECE_WEIGHT


def unit_rows(vectors: Vectors) -> Vectors:
    """Rows of length 1; a row of zeros stays so."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


class Remembered:
    """Asks another embedder about each text once.

    Args:
        embedder: The one that is asked.
        at_once: Most texts that it is given in one call.
    """

    def __init__(self, embedder: Embedder, *, at_once: int = 256) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._at_once = at_once
        self._known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :meth:`Embedder.embed`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        # Texts of like length together: what is shorter is filled up to the longest of its call.
        new.sort(key=lambda text: (len(text), text))
        for start in range(0, len(new), self._at_once):
            some = new[start : start + self._at_once]
            self._known.update(zip(some, self._embedder.embed(some), strict=True))
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        return np.stack([self._known[text] for text in texts])


def open_embedder(name: str) -> Embedder:
    """The embedder of a name: ``minilm``, ``words``, ``clip:FOLDER``, or ``MODULE:NAME``.

    Raises:
        EmbedderError: If there is no such embedder.
        WeightsError: If the weights of ``minilm`` are missing or wrong.
    """
    if name == "words":
        return WordsEmbedder()
    if name == "minilm":
        from replay.egosat.minilm import MiniLm

        return MiniLm()
    if name.startswith(_CLIP):
        from replay.egosat.clip_model import ClipTexts

        return ClipTexts(Path(name.removeprefix(_CLIP)))
    made = _own(name)
    if not hasattr(made, "embed") or not hasattr(made, "name"):
        raise EmbedderError(f"{name}() has no name and embed(texts), as an embedder has")
    embedder: Embedder = made
    return embedder


def open_picture_embedder(name: str, films: Path | None = None) -> PictureEmbedder:
    """A picture embedder: ``clip:FOLDER``, or ``MODULE:NAME``, called without arguments.

    Args:
        name: Which.
        films: Folder of ``<video_uid>.mp4``, for CLIP.

    Raises:
        EmbedderError: If there is no such embedder.
    """
    if name.startswith(_CLIP):
        from replay.egosat.clip_model import ClipPictures

        if films is None:
            raise EmbedderError(f"{name} looks at films; name their folder")
        return ClipPictures(Path(name.removeprefix(_CLIP)), films)
    made = _own(name)
    if not hasattr(made, "embed_window") or not hasattr(made, "name"):
        raise EmbedderError(f"{name}() has no name and embed_window(video, start, end)")
    embedder: PictureEmbedder = made
    return embedder


def _own(name: str) -> object:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise EmbedderError(
            f"embedder {name!r}: expected minilm, words, clip:FOLDER, or MODULE:NAME"
        )
    try:
        return getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise EmbedderError(f"embedder {name}: {error}") from error
