"""CLIP's ONNX export as an embedder, by a tiny model in its format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from replay.egosat.clip_model import ClipPictures, ClipTexts, prepared
from replay.egosat.embedding import EmbedderError, open_embedder, open_picture_embedder
from tests.egosat_maker import FPS, write_film
from tests.onnx_maker import FLOAT, INT64, mean_over, node, tensor, value, write_model


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A text is the mean of its words' rows, a picture the mean of its colours."""
    words = {"[UNK]": 0, "take": 1, "put": 2, "cup": 3}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()  # type: ignore[assignment]
    folder = tmp_path / "clip"
    rows = np.eye(4, dtype=np.float32)
    write_model(
        folder / "onnx" / "text_model.onnx",
        [node("Gather", ["rows", "input_ids"], "seen"), mean_over("seen", "text_embeds", [1])],
        inputs=[value("input_ids", INT64, ["n", "tokens"])],
        outputs=[value("text_embeds", FLOAT, ["n", 4])],
        weights=[tensor("rows", rows)],
    )
    write_model(
        folder / "onnx" / "vision_model.onnx",
        [mean_over("pixel_values", "image_embeds", [2, 3])],
        inputs=[value("pixel_values", FLOAT, ["n", 3, 224, 224])],
        outputs=[value("image_embeds", FLOAT, ["n", 3])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_texts_are_embedded_by_the_text_side(export: Path) -> None:
    embedder = open_embedder(f"clip:{export}")
    vectors = embedder.embed(["take cup", "put cup", "take"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1])
    assert (vectors @ vectors.T)[0] == pytest.approx([1, 0.5, np.sqrt(0.5)])
    assert embedder.embed([]).shape[0] == 0


def test_windows_are_embedded_by_the_picture_side(export: Path, tmp_path: Path) -> None:
    write_film(tmp_path / "films" / "v.mp4", 6.0)
    embedder = open_picture_embedder(f"clip:{export}", tmp_path / "films")
    vector = embedder.embed_window("v", 0.0, 4.0)
    assert vector.shape == (3,)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert embedder.embed_window("v", 0.0, 4.0) == pytest.approx(vector)
    # A window shows nothing of what begins at its end.
    assert embedder.embed_window("v", 1.0, 1.0 + 1 / FPS).shape == (3,)


def test_pictures_are_cut_to_their_middle_and_normalised() -> None:
    image = np.zeros((448, 896, 3), dtype=np.uint8)
    image[:, 224:672] = 255  # the middle square
    found = prepared(image)
    assert found.shape == (3, 224, 224)
    assert found[0, 100, 100] == pytest.approx((1 - 0.48145466) / 0.26862954, abs=1e-4)
    assert found[:, 112, 20].tolist() == pytest.approx(found[:, 112, 200].tolist())


def test_a_folder_of_something_else_is_one_clear_line(export: Path, tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"holds no text_model\.onnx"):
        ClipTexts(tmp_path)
    with pytest.raises(EmbedderError, match="name their folder"):
        open_picture_embedder(f"clip:{export}")
    swapped = export / "onnx" / "text_model.onnx"
    swapped.write_bytes((export / "onnx" / "vision_model.onnx").read_bytes())
    with pytest.raises(EmbedderError, match="has no input input_ids"):
        ClipTexts(export)
    swapped.write_bytes(b"no model")
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        ClipTexts(export)
    (export / "onnx" / "vision_model.onnx").unlink()
    with pytest.raises(EmbedderError, match="holds no vision_model"):
        ClipPictures(export, tmp_path)
