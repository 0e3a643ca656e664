"""The Whisper and Silero adapters on real weights, and the pipeline on what is no speech."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from replay.measure.asr import disorder, text_errors
from replay.measure.asr_run import read_blocks
from replay.measure.asr_text import tokens_of
from replay.measure.asr_truth import Recording
from streaming.config import config_path, load
from streaming.events import AudioBlock, Utterance, Word
from streaming.models.silero import Silero
from streaming.models.whisper import WhisperRecognizer, find_model
from streaming.transcript import Transcript, TranscriptSettings
from streaming.vad import Vad, VadSettings
from streaming.weights import WHISPER_BASE, WHISPER_TINY_EN, WeightsError, model_folder


@pytest.fixture(scope="module")
def tiny() -> WhisperRecognizer:
    return WhisperRecognizer(find_model("tiny.en"))


@pytest.fixture(scope="module")
def base() -> WhisperRecognizer:
    return WhisperRecognizer(find_model("base"))


def blocks(sound: NDArray[np.float32], *, size: int = 512) -> Iterator[AudioBlock]:
    for begin in range(0, len(sound), size):
        yield AudioBlock(onset=begin / 16_000, samples=sound[begin : begin + size])


def hear(
    recognizer: WhisperRecognizer,
    sound: NDArray[np.float32],
    *,
    language: str = "en",
    size: int = 512,
) -> tuple[list[Word], list[Utterance]]:
    vad = Vad(Silero(), load(VadSettings, config_path("vad.toml")))
    transcript = Transcript(
        recognizer,
        language=language,
        settings=load(TranscriptSettings, config_path("transcript.toml")),
    )
    said: list[object] = []
    for block in blocks(sound, size=size):
        for event in vad.push(block):
            said += transcript.push(event)
    for event in vad.finish():
        said += transcript.push(event)
    said += transcript.finish()
    return (
        [event for event in said if isinstance(event, Word)],
        [event for event in said if isinstance(event, Utterance)],
    )


def read(path: Path) -> NDArray[np.float32]:
    recording = Recording(audio=path, words=(), language="en", origin=path)
    return np.concatenate([block.samples for block in read_blocks(recording)])


def test_bundled_models_have_all_their_files() -> None:
    for weights in (WHISPER_TINY_EN, WHISPER_BASE):
        folder = model_folder(weights)
        for name in ("model.bin", "config.json", "tokenizer.json"):
            assert (folder / name).is_file()


def test_unknown_model_is_one_clear_line() -> None:
    with pytest.raises(WeightsError, match="no Whisper model 'colossal'"):
        find_model("colossal")


def test_tokens_spell_bytes(tiny: WhisperRecognizer) -> None:
    window = tiny.listen(np.zeros(16_000, np.float32), padding=1.0)
    for token in window.decode(language="en", limit=5).tokens:
        assert tiny.spell(token)
    assert tiny.spell(tiny.first_mark) == b""


def test_too_little_or_too_much_sound_is_refused(tiny: WhisperRecognizer) -> None:
    with pytest.raises(ValueError, match="too few"):
        tiny.listen(np.zeros(100, np.float32))
    with pytest.raises(ValueError, match="more than 30 s"):
        tiny.listen(np.zeros(31 * 16_000, np.float32))


@pytest.mark.parametrize("kind", ["silence", "noise", "hum", "breath", "clicks"])
def test_nothing_is_committed_on_what_is_no_speech(tiny: WhisperRecognizer, kind: str) -> None:
    time = np.arange(20 * 16_000) / 16_000
    noise = np.random.default_rng(7).standard_normal(len(time))
    sound = {
        "silence": np.zeros(len(time)),
        "noise": 0.1 * noise,
        "hum": 0.1 * sum(np.sin(2 * np.pi * 50 * k * time) / k for k in (1, 2, 3, 5)),
        "breath": 0.1 * np.convolve(noise, np.ones(8) / 8, "same") * np.sin(time) ** 2,
        "clicks": (np.arange(len(time)) % 8000 == 0) * 0.9,
    }[kind]
    assert hear(tiny, np.asarray(sound, dtype=np.float32)) == ([], [])


@pytest.mark.media
def test_laughter_says_nothing(tiny: WhisperRecognizer, shared_media: Path) -> None:
    laughter = read(shared_media / "speech" / "wts_laugh1.mp3")
    assert hear(tiny, np.tile(laughter, 5))[0] == []


@pytest.mark.media
def test_known_sentence_in_silence(tiny: WhisperRecognizer, shared_media: Path) -> None:
    speech = read(shared_media / "speech" / "mfa_libri_61-70968-0000.flac")
    lead = np.zeros(3 * 16_000, np.float32)
    sound = np.concatenate([lead, speech, lead])
    words, utterances = hear(tiny, sound)
    true = "he began a confused complaint against the wizard who had vanished behind the curtain"
    truth = tokens_of(f"{true} on the left", language="en")
    heard = [token for word in words for token in tokens_of(word.text, language="en")]
    assert text_errors(truth, heard).errors <= 2
    assert disorder(words, end=len(sound) / 16_000) == 0
    assert words[0].onset >= 3.0
    assert words[0].offset - words[0].onset < 0.6
    assert words[-1].offset < 3.0 + len(speech) / 16_000 + 0.1
    assert len(utterances) == 1


@pytest.mark.media
def test_block_sizes_change_no_word(tiny: WhisperRecognizer, shared_media: Path) -> None:
    sound = read(shared_media / "speech" / "ps_forever_input_2_16k.wav")
    assert hear(tiny, sound, size=512) == hear(tiny, sound, size=4801)


@pytest.mark.media
def test_chinese_words_and_language(base: WhisperRecognizer, shared_media: Path) -> None:
    clip = shared_media / "ecog-mini" / "data_zn" / "env1" / "指令3" / "zh3_d07.mp4"
    words, _ = hear(base, read(clip), language="auto")
    texts = [word.text.strip("，。,.") for word in words]
    assert {word.language for word in words} == {"zh"}
    assert set(texts) & {"这个", "這個"}
    assert "\ufffd" not in "".join(texts)
