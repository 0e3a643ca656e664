"""VRS recordings of Project Aria glasses: the RGB camera and the microphones on the device's clock.

Conventions:

* **Time** is the device's clock: a picture's capture time (the middle of its exposure), and the
  capture time of each record's first sample of sound. Media time 0 is the earlier of the two
  streams' starts.
* **Pictures** of the first generation's camera, which is mounted lying on its side, are turned a
  quarter clockwise, as Meta's own ``vrs_to_mp4`` does; those of the second are upright. The lens
  is a fisheye; its distortion stays.
* **Sound**: all microphones (seven, or eight), mixed as any other sound is.

``projectaria-tools`` is an extra, asked for when a recording is opened.
"""

from __future__ import annotations

import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator
from pathlib import Path
from typing import Any, Protocol

import av
import numpy as np
from numpy.typing import NDArray

from replay.media.mixing import Samples
from replay.media.opening import SourceError, check_file
from replay.media.picture import PictureTrack, fitted
from replay.media.playback import MediaEvent, Playback
from replay.media.sound import SoundTrack
from replay.media.survey import SourceInfo
from streaming.events import Seconds, VideoFrame

VRS_SUFFIX = ".vrs"
_CAMERA, _MICROPHONES = "camera-rgb", "mic"
_NANO = 1e-9
_USUAL_PICTURE: Seconds = 1 / 20
_EXTRA = "VRS needs the extra `aria`; run: uv pip install --no-deps projectaria-tools==2.3.0"
"""Without the rest that it asks for (1.3 GB), which only its viewers use."""


class Recording(Protocol):
    """What is asked of a recording; :class:`_Provided` asks ``projectaria_tools``.

    Attributes:
        pictures: How many pictures there are; 0 without a camera.
        sounds: How many records of sound there are.
        rate: Samples a second, or 0.
        channels: Microphones, or 0.
        lying: Whether the camera lies on its side.
    """

    pictures: int
    sounds: int
    rate: int
    channels: int
    lying: bool

    def picture(self, index: int) -> tuple[int, NDArray[np.uint8]]:
        """Capture time in nanoseconds of the device's clock, and RGB or grey as stored."""
        ...

    def sound(self, index: int) -> tuple[int, Samples]:
        """Capture time of the first sample, and ``(channels, n)`` in -1...1."""
        ...


class _Provided:
    """A recording, read by ``projectaria_tools``."""

    def __init__(self, path: Path) -> None:
        try:
            from projectaria_tools.core import data_provider
            from projectaria_tools.core.calibration import DeviceVersion
        except ImportError:
            raise SourceError(f"{path}: {_EXTRA}") from None
        provider: Any = None
        with _unheard(), contextlib.suppress(RuntimeError, ValueError):
            provider = data_provider.create_vrs_data_provider(str(path))
        if provider is None:
            raise SourceError(f"{path}: is no VRS recording that can be read; copy it again")
        self._provider = provider
        self._camera = provider.get_stream_id_from_label(_CAMERA)
        self._microphones = provider.get_stream_id_from_label(_MICROPHONES)
        self.pictures = provider.get_num_data(self._camera) if self._camera else 0
        self.sounds = provider.get_num_data(self._microphones) if self._microphones else 0
        told = provider.get_audio_configuration(self._microphones) if self.sounds else None
        self.rate = int(told.sample_rate) if told is not None else 0
        self.channels = int(told.num_channels) if told is not None else 0
        calibration = provider.get_device_calibration()
        self.lying = calibration is None or calibration.get_device_version() != DeviceVersion.Gen2

    def picture(self, index: int) -> tuple[int, NDArray[np.uint8]]:
        image, about = self._provider.get_image_data_by_index(self._camera, index)
        return int(about.capture_timestamp_ns), np.asarray(image.to_numpy_array(), dtype=np.uint8)

    def sound(self, index: int) -> tuple[int, Samples]:
        sound, about = self._provider.get_audio_data_by_index(self._microphones, index)
        values = np.asarray(sound.data, dtype=np.float64) / sound.max_amplitude
        samples = values[: len(values) // self.channels * self.channels]
        times = about.capture_timestamps_ns
        return int(times[0]) if len(times) else 0, samples.reshape(-1, self.channels).T.astype("f4")


@contextlib.contextmanager
def _unheard() -> Generator[None]:
    """Without the log that the library writes to the program's error output, whatever happens."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def open_recording(path: Path) -> Recording:
    """Open a VRS file.

    Raises:
        SourceError: If the extra is missing, or it is no recording that can be read.
    """
    check_file(path)
    return _Provided(path)


class AriaClip:
    """A recording as a clip.

    Args:
        path: The file, for messages.
        recording: What is in it.
        max_side: See :func:`replay.media.picture.fitted`.

    Raises:
        SourceError: If it has neither pictures of the RGB camera nor sound.
    """

    def __init__(self, path: Path, recording: Recording, *, max_side: int | None = None) -> None:
        if not recording.pictures and not recording.sounds:
            raise SourceError(f"{path}: has neither pictures of the RGB camera nor sound")
        self._path, self._recording, self._max_side = path, recording, max_side
        starts, ends = [], []
        if recording.pictures:
            starts.append(recording.picture(0)[0])
            ends.append(recording.picture(recording.pictures - 1)[0])
        if recording.sounds:
            starts.append(recording.sound(0)[0])
            last, samples = recording.sound(recording.sounds - 1)
            ends.append(last + round(samples.shape[1] / recording.rate / _NANO))
        self._origin = min(starts)
        self._duration = (max(ends) - self._origin) * _NANO

    def play(self) -> Generator[tuple[Seconds, MediaEvent]]:
        """All of it; see :meth:`replay.media.playback.Playback.events`."""
        yield from _AriaPlayback(self._recording, self._origin, self._max_side).events()

    def info(self) -> SourceInfo:
        """What is known of it before it plays."""
        recording = self._recording
        width, height, fps = 0, 0, 0.0
        if recording.pictures:
            first, image = recording.picture(0)
            last, _ = recording.picture(recording.pictures - 1)
            height, width = image.shape[1::-1] if recording.lying else image.shape[:2]
            width, height = fitted(width, height, self._max_side)
            fps = (recording.pictures - 1) / ((last - first) * _NANO) if last > first else 0.0
        return SourceInfo(
            name=self._path.name,
            duration=self._duration,
            width=width,
            height=height,
            fps=fps,
            nominal_fps=float(round(fps)),
            video=recording.pictures > 0,
            audio=recording.sounds > 0,
            start=self._origin * _NANO,
            rotation=270 if recording.lying and recording.pictures else 0,
            container="vrs",
            sample_rate=recording.rate,
            channels=recording.channels,
        )


class _AriaFeed(ABC):
    """One stream of a recording: its coming events with their availability."""

    def __init__(self) -> None:
        self._ahead: deque[tuple[Seconds, MediaEvent]] = deque()
        self._next = 0
        self._last: Seconds = 0.0

    def head(self) -> Seconds | None:
        """When the next event is available; None at the end of the stream."""
        while not self._ahead and (events := self._more()) is not None:
            for event in events:
                available = event.time if isinstance(event, VideoFrame) else event.offset
                self._last = max(self._last, available)
                self._ahead.append((self._last, event))
        return self._ahead[0][0] if self._ahead else None

    def take(self) -> MediaEvent:
        """The next event, after :meth:`head` said that there is one."""
        return self._ahead.popleft()[1]

    @abstractmethod
    def _more(self) -> list[MediaEvent] | None:
        """What the next record brings; None when there is none."""


class _Sounds(_AriaFeed):
    def __init__(self, recording: Recording, origin: int, track: SoundTrack) -> None:
        super().__init__()
        self._recording, self._origin, self._track = recording, origin, track

    def _more(self) -> list[MediaEvent] | None:
        index, self._next = self._next, self._next + 1
        if index < self._recording.sounds:
            time, samples = self._recording.sound(index)
            told = (time - self._origin) * _NANO
            return [*self._track.push(told, samples, rate=self._recording.rate)]
        return [*self._track.finish()] if index == self._recording.sounds else None


class _Pictures(_AriaFeed):
    def __init__(self, recording: Recording, origin: int, track: PictureTrack) -> None:
        super().__init__()
        self._recording, self._origin, self._track = recording, origin, track

    def _more(self) -> list[MediaEvent] | None:
        index, self._next = self._next, self._next + 1
        if index >= self._recording.pictures:
            return None
        time, image = self._recording.picture(index)
        upright = np.ascontiguousarray(np.rot90(image, -1) if self._recording.lying else image)
        frame = av.VideoFrame.from_ndarray(upright, format="gray" if image.ndim == 2 else "rgb24")
        return [*self._track.push((time - self._origin) * _NANO, frame, _USUAL_PICTURE)]


class _AriaPlayback(Playback):
    """One run through a recording."""

    def __init__(self, recording: Recording, origin: int, max_side: int | None) -> None:
        self._reader = contextlib.nullcontext()
        self._sound = SoundTrack()
        self._picture = PictureTrack(max_side=max_side)
        self._sounds = _Sounds(recording, origin, self._sound) if recording.sounds else None
        self._pictures = _Pictures(recording, origin, self._picture) if recording.pictures else None
