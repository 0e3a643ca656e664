"""The tracks of one WebRTC peer, read into an :class:`~server.ingest.Ingest` on one timeline.

aiortc counts the frames of each track from a zero of its own and keeps what the sender's reports
say for its statistics, so both are taken where packets pass: see :mod:`server.rtc_receiver`. While
a decoder has too much to do, packets are discarded before it; aiortc then asks for a key frame by
itself.

aiortc does not take the header extension for a camera's rotation (3GPP TS 26.114, CVO), which is
sent only to who does (RFC 7742, section 4), so a sender has to turn its pictures itself before it
encodes them; their size changes then.
"""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from aiortc import MediaStreamTrack, RTCPeerConnection, RTCRtpReceiver
from aiortc.mediastreams import MediaStreamError
from aiortc.rtcdtlstransport import RtpReceiver
from aiortc.rtcrtpparameters import RTCRtpCodecParameters
from aiortc.rtp import RtcpSrPacket, RtpPacket
from aiortc.sdp import SessionDescription
from av import AudioFrame, FFmpegError, VideoFrame
from numpy.typing import NDArray

from server.alignment import Alignment, Kind
from server.ingest import Ingest, Thinning
from server.journey import Journey
from server.rtc_journey import PeerJourney
from server.rtc_receiver import ShowingRouter, open_receiver
from server.whip_settings import MediaLimits
from streaming.events import Counters, Seconds

_KINDS: dict[str, Kind] = {"audio": "sound", "video": "pictures"}
_LACKING: dict[Kind, str] = {
    "sound": "there is no microphone: nothing is heard",
    "pictures": "there is no camera: nothing is seen",
}
_WHOLE = 1 << 32
_SILENT = 2.0 / 32_768


class Receiving(Protocol):
    """Whatever has an ingest."""

    @property
    def ingest(self) -> Ingest: ...


class PeerMedia:
    """Reads what a peer sends.

    Pictures are converted in a thread; of those that wait for it only the newest ones are kept, as
    after a lost packet several come at once, and others are counted and lost.

    Args:
        session: Its ingest gets sound and pictures, and notes of tracks that stop, fall silent
            or are not there. Asked for each time, as it may be exchanged.
        now: Seconds of any clock that only rises.
        limits: See there.
        journey: Told how long frames are on their way.

    Attributes:
        counters: The alignment's, and ``rtc_pictures_dropped``, ``rtc_pictures_too_large``,
            ``rtc_pictures_broken`` and ``rtc_packets_discarded``, and those of
            :mod:`server.rtc_receiver`.
    """

    def __init__(
        self,
        session: Receiving,
        *,
        now: Callable[[], Seconds],
        limits: MediaLimits | None = None,
        journey: Journey | None = None,
    ) -> None:
        self.alignment = Alignment()
        self._session = session
        self._now = now
        self._journey = None if journey is None else PeerJourney(journey, now=now)
        self._limits = MediaLimits() if limits is None else limits
        self._tracks: list[_Track] = []
        self._zero: Seconds | None = None
        self._seen: deque[tuple[VideoFrame, Seconds]] = deque(maxlen=self._limits.unconverted)
        self._shown = asyncio.Event()

    @property
    def counters(self) -> Counters:
        return self.alignment.counters

    @property
    def _ingest(self) -> Ingest:
        return self._session.ingest

    def attach(self, connection: RTCPeerConnection) -> None:
        """Look into a connection that has just been given both its descriptions.

        Raises:
            RuntimeError: If this aiortc is built otherwise.
        """
        described = SessionDescription.parse(connection.localDescription.sdp)
        rates = {media.rtp.muxId: _rates(media.rtp.codecs) for media in described.media}
        routers: dict[int, ShowingRouter] = {}
        for transceiver in connection.getTransceivers():
            receiver = transceiver.receiver
            if transceiver.currentDirection != "recvonly":
                continue
            track = _Track(receiver, rates.get(transceiver.mid or "", {}))
            self._tracks.append(track)
            transport = receiver.transport
            router = routers.setdefault(id(transport), ShowingRouter(self._packet, self._report))
            track.undecoded = open_receiver(receiver, router, counters=self.counters, now=self._now)

    async def run(self) -> None:
        """Read until every track has ended."""
        for kind, text in _LACKING.items():
            if all(track.kind != kind for track in self._tracks):
                self._ingest.note("track_missing", text)
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(self._convert()), group.create_task(self._watch())]
            readers = [group.create_task(self._read(track)) for track in self._tracks]
            if readers:
                await asyncio.wait(readers)
            for other in others:
                other.cancel()

    # --- packets, before they are decoded ----------------------------------------------------

    def _packet(self, receiver: RtpReceiver, packet: RtpPacket) -> bool:
        """Take a packet's time; False to discard the packet."""
        track = next((one for one in self._tracks if one.receiver is receiver), None)
        if track is None:
            return True
        rate = track.rates.get(packet.payload_type)
        if rate is not None:  # else a retransmission, which has a source of its own
            track.rate = rate
            self.alignment.packet(
                track.kind,
                ssrc=packet.ssrc,
                rtp=packet.timestamp,
                rate=rate,
                arrival=self._now(),
            )
            if self._journey is not None:
                self._journey.packet(track.kind, ssrc=packet.ssrc, rtp=packet.timestamp, rate=rate)
        if track.undecoded.qsize() < self._limits.undecoded:
            return True
        self.counters.add("rtc_packets_discarded")
        return False

    def _report(self, packet: RtcpSrPacket) -> None:
        said = packet.sender_info
        rtp, wall = said.rtp_timestamp, said.ntp_timestamp / _WHOLE
        self.alignment.report(ssrc=packet.ssrc, rtp=rtp, wall=wall, arrival=self._now())
        if self._journey is not None:
            self._journey.report(ssrc=packet.ssrc, rtp=rtp, wall=wall)

    # --- frames ------------------------------------------------------------------------------

    async def _read(self, track: _Track) -> None:
        try:
            while True:
                frame = await track.media.recv()
                track.came(self._now(), self._ingest)
                if frame.pts is None or frame.time_base is None:
                    continue
                # A frame counts in its samples, which for G.722 are two to a count of RTP.
                rtp = int(frame.pts * frame.time_base * track.rate)
                time = self.alignment.time(track.kind, rtp % _WHOLE)
                if time is None:
                    continue
                if self._zero is None:
                    self._zero = time
                time -= self._zero
                if isinstance(frame, AudioFrame):
                    self._hear(track, frame, time)
                    self._handed("sound", rtp % _WHOLE, time, frame.samples / frame.sample_rate)
                elif isinstance(frame, VideoFrame):
                    self._see(frame, time)
        except MediaStreamError:
            self._ingest.note("track_ended", f"the {track.kind} ended")

    def _hear(self, track: _Track, frame: AudioFrame, time: Seconds) -> None:
        samples = sound_of(frame)
        loud = bool(samples.size) and float(np.abs(samples).max()) > _SILENT
        if loud:
            if track.silent_said:
                self._ingest.note("unmuted", "the microphone is heard again")
            track.silent, track.silent_said = 0.0, False
        else:
            track.silent += samples.shape[1] / frame.sample_rate
            if track.silent >= self._limits.silent_after and not track.silent_said:
                track.silent_said = True
                self._ingest.note("muted", f"the microphone is silent for {track.silent:.0f} s")
        self._ingest.sound(samples, rate=frame.sample_rate, time=time)

    def _see(self, frame: VideoFrame, time: Seconds) -> None:
        if frame.width * frame.height > self._limits.pixels:
            self.counters.add("rtc_pictures_too_large")
            return
        if len(self._seen) == self._seen.maxlen:
            self.counters.add("rtc_pictures_dropped")
        self._seen.append((frame, time))
        self._shown.set()

    async def _convert(self) -> None:
        while True:
            if not self._seen:
                self._shown.clear()
                await self._shown.wait()
            frame, time = self._seen.popleft()
            ingest = self._ingest
            if isinstance(ingest, Thinning) and ingest.spares(time):
                continue
            try:
                image = await asyncio.to_thread(picture_of, frame)
            except (FFmpegError, ValueError):
                self.counters.add("rtc_pictures_broken")
            else:
                ingest.picture(image, time=time)
                # Every video codec counts in the clock of RTP.
                self._handed("pictures", (frame.pts or 0) % _WHOLE, time, 0.0)

    def _handed(self, kind: Kind, rtp: int, time: Seconds, length: Seconds) -> None:
        if self._journey is not None:
            self._journey.came(kind, rtp=rtp, time=time, length=length)

    async def _watch(self) -> None:
        """Say when a track stops; :meth:`_Track.came` says when it goes on."""
        while True:
            await asyncio.sleep(self._limits.stopped_after / 4)
            for track in self._tracks:
                away = self._now() - track.last if track.last is not None else 0.0
                if away >= self._limits.stopped_after and not track.stopped_said:
                    track.stopped_said = True
                    self._ingest.note("track_stopped", f"the {track.kind} stopped")


class _Track:
    """What is known of one track."""

    def __init__(self, receiver: RTCRtpReceiver, rates: dict[int, int]) -> None:
        self.receiver = receiver
        self.media: MediaStreamTrack = receiver.track
        self.kind = _KINDS[self.media.kind]
        self.rates = rates
        self.rate = next(iter(rates.values()), 1)
        self.undecoded: queue.Queue[object] = queue.Queue()
        self.last: Seconds | None = None
        self.stopped_said = False
        self.silent: Seconds = 0.0
        self.silent_said = False

    def came(self, now: Seconds, ingest: Ingest) -> None:
        """A frame came."""
        self.last = now
        if self.stopped_said:
            self.stopped_said = False
            ingest.note("track_back", f"the {self.kind} came back")


def _rates(codecs: Iterable[RTCRtpCodecParameters]) -> dict[int, int]:
    """Counts a second of each payload type, without those of retransmissions."""
    return {
        codec.payloadType: codec.clockRate
        for codec in codecs
        if codec.payloadType is not None and codec.name.lower() != "rtx"
    }


def sound_of(frame: AudioFrame) -> NDArray[np.float32]:
    """Samples of a frame, shape ``(channels, n)``, in -1...1."""
    samples = frame.to_ndarray()
    if not frame.format.is_planar:
        samples = samples.reshape(-1, frame.layout.nb_channels).T
    whole = {"int16": 2**15, "int32": 2**31}.get(samples.dtype.name, 1)
    return np.asarray(samples / whole, dtype=np.float32)


def picture_of(frame: VideoFrame) -> NDArray[np.uint8]:
    """A frame as RGB, shape ``(height, width, 3)``."""
    return np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)
