"""Buffers before a decoder: pictures whose packets are lost, found again, or never come."""

from __future__ import annotations

from aiortc.jitterbuffer import JitterFrame
from aiortc.rtcrtpreceiver import NackGenerator
from aiortc.rtp import RtpPacket

from server.packet_order import PacketOrder
from server.rtc_receiver import AskingAgain, PictureBuffer, SoundBuffer
from streaming.events import Counters


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def packet(sequence: int, frame: int) -> RtpPacket:
    made = RtpPacket(payload_type=96, sequence_number=sequence, timestamp=3000 * frame)
    made.ssrc, made.marker = 7, sequence % 2
    made._data = bytes([sequence % 256])  # type: ignore[attr-defined]  # as the receiver does
    return made


class Pictures:
    """A buffer of pictures of two packets each, which come 30 times a second."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.counters = Counters()
        self.missing = NackGenerator()
        self.decoded: list[int] = []
        self.asked = 0
        self._buffer = PictureBuffer(self._decode, self.missing, self.counters, self.clock)

    def _decode(self, kind: int, frame: JitterFrame) -> None:
        assert kind == 96
        assert len(frame.data) == 2
        self.decoded.append(frame.timestamp // 3000)

    def come(self, *sequences: int) -> None:
        for sequence in sequences:
            self.clock.now = max(self.clock.now, sequence / 60)
            lost, frame = self._buffer.add(packet(sequence, sequence // 2))
            assert frame is None
            self.asked += lost


def test_pictures_that_waited_for_a_packet_all_go_on_when_it_comes() -> None:
    pictures = Pictures()
    pictures.come(0, 1)
    assert pictures.decoded == [0], "at once, not with the next one"
    pictures.come(3, 4, 5, 6, 7, 8)
    assert pictures.decoded == [0]
    pictures.come(2)
    assert pictures.decoded == [0, 1, 2, 3]
    assert pictures.asked == 0


def test_pictures_go_on_without_a_packet_that_does_not_come() -> None:
    pictures = Pictures()
    pictures.come(0, 1, *range(3, 120))
    assert pictures.decoded[0] == 0
    assert pictures.decoded[1:] == list(range(2, 60))
    assert pictures.asked == 1, "a key frame is needed"
    assert pictures.counters.counts == {"rtc_pictures_gaps": 1}


def test_what_was_lost_long_ago_is_waited_for_once() -> None:
    pictures = Pictures()
    pictures.come(0, 1, *(one for one in range(3, 30) if one not in (10, 16)), 60)
    assert pictures.decoded == [0, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13, 14]
    assert pictures.counters.counts == {"rtc_pictures_gaps": 3}


def test_a_packet_that_comes_twice_changes_nothing() -> None:
    pictures = Pictures()
    pictures.come(*range(300))
    pictures.come(100)
    pictures.come(*range(300, 320))
    assert pictures.decoded == list(range(160))
    assert pictures.asked == 0


def test_a_sender_that_counts_anew_is_followed() -> None:
    pictures = Pictures()
    pictures.come(*range(2000, 2020))
    pictures.come(*range(20))
    assert pictures.decoded == [*range(1000, 1010), *range(10)]


def test_a_pause_is_no_gap() -> None:
    pictures = Pictures()
    pictures.come(0, 1, 2, 3)
    pictures.clock.now = 60.0
    pictures.come(4, 5, 6)
    assert pictures.decoded == [0, 1, 2]
    assert pictures.counters.counts == {}


def test_lost_packets_are_asked_for_until_they_come() -> None:
    clock, counters = Clock(), Counters()
    asking = AskingAgain(counters, clock)
    asked = []
    for sequence in (0, 2, 3, 4, 1, 5, 6, 7, 8):
        if asking.add(packet(sequence, 0)):
            asked.append((sequence, sorted(asking.missing)))
        clock.now += 0.06
    assert asked == [(2, [1]), (4, [1])]
    assert counters.counts == {"rtc_packets_asked_again": 1}


def test_sound_goes_on_at_once_and_in_order() -> None:
    clock, decoded = Clock(), []
    buffer = SoundBuffer(
        lambda kind, frame: decoded.append(frame.timestamp // 3000), PacketOrder(), clock
    )
    for sequence in (0, 1, 3, 2, 4):
        assert buffer.add(packet(sequence, sequence)) == (False, None)
    assert decoded == [0, 1, 2, 3, 4]
