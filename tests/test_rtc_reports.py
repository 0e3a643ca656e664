"""Sender reports that say when what is sent was caught."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from aiortc import MediaStreamTrack, RTCPeerConnection, RTCRtpSender
from aiortc.clock import current_ntp_time
from aiortc.rtcrtpparameters import RTCRtpCodecParameters
from aiortc.rtcrtpsender import RTCEncodedFrame
from aiortc.rtp import AnyRtcpPacket, RtcpSenderInfo, RtcpSrPacket
from av import AudioFrame

from client.publishing.rtc_reports import report_catching

COUNT = 1 << 32
OPUS = RTCRtpCodecParameters(mimeType="audio/opus", clockRate=48_000, channels=2, payloadType=96)


class Tone(MediaStreamTrack):
    """Sound whose first sample lies at ``first`` of a second."""

    kind = "audio"

    def __init__(self, first: float) -> None:
        super().__init__()
        self._pts = round(first * 16_000)

    async def recv(self) -> AudioFrame:
        tone = np.sin(np.arange(320) * 0.4) * 9000
        frame = AudioFrame.from_ndarray(
            tone.astype(np.int16)[np.newaxis], format="s16", layout="mono"
        )
        frame.sample_rate, frame.time_base = 16_000, Fraction(1, 16_000)
        frame.pts, self._pts = self._pts, self._pts + 320
        return frame


class Sending:
    """A sender whose packets go nowhere, but for its reports."""

    def __init__(self, track: MediaStreamTrack, since: float | None) -> None:
        self.since = since
        self.sent: list[RtcpSrPacket] = []
        self.connection = RTCPeerConnection()
        self.sender = self.connection.addTrack(track)
        setattr(self.sender, "_send_rtcp", self._take)  # noqa: B010 - a method of it
        report_catching(self.sender, lambda: self.since)

    async def _take(self, packets: list[AnyRtcpPacket]) -> None:
        self.sent += [one for one in packets if isinstance(one, RtcpSrPacket)]

    async def encode(self, origin: int) -> int:
        """Encode a frame, and send it counted from ``origin``, as aiortc does; its count."""
        frame: RTCEncodedFrame | None = None
        while frame is None:
            frame = await self.sender._next_encoded_frame(OPUS)
        assert frame.timestamp is not None
        count = (origin + frame.timestamp) % COUNT
        setattr(self.sender, f"_{RTCRtpSender.__name__}__rtp_timestamp", count)
        return count

    async def report(self) -> RtcpSenderInfo:
        info = RtcpSenderInfo(ntp_timestamp=5, rtp_timestamp=9, packet_count=0, octet_count=0)
        await self.sender._send_rtcp([RtcpSrPacket(ssrc=self.sender._ssrc, sender_info=info)])
        return self.sent[-1].sender_info


@pytest.mark.threads
@pytest.mark.parametrize("first", [0.0, 2.5])
@pytest.mark.parametrize("origin", [1000, COUNT - 100])
async def test_a_report_says_the_count_of_now(first: float, origin: int) -> None:
    sending = Sending(Tone(first), since=first + 0.5)
    # Opus begins 6.5 ms before the first sample, and the first packet is told to be at zero.
    begins = await sending.encode(origin)
    await sending.encode(origin)
    assert len(sending.sent) == 1, "it reports at once"
    said = await sending.report()
    assert (said.rtp_timestamp - begins) % COUNT == pytest.approx(0.5 * 48_000 + 312, abs=2)
    assert abs(said.ntp_timestamp - current_ntp_time()) / COUNT < 10.0
    await sending.connection.close()


@pytest.mark.threads
async def test_a_report_is_left_as_it_is_while_nothing_is_known() -> None:
    sending = Sending(Tone(0.0), since=None)
    assert (await sending.report()).rtp_timestamp == 9
    await sending.encode(0)
    await sending.encode(0)
    assert (await sending.report()).rtp_timestamp == 9
    await sending.connection.close()


async def test_an_aiortc_that_is_built_otherwise_is_refused() -> None:
    with pytest.raises(RuntimeError, match="built otherwise"):
        report_catching(object(), lambda: None)  # type: ignore[arg-type]
