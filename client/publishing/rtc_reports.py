"""Sender reports that say when what is sent was caught (RFC 3550, section 6.4.1).

Those of aiortc say when the last packet was sent, so that whoever aligns the tracks by them gets
pictures late by what it took to encode them, and sound by how long it waited for its packet to be
full. What is told here instead is which count belongs to now, as browsers do.

aiortc offers no place for it; a sender's methods that make packets are shadowed in
:func:`report_catching`, which refuses any aiortc that is built otherwise.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from typing import Any

from aiortc import RTCRtpSender
from aiortc.clock import current_ntp_time
from aiortc.rtcrtpparameters import RTCRtpCodecParameters
from aiortc.rtcrtpsender import RTCEncodedFrame
from aiortc.rtp import AnyRtcpPacket, RtcpSenderInfo, RtcpSrPacket

from streaming.events import Seconds

_COUNT = 1 << 32
_OF = f"_{RTCRtpSender.__name__}__"


class _Counting:
    """How a track's count goes with the time of what it sends."""

    def __init__(self, sender: RTCRtpSender, since: Callable[[], Seconds | None]) -> None:
        self._sender = sender
        self._since = since
        self._encode = sender._next_encoded_frame
        self._send = sender._send_rtcp
        self._rate: int | None = None
        self._last: int | None = None
        self._zero: int | None = None

    async def next_encoded(self, codec: RTCRtpCodecParameters) -> RTCEncodedFrame | None:
        """Encode as before, and note what the count was at the time 0."""
        if self._last is not None and self._zero is None:
            # The first frame has been sent, and the second one is asked for.
            self._zero = (self._of("rtp_timestamp") - self._last) % _COUNT
            await self._report()
        frame = await self._encode(codec)
        if frame is not None and frame.timestamp is not None:
            # Opus counts from its first packet, which begins before the first sample.
            skipped = getattr(self._of("encoder"), "first_packet_pts", None) or 0
            self._rate, self._last = codec.clockRate, frame.timestamp + skipped
        return frame

    async def send(self, packets: list[AnyRtcpPacket]) -> None:
        """Send reports, saying the count of now."""
        for packet in packets:
            if isinstance(packet, RtcpSrPacket):
                self._correct(packet)
        await self._send(packets)

    async def _report(self) -> None:
        """Report at once: aiortc waits for up to one and a half seconds."""
        said = RtcpSenderInfo(
            ntp_timestamp=0,
            rtp_timestamp=0,
            packet_count=self._of("packet_count") & 0xFFFFFFFF,
            octet_count=self._of("octet_count") & 0xFFFFFFFF,
        )
        await self.send([RtcpSrPacket(ssrc=self._sender._ssrc, sender_info=said)])

    def _correct(self, report: RtcpSrPacket) -> None:
        since = self._since()
        if self._zero is None or self._rate is None or since is None:
            return
        now = current_ntp_time()
        count = self._zero + round(since * self._rate)
        report.sender_info.rtp_timestamp = count % _COUNT
        report.sender_info.ntp_timestamp = now
        # What the other side names when it answers, for the time that a packet takes.
        setattr(self._sender, _OF + "lsr", (now >> 16) & 0xFFFFFFFF)
        setattr(self._sender, _OF + "lsr_time", wall.time())

    def _of(self, name: str) -> Any:
        return getattr(self._sender, _OF + name)


def report_catching(sender: RTCRtpSender, since: Callable[[], Seconds | None]) -> None:
    """Have a sender that has not begun report when what it sends was caught.

    Args:
        sender: Of a track whose frames have times.
        since: Seconds passed since the time 0 of these; None while unknown.

    Raises:
        RuntimeError: If this aiortc is built otherwise than 1.16.
    """
    hidden = ("rtp_timestamp", "packet_count", "octet_count", "encoder", "lsr", "lsr_time")
    names = [_OF + name for name in hidden] + ["_next_encoded_frame", "_send_rtcp", "_ssrc"]
    if not all(hasattr(sender, name) for name in names):
        raise RuntimeError("this aiortc is built otherwise than 1.16, which WebRTC needs here")
    counting = _Counting(sender, since)
    for name, shadow in (
        ("_next_encoded_frame", counting.next_encoded),
        ("_send_rtcp", counting.send),
    ):
        setattr(sender, name, shadow)
