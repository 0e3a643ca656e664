"""RTP times of several tracks onto one timeline (RFC 3550, sections 5.1 and 6.4.1).

Each track counts from its own random number at its own clock's pace; only the sender's reports say
which count belongs to which instant of the sender's wall clock. Until they come, the sound lies
where its first packets put it, and the pictures where their least delayed packets are beside the
sound's. From the first report of the sound on, the sender's clock is the timeline, so that the
sound stays where it is and the pictures move to it. Every move is slow enough that no time is told
twice and none goes back; only a move forward by more than :attr:`AlignmentSettings.step` is made at
once, for that much was missing.

The sender's reports are trusted as far as arrivals allow: of clocks that are further apart than
:attr:`AlignmentSettings.apart` each is laid where its own packets are.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from server.sender_clock import Arrivals, Pace, SenderClock, combined
from streaming.events import Counters, Seconds

Kind: TypeAlias = Literal["sound", "pictures"]

_ROUND = 1 << 32
_KEPT_SOURCES = 4
_KEPT_EPOCHS = 8
_LEAST_STEP: Seconds = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentSettings:
    """Numbers of :class:`Alignment`.

    Attributes:
        jump: A packet's time that runs ahead of its arrival by more, or back by more, starts the
            track anew.
        apart: How far a report may move a track from where its packets arrive.
        doubt: A report that is further off is believed only when the next one, or the arrivals,
            say the same.
        step: Moves forward by more are made at once.
        slew: Seconds that a track moves in a second of its own time.
        sound_slew: The same of sound that is off by no more than ``doubt``: what is heard must not
            overlap, and the pictures go with it.
        window: Seconds whose least delayed packet counts.
        reports: Reports that the sender's clock is read from.
        drift: Most that a track's clock may gain or lose, in seconds a second.
        usual_drift: How much clocks differ in usual, standard deviation in seconds a second.
        lateness: How late reports usually are, and the least delayed packet of a second, standard
            deviation.
        paced: Seconds of packets that tell the pace of a track's clock.
        live: Seconds without packets after which a track no longer counts.
    """

    jump: Seconds = 2.0
    apart: Seconds = 2.0
    doubt: Seconds = 0.5
    step: Seconds = 0.3
    slew: float = 0.25
    sound_slew: float = 0.01
    window: Seconds = 4.0
    reports: int = 12
    drift: float = 0.005
    usual_drift: float = 0.002
    lateness: Seconds = 0.006
    paced: int = 20
    live: Seconds = 5.0

    def __post_init__(self) -> None:
        for one in fields(self):
            if getattr(self, one.name) <= 0:
                raise ValueError(f"{one.name} is {getattr(self, one.name)}, expected above 0")
        if self.slew >= 1:
            raise ValueError(f"slew is {self.slew}, expected below 1: time would go back")


@dataclass(slots=True)
class _Epoch:
    """One reading of the sender's wall clock.

    Attributes:
        zero: Its wall clock at the timeline's zero.
        lead: How far it was from the arrivals when last looked at; clocks drift.
    """

    zero: Seconds
    lead: Seconds = 0.0


class _Source:
    """One run of a track: one synchronisation source, counting without a jump."""

    def __init__(self, ssrc: int, rtp: int, rate: int, settings: AlignmentSettings) -> None:
        self.ssrc = ssrc
        self.rate = rate
        self.highest = rtp
        self.arrival: Seconds = -math.inf
        self.arrivals = Arrivals(
            window=settings.window, kept=settings.paced, lateness=settings.lateness
        )
        self.clock = SenderClock(
            reports=settings.reports,
            usual=settings.usual_drift,
            most=settings.drift,
            lateness=settings.lateness,
            doubt=settings.doubt,
        )
        self.epoch: _Epoch | None = None
        self.offset: Seconds | None = None
        self.told: Seconds = -math.inf

    @property
    def newest(self) -> Seconds:
        return self.highest / self.rate

    def unwrap(self, rtp: int) -> int:
        """The count nearest to the newest one that ``rtp`` may be the low 32 bits of."""
        away = (rtp - self.highest) % _ROUND
        return self.highest + (away - _ROUND if away >= _ROUND // 2 else away)

    def seconds(self, rtp: int) -> Seconds:
        return self.unwrap(rtp) / self.rate

    def continues(self, rtp: int, rate: int, arrival: Seconds, jump: Seconds) -> bool:
        """Whether a packet can be the next of this run, or a late one."""
        if rate != self.rate:
            return False
        ahead = self.seconds(rtp) - self.newest
        return -jump <= ahead <= jump + max(0.0, arrival - self.arrival)

    def take(self, rtp: int, arrival: Seconds) -> bool:
        """Take a packet; True if it may tell the pace of the track's clock anew."""
        count = self.unwrap(rtp)
        self.highest = max(self.highest, count)
        self.arrival = arrival
        return self.arrivals.add(count / self.rate, arrival)

    def wall_pace(self) -> Pace | None:
        """How much the sender's wall clock gains on the receiver's, as far as it tells."""
        pace = self.arrivals.pace
        return None if pace is None or not self.clock.known else self.clock.pace.before(pace)

    def lead(self, add: Seconds, epoch: _Epoch) -> Seconds:
        """How far the wall clock would put the track from where its packets arrive."""
        return add - epoch.zero - self.arrivals.least


class Alignment:
    """Gives packets of sound and of pictures their times on one timeline.

    It has no clock: ``arrival`` is the receiver's, in seconds from the session's start, and must
    not go back.

    Attributes:
        counters: What it counted: ``alignment_restarts`` of a track, ``alignment_reports`` taken,
            ``alignment_reports_doubted``, ``alignment_reports_unplaced`` of unknown sources,
            ``alignment_clocks_apart``, ``alignment_frames_unplaced`` and ``alignment_frames_back``.
    """

    def __init__(self, settings: AlignmentSettings | None = None) -> None:
        self.counters = Counters()
        self._settings = AlignmentSettings() if settings is None else settings
        self._sources: dict[Kind, deque[_Source]] = {
            "sound": deque(maxlen=_KEPT_SOURCES),
            "pictures": deque(maxlen=_KEPT_SOURCES),
        }
        self._told: dict[Kind, Seconds] = {"sound": -math.inf, "pictures": -math.inf}
        self._epochs: deque[_Epoch] = deque(maxlen=_KEPT_EPOCHS)
        self._now: Seconds = -math.inf

    def packet(self, kind: Kind, *, ssrc: int, rtp: int, rate: int, arrival: Seconds) -> None:
        """Take a packet as it comes off the network, in whatever order.

        Args:
            kind: The track's.
            ssrc: Synchronisation source.
            rtp: RTP time, 32 bits.
            rate: Counts a second of ``rtp``.
            arrival: When it came.

        Raises:
            ValueError: If ``rate`` is not above zero.
        """
        if rate <= 0:
            raise ValueError(f"rate is {rate}, expected above 0")
        self._now = max(self._now, arrival)
        sources = self._sources[kind]
        for source in reversed(sources):
            if source.ssrc == ssrc and source.continues(rtp, rate, arrival, self._settings.jump):
                break
        else:
            if sources:
                self.counters.add("alignment_restarts")
            source = _Source(ssrc, rtp, rate, self._settings)
            sources.append(source)
        if source.take(rtp, arrival):
            self._pace()

    def report(self, *, ssrc: int, rtp: int, wall: Seconds, arrival: Seconds) -> None:
        """Take a sender's report.

        Args:
            ssrc: The source that it is about.
            rtp: RTP time, 32 bits.
            wall: The sender's wall clock at ``rtp``, in seconds from any instant; 0 is none.
            arrival: When it came.
        """
        self._now = max(self._now, arrival)
        source = self._named(ssrc)
        if source is None or wall == 0:
            self.counters.add("alignment_reports_unplaced")
            return
        own = source.seconds(rtp)
        if source.clock.add(own, wall, sure=self._arrives_so(source, wall - own)):
            self.counters.add("alignment_reports")
        else:
            self.counters.add("alignment_reports_doubted")
        for kind in self._sources:
            for one in self._sources[kind]:
                if one.clock.known:
                    one.epoch = self._choose(kind, one)
        self._pace()

    def time(self, kind: Kind, rtp: int) -> Seconds | None:
        """Where a frame lies; frames of a track must be asked for in order.

        Returns:
            Its time, later than any told before of its kind; None for a frame that comes twice,
            goes back or belongs to no packet that was taken.
        """
        source = self._owner(kind, rtp)
        if source is None:
            self.counters.add("alignment_frames_unplaced")
            return None
        own = source.seconds(rtp)
        target = self._target(kind, source, own)
        if source.offset is None:
            source.offset = max(target, self._told[kind] + _LEAST_STEP - own)
        else:
            error = target - source.offset
            near = kind == "sound" and abs(error) <= self._settings.doubt
            slew = self._settings.sound_slew if near else self._settings.slew
            room = slew * max(0.0, own - source.told)
            forward = error if error > self._settings.step else min(error, room)
            source.offset += max(-room, forward)
        source.told = max(source.told, own)
        time = own + source.offset
        if time <= self._told[kind]:
            self.counters.add("alignment_frames_back")
            return None
        self._told[kind] = time
        return time

    def _pace(self) -> None:
        """Lay each source's line as its reports, its packets and the other sources tell.

        Packets tell the pace against the receiver's clock; how the wall clock goes with that is
        the same for all sources, so that each hears it from the others.
        """
        sources = [one for kind in self._sources for one in self._sources[kind] if one.clock.known]
        usual = Pace(gain=0.0, variance=self._settings.usual_drift**2)
        for source in sources:
            if source.arrivals.pace is None:
                continue
            walls = [
                wall
                for other in sources
                if other is not source and other.epoch is source.epoch
                if (wall := other.wall_pace()) is not None
            ]
            source.clock.lean(source.arrivals.pace.after(combined([usual, *walls])))

    def _target(self, kind: Kind, source: _Source, own: Seconds) -> Seconds:
        if source.epoch is not None:
            return source.clock.at(own) - source.epoch.zero + self._sound_away(kind)
        target = source.arrivals.least + self._shift(kind)
        stays = source.offset
        if kind == "sound" and stays is not None and abs(target - stays) <= self._settings.doubt:
            return stays
        return target

    def _sound_away(self, kind: Kind) -> Seconds:
        """How far the sound still is from where its reports put it: pictures go with it."""
        sounds = self._sources["sound"]
        if kind == "sound" or not sounds:
            return 0.0
        sound = sounds[-1]
        if sound.epoch is None or sound.offset is None:
            return 0.0
        return sound.offset - (sound.clock.at(sound.told) - sound.epoch.zero)

    def _shift(self, kind: Kind) -> Seconds:
        """How far from its least delayed packets a track lies that has no reports yet."""
        if self._epochs:
            return self._epochs[-1].lead
        if kind == "pictures":
            for sound in reversed(self._sources["sound"]):
                if sound.offset is not None:
                    return sound.offset - sound.arrivals.least
        return 0.0

    def _named(self, ssrc: int) -> _Source | None:
        """The latest run of a source."""
        for sources in self._sources.values():
            for source in reversed(sources):
                if source.ssrc == ssrc:
                    return source
        return None

    def _owner(self, kind: Kind, rtp: int) -> _Source | None:
        """The run whose packets a frame is nearest to, the later one if two are as near."""
        near = [
            (abs(source.seconds(rtp) - source.newest), source)
            for source in reversed(self._sources[kind])
        ]
        away, source = min(near, key=lambda one: one[0], default=(math.inf, None))
        return source if away <= self._settings.window + self._settings.jump else None

    def _arrives_so(self, source: _Source, add: Seconds) -> bool:
        """Whether packets now arrive as a surprising report says, and not as those before it."""
        if source.epoch is None:
            return False
        new, old = (
            abs(source.lead(one, source.epoch) - source.epoch.lead)
            for one in (add, source.clock.at(source.newest))
        )
        return new < min(self._settings.doubt, old / 2)

    def _choose(self, kind: Kind, source: _Source) -> _Epoch | None:
        """The reading of the wall clock that puts a source near to where its packets arrive."""
        add = source.clock.at(source.newest)
        epochs = [] if source.epoch is None else [source.epoch]
        epochs += reversed(self._epochs)
        for epoch in epochs:
            lead = source.lead(add, epoch)
            if abs(lead - epoch.lead) <= self._settings.apart:
                epoch.lead = lead
                return epoch
        if not self._epochs and kind != "sound" and self._hears():
            return None  # The sound reports soon, and must not have to move.
        if self._epochs:
            self.counters.add("alignment_clocks_apart")
        offset = source.arrivals.least if source.offset is None else source.offset
        epoch = _Epoch(zero=add - offset)
        epoch.lead = source.lead(add, epoch)
        self._epochs.append(epoch)
        return epoch

    def _hears(self) -> bool:
        return any(
            self._now - source.arrival <= self._settings.live for source in self._sources["sound"]
        )
