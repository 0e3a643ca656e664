"""Packets of both streams from one pass over the container, with memory bounded.

Packets wait compressed until their own stream is asked for. A file whose streams lie far apart
(all pictures first, or sound that stops halfway) would fill the memory with the packets of the
other stream; when more than :data:`WAITING_BYTES` wait, the starved stream gets a cursor of its
own on the same file, and the first cursor drops that stream's packets from then on.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import av
from av.container import InputContainer
from av.packet import Packet
from av.stream import Stream

from replay.media.epochs import FORWARD_SECONDS, FORWARD_SPLICED_SECONDS, Epochs
from replay.media.opening import MAX_PIXELS, Kind, choose_streams, open_container

WAITING_BYTES = 32 << 20
"""Packets of one stream that may wait for the other, in bytes."""
_PACKET_OVERHEAD = 512
_MAX_FAULTS = 100
"""Failed reads in a row after which the file counts as ended."""
_MAX_PTS_LEAD = 10.0
"""A presentation time further than this from the decoding time is taken for garbage."""
_TS_DISCONT = 0x0200
"""``AVFMT_TS_DISCONT``: the format allows timestamps to jump."""


class PacketReader:
    """The packets of the chosen streams of a file, timestamps made to rise over jumps.

    A packet that begins an epoch carries the :class:`~replay.media.epochs.Jump` as ``opaque``.

    Attributes:
        streams: The chosen streams by kind; their decoders are this reader's own.
        epochs: The jumps seen so far.
        faults: Reads that failed, as FFmpeg's words, oldest first; the caller empties it.

    Args:
        path: A file that :func:`open_container` accepts.
        waiting_bytes: See :data:`WAITING_BYTES`.
    """

    def __init__(self, path: Path, *, waiting_bytes: int = WAITING_BYTES) -> None:
        self._path = path
        self._limit = waiting_bytes
        self._containers = [open_container(path)]
        self.streams: dict[Kind, Stream] = choose_streams(self._containers[0])
        for stream in self.streams.values():
            # One thread: the order of frames and errors is then the same on every machine.
            stream.codec_context.thread_count = 1
            stream.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
        spliced = self._containers[0].format.flags & _TS_DISCONT
        self.epochs = Epochs(forward=FORWARD_SPLICED_SECONDS if spliced else FORWARD_SECONDS)
        self.faults: list[str] = []
        self._waiting: dict[Kind, deque[Packet[Stream]]] = {kind: deque() for kind in self.streams}
        self._bytes: dict[Kind, int] = {kind: 0 for kind in self.streams}
        self._given: dict[Kind, int] = {kind: 0 for kind in self.streams}
        self._own: dict[Kind, Iterator[Packet[Stream]]] = {}
        self._shared = _demux(self._containers[0], list(self.streams.values()), self.faults)

    @property
    def container(self) -> InputContainer:
        return self._containers[0]

    def __enter__(self) -> PacketReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Nothing can be read afterwards."""
        for container in self._containers:
            container.close()

    def next_packet(self, kind: Kind) -> Packet[Stream] | None:
        """The next packet of the stream ``kind``, or None at its end."""
        waiting = self._waiting[kind]
        while not waiting:
            if kind in self._own:
                packet = next(self._own[kind], None)
                if packet is None:
                    return None
                self._given[kind] += 1
                return self._placed(kind, packet)
            if any(waited > self._limit for waited in self._bytes.values()):
                self._branch(kind)
                continue
            packet = next(self._shared, None)
            if packet is None:
                return None
            self._keep(packet)
        packet = waiting.popleft()
        self._bytes[kind] -= packet.size + _PACKET_OVERHEAD
        self._given[kind] += 1
        return packet

    def _keep(self, packet: Packet[Stream]) -> None:
        for kind, stream in self.streams.items():
            if stream.index == packet.stream_index and kind not in self._own:
                self._waiting[kind].append(self._placed(kind, packet))
                self._bytes[kind] += packet.size + _PACKET_OVERHEAD

    def _branch(self, kind: Kind) -> None:
        """Give ``kind`` a cursor of its own, past the packets that it has been given."""
        container = open_container(self._path)
        self._containers.append(container)
        stream = container.streams[self.streams[kind].index]
        packets = _demux(container, [stream], [])
        self._own[kind] = itertools.islice(packets, self._given[kind], None)

    def _placed(self, kind: Kind, packet: Packet[Stream]) -> Packet[Stream]:
        base = packet.time_base
        pts, dts = packet.pts, packet.dts
        if pts is not None and dts is not None and abs((pts - dts) * base) > _MAX_PTS_LEAD:
            packet.pts = pts = dts
        first = dts if dts is not None else pts
        if first is None or packet.is_discard:
            ticks = 0
        else:
            duration = float((packet.duration or 0) * base)
            jumps = len(self.epochs.jumps)
            ticks = round(self.epochs.shift(kind, float(first * base), duration) / base)
            if len(self.epochs.jumps) > jumps:
                packet.opaque = self.epochs.jumps[-1]
        if ticks:
            packet.pts = None if pts is None else pts + ticks
            packet.dts = None if dts is None else dts + ticks
        return packet


def _demux(
    container: InputContainer, streams: list[Stream], faults: list[str]
) -> Iterator[Packet[Stream]]:
    """Non-empty packets of ``streams``; a read that fails is noted and the next one tried."""
    in_a_row = 0
    while in_a_row < _MAX_FAULTS:
        try:
            for packet in container.demux(streams):
                in_a_row = 0
                # An empty packet would tell the decoder that the stream has ended.
                if packet.size:
                    yield packet
            return
        except (av.error.EOFError, IndexError):
            # PyAV looks up, at the end, streams that the file began after it was opened.
            return
        except av.error.ExitError:
            faults.append("a read took too long; the rest is left out")
            return
        except av.FFmpegError as error:
            in_a_row += 1
            faults.append(error.strerror or type(error).__name__)
