"""Recording of a live session: a tee in front of it, switched on and off while it runs.

What passes is written by a thread of its own to ``<folder>/<time>_<name>.mkv`` (see
:mod:`server.recording_file`), the trace's lines to ``.trace.jsonl`` beside it. Whoever delivers is
never kept waiting: pictures for which there is no room are left out of the recording and counted.
When the disk fails or is full the recording ends, the session goes on and is told.

A recording that begins while the session runs keeps the session's times: the trace's and the file's
agree, and its header says as ``recorded_from`` where the file begins.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import av
import numpy as np
from numpy.typing import NDArray

from replay.media.sound import SoundEvent, SoundTrack
from server.ingest import Ingest
from server.recording_file import PictureCodec, RecordingFile, check_room, choose_codec
from streaming.clock import utc_now
from streaming.events import AudioBlock, Seconds, VideoFrame
from streaming.trace import dump_line
from streaming.version import VERSION

_GAP_SECONDS = 5.0
"""Silence beyond this is not written: the file's times tell it."""
_CHECK_EVERY = 100
_LONGEST = 1e7
_WAITING_SOUNDS = 3_000
_WAITING_LINES = 20_000
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSettings:
    """See ``configs/recording.toml``."""

    exact: bool = True
    picture_budget: Seconds = 0.016
    waiting_pictures: int = 30
    waiting_bytes: int = 96 << 20
    video_within: Seconds = 3.0
    most_bytes: int = 32_000_000_000
    spare_bytes: int = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingState:
    """How a recording stands.

    Attributes:
        active: Whether it is being written.
        files: What it wrote so far, in order: a second file begins when the camera is switched on
            after the first one began without pictures.
        pictures: Written.
        dropped: Pictures, sounds and lines left out because the disk was too slow.
        late: Pictures left out because their time does not come after the one before.
        problem: Why it ended early; None otherwise.
        name: Of the files, without their endings.
    """

    active: bool = False
    name: str | None = None
    files: tuple[Path, ...] = ()
    pictures: int = 0
    dropped: int = 0
    late: int = 0
    problem: str | None = None

    def counters(self) -> dict[str, int]:
        """For the trace's last line."""
        return {
            "recorded_pictures": self.pictures,
            "recording_dropped": self.dropped,
            "recording_late": self.late,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sound:
    samples: NDArray[np.float32]
    rate: int
    time: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    text: str
    last: bool


_Piece: TypeAlias = "VideoFrame | _Sound | _Line"


class Recording:
    """One recording: a queue, and the thread that writes what is in it.

    Args:
        stem: Path of the files without their endings.
        begin: Session time from which on it records.
        header: The trace's first line.
        settings: Limits.
    """

    def __init__(
        self, stem: Path, *, begin: Seconds, header: Mapping[str, Any], settings: RecordingSettings
    ) -> None:
        self.begin = begin
        self._stem = stem
        self._settings = settings
        self._waiting: deque[_Piece] = deque()
        self._turn = threading.Condition()
        self._counts = {VideoFrame: 0, _Sound: 0, _Line: 0}
        self._bytes = 0
        self._dropped = 0
        self._ended = False
        self._done = False
        self._problem: str | None = None
        self._media = _Media(stem, begin, settings)
        self.put_line({"type": "Header", "format": 1, "version": VERSION, **header})
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def state(self) -> RecordingState:
        """How it stands. From any thread."""
        with self._turn:
            return RecordingState(
                active=not self._done,
                name=self._stem.name,
                files=tuple(self._media.files),
                pictures=self._media.pictures,
                dropped=self._dropped,
                late=self._media.late,
                problem=self._problem,
            )

    def put_picture(self, frame: VideoFrame) -> None:
        """Take a picture if there is room."""
        limits = self._settings
        with self._turn:
            full = (
                self._counts[VideoFrame] >= limits.waiting_pictures
                or self._bytes + frame.image.nbytes > limits.waiting_bytes
            )
            self._put(frame, VideoFrame, full=full)

    def put_sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None:
        """Take sound if there is room."""
        with self._turn:
            piece = _Sound(samples=samples, rate=rate, time=time)
            self._put(piece, _Sound, full=self._counts[_Sound] >= _WAITING_SOUNDS)

    def put_line(self, line: Mapping[str, Any]) -> None:
        """Take a line of the trace if there is room."""
        piece = _Line(text=dump_line(dict(line)), last=line.get("type") == "End")
        with self._turn:
            self._put(piece, _Line, full=self._counts[_Line] >= _WAITING_LINES)

    def finish(self, *, patience: Seconds = _PATIENCE) -> RecordingState:
        """Write what waits, close the files, and say what came of it. Blocks up to ``patience``."""
        with self._turn:
            self._ended = True
            self._turn.notify()
        self._thread.join(patience)
        return self.state()

    def _put(self, piece: _Piece, kind: type, *, full: bool) -> None:
        if self._ended or self._problem is not None:
            return
        if full:
            self._dropped += 1
            return
        self._counts[kind] += 1
        self._bytes += piece.image.nbytes if isinstance(piece, VideoFrame) else 0
        self._waiting.append(piece)
        self._turn.notify()

    def _take(self) -> _Piece | None:
        """The next piece; None at the end."""
        with self._turn:
            self._turn.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                return None
            piece = self._waiting.popleft()
            self._counts[type(piece)] -= 1
            self._bytes -= piece.image.nbytes if isinstance(piece, VideoFrame) else 0
            return piece

    def _run(self) -> None:
        try:
            with open(f"{self._stem}.trace.jsonl", "x", encoding="utf-8", opener=_private) as trace:
                self._write(trace)
        except (OSError, av.FFmpegError, ValueError, MemoryError) as error:
            self._fail(error)
        finally:
            with self._turn:
                self._done = True
                self._waiting.clear()

    def _write(self, trace: TextIO) -> None:
        whole = False
        try:
            while (piece := self._take()) is not None:
                if isinstance(piece, _Line):
                    trace.write(piece.text + "\n")
                    whole = whole or piece.last
                else:
                    self._media.add(piece)
        except (OSError, av.FFmpegError, ValueError, MemoryError) as error:
            self._fail(error)
        try:
            self._media.close()
        except (OSError, av.FFmpegError, ValueError, MemoryError) as error:
            self._fail(error)
        if not whole:
            end = {
                "type": "End",
                "complete": self._problem is None,
                "duration": round(self._media.reached, 6),
                "counters": self.state().counters(),
            }
            trace.write(dump_line(end) + "\n")

    def _fail(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        with self._turn:
            self._problem = self._problem or f"recording ended: {reason}"


class _Media:
    """The files of one recording. For its thread; the counts may be read from any."""

    def __init__(self, stem: Path, begin: Seconds, settings: RecordingSettings) -> None:
        self.files: list[Path] = []
        self.pictures = 0
        self.late = 0
        self.reached: Seconds = begin
        self._stem = stem
        self._settings = settings
        self._base = begin
        self._track = SoundTrack()
        self._held: list[tuple[Seconds, list[AudioBlock]]] = []
        self._file: RecordingFile | None = None
        self._codec: PictureCodec | None = None
        self._first: Seconds | None = None
        self._since_check = 0

    def add(self, piece: VideoFrame | _Sound) -> None:
        self._check_room()
        self.reached = max(self.reached, piece.time)
        if isinstance(piece, VideoFrame):
            self._add_picture(piece)
        else:
            self._add_sound(piece)

    def _check_room(self) -> None:
        self._since_check += 1
        if self._file is not None and self._since_check >= _CHECK_EVERY:
            self._since_check = 0
            limits = self._settings
            check_room(self._file.path, most=limits.most_bytes, spare=limits.spare_bytes)

    def _add_picture(self, frame: VideoFrame) -> None:
        if self._file is None or not self._file.has_video:
            if self._file is not None:
                self._close_file()
            self._open(frame)
        assert self._file is not None
        before, late = self._file.pictures, self._file.late
        self._file.picture(frame)
        self.pictures += self._file.pictures - before
        self.late += self._file.late - late

    def _add_sound(self, sound: _Sound) -> None:
        if sound.time - self._base - self._track.end > _GAP_SECONDS and self._track.heard:
            self._end_track()
            self._base, self._track = sound.time, SoundTrack()
        said = self._track.push(sound.time - self._base, sound.samples, rate=sound.rate)
        self._lay(said)
        if self._first is None:
            self._first = sound.time
        if self._file is None and sound.time - self._first > self._settings.video_within:
            self._open(None)

    def _lay(self, said: list[SoundEvent]) -> None:
        blocks = [event for event in said if isinstance(event, AudioBlock)]
        if not blocks:
            return
        if self._file is None:
            self._held.append((self._base, blocks))
        else:
            self._file.sound(blocks, begin=self._base)

    def _end_track(self) -> None:
        self._lay(self._track.finish())
        self._lay(self._track.close())

    def _open(self, first: VideoFrame | None) -> None:
        if first is not None and self._codec is None:
            limits = self._settings
            self._codec = choose_codec(
                first.image, budget=limits.picture_budget, exact=limits.exact
            )
        part = f"_{len(self.files) + 1}" if self.files else ""
        path = self._stem.with_name(f"{self._stem.name}{part}.mkv")
        self._file = RecordingFile(path, first=first, codec=self._codec or "mjpeg")
        self.files.append(path)
        for begin, blocks in self._held:
            self._file.sound(blocks, begin=begin)
        self._held.clear()

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def close(self) -> None:
        """Finish the file, if one was begun."""
        try:
            self._end_track()
            if self._file is None and self._held:
                self._open(None)
        finally:
            self._close_file()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class RecordingSwitch:
    """An :class:`~server.ingest.Ingest` in front of a session's, that can record what passes.

    Off at first. :meth:`line` is a listener for the session's trace lines. The session's end does
    not end the recording, for lines still follow: whoever runs the session calls :meth:`stop` then.

    Args:
        inner: The session's own.
        folder: Where recordings go; it is made when the first one starts.
        name: Part of the files' names: letters, digits, ``-`` and ``_``.
        settings: Limits.
    """

    def __init__(
        self, inner: Ingest, *, folder: Path, name: str, settings: RecordingSettings | None = None
    ) -> None:
        if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) is None:
            raise ValueError(f"name of a recording is {name!r}")
        self._inner = inner
        self._folder = folder
        self._name = name
        self._settings = settings or RecordingSettings()
        self._recording: Recording | None = None
        self._header: dict[str, Any] = {}
        self._reached: Seconds = 0.0
        self._told = False
        self._turn = threading.Lock()

    def start(self) -> RecordingState:
        """Switch on; nothing changes when it is on.

        Raises:
            OSError: If the folder cannot be made.
        """
        with self._turn:
            if self._recording is None:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                header = {**self._header, "recorded_from": round(self._reached, 6)}
                self._told = False
                self._recording = Recording(
                    self._stem(), begin=self._reached, header=header, settings=self._settings
                )
            return self._recording.state()

    def _stem(self) -> Path:
        time = re.sub(r"[^0-9T]", "", utc_now().split("+")[0])
        stem = self._folder / f"{time}_{self._name}"
        for number in range(2, 100):
            if not stem.with_name(stem.name + ".trace.jsonl").exists():
                break
            stem = self._folder / f"{time}-{number}_{self._name}"
        return stem

    def stop(self) -> RecordingState:
        """Switch off and finish the files. Blocks while they are written out."""
        with self._turn:
            recording, self._recording = self._recording, None
        return RecordingState() if recording is None else recording.finish()

    def state(self) -> RecordingState:
        """How the running recording stands."""
        recording = self._recording
        return RecordingState() if recording is None else recording.state()

    def line(self, line: dict[str, Any]) -> None:
        """Take a line of the session's trace. Never blocks."""
        if line.get("type") == "Header":
            self._header = {key: value for key, value in line.items() if key != "type"}
            return
        recording = self._recording
        if recording is not None:
            recording.put_line(line)

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None:
        recording = self._passing(time + samples.shape[1] / rate)
        if recording is not None and samples.size:
            recording.put_sound(samples, rate=rate, time=time)
        self._inner.sound(samples, rate=rate, time=time)

    def picture(
        self, image: NDArray[np.uint8], *, time: Seconds, pixel_aspect: float = 1.0
    ) -> None:
        recording = self._passing(time)
        if recording is not None and time >= recording.begin:
            recording.put_picture(VideoFrame(time=time, image=image, pixel_aspect=pixel_aspect))
        self._inner.picture(image, time=time, pixel_aspect=pixel_aspect)

    def note(self, kind: str, text: str) -> None:
        self._inner.note(kind, text)

    def close(self, reason: str) -> None:
        self._inner.close(reason)

    def _passing(self, time: Seconds) -> Recording | None:
        """The recording that takes what ends at ``time``."""
        if not 0 <= time <= _LONGEST:
            return None
        self._reached = max(self._reached, time)
        recording = self._recording
        problem = None if recording is None else recording.state().problem
        if problem is not None and not self._told:
            self._told = True
            self._inner.note("recording_failed", problem)
        return recording
