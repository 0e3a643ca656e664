"""Decoded sound laid on the timeline: blocks of 512 samples, contiguous from 0.

Where a frame goes is told by its presentation time; how long it is, by its samples. The two
disagree a little all the time (rounded timestamps), slowly more and more (a recorder's clock), or
at once (lost packets, a paused recorder):

* up to :data:`GAP_SECONDS` ahead or :data:`OVERLAP_SECONDS` behind is rounding or drift: samples
  follow one another untouched while the smoothed difference is under 2.5 ms; beyond, up to three
  samples in each 20 ms are added or left out by resampling, until the difference is gone;
* further ahead is a gap: filled with silence and noted as ``audio_gap``;
* further behind is an overlap: what was already sent is cut off and noted as ``audio_overlap``.
"""

from __future__ import annotations

import numpy as np

from replay.media.mixing import MonoMixer, Resampler, Samples
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds, SourceNote

BLOCK_SAMPLES = 512
GAP_SECONDS = 0.019
"""Just under one Opus packet with its time rounded to the millisecond."""
OVERLAP_SECONDS = 0.05
LATE_SECONDS = 0.05
"""Silence before the first sound that is worth a note."""
_DRIFT_STEP = 0.005
_MAX_STRETCH = 3
_SMOOTHING_SECONDS = 1.0
_SILENCE: Samples = np.zeros(BLOCK_SAMPLES, dtype=np.float32)
_SILENCE.flags.writeable = False

SoundEvent = AudioBlock | SourceNote


class _Blocks:
    """Samples cut into blocks; memory stays flat over long silence."""

    def __init__(self) -> None:
        self.placed = 0
        """Samples taken so far, whether or not their block is full."""
        self._open: list[Samples] = []

    @property
    def _sent(self) -> int:
        return self.placed - sum(map(len, self._open))

    def push(self, samples: Samples) -> list[AudioBlock]:
        first = self._sent
        self._open.append(samples)
        self.placed += len(samples)
        if self.placed - first < BLOCK_SAMPLES:
            return []
        whole = np.clip(np.nan_to_num(np.concatenate(self._open)), -1.0, 1.0)
        cut = len(whole) - len(whole) % BLOCK_SAMPLES
        self._open = [whole[cut:]]
        return [
            AudioBlock(onset=(first + at) / SAMPLE_RATE, samples=whole[at : at + BLOCK_SAMPLES])
            for at in range(0, cut, BLOCK_SAMPLES)
        ]

    def silence(self, until: int) -> list[AudioBlock]:
        """Silence up to sample ``until``."""
        missing = until - self.placed
        if missing <= 0:
            return []
        blocks = self.push(_SILENCE[: min(missing, -self.placed % BLOCK_SAMPLES)])
        for _ in range((until - self.placed) // BLOCK_SAMPLES):
            blocks.append(AudioBlock(onset=self.placed / SAMPLE_RATE, samples=_SILENCE))
            self.placed += BLOCK_SAMPLES
        return blocks + self.push(_SILENCE[: until - self.placed])

    def finish(self) -> list[AudioBlock]:
        rest = np.concatenate(self._open) if self._open else _SILENCE[:0]
        self._open = []
        if len(rest) == 0:
            return []
        onset = (self.placed - len(rest)) / SAMPLE_RATE
        return [AudioBlock(onset=onset, samples=np.clip(np.nan_to_num(rest), -1.0, 1.0))]


class _Run:
    """Sound without a break, at one rate: its end by its own sample count."""

    def __init__(self, *, onset: Seconds, channels: int, rate: int) -> None:
        self.channels, self.rate = channels, rate
        self._onset = onset
        self._received = 0
        self._stretched = 0
        self._drift: Seconds = 0.0
        self._mixer = MonoMixer(channels=channels, rate=rate)
        self._resampler = Resampler(rate)

    @property
    def end(self) -> Seconds:
        return self._onset + self._received / self.rate + self._stretched / SAMPLE_RATE

    def push(self, samples: Samples, drift: Seconds) -> list[Samples]:
        """Take samples whose presentation time lies ``drift`` after :attr:`end`."""
        self._received += samples.shape[1]
        share = min(1.0, samples.shape[1] / self.rate / _SMOOTHING_SECONDS)
        self._drift += (drift - self._drift) * share
        return [self._stretch(self._resampler.push(window)) for window in self._mixer.push(samples)]

    def finish(self) -> list[Samples]:
        tail = [self._resampler.push(window) for window in self._mixer.finish()]
        return [*tail, self._resampler.finish()]

    def _stretch(self, samples: Samples) -> Samples:
        wanted = round(self._drift / _DRIFT_STEP)
        extra = max(-_MAX_STRETCH, min(_MAX_STRETCH, wanted))
        if extra == 0 or len(samples) < BLOCK_SAMPLES // 2:
            return samples
        self._stretched += extra
        self._drift -= extra / SAMPLE_RATE
        count = len(samples)
        places = np.linspace(0.0, count, count + extra, endpoint=False)
        return np.interp(places, np.arange(count), samples).astype(np.float32)


class SoundTrack:
    """Decoded frames in, blocks and notes out, in order of their offset."""

    def __init__(self) -> None:
        self._blocks = _Blocks()
        self._run: _Run | None = None
        self.heard = False
        """Whether any sound came."""
        self.heard_until: Seconds = 0.0
        """Where the last sound ended, after :meth:`finish`."""

    @property
    def end(self) -> Seconds:
        """Up to where the timeline is filled."""
        return self._blocks.placed / SAMPLE_RATE if self._run is None else self._run.end

    def push(self, time: Seconds | None, samples: Samples, *, rate: int) -> list[SoundEvent]:
        """Take one decoded frame.

        Args:
            time: Media time of its first sample; None when it simply follows the one before.
            samples: Shape ``(channels, n)``, -1...1.
            rate: Hertz.
        """
        said: list[SoundEvent] = []
        if self._run is not None and (self._run.rate, self._run.channels) != (rate, len(samples)):
            said += self.finish()
        if not self.heard:
            return self._begin(0.0 if time is None else time, samples, rate)
        drift = 0.0 if time is None else time - self.end
        if drift <= -OVERLAP_SECONDS:
            onset = self.end + drift
            said += self.finish()
            said.append(_overlap(max(0.0, onset), self.end))
            samples, drift = samples[:, round(-drift * rate) :], 0.0
        elif drift >= GAP_SECONDS:
            offset = self.end + drift
            said += self.finish()
            onset = self.end
            said += self._blocks.silence(round(offset * SAMPLE_RATE))
            said.append(_gap(onset, self.end))  # of whole samples, as the silence is
            drift = 0.0
        return said + self._add(samples, rate, drift)

    def _begin(self, time: Seconds, samples: Samples, rate: int) -> list[SoundEvent]:
        """The first sound; what lies before the timeline's 0 is cut off."""
        samples = samples[:, round(max(0.0, -time) * rate) :]
        if samples.shape[1] == 0:
            return []
        self.heard = True
        said: list[SoundEvent] = list(self._blocks.silence(round(time * SAMPLE_RATE)))
        if time >= LATE_SECONDS:
            said.append(_note("audio_late", 0.0, self.end, f"sound starts at {time:.3f} s"))
        return said + self._add(samples, rate, 0.0)

    def _add(self, samples: Samples, rate: int, drift: Seconds) -> list[SoundEvent]:
        if samples.shape[1] == 0:
            return []
        if self._run is None:
            self._run = _Run(onset=self.end, channels=len(samples), rate=rate)
        said: list[SoundEvent] = []
        for piece in self._run.push(samples, drift):
            said += self._blocks.push(piece)
        return said

    def finish(self) -> list[SoundEvent]:
        """Let out what the resampler still holds; more sound or silence may follow."""
        run, self._run = self._run, None
        said: list[SoundEvent] = []
        for piece in run.finish() if run is not None else ():
            said += self._blocks.push(piece)
        if run is not None:
            self.heard_until = self.end
        return said

    def silence(self, until: Seconds) -> list[SoundEvent]:
        """Fill up to ``until`` with silence, after :meth:`finish`."""
        return list(self._blocks.silence(int(until * SAMPLE_RATE + 1e-6)))

    def silence_before(self, time: Seconds) -> list[SoundEvent]:
        """Silent blocks, whole ones, with an offset not after ``time``; after :meth:`finish`."""
        whole = int(time * SAMPLE_RATE + 1e-6) // BLOCK_SAMPLES * BLOCK_SAMPLES
        if (whole - BLOCK_SAMPLES) / SAMPLE_RATE + BLOCK_SAMPLES / SAMPLE_RATE > time:
            whole -= BLOCK_SAMPLES  # not by a rounding error after it either
        return list(self._blocks.silence(whole))

    def close(self) -> list[SoundEvent]:
        """The last block, which may be shorter."""
        return list(self._blocks.finish())


def _note(kind: str, onset: Seconds, offset: Seconds, text: str) -> SourceNote:
    return SourceNote(kind=kind, onset=onset, offset=offset, text=text)


def _gap(onset: Seconds, offset: Seconds) -> SourceNote:
    text = f"no sound from {onset:.3f} to {offset:.3f} s, filled with silence"
    return _note("audio_gap", onset, offset, text)


def _overlap(onset: Seconds, offset: Seconds) -> SourceNote:
    text = f"sound from {onset:.3f} to {offset:.3f} s came twice, the second left out"
    return _note("audio_overlap", onset, offset, text)
