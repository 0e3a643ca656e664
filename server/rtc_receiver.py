"""The insides of aiortc's receivers, which cannot be replaced from outside.

All that is touched is touched in :func:`open_receiver`, which refuses any aiortc that is built
otherwise:

* the router of a transport is replaced by one that shows each packet first;
* the mapper of a receiver's times is replaced by one that leaves the RTP time in ``frame.pts``;
* the jitter buffer of sound is replaced by :class:`~server.packet_order.PacketOrder`;
* that of pictures is made to give out all that is ready and not one for each packet, and to go on
  without what does not come;
* lost packets of pictures are asked for again: a request may be lost as well as its answer.

Counters: those of :class:`~server.packet_order.PacketOrder`, ``rtc_pictures_gaps`` that were not
filled, and ``rtc_packets_asked_again``.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any, TypeAlias

from aiortc import RTCRtpReceiver
from aiortc.jitterbuffer import JitterBuffer, JitterFrame
from aiortc.rtcdtlstransport import RtpReceiver, RtpRouter, RtpSender
from aiortc.rtcrtpreceiver import NackGenerator, TimestampMapper
from aiortc.rtp import AnyRtcpPacket, RtcpSrPacket, RtpPacket
from aiortc.utils import uint16_add, uint16_gt

from server.packet_order import PacketOrder
from streaming.events import Counters, Seconds

_PICTURE_PACKETS = 512
_ASK_AGAIN_AFTER: Seconds = 0.1
_GO_ON_AFTER: Seconds = 0.5
"""Seconds that a packet of pictures waits for a lost one before it."""

Decode: TypeAlias = Callable[[int, JitterFrame], None]
"""Puts a frame before the decoder; the number is its payload type."""

_Recipients: TypeAlias = set[RtpReceiver | RtpSender]


class ShowingRouter(RtpRouter):
    """Shows packets to whoever measures them, and then goes on as aiortc does."""

    def __init__(
        self,
        packet: Callable[[RtpReceiver, RtpPacket], bool],
        report: Callable[[RtcpSrPacket], None],
    ) -> None:
        super().__init__()
        self._packet = packet
        self._report = report

    def route_rtp(self, packet: RtpPacket) -> RtpReceiver | None:
        receiver = super().route_rtp(packet)
        if receiver is None or not self._packet(receiver, packet):
            return None
        return receiver

    def route_rtcp(self, packet: AnyRtcpPacket) -> _Recipients:
        if isinstance(packet, RtcpSrPacket):
            self._report(packet)
        return super().route_rtcp(packet)


class _RtpTimes(TimestampMapper):
    """Leaves RTP times as they are: where they wrap or jump is :class:`Alignment`'s business."""

    def map(self, timestamp: int) -> int:
        return timestamp


class SoundBuffer(JitterBuffer):
    """Gives out as many packets at a time as may go on."""

    def __init__(
        self, decode: Decode, order: PacketOrder[RtpPacket], now: Callable[[], Seconds]
    ) -> None:
        super().__init__(capacity=1)
        self._decode = decode
        self._order = order
        self._now = now

    def add(self, packet: RtpPacket) -> tuple[bool, JitterFrame | None]:
        going = self._order.push(
            packet, source=packet.ssrc, sequence=packet.sequence_number, arrival=self._now()
        )
        for one in going:
            said = one._data  # type: ignore[attr-defined]  # the receiver puts it there
            self._decode(one.payload_type, JitterFrame(data=said, timestamp=one.timestamp))
        return False, None


class PictureBuffer(JitterBuffer):
    """Gives out all frames that are whole, and after a while goes on behind one that is not.

    A frame is whole with the packet that says so (RFC 3551, section 4.1), not with the next frame.
    """

    def __init__(
        self,
        decode: Decode,
        missing: NackGenerator,
        counters: Counters,
        now: Callable[[], Seconds],
    ) -> None:
        super().__init__(capacity=_PICTURE_PACKETS, is_video=True)
        self._decode = decode
        self._missing = missing
        self._counters = counters
        self._now = now
        self._came: list[Seconds] = [0.0] * _PICTURE_PACKETS
        self._newest = 0

    def add(self, packet: RtpPacket) -> tuple[bool, JitterFrame | None]:
        if self._origin is not None:
            ago = uint16_add(self._origin, -packet.sequence_number)
            if 0 < ago <= 2 * self.capacity:
                return False, None  # asked for twice; aiortc would start anew from it
        lost, frame = super().add(packet)
        self._came[packet.sequence_number % self.capacity] = self._now()
        if self._origin == packet.sequence_number or uint16_gt(
            packet.sequence_number, self._newest
        ):
            self._newest = packet.sequence_number
        self._give(frame, packet)
        while (behind := self._waiting()) is not None:
            self._skip(behind)
            self._give(self._remove_frame(), packet)
            lost = True
        return lost, None

    def _give(self, frame: JitterFrame | None, packet: RtpPacket) -> None:
        while frame is not None:
            self._decode(packet.payload_type, frame)
            frame = self._remove_frame()

    def _remove_frame(self, sequence_number: int = 0) -> JitterFrame | None:
        packets: list[RtpPacket] = []
        while (packet := self._at(len(packets))) is not None and len(packets) < self.capacity:
            if packets and packet.timestamp != packets[0].timestamp:
                break
            packets.append(packet)
            if packet.marker:
                break
        else:
            return None
        self.remove(len(packets))
        said = b"".join(one._data for one in packets)  # type: ignore[attr-defined]
        # Packets that only fill the line belong to no frame.
        return JitterFrame(said, packets[0].timestamp) if said else self._remove_frame()

    def _at(self, count: int) -> RtpPacket | None:
        return self._packets[((self._origin or 0) + count) % self.capacity]

    @property
    def _depth(self) -> int:
        """Packets from the first that has not gone on to the newest."""
        return min(self.capacity, uint16_add(self._newest, 1 - (self._origin or 0)))

    def _waiting(self) -> int | None:
        """Where the first packet behind a missing one is, if it has waited for long enough."""
        depth = self._depth
        gap = next((at for at in range(depth) if self._at(at) is None), depth)
        behind = next((at for at in range(gap, depth) if self._at(at) is not None), None)
        if behind is None:
            return None
        came = self._came[((self._origin or 0) + behind) % self.capacity]
        return behind if self._now() - came > _GO_ON_AFTER else None

    def _skip(self, behind: int) -> None:
        """Remove what is missing before a packet, and the frames that it is of."""
        first = self._at(behind)
        of_frame = [
            at
            for at in range(behind, self._depth)
            if (one := self._at(at)) is not None
            and first is not None
            and one.timestamp == first.timestamp
        ]
        self.remove(of_frame[-1] + 1)
        missing = self._missing.missing
        missing -= {one for one in missing if uint16_gt(self._origin or 0, one)}
        self._counters.add("rtc_pictures_gaps")


class AskingAgain(NackGenerator):
    """Asks for what is missing again and again."""

    def __init__(self, counters: Counters, now: Callable[[], Seconds]) -> None:
        super().__init__()
        self._counters = counters
        self._now = now
        self._asked = now()

    def add(self, packet: RtpPacket) -> bool:
        missed = super().add(packet)
        if not missed and self.missing and self._now() - self._asked >= _ASK_AGAIN_AFTER:
            self._counters.add("rtc_packets_asked_again", len(self.missing))
            missed = True
        if missed:
            self._asked = self._now()
        return missed


def open_receiver(
    receiver: RTCRtpReceiver,
    router: RtpRouter,
    *,
    counters: Counters,
    now: Callable[[], Seconds],
) -> queue.Queue[object]:
    """Put our parts into a receiver that has not begun, and return the queue before its decoder.

    Raises:
        RuntimeError: If this aiortc is built otherwise than 1.16.
    """
    inside = _Inside(receiver)
    transport, undecoded, codecs = receiver.transport, inside.decoder_queue, inside.codecs
    if (
        not isinstance(inside.timestamp_mapper, TimestampMapper)
        or not isinstance(undecoded, queue.Queue)
        or not isinstance(inside.jitter_buffer, JitterBuffer)
        or not isinstance(inside.nack_generator, NackGenerator | None)
        or not isinstance(codecs, dict)
        or not isinstance(getattr(transport, "_rtp_router", None), RtpRouter)
    ):
        raise RuntimeError("this aiortc is built otherwise than 1.16, which WebRTC needs here")

    def decode(payload_type: int, frame: JitterFrame) -> None:
        undecoded.put((codecs[payload_type], frame))

    inside.timestamp_mapper = _RtpTimes()
    if inside.nack_generator is None:
        inside.jitter_buffer = SoundBuffer(decode, PacketOrder(counters=counters), now)
    else:
        asking = AskingAgain(counters, now)
        inside.nack_generator = asking
        inside.jitter_buffer = PictureBuffer(decode, asking, counters, now)
    transport._rtp_router = router
    return undecoded


class _Inside:
    """What a receiver hides; None where there is no such thing."""

    def __init__(self, receiver: RTCRtpReceiver) -> None:
        object.__setattr__(self, "_receiver", receiver)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._receiver, f"_{RTCRtpReceiver.__name__}__{name}", None)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._receiver, f"_{RTCRtpReceiver.__name__}__{name}", value)
