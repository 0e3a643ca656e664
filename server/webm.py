"""WebM in pieces, as ``MediaRecorder`` makes it, into a session with the container's own times.

The pieces of one recording are one stream, cut anywhere. A thread reads it through FFmpeg from what
looks like a file without a beginning to go back to. Malformed media is noted and left out; what no
decoder can go on with ends the stream, not the session.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.container import InputContainer
from av.stream import Stream
from av.video.frame import VideoFrame as DecodedPicture
from numpy.typing import NDArray

from replay.media.opening import choose_streams
from replay.media.picture import orientation, pixel_aspect, upright
from replay.media.playback import HIGHEST_RATE, LOWEST_RATE, sound_samples
from server.ingest import Ingest
from streaming.events import Seconds

MOST_WAITING = 16 << 20
"""Bytes that may wait to be decoded."""
MOST_PIXELS = 16_000_000
_PATIENCE: Seconds = 5.0
_MOST_FAULTS = 100
_FORMAT = "matroska"
_BEGINNING = b"\x1a\x45\xdf\xa3"
"""An EBML header (RFC 8794, section 11.2.1)."""


class _Pipe:
    """Bytes put in at one end and read at the other; reading waits for them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting = bytearray()
        self._ended = False
        self._turn = threading.Condition()

    def put(self, chunk: bytes, *, within: Seconds) -> bool:
        """Add bytes, waiting for room; False when there is none in time, or nobody reads."""
        with self._turn:
            room = self._turn.wait_for(
                lambda: self._ended or len(self._waiting) + len(chunk) <= self._most, within
            )
            if self._ended or not room:
                return False
            self._waiting += chunk
            self._turn.notify_all()
            return True

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes, at least one; none at the end."""
        with self._turn:
            self._turn.wait_for(lambda: self._waiting or self._ended)
            size = len(self._waiting) if size < 0 else size
            taken = bytes(self._waiting[:size])
            del self._waiting[:size]
            self._turn.notify_all()
            return taken

    def end(self, *, drop: bool = False) -> None:
        """Nothing comes any more; ``drop`` forgets what waits as well."""
        with self._turn:
            self._ended = True
            if drop:
                self._waiting.clear()
            self._turn.notify_all()


class WebmReader:
    """Takes a stream of WebM in pieces; sound and pictures go to ``ingest`` from its thread.

    Times are the container's, and 0 is its beginning: both tracks share it.

    Args:
        ingest: Of the session. It is not closed.
        most_waiting: Bytes that may wait; :meth:`push` waits for room beyond.
        patience: Seconds that it waits, and that :meth:`close` waits for the end.
    """

    def __init__(
        self, ingest: Ingest, *, most_waiting: int = MOST_WAITING, patience: Seconds = _PATIENCE
    ) -> None:
        self._ingest = ingest
        self._patience = patience
        self._most = most_waiting
        self._pipe = _Pipe(most_waiting)
        self._begun = False
        self._dropped = False
        self._broken = False
        self._thread = threading.Thread(target=self._run, name="webm", daemon=True)

    def push(self, chunk: bytes) -> None:
        """Take the next piece. Blocks while more waits than may, for a while at most."""
        if not chunk or self._broken:
            return
        if not self._begun:
            self._begun = True
            if not _BEGINNING.startswith(chunk[: len(_BEGINNING)]):
                self._break("the first piece is no beginning of a WebM stream")
                return
            self._thread.start()
        if not self._pipe.put(chunk, within=self._patience) and not self._dropped:
            self._dropped = True
            self._break("decoding is too slow for this stream, or has ended; it is left out")

    def close(self) -> None:
        """The stream has ended. Blocks until what waits is decoded, or for ``patience``."""
        self._pipe.end()
        if self._thread.is_alive():
            self._thread.join(self._patience)
            if self._thread.is_alive():
                self._pipe.end(drop=True)

    def _break(self, text: str) -> None:
        if not self._broken:
            self._broken = True
            self._ingest.note("broken_stream", text)

    def _run(self) -> None:
        try:
            with av.open(
                self._pipe,
                mode="r",
                format=_FORMAT,
                buffer_size=4096,  # no more is waited for than this
                metadata_errors="replace",
                options={"analyzeduration": "1", "probesize": "4096", "fflags": "nofillin"},
            ) as container:
                streams = [*choose_streams(container).values()]
                if not streams:
                    # Asked for packets of no stream, FFmpeg gives those of all, and to decode one
                    # of a stream without a decoder ends the process.
                    self._break("the stream has neither video nor sound that can be decoded")
                    return
                self._decode(container, streams)
        except (av.FFmpegError, OSError, ValueError, IndexError, MemoryError) as error:
            self._break(f"WebM that cannot be read: {_why(error)}")
        finally:
            self._pipe.end(drop=True)

    def _decode(self, container: InputContainer, streams: list[Stream]) -> None:
        for stream in streams:
            stream.codec_context.thread_count = 1
            stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
        faults = 0
        for packet in container.demux(streams):
            if not packet.size:
                continue
            try:
                frames = packet.decode()
            except av.error.EOFError:
                continue
            except (av.FFmpegError, ValueError, MemoryError) as error:
                faults += 1
                if faults <= _MOST_FAULTS:
                    self._ingest.note("broken_packet", f"WebM: {_why(error)}")
                continue
            for frame in frames:
                self._deliver(frame)

    def _deliver(self, frame: Any) -> None:
        time = frame.time
        if time is None or not math.isfinite(time) or time < 0:
            return
        if isinstance(frame, DecodedPicture):
            image, aspect = _picture(frame)
            self._ingest.picture(image, time=time, pixel_aspect=aspect)
        elif isinstance(frame, AudioFrame) and LOWEST_RATE <= frame.sample_rate <= HIGHEST_RATE:
            samples = sound_samples(frame)
            if samples.size:
                self._ingest.sound(samples, rate=frame.sample_rate, time=time)


def _picture(frame: DecodedPicture) -> tuple[NDArray[np.uint8], float]:
    turns, mirrored = orientation(frame)
    image = np.asarray(frame.reformat(format="rgb24", threads=1).to_ndarray(), dtype=np.uint8)
    return upright(image, turns, mirrored), pixel_aspect(None, turns)


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or type(error).__name__).lower()
