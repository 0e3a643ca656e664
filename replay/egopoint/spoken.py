"""Questions that are spoken over the picture, and what our own ears make of them.

The picture is shown for a second in silence, then the question is said, then it is quiet until the
words are settled: that is when the question is asked. The sound is a recording of the user's, or
the program espeak-ng says the question. What was heard is kept in a file, line by line, so that a
run that goes on asks the same question again.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly

from replay.egopoint.dataset import EgoPointItem
from replay.line_log import LineLog, whole_lines
from replay.loose_json import Fields
from replay.measure.asr import TextErrors, listen, text_errors
from replay.measure.asr_run import silence
from replay.measure.asr_text import tokens_of
from replay.media.still import STILL_SECONDS
from replay.source import open_source
from streaming.clock import Stopwatch
from streaming.config import config_path, load
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds

AFTERWARDS: Seconds = 1.5
"""Silence behind a question, in which its last words settle."""
_BLOCK = 512
_PROGRAM, _PACE = "espeak-ng", 150
_PATIENCE = 60.0
_ENDINGS = (".wav", ".flac", ".mp3", ".m4a", ".ogg", ".opus")


class SpeechError(ValueError):
    """A question that cannot be said; one line saying why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A question as it was heard.

    Attributes:
        text: The words, parted by spaces; empty when nothing was heard.
        at: Media time by which they were settled.
    """

    text: str
    at: Seconds


class Ears(Protocol):
    """Hears one sound after another, each from the beginning."""

    def hear(self, blocks: Sequence[AudioBlock]) -> str:
        """The words in a sound."""
        ...


class WhisperEars:
    """The pipeline's own voice detector and transcript, with its own settings.

    Args:
        model: A Whisper model; ``auto`` is that of the pipeline for English.

    Raises:
        WeightsError: If weights are missing.
    """

    def __init__(self, model: str = "auto") -> None:
        from streaming.models.silero import Silero
        from streaming.models.whisper import WhisperRecognizer, find_model
        from streaming.transcript import TranscriptSettings
        from streaming.vad import VadSettings

        self._voice = Silero()
        self._recognizer = WhisperRecognizer(find_model("tiny.en" if model == "auto" else model))
        self._vad = load(VadSettings, config_path("vad.toml"))
        self._transcript = load(TranscriptSettings, config_path("transcript.toml"))

    def hear(self, blocks: Sequence[AudioBlock]) -> str:
        from streaming.transcript import Transcript
        from streaming.vad import Vad

        self._voice.reset()
        transcript = Transcript(self._recognizer, language="en", settings=self._transcript)
        heard = listen(blocks, Vad(self._voice, self._vad), transcript, watch=Stopwatch)
        return " ".join(word.text for word in heard.final)


def hear_questions(
    items: Sequence[EgoPointItem],
    kept: Path,
    *,
    open_ears: Callable[[], Ears] | None = None,
    recordings: Path | None = None,
    on_heard: Callable[[str], None] = lambda id: None,
) -> dict[str, Heard]:
    """Say each question and hear it, unless the file has it already.

    Args:
        items: The questions.
        kept: File of what was heard, JSON lines.
        open_ears: Loads them, when something is to be heard; the pipeline's own without.
        recordings: Folder of the questions as sound, named by the items; said by a program without.
        on_heard: Told each question that is done.

    Raises:
        SpeechError: If the program is missing or fails.
        SourceError: If a recording cannot be played.
    """
    by = _PROGRAM if recordings is None else str(recordings.resolve())
    heard = _known(kept, by)
    todo = [item for item in items if (item.id, item.question) not in heard]
    for _ in range(len(items) - len(todo)):
        on_heard("")
    if todo:
        say = partial(_recorded, recordings) if recordings is not None else _said
        ears = (open_ears or WhisperEars)()
        with LineLog(kept) as log:
            for item in todo:
                blocks = list(spoken_blocks(say(item)))
                found = Heard(text=ears.hear(blocks), at=blocks[-1].offset)
                line = {"id": item.id, "question": item.question, "by": by}
                log.write(line | {"heard": found.text, "at": round(found.at, 6)})
                heard[item.id, item.question] = found
                on_heard(item.id)
    return {item.id: heard[item.id, item.question] for item in items}


def word_errors(items: Sequence[EgoPointItem], heard: dict[str, Heard]) -> TextErrors:
    """Word errors over all questions together."""
    total = TextErrors(reference=0)
    for item in items:
        total += text_errors(
            tokens_of(item.question, language="en"), tokens_of(heard[item.id].text, language="en")
        )
    return total


def spoken_blocks(sound: NDArray[np.float32]) -> Iterator[AudioBlock]:
    """The sound track of a picture with a question: quiet, the question, quiet."""
    quiet = np.zeros(round(STILL_SECONDS * SAMPLE_RATE), dtype=np.float32)
    whole = np.concatenate([quiet, sound.astype(np.float32)])
    for start in range(0, len(whole), _BLOCK):
        yield AudioBlock(onset=start / SAMPLE_RATE, samples=whole[start : start + _BLOCK])
    yield from silence(len(whole) / SAMPLE_RATE, AFTERWARDS)


def _known(kept: Path, by: str) -> dict[tuple[str, str], Heard]:
    known = {}
    for line in whole_lines(kept):
        read = Fields(line if isinstance(line, dict) else {})
        at = read.number("at")
        if at is not None and read.text("by") == by:
            name = (read.text("id"), read.text("question"))
            known[name] = Heard(text=read.text("heard"), at=at)
    return known


def _said(item: EgoPointItem) -> NDArray[np.float32]:
    """The question by the program, mono at :data:`SAMPLE_RATE`."""
    program = shutil.which(_PROGRAM)
    if program is None:
        raise SpeechError(
            f"spoken questions need the program {_PROGRAM}; install it (apt install {_PROGRAM}), "
            "or give recordings by --recordings"
        )
    try:
        told = subprocess.run(
            [program, "-v", "en-us", "-s", str(_PACE), "--stdout", "--stdin"],
            input=item.question.encode(errors="replace"),
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SpeechError(f"{_PROGRAM} could not say question {item.id}: {error}") from error
    if told.returncode != 0 or not told.stdout:
        raise SpeechError(f"{_PROGRAM} could not say question {item.id}")
    return _samples(told.stdout)


def _samples(content: bytes) -> NDArray[np.float32]:
    """A WAV file of 16-bit mono sound."""
    with wave.open(io.BytesIO(content)) as file:
        rate = file.getframerate()
        # The program writes to a pipe and does not know its length: what is there counts.
        pcm = np.frombuffer(file.readframes(len(content)), dtype="<i2")
    common = np.gcd(rate, SAMPLE_RATE)
    sound = resample_poly(pcm / 32768.0, SAMPLE_RATE // common, rate // common)
    return np.asarray(np.clip(sound, -1.0, 1.0), dtype=np.float32)


def _recorded(folder: Path, item: EgoPointItem) -> NDArray[np.float32]:
    """The user's recording of a question."""
    names = [f"{item.id.replace('/', '_')}{ending}" for ending in _ENDINGS]
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise SpeechError(f"{folder} has no recording of question {item.id}, such as {names[0]}")
    events = open_source(path).events()
    blocks = [event.samples for event in events if isinstance(event, AudioBlock)]
    return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.float32)
