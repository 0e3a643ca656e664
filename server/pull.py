"""Streams that the server fetches: RTSP, RTMP, SRT, HTTP, local cameras and files, through FFmpeg.

A :class:`Pull` reads in a thread of its own into an :class:`~server.ingest.Ingest`. Sound and
pictures of one connection keep the distance that the stream gives them. Every connection is an
epoch: after a reconnect media time goes on where the wall clock is, a note says that it does, and
nothing goes back. Opening and every read have time-outs. Addresses hold passwords, so messages name
only the scheme and the host.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time as wall
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.container import InputContainer
from av.stream import Stream
from av.video.frame import VideoFrame as DecodedPicture
from numpy.typing import NDArray

from replay.media.opening import MAX_PIXELS, check_file, choose_streams
from replay.media.picture import orientation, pixel_aspect, upright
from replay.media.playback import HIGHEST_RATE, LOWEST_RATE, sound_samples
from server.ingest import Ingest
from server.pull_program import PROGRAM, ProgramBytes, has_program
from server.pull_settings import PullSettings
from streaming.events import Seconds

_log = logging.getLogger(__name__)

Kind: TypeAlias = Literal["network", "program", "camera", "file"]

_OPTIONS: dict[str, dict[str, str]] = {
    "rtsp": {"rtsp_transport": "tcp"},
    "rtsps": {"rtsp_transport": "tcp"},
    "rtmp": {"rtmp_live": "live"},
    "rtmps": {"rtmp_live": "live"},
    "srt": {},
    "udp": {"overrun_nonfatal": "1"},
    "tcp": {},
    "http": {},
    "https": {},
}
_BY_PROGRAM = frozenset({"srt"})
"""PyAV's wheels have no SRT."""
_LOOK_MICROSECONDS = "1000000"
"""How much of a stream is read to learn what is in it; FFmpeg's five seconds would all be late."""
_PROTOCOLS = "rtsp,rtsps,rtp,rtmp,rtmps,rtmpt,srt,udp,tcp,tls,http,https,httpproxy,crypto"
"""What a stream may lead to: never to a file of this machine."""
_JUMP: Seconds = 5.0
_MOST_FAULTS = 50


class PullError(ValueError):
    """A source that cannot be read. One line, without passwords."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a stream comes from.

    Attributes:
        kind: Whether it has an end, and a pace of its own; a ``program`` fetches what PyAV cannot.
        target: For FFmpeg; may hold a password.
        name: For people; holds none.
        format: FFmpeg's input format, or None to look.
        options: For FFmpeg.
    """

    kind: Kind
    target: str
    name: str
    format: str | None
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"Address({self.name})"


def read_address(source: str) -> Address:
    """What ``source`` names: an address, ``camera`` or ``camera:N``, ``/dev/videoN``, or a file.

    Raises:
        PullError: If it is nothing that can be read.
        SourceError: If it is a file that cannot be.
    """
    if re.match(r"[a-z][a-z0-9+.-]+://", source, re.IGNORECASE):
        return _network(source)
    camera = re.fullmatch(r"camera(?::(\d{1,3}))?|/dev/video(\d{1,3})", source)
    if camera is not None:
        device = f"/dev/video{camera[1] or camera[2] or 0}"
        if not Path(device).exists():
            raise PullError(f"{device}: there is no such camera; run: deixis doctor")
        return Address(kind="camera", target=device, name=device, format="video4linux2", options={})
    path = Path(source)
    check_file(path)
    return Address(
        kind="file",
        target=f"file:{path.absolute()}",
        name=path.name,
        format=None,
        options={"protocol_whitelist": "file"},
    )


def _network(source: str) -> Address:
    try:
        parts = urlsplit(source)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise PullError("that is no address of a stream") from None
    scheme = parts.scheme.lower()
    if scheme not in _OPTIONS:
        raise PullError(f"{scheme}:// is not read; expected one of {', '.join(_OPTIONS)}")
    name = f"{scheme}://{host or ''}" + (f":{port}" if port else "")
    if scheme in _BY_PROGRAM:
        if not has_program():
            raise PullError(f"{name}: needs the program {PROGRAM}; run: apt install {PROGRAM}")
        looks = {"analyzeduration": _LOOK_MICROSECONDS}
        return Address(kind="program", target=source, name=name, format=None, options=looks)
    options = {
        "protocol_whitelist": _PROTOCOLS,
        "analyzeduration": _LOOK_MICROSECONDS,
        **_OPTIONS[scheme],
    }
    return Address(kind="network", target=source, name=name, format=None, options=options)


class Pull:
    """Reads one stream into ``ingest`` until it ends or :meth:`stop` is called.

    Files are read at the pace at which they happened. The ingest is closed at the end.

    Args:
        address: From :func:`read_address`.
        ingest: Where sound and pictures go.
        settings: Time-outs.
    """

    def __init__(
        self, address: Address, ingest: Ingest, settings: PullSettings | None = None
    ) -> None:
        self._address = address
        self._ingest = ingest
        self._settings = settings or PullSettings()
        self._stopped = threading.Event()
        self._began: float | None = None
        self._reached: Seconds = 0.0
        self.connections = 0
        """Made so far."""
        self._thread = threading.Thread(target=self._run, name="pull", daemon=True)

    def start(self) -> None:
        """Begin reading."""
        self._thread.start()

    def stop(self, *, patience: Seconds = 2.0) -> None:
        """End it. A read that is under way ends by its time-out at the latest."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(patience)

    def _run(self) -> None:
        reason = "stopped"
        try:
            reason = self._connect_again()
        finally:
            self._ingest.close(reason)

    def _connect_again(self) -> str:
        failures = 0
        while not self._stopped.is_set():
            begun = wall.monotonic()
            try:
                self._read()
                if self._stopped.is_set():
                    break
                if self._address.kind == "file":
                    return "the file has ended"
                problem = "the stream ended"
            except PullError as error:
                problem = str(error)
                if self._address.kind == "file":
                    self._ingest.note("source_failed", problem)
                    _log.warning("%s: %s", self._address.name, problem)
                    return problem
            if self._stopped.is_set():
                break
            steady = wall.monotonic() - begun > self._settings.steady
            failures = 1 if steady else failures + 1
            self._ingest.note("source_lost", f"{self._address.name}: {problem}; trying again")
            if failures == 1:
                _log.warning("%s: %s; trying again", self._address.name, problem)
            if self._settings.attempts and failures >= self._settings.attempts:
                return f"{self._address.name}: {problem}, after {failures} attempts"
            wait = self._settings.first_wait * 2 ** min(failures - 1, 20)
            self._stopped.wait(min(self._settings.longest_wait, wait))
        return "stopped"

    def _read(self) -> None:
        try:
            with self._open() as container:
                streams = choose_streams(container)
                if not streams:
                    raise PullError("has neither video nor sound that can be decoded")
                self.connections += 1
                if self.connections > 1:
                    self._ingest.note(
                        "new_epoch", f"{self._address.name}: connected again; times begin anew"
                    )
                self._decode(container, list(streams.values()))
        except (av.FFmpegError, OSError, ValueError, MemoryError) as error:
            raise error if isinstance(error, PullError) else PullError(_why(error)) from None

    @contextlib.contextmanager
    def _open(self) -> Iterator[InputContainer]:
        limits, address = self._settings, self._address
        with contextlib.ExitStack() as stack:
            source: str | ProgramBytes = address.target
            if address.kind == "program":
                source = stack.enter_context(
                    ProgramBytes(
                        address.target,
                        open_within=limits.open_within,
                        read_within=limits.read_within,
                        stopped=self._stopped.is_set,
                    )
                )
            yield stack.enter_context(
                av.open(
                    source,
                    mode="r",
                    format=address.format,
                    options=dict(address.options),
                    metadata_errors="replace",
                    timeout=(limits.open_within, limits.read_within),
                )
            )

    def _decode(self, container: InputContainer, streams: list[Stream]) -> None:
        for stream in streams:
            stream.codec_context.thread_count = 1
            stream.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
        epoch = _Epoch(self._now())
        if self._address.kind == "file":
            epoch.begin((container.start_time or 0) / av.time_base)
        for packet in self._packets(container, streams):
            try:
                frames = packet.decode()
            except av.error.EOFError:
                continue
            except (av.FFmpegError, ValueError) as error:
                self._ingest.note("broken_packet", _why(error))
                continue
            for frame in frames:
                if isinstance(frame, AudioFrame | DecodedPicture):
                    self._deliver(frame, epoch)

    def _packets(self, container: InputContainer, streams: list[Stream]) -> Iterator[Any]:
        """Packets until the end; a read that fails is noted, unless too many do."""
        faults = 0
        while not self._stopped.is_set():
            try:
                for packet in container.demux(streams):
                    faults = 0
                    if self._stopped.is_set():
                        return
                    if packet.size:
                        yield packet
                return
            except av.error.InvalidDataError as error:
                faults += 1
                if faults >= _MOST_FAULTS:
                    raise
                self._ingest.note("broken_packet", _why(error))
            except (av.error.EOFError, IndexError):
                return

    def _now(self) -> Seconds:
        """Where the session's clock is; 0 at the first connection."""
        now = wall.monotonic()
        if self._began is None:
            self._began = now
        return max(now - self._began, self._reached)

    def _deliver(self, frame: AudioFrame | DecodedPicture, epoch: _Epoch) -> None:
        told = frame.time
        if told is None:
            return
        time, jump = epoch.place(told, now=self._now())
        if jump:
            self._ingest.note("time_jump", f"timestamps jump by {jump:+.1f} s; time goes on")
        if time < 0:
            return
        if self._address.kind == "file":
            assert self._began is not None
            self._stopped.wait(max(0.0, time - (wall.monotonic() - self._began)))
        self._reached = max(self._reached, time)
        if isinstance(frame, DecodedPicture):
            image, aspect = _picture(frame)
            self._ingest.picture(image, time=time, pixel_aspect=aspect)
        elif LOWEST_RATE <= frame.sample_rate <= HIGHEST_RATE:
            samples = sound_samples(frame)
            if samples.size:
                self._ingest.sound(samples, rate=frame.sample_rate, time=time)


class _Epoch:
    """Places the times of one connection on the session's timeline.

    The first frame is where the clock is; all others keep their distance to it, also those that lie
    a little before. When times jump by more than :data:`_JUMP`, they are placed anew.
    """

    def __init__(self, start: Seconds) -> None:
        self._start = start
        self._offset: Seconds | None = None
        self._last: Seconds = 0.0

    def begin(self, told: Seconds) -> None:
        """Place ``told`` at the start, whatever comes first."""
        self._offset, self._last = self._start - told, told

    def place(self, told: Seconds, *, now: Seconds) -> tuple[Seconds, Seconds]:
        """Media time of ``told``, and by how much it jumped (0 mostly)."""
        jump = 0.0
        if self._offset is None:
            self._offset = self._start - told
        elif abs(told - self._last) > _JUMP:
            jump = told - self._last
            self._offset = now - told
        self._last = told
        return told + self._offset, jump


def _picture(frame: DecodedPicture) -> tuple[NDArray[np.uint8], float]:
    turns, mirrored = orientation(frame)
    image = np.asarray(frame.reformat(format="rgb24", threads=1).to_ndarray(), dtype=np.uint8)
    ratio = getattr(frame, "sample_aspect_ratio", None)
    return upright(image, turns, mirrored), pixel_aspect(ratio, turns)


def _why(error: Exception) -> str:
    """The reason in FFmpeg's words, without the address that may stand behind it."""
    if isinstance(error, av.error.ExitError | TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionError) and error.strerror is None:
        return str(error)  # ours
    reason = getattr(error, "strerror", None) or type(error).__name__
    return str(reason).split("'")[0].rstrip(": ").lower() or "cannot be read"
