"""CLIP as an embedder, where the user has it: a folder of its ONNX export.

The folder is as Hugging Face's exports are: ``vision_model.onnx`` (``pixel_values`` in,
``image_embeds`` out), ``text_model.onnx`` (``input_ids``, ``text_embeds``) and ``tokenizer.json``,
in it or in its subfolder ``onnx``. Pictures are scaled so that their shorter side is the model's,
cut to its middle, and normalised by CLIP's own mean and deviation (Radford et al., ICML 2021). A
window's vector is the mean over frames at equal steps, of length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from replay.egosat.embedding import EmbedderError, Vectors, unit_rows
from replay.media.window import frames_at
from streaming.events import Seconds

_MEAN = np.array([0.48145466, 0.4578275, 0.40821073], dtype=np.float32)
_DEVIATION = np.array([0.26862954, 0.26130258, 0.27577711], dtype=np.float32)
_SIDE, _MOST_TOKENS, _FRAMES = 224, 77, 4
_BEFORE_END: Seconds = 1e-3


class ClipTexts:
    """The text side.

    Args:
        folder: Of the export.

    Raises:
        EmbedderError: If a file is missing or is none of such an export.
    """

    name = "clip"

    def __init__(self, folder: Path) -> None:
        self._session = _session(folder, "text_model.onnx", "input_ids")
        self._output = _output(self._session, "text_embeds", folder)
        path = _file(folder, "tokenizer.json")
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more special
            raise EmbedderError(f"{path}: is no tokenizer: {error}") from error
        self._tokenizer.enable_truncation(_MOST_TOKENS)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row a text, each of length 1."""
        rows = []
        # One by one: what fills up shorter texts is not the same in all exports.
        for text in texts:
            tokens = self._tokenizer.encode(text).ids
            given: dict[str, Any] = {"input_ids": np.array([tokens], dtype=np.int64)}
            if "attention_mask" in {one.name for one in self._session.get_inputs()}:
                given["attention_mask"] = np.ones((1, len(tokens)), dtype=np.int64)
            rows.append(self._session.run([self._output], given)[0][0])
        if not rows:
            return np.zeros((0, 0), dtype=np.float32)
        return unit_rows(np.asarray(rows, dtype=np.float32))


class ClipPictures:
    """The picture side, of films below a folder.

    Args:
        folder: Of the export.
        films: Folder of ``<video_uid>.mp4``.
        frames: Of a window.

    Raises:
        EmbedderError: If a file is missing or is none of such an export.
    """

    name = "clip"

    def __init__(self, folder: Path, films: Path, *, frames: int = _FRAMES) -> None:
        self._session = _session(folder, "vision_model.onnx", "pixel_values")
        self._output = _output(self._session, "image_embeds", folder)
        self._films = films
        self._frames = frames

    def embed_window(self, video: str, start: Seconds, end: Seconds) -> Vectors:
        """One vector of length 1 for ``[start, end)`` of a film.

        Raises:
            SourceError: If there is no such film.
            EmbedderError: If it ends before the window begins.
        """
        path = self._films / f"{video}.mp4"
        last = max(start, end - _BEFORE_END)
        moments = [float(moment) for moment in np.linspace(start, last, self._frames)]
        shown = [frame.image for frame in frames_at(path, moments, max_side=4 * _SIDE)]
        if not shown:
            raise EmbedderError(f"{path}: has no frame at {start:.1f} s")
        pixels = np.stack([prepared(image) for image in shown])
        vectors = self._session.run([self._output], {"pixel_values": pixels})[0]
        mean = unit_rows(np.asarray(vectors, dtype=np.float32)).mean(axis=0, keepdims=True)
        return np.asarray(unit_rows(mean)[0], dtype=np.float32)


def prepared(image: NDArray[np.uint8]) -> Vectors:
    """An RGB picture as CLIP takes it, shape ``(3, 224, 224)``."""
    height, width = image.shape[:2]
    scale = _SIDE / min(height, width)
    size = (max(_SIDE, round(width * scale)), max(_SIDE, round(height * scale)))
    scaled = cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    left, top = (size[0] - _SIDE) // 2, (size[1] - _SIDE) // 2
    middle = scaled[top : top + _SIDE, left : left + _SIDE].astype(np.float32) / 255
    return np.ascontiguousarray(((middle - _MEAN) / _DEVIATION).transpose(2, 0, 1))


def _file(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / "onnx" / name):
        if path.is_file():
            return path
    raise EmbedderError(f"{folder}: holds no {name}; name the folder of CLIP's ONNX export")


def _session(folder: Path, name: str, needed: str) -> onnxruntime.InferenceSession:
    path = _file(folder, name)
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors share no other base
        raise EmbedderError(f"{path}: cannot be loaded: {error}") from error
    if needed not in {one.name for one in session.get_inputs()}:
        raise EmbedderError(f"{path}: has no input {needed}; is it CLIP's ONNX export?")
    return session


def _output(session: onnxruntime.InferenceSession, name: str, folder: Path) -> str:
    if name not in {one.name for one in session.get_outputs()}:
        raise EmbedderError(f"{folder}: its model has no output {name}; is it CLIP's ONNX export?")
    return name
