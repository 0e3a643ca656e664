"""Opening a media file: refuse what is none, choose the streams, and say why in one line."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import av
from av.container import InputContainer
from av.stream import Disposition, Stream

Kind: TypeAlias = Literal["audio", "video"]
KINDS: tuple[Kind, ...] = ("audio", "video")

STALL_SECONDS = 30.0
"""How long one read may take before the file counts as unreadable."""
MAX_PIXELS = 64_000_000
"""Largest picture that is decoded; 8K has 33 million pixels."""
RAW_FORMATS = {".g722": "g722"}
"""Headerless sound, known by its file name alone."""
_MAX_BOXES = 10_000
_PLAYLISTS = {"concat", "concatf", "dash", "hls", "sdp", "rtsp", "imf"}
_TEXT_ART = {"tty", "bin", "xbin", "adf", "idf"}


class SourceError(ValueError):
    """A source that cannot be played. The text is one line: what, where, what to do."""


def check_file(path: Path) -> None:
    """Refuse what is not a readable, non-empty regular file, without opening it.

    A named pipe or a device would be read for ever.

    Raises:
        SourceError: With the reason.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file; check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceError(f"{path}: {reason}; check the path") from None
    if stat.S_ISDIR(status.st_mode):
        raise SourceError(f"{path}: is a folder, not a media file; name the files in it")
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f"{path}: is no regular file (pipe, socket or device); copy it to a file")
    if status.st_size == 0:
        raise SourceError(f"{path}: is empty (0 bytes); copy or record it again")
    if not os.access(path, os.R_OK):
        raise SourceError(f"{path}: may not be read; run: chmod u+r on it")


def open_container(path: Path) -> InputContainer:
    """The file, opened for demuxing. Only local files are ever read.

    Raises:
        SourceError: If it is not a media file that can be played.
    """
    check_file(path)
    try:
        container = av.open(
            "file:" + os.path.abspath(path),
            mode="r",
            format=RAW_FORMATS.get(path.suffix.lower()),
            options={"protocol_whitelist": "file"},
            metadata_errors="replace",
            timeout=(STALL_SECONDS, STALL_SECONDS),
        )
    except (av.FFmpegError, OSError, ValueError, MemoryError) as error:
        raise SourceError(f"{path}: {_why(path, error)}") from None
    name = container.format.name
    if name in _PLAYLISTS or name in _TEXT_ART:
        container.close()
        what = "a playlist" if name in _PLAYLISTS else "a text file"
        raise SourceError(f"{path}: is {what}, not a media file; name a video or sound file")
    return container


def _why(path: Path, error: Exception) -> str:
    """Why FFmpeg refused ``path``, and what to do."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4096)
            size = os.fstat(stream.fileno()).st_size
            if head[4:8] == b"ftyp" and not _has_moov(stream, size):
                return (
                    "its index (moov box) is missing or cut off, as when a recording ends badly; "
                    "record or copy it again, or repair it with untrunc"
                )
    except OSError as failed:
        return f"cannot be read ({failed.strerror}); check the disk"
    if _is_text(head):
        return "is a text file, not a media file; name a video or sound file"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return (
        f"is no media file that FFmpeg can open ({reason}); "
        "check that it plays elsewhere, or convert it to mp4"
    )


def _has_moov(stream: BinaryIO, size: int) -> bool:
    """Whether one of the top-level boxes (ISO 14496-12, 4.2) is the index, and whole."""
    position = 0
    for _ in range(_MAX_BOXES):
        stream.seek(position)
        header = stream.read(16)
        if len(header) < 8:
            return False
        length = int.from_bytes(header[:4], "big")
        if length == 1:
            length = int.from_bytes(header[8:16], "big")
        if header[4:8] == b"moov":
            return position + length <= size
        if length < 8 or position + length >= size:
            return False
        position += length
    return False


def _is_text(head: bytes) -> bool:
    try:
        text = head[:1024].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(text) and all(letter.isprintable() or letter in "\r\n\t" for letter in text)


def choose_streams(container: InputContainer) -> dict[Kind, Stream]:
    """The video and the audio stream to play, as ffplay chooses (``av_find_best_stream``).

    That is the default one, then the one with most pictures and the highest bit rate; the audio is
    the best one of the same programme. Cover art is no video, and a stream without a decoder is
    none either.
    """
    chosen: dict[Kind, Stream] = {}
    video = container.streams.best("video")
    if video is not None and not _playable(video):
        video = next((each for each in container.streams.video if _playable(each)), None)
    if video is not None:
        chosen["video"] = video
    audio = container.streams.best("audio", related=video)
    if audio is not None and not _playable(audio):
        audio = next((each for each in container.streams.audio if _playable(each)), None)
    if audio is not None:
        chosen["audio"] = audio
    return chosen


def _playable(stream: Stream) -> bool:
    if stream.codec_context is None or stream.time_base is None:
        return False
    return not stream.disposition & (Disposition.attached_pic | Disposition.timed_thumbnails)
