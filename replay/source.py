"""Files as streams: sound and pictures of a clip on one timeline, in order of availability.

Conventions:

* **Origin.** Media time 0 is the earlier of the two streams' starts: the start that the container
  declares, as ffplay takes it, unless the first thing decoded lies less than 0.1 s from it (encoder
  delay, which is not heard) or more than a minute (a declaration that is wrong). Both streams are
  rebased by this one number and keep their distance.
* **Edit lists, discard flags, encoder delay** are honoured as FFmpeg honours them: what they hide
  is neither shown nor heard, and what they delay is late. Times are those of the decoded frames.
  (As in ffplay, an edit that begins between two pictures begins with the second one, so that sound
  may lag by up to one frame there.)
* **Order.** A frame at ``t`` comes after every block with ``offset <= t``, and a note where the
  thing that it tells of ends.
* **Sound** is blocks of 512 samples from 0 to the end of the longer stream without a hole, silence
  where there is none; only the last may be shorter. See :mod:`replay.media.sound`.
* **Pictures** are upright RGB, times strictly rising. See :mod:`replay.media.picture`.
* **Streams**, when there are several, are those that ffplay plays.
* **Memory** does not grow with the length of the file. See :mod:`replay.media.packets`.

Notes (:class:`streaming.events.SourceNote`) by kind: ``no_audio``, ``no_video`` (the stream is
absent, cannot be decoded or yields nothing), ``audio_late``, ``audio_gap``, ``audio_overlap``,
``audio_ended`` (sound ends before the pictures), ``broken_packet``, ``dropped_frame``,
``size_change``, ``time_jump``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeAlias

from replay.media.aria import VRS_SUFFIX, AriaClip, open_recording
from replay.media.opening import SourceError
from replay.media.playback import Playback
from replay.media.still import STILL_FPS, STILL_SECONDS, STILL_SUFFIXES, play_still, read_still
from replay.media.survey import SourceInfo, survey
from streaming.events import AudioBlock, Seconds, SourceNote, VideoFrame

__all__ = ["Source", "SourceError", "SourceEvent", "SourceInfo", "open_source"]

SourceEvent: TypeAlias = AudioBlock | VideoFrame | SourceNote


class Source:
    """A clip that can be played, from its start, any number of times.

    Attributes:
        path: The file.
        info: What is known before it plays.
    """

    def __init__(
        self,
        path: Path,
        info: SourceInfo,
        play: Callable[[], Generator[tuple[Seconds, SourceEvent]]],
        until: Seconds | None,
    ) -> None:
        self.path = path
        self.info = info
        self._play = play
        self._until = until

    def events(self) -> Generator[SourceEvent]:
        """Blocks, frames and notes in order of availability, up to ``until``.

        Closing the generator closes the file.

        Raises:
            SourceError: If the file has vanished since it was opened.
        """
        with contextlib.closing(self._play()) as playing:
            for available, event in playing:
                if self._until is not None and available > self._until:
                    return
                yield event


def open_source(
    path: Path | str, *, until: Seconds | None = None, max_side: int | None = None
) -> Source:
    """Open a video, sound or picture file.

    Args:
        path: A local file. A picture plays as a still clip of one second, a VRS recording of Aria
            glasses as :mod:`replay.media.aria` says.
        until: Leave out all that is available later: frames with ``time > until``, blocks and
            notes with ``offset > until``. What remains is exactly what the whole clip begins with.
        max_side: Scale pictures down so that no side is longer, in pixels.

    Raises:
        SourceError: If nothing can be played from it; one line saying what, where, what to do.
    """
    path = Path(path)
    if max_side is not None and max_side < 1:
        raise SourceError(f"max_side is {max_side}, expected at least 1")
    if path.suffix.lower() in STILL_SUFFIXES:
        return _open_still(path, until=until, max_side=max_side)
    if path.suffix.lower() == VRS_SUFFIX:
        clip = AriaClip(path, open_recording(path), max_side=max_side)
        return Source(path, clip.info(), clip.play, until)
    info, origin = survey(path, max_side=max_side)

    def play() -> Generator[tuple[Seconds, SourceEvent]]:
        return Playback(path, origin=origin, max_side=max_side).events()

    return Source(path, info, play, until)


def _open_still(path: Path, *, until: Seconds | None, max_side: int | None) -> Source:
    image = read_still(path, max_side=max_side)
    height, width = image.shape[:2]
    info = SourceInfo(
        name=path.name,
        duration=STILL_SECONDS,
        width=width,
        height=height,
        fps=STILL_FPS,
        nominal_fps=STILL_FPS,
        video=True,
        audio=False,
        container="still",
    )
    return Source(path, info, lambda: play_still(image), until)
