"""Live sound and pictures put in order on a session's timeline. Pure: ``now`` is an argument.

* Sound is contiguous from 0, in blocks (:mod:`replay.media.sound`). It is never dropped, unless
  hearing is absurdly far behind: then silence goes in its place, with a note.
* Few pictures wait, and the newest win. A picture waits a moment for the sound before it, so that
  both come in the order in which a file has them. Pictures that come in a burst go on one by one,
  so that whoever looks at them need not drop them.
* What stops does not hold up the rest: after a while silence follows the clock, and without
  pictures it is said that no hand is seen, so that words and strokes still settle. Sound that then
  comes all the same is cut where silence was, and the wait becomes longer.
* Times that jump begin an epoch (:mod:`replay.media.epochs`), which is placed at ``now``.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.media.epochs import Epochs
from replay.media.opening import Kind
from replay.media.sound import BLOCK_SAMPLES, SoundTrack
from server.settings import LiveLimits
from streaming.events import (
    SAMPLE_RATE,
    AudioBlock,
    CameraMotion,
    Counters,
    HandsSeen,
    Seconds,
    Skipped,
    SourceNote,
    VideoFrame,
)

SourceEvent: TypeAlias = AudioBlock | VideoFrame | SourceNote | Skipped | HandsSeen | CameraMotion
LOWEST_RATE, HIGHEST_RATE = 4_000, 384_000
MOST_CHANNELS = 8
LONGEST_SOUND: Seconds = 10.0
"""Of one call."""
_BLOCK: Seconds = BLOCK_SAMPLES / SAMPLE_RATE
_NO_VIEW = -1
"""Anchor of the camera's motion while there are no pictures."""
_ALIVE: Seconds = 1.0
_LATE: Seconds = 0.02
_LATER: Seconds = 0.5
_MOST_NOTES = 256


@dataclass(frozen=True, slots=True)
class _Waiting:
    arrived: Seconds
    frame: VideoFrame


class LiveTimeline:
    """What came goes in by :meth:`sound` and its like; :meth:`due` says what may go on.

    Attributes:
        counters: ``pictures_dropped``, ``pictures_thinned``, ``pictures_late``, ``sound_late``,
            ``sound_left_out`` and ``media_broken``.
        picture_every: Fewest seconds between two pictures.
        behind: Seconds of sound that hearing has not worked off.
    """

    def __init__(self, limits: LiveLimits) -> None:
        self.counters = Counters()
        self.picture_every: Seconds = 0.0
        self.behind: Seconds = 0.0
        self._limits = limits
        self._epochs = Epochs(forward=limits.ahead)
        self._track = SoundTrack()
        self._blocks: deque[AudioBlock] = deque()
        self._notes: deque[SourceEvent] = deque()
        self._pictures: deque[_Waiting] = deque()
        self._began = False
        self._sound_at: Seconds = 0.0
        self._sent_until: Seconds = 0.0
        self._silent_until: Seconds = -1.0
        self._silence_wait = limits.silence_after
        self._silent = self._blind = self._too_late = False
        self._looked_until: Seconds = 0.0
        self._looked_at: Seconds = -math.inf
        self._size: tuple[int, int] | None = None
        self._accepted: Seconds = -math.inf
        self._accepted_said: Seconds = math.inf

    # --- what came ---------------------------------------------------------------------------

    def sound(
        self, samples: NDArray[np.float32], *, rate: int, time: Seconds, now: Seconds
    ) -> Seconds | None:
        """Take sound; see :class:`server.ingest.Ingest`. Returns where it ends, or None."""
        if not _is_sound(samples, rate, time):
            self._break(f"sound of shape {samples.shape} at {rate} Hz and {time} s", now)
            return None
        if samples.size == 0:
            return None
        length = samples.shape[1] / rate
        placed = self._place("audio", time, length, now)
        self._sound_at = max(now, placed)
        samples = self._bearable(samples, now)
        placed, samples = self._behind_silence(samples, rate, placed)
        if samples.shape[1]:
            self._silent = False
            self._take(self._track.push(placed, samples, rate=rate))
        return placed + int(samples.shape[1]) / rate

    def picture(
        self,
        image: NDArray[np.uint8],
        *,
        time: Seconds,
        pixel_aspect: float,
        now: Seconds,
    ) -> Seconds | None:
        """Take a picture; see :class:`server.ingest.Ingest`. Returns where it lies, or None."""
        if not _is_picture(image, time, pixel_aspect):
            self._break(f"a picture of shape {image.shape} at {time} s", now)
            return None
        placed = self._place("video", time, 0.0, now)
        newest = self._pictures[-1].frame.time if self._pictures else self._looked_until
        if placed < 0.0 or (placed <= newest and newest > 0.0):
            self.counters.add("pictures_late")
            return None
        if placed - self._accepted < self._least_step:
            self.counters.add("pictures_thinned")
            return placed
        self._accepted, self._accepted_said = placed, time
        self._tell_size(image, placed)
        frame = VideoFrame(time=placed, image=image, pixel_aspect=pixel_aspect)
        self._pictures.append(_Waiting(max(now, placed), frame))
        if len(self._pictures) > self._limits.pictures:
            self.miss(self._pictures.popleft().frame.time)
        return placed

    def miss(self, time: Seconds) -> None:
        """A picture was left out, as more came than could be taken."""
        self.counters.add("pictures_dropped")
        self._say(Skipped(what="frame", onset=time, offset=time))

    def miss_sent(self, time: Seconds, *, now: Seconds) -> Seconds:
        """The same of one that its sender says is at ``time``. Returns where it lies."""
        placed = self._place("video", time, 0.0, now)
        self.miss(placed)
        return placed

    def spares(self, time: Seconds) -> Seconds | None:
        """Where a picture lies that its sender says is at ``time`` and that would be thinned out;
        it is counted, and need not be there. None if it is wanted.
        """
        step = time - self._accepted_said
        if not 0.0 < step < self._least_step:
            return None
        self.counters.add("pictures_thinned")
        return self._accepted + step

    @property
    def _least_step(self) -> Seconds:
        # Nine tenths, so that 30 a second thinned to 15 are every other one in spite of jitter.
        return self.picture_every * 0.9

    def note(self, kind: str, text: str, *, now: Seconds) -> None:
        """Take something that must not be lost silently."""
        self._say(SourceNote(kind=kind, onset=now, offset=now, text=text))

    # --- what may go on ----------------------------------------------------------------------

    def due(self, now: Seconds) -> list[SourceEvent]:
        """What may go on at ``now``, in order."""
        said: list[SourceEvent] = []
        if self._began:
            self._fill_silence(now)
        while (event := self._next(now)) is not None:
            said.append(event)
        if self._began:
            said += self._unseen(now)
        return said

    def wake_at(self) -> Seconds:
        """When :meth:`due` may have more though nothing came; infinite before anything did."""
        if not self._began:
            return math.inf
        times = [
            max(self._track.end + _BLOCK, self._sound_at) + self._silence_wait,
            self._looked_until + self._limits.blind_after + self._limits.blind_every,
        ]
        if self._pictures:
            times.append(self._goes_at(self._pictures[0]))
        return min(times)

    def finish(self) -> list[SourceEvent]:
        """Everything that is left: nothing comes any more."""
        self._take(self._track.finish())
        if self._pictures:
            self._take(self._track.silence(self._pictures[-1].frame.time))
        self._take(self._track.close())
        said = []
        while (event := self._next(math.inf)) is not None:
            said.append(event)
        return said

    def _next(self, now: Seconds) -> SourceEvent | None:
        if self._notes:
            return self._notes.popleft()
        picture = self._pictures[0] if self._pictures else None
        block = self._blocks[0] if self._blocks else None
        first = picture is not None and (block is None or block.offset > picture.frame.time)
        if picture is not None and first and now >= self._goes_at(picture):
            self._pictures.popleft()
            self._looked_until = picture.frame.time
            self._looked_at = now
            self._blind = False
            return picture.frame
        if block is not None:
            self._blocks.popleft()
            self._sent_until = block.offset
        return block

    def _goes_at(self, picture: _Waiting) -> Seconds:
        """When a picture may go: the one before it was not just now, and the sound before it has
        gone, or is not worth the wait.
        """
        heard = self._sent_until + _BLOCK > picture.frame.time
        silent = picture.arrived - self._sound_at > _ALIVE
        wait = 0.0 if heard or silent else self._limits.hold
        return max(self._looked_at + self._limits.spacing, picture.arrived + wait)

    def _fill_silence(self, now: Seconds) -> None:
        until = now - self._silence_wait
        # Sound that comes late but steadily is waited for: silence would cut all of it.
        if until < max(self._track.end + _BLOCK, self._sound_at):
            return
        onset = self._track.end
        self._take(self._track.finish())
        self._take(self._track.silence_before(until))
        self._silent_until = self._track.end
        if not self._silent:
            self._silent = True
            text = f"no sound since {onset:.3f} s; silence goes on in its place"
            self._say(SourceNote(kind="audio_stopped", onset=onset, offset=onset, text=text))

    def _unseen(self, now: Seconds) -> list[SourceEvent]:
        time = now - self._limits.blind_after
        if time < self._looked_until + self._limits.blind_every or self._pictures:
            return []
        said: list[SourceEvent] = []
        if not self._blind:
            self._blind = True
            since = self._looked_until
            text = f"no picture since {since:.3f} s; no hand is seen until one comes"
            said.append(SourceNote(kind="video_stopped", onset=since, offset=since, text=text))
        self._looked_until = time
        motion = CameraMotion(time=time, anchor=_NO_VIEW, confidence=0.0)
        return [*said, motion, HandsSeen(time=time, hands=())]

    # --- times -------------------------------------------------------------------------------

    def _place(self, kind: Kind, time: Seconds, length: Seconds, now: Seconds) -> Seconds:
        """Media time of what its sender says is at ``time``."""
        self._epochs.reach(now)
        placed = time + self._epochs.shift(kind, time, length)
        if self._epochs.jumps and self._began:
            step = self._epochs.jumps[-1].step
            text = f"times of the {kind} jump by {step:+.3f} s; time goes on"
            self._say(SourceNote(kind="time_jump", onset=now, offset=now, text=text))
        self._epochs.jumps.clear()  # a sender may jump for ever
        self._began = True
        return placed

    def _bearable(self, samples: NDArray[np.float32], now: Seconds) -> NDArray[np.float32]:
        """The same, or silence while hearing is absurdly far behind."""
        too_late = self.behind > self._limits.absurd * (0.5 if self._too_late else 1.0)
        if too_late and not self._too_late:
            text = (
                f"hearing is {self.behind:.1f} s behind; sound is left out until it has caught up"
            )
            self._say(SourceNote(kind="sound_left_out", onset=now, offset=now, text=text))
        self._too_late = too_late
        if not too_late:
            return samples
        self.counters.add("sound_blocks_left_out")
        return np.zeros_like(samples)

    def _behind_silence(
        self, samples: NDArray[np.float32], rate: int, time: Seconds
    ) -> tuple[Seconds, NDArray[np.float32]]:
        """Cut off what lies where silence has already gone on."""
        late = self._silent_until - time
        if late < _LATE or self._track.end > self._silent_until:
            return time, samples
        text = f"sound of {time:.3f} s came when silence was there up to {self._silent_until:.3f} s"
        if self._silent:
            self._say(SourceNote(kind="sound_late", onset=time, offset=time, text=text))
        self._silence_wait = min(self._limits.silence_most, self._silence_wait + late + _LATER)
        return self._silent_until, samples[:, round(late * rate) :]

    # --- out ---------------------------------------------------------------------------------

    def _take(self, said: list[AudioBlock | SourceNote]) -> None:
        for event in said:
            if isinstance(event, AudioBlock):
                self._blocks.append(event)
            else:
                self._say(event)

    def _say(self, event: SourceNote | Skipped) -> None:
        if len(self._notes) < _MOST_NOTES:
            self._notes.append(event)
        else:
            self.counters.add("notes_dropped")

    def _tell_size(self, image: NDArray[np.uint8], time: Seconds) -> None:
        before, self._size = self._size, (image.shape[1], image.shape[0])
        if before is not None and before != self._size:
            text = "picture size changes from {}x{} to {}x{}".format(*before, *self._size)
            self._say(SourceNote(kind="size_change", onset=time, offset=time, text=text))

    def _break(self, what: str, now: Seconds) -> None:
        self.counters.add("media_broken")
        text = f"{what} cannot be used"
        self._say(SourceNote(kind="broken_packet", onset=now, offset=now, text=text))


def _is_sound(samples: NDArray[np.float32], rate: int, time: Seconds) -> bool:
    return (
        math.isfinite(time)
        and samples.ndim == 2
        and 1 <= samples.shape[0] <= MOST_CHANNELS
        and LOWEST_RATE <= rate <= HIGHEST_RATE
        and samples.shape[1] <= LONGEST_SOUND * rate
    )


def _is_picture(image: NDArray[np.uint8], time: Seconds, pixel_aspect: float) -> bool:
    return (
        math.isfinite(time)
        and image.ndim == 3
        and image.shape[2] == 3
        and image.size > 0
        and image.dtype == np.uint8
        and 0.1 <= pixel_aspect <= 10.0
    )
