"""Settings of a live session, and what the name of a model tells about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """Numbers and choices of a live session; ``configs/gemini_live.toml`` says more of each.

    Attributes:
        frames_per_second: Pictures sent for each second of media time, at most 1.
        longest_side: Of a picture that is sent, pixels.
        jpeg_quality: Of a picture that is sent.
        modality: Of the answer: ``text``, ``audio``, or ``auto`` by the model's name.
        ask_with: How a question is put: ``content``, ``realtime``, or ``auto`` by the name.
        server_detects_speech: The server decides when a turn ends.
        transcribe_input: Ask for a transcription of what the server hears.
        compress_context: Let the server forget the oldest of the stream when it gets too long.
        temperature: 0 asks for the likeliest text.
        connect_within: Seconds until a connection is given up.
        answer_within: Seconds until an answer is given up.
        settle_within: Seconds that a turn gets to end after its answer is whole or interrupted.
        resume_after: Seconds of quiet until an interrupted question is put again.
        leave_before: Seconds before its announced end that a connection is left.
        attempts: Connections that may fail in a row, and how often a question is put when the
            connection breaks under it.
        audio_held: Seconds of sound kept while there is no connection.
        audio_chunk: Seconds of sound in one message.
    """

    frames_per_second: float = 1.0
    longest_side: int = 768
    jpeg_quality: int = 85
    modality: Literal["auto", "text", "audio"] = "auto"
    ask_with: Literal["auto", "content", "realtime"] = "auto"
    server_detects_speech: bool = False
    transcribe_input: bool = False
    compress_context: bool = True
    temperature: float = 0.0
    connect_within: Seconds = 15.0
    answer_within: Seconds = 30.0
    settle_within: Seconds = 1.0
    resume_after: Seconds = 1.5
    leave_before: Seconds = 2.0
    attempts: int = 3
    audio_held: Seconds = 30.0
    audio_chunk: Seconds = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.frames_per_second <= 1:
            raise ValueError(
                f"frames_per_second {self.frames_per_second}: expected above 0 and at most 1"
            )
        for name in ("connect_within", "answer_within", "audio_held", "audio_chunk"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} {getattr(self, name)}: expected above 0")
        for name in ("settle_within", "resume_after", "leave_before"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} {getattr(self, name)}: expected 0 or more")
        if self.attempts < 1 or self.longest_side < 16 or not 1 <= self.jpeg_quality <= 100:
            raise ValueError(
                f"attempts {self.attempts}, longest_side {self.longest_side}, jpeg_quality "
                f"{self.jpeg_quality}: expected at least 1, at least 16, and 1...100"
            )

    def speaks(self, model: str) -> bool:
        """Whether ``model`` is asked for speech, whose transcription is the answer."""
        if self.modality == "auto":
            return "native-audio" in model or _generation(model) >= 3
        return self.modality == "audio"

    def asks_in_realtime(self, model: str) -> bool:
        """Whether questions to ``model`` go the way of the sound, inside an activity."""
        if self.ask_with == "auto":
            return _generation(model) >= 3
        return self.ask_with == "realtime"


def _generation(model: str) -> int:
    """3 for ``gemini-3.1-flash-live-preview``; 0 where the name tells none."""
    after = model.removeprefix("models/").removeprefix("gemini-").removeprefix("live-")
    digits = after.split("-")[0].split(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
