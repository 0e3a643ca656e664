"""Any sound to mono at 16 kHz, the same however it was cut into packets."""

from __future__ import annotations

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from numpy.typing import NDArray

from streaming.events import SAMPLE_RATE

Samples = NDArray[np.float32]

_WINDOWS_PER_SECOND = 50
_MEMORY_WINDOWS = 25
_CANCELS_BELOW, _MIXES_ABOVE = 0.05, 0.1
_LOUDER_BY = 2.0
_AUDIBLE_POWER = 1e-9


class MonoMixer:
    """Channels to one: their mean, or the loudest one while the mean would cancel them out.

    The choice is made anew after every 20 ms, for the next 20 ms, from power smoothed over half a
    second of the past, with hysteresis: cancelled when the mean keeps less than 5 % of the loudest
    channel's power, mixed again above 10 %. A change fades over those 20 ms.

    Args:
        channels: How many come in.
        rate: Their sampling rate, hertz.
    """

    def __init__(self, *, channels: int, rate: int) -> None:
        self.window = max(1, rate // _WINDOWS_PER_SECOND)
        self._mean = np.full(channels, 1.0 / channels, dtype=np.float32)
        self._weights = self._before = self._mean
        self._powers: NDArray[np.float64] | None = None
        self._loudest: int | None = None
        self._open: list[Samples] = []
        self._length = 0

    def push(self, samples: Samples) -> list[Samples]:
        """Take ``(channels, n)`` and return whole windows of mono, ``(window,)`` each."""
        self._open.append(samples)
        self._length += samples.shape[1]
        if self._length < self.window:
            return []
        whole = np.concatenate(self._open, axis=1)
        cut = self._length - self._length % self.window
        self._open, self._length = [whole[:, cut:]], self._length - cut
        return [self._mix(whole[:, at : at + self.window]) for at in range(0, cut, self.window)]

    def finish(self) -> list[Samples]:
        """The last, shorter window."""
        rest = np.concatenate(self._open, axis=1) if self._length else None
        self._open, self._length = [], 0
        return [] if rest is None else [self._mix(rest)]

    def _mix(self, window: Samples) -> Samples:
        if len(window) == 1:
            return np.asarray(window[0], dtype=np.float32)
        before, now = self._before, self._weights
        self._before, self._weights = now, self._choose(window)
        if before is now:
            return np.asarray(now @ window, dtype=np.float32)
        fade = np.linspace(0.0, 1.0, window.shape[1], dtype=np.float32)
        faded = (before @ window) * (1 - fade) + (now @ window) * fade
        return np.asarray(faded, dtype=np.float32)

    def _choose(self, window: Samples) -> Samples:
        mixed = self._mean @ window
        now = np.append(np.square(window).mean(axis=1), np.square(mixed).mean()).astype(float)
        if self._powers is None:
            self._powers = now
        else:
            self._powers = self._powers + (now - self._powers) / _MEMORY_WINDOWS
        channels, mean = self._powers[:-1], self._powers[-1]
        best = int(channels.argmax())
        if channels[best] < _AUDIBLE_POWER:
            return self._weights
        if self._loudest is None and mean < _CANCELS_BELOW * channels[best]:
            return self._only(best)
        if self._loudest is not None and mean > _MIXES_ABOVE * channels[best]:
            self._loudest = None
            return self._mean
        if self._loudest is not None and channels[best] > _LOUDER_BY * channels[self._loudest]:
            return self._only(best)
        return self._weights

    def _only(self, channel: int) -> Samples:
        self._loudest = channel
        weights = np.zeros_like(self._mean)
        weights[channel] = 1.0
        return weights


class Resampler:
    """Mono at ``rate`` to mono at 16 kHz (FFmpeg's resampler: no delay, exact ratio)."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._inner = None if rate == SAMPLE_RATE else AudioResampler("fltp", "mono", SAMPLE_RATE)

    def push(self, samples: Samples) -> Samples:
        if self._inner is None:
            return samples
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples[None, :]), "fltp", "mono")
        frame.sample_rate = self._rate
        return _joined(self._inner.resample(frame))

    def finish(self) -> Samples:
        if self._inner is None:
            return np.zeros(0, dtype=np.float32)
        try:
            return _joined(self._inner.resample(None))
        except av.FFmpegError:  # nothing was ever pushed
            return np.zeros(0, dtype=np.float32)


def _joined(frames: list[AudioFrame]) -> Samples:
    pieces = [np.asarray(frame.to_ndarray()[0], dtype=np.float32) for frame in frames]
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.float32)
