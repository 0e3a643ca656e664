"""A few frames out of the middle of a long film, without playing what lies before them.

Times are those of :mod:`replay.source`: presentation times on the one timeline of the whole file,
0 at its start. A film whose timestamps may jump (MPEG-TS and the like) is played from its start, as
only that tells where its later times lie; any other is entered at the key frame before the window.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
from av.container import InputContainer
from av.stream import Stream
from av.video.frame import VideoFrame as DecodedFrame
from av.video.stream import VideoStream

from replay.media.opening import MAX_PIXELS, SourceError, choose_streams, open_container
from replay.media.picture import PictureTrack
from replay.media.survey import survey
from streaming.events import Seconds, VideoFrame

_TS_DISCONT = 0x0200
"""``AVFMT_TS_DISCONT``: the format allows timestamps to jump."""
_MOST_FAULTS = 100
_SAME: Seconds = 1e-4
_BEFORE: Seconds = 1.0
"""A frame that is still shown at a window's begin may have begun so long before it."""


def frame_times(path: Path, begin: Seconds, end: Seconds) -> list[Seconds]:
    """Times of the frames shown within ``[begin, end]``, ascending; nothing is decoded.

    The newest frame before ``begin`` is among them, as it is the one that is shown there.

    Raises:
        SourceError: If the file has no pictures, or cannot be opened.
    """
    with _opened(path, begin - _BEFORE) as (stream, origin):
        times: list[Seconds] = []
        late = 0
        for packet in _packets(stream):
            if packet.pts is None or packet.is_discard:
                continue
            time = float(packet.pts * packet.time_base - origin)
            times.append(time)
            # Packets come in order of decoding: one that is late does not end the window yet.
            late = late + 1 if time > end + _SAME else 0
            if late > _REORDERED:
                break
    shown = sorted(time for time in set(times) if 0 <= time <= end + _SAME)
    before = [time for time in shown if time < begin - _SAME]
    return [*before[-1:], *shown[len(before) :]]


_REORDERED = 32
"""Codecs show a picture at most so many packets after it was decoded."""


def frames_at(
    path: Path, times: Sequence[Seconds], *, max_side: int | None = None
) -> list[VideoFrame]:
    """The newest frame at each of ``times``; one that serves several comes once.

    Decoding ends at the last of them: no later frame is looked at.

    Args:
        path: A film.
        times: Ascending, seconds.
        max_side: Scale pictures down so that no side is longer, in pixels.

    Raises:
        SourceError: If the file has no pictures, or cannot be opened.
        ValueError: If ``times`` are not ascending.
    """
    wanted = list(times)
    if wanted != sorted(wanted):
        raise ValueError("times are not ascending")
    found: list[VideoFrame] = []
    if not wanted:
        return found

    def keep(shown: _Shown, track: PictureTrack) -> None:
        frames = track.push(shown[0], shown[1], 0.0)
        found.extend(frame for frame in frames if isinstance(frame, VideoFrame))

    with _opened(path, wanted[0] - _BEFORE) as (stream, origin):
        track = PictureTrack(ratio=stream.sample_aspect_ratio, max_side=max_side)
        newest: _Shown | None = None
        for shown in _decoded(stream, origin):
            due = False
            while wanted and wanted[0] < shown[0] - _SAME:
                wanted.pop(0)
                due = True
            if due and newest is not None:
                keep(newest, track)
            if not wanted:
                return found
            newest = shown
        if newest is not None:
            keep(newest, track)
    return found


_Shown = tuple[Seconds, DecodedFrame]


@contextlib.contextmanager
def _opened(path: Path, begin: Seconds) -> Iterator[tuple[VideoStream, Fraction]]:
    """The film's pictures from a key frame at or before ``begin``, and its origin."""
    _, origin = survey(path)
    with contextlib.ExitStack() as stack:
        video = _video_of(path, stack)
        # A film that cannot be entered in the middle is read from its start, which is only slower.
        if begin > 0 and not _entered(video, Fraction(begin) + origin):
            video = _video_of(path, stack)
        yield video, origin


def _video_of(path: Path, stack: contextlib.ExitStack) -> VideoStream:
    container = stack.enter_context(contextlib.closing(open_container(path)))
    video = choose_streams(container).get("video")
    if not isinstance(video, VideoStream):
        raise SourceError(f"{path}: has no pictures; give a film")
    video.codec_context.thread_count = 1
    video.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
    return video


def _entered(video: VideoStream, time: Fraction) -> bool:
    """Whether what is read next is from a key frame at or before container time ``time``."""
    container = cast(InputContainer, video.container)
    if container.format.flags & _TS_DISCONT or video.time_base is None:
        return False
    _open_decoder(video)
    try:
        container.seek(int(time / video.time_base), stream=cast(Stream, video), backward=True)
    except av.FFmpegError:
        return False
    return True


def _open_decoder(stream: VideoStream) -> None:
    """Show the decoder the film's first packet: what only that says is true of all of it.

    x264 states its version there, by which FFmpeg undoes the faults of old ones.
    """
    first = next(_packets(stream), None)
    if first is not None:
        with contextlib.suppress(av.FFmpegError, ValueError, MemoryError):
            stream.codec_context.decode(first)
        stream.codec_context.flush_buffers()


def _packets(stream: VideoStream) -> Iterator[av.Packet[VideoStream]]:
    """Its packets to the end of the file; a read that fails is tried again, but not for ever."""
    container = cast(InputContainer, stream.container)
    for _ in range(_MOST_FAULTS):
        try:
            yield from (packet for packet in container.demux(stream) if packet.size)
            return
        except (av.error.EOFError, av.error.ExitError):
            return
        except av.FFmpegError:
            continue


def _decoded(stream: VideoStream, origin: Fraction) -> Iterator[_Shown]:
    base = stream.time_base or Fraction(1)
    last = float("-inf")
    for packet in _then_flush(stream):
        try:
            frames = stream.codec_context.decode(packet)
        except (av.FFmpegError, ValueError, MemoryError):
            continue
        for frame in frames:
            time = None if frame.pts is None else float(frame.pts * base - origin)
            if time is not None and time > last and time >= 0:
                last = time
                yield time, frame


def _then_flush(stream: VideoStream) -> Iterator[av.Packet[VideoStream] | None]:
    yield from _packets(stream)
    yield None
