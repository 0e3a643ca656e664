"""Where the time goes: delays, ages and compute of runs, from their traces.

A **delay** is the moment a decision was made minus the moment that it is about, seconds. It is
given twice, as is usual for streaming systems:

* *computation-unaware*: by ``known_at``, the media that had to be seen; compute costs nothing;
* *computation-aware*: by ``emitted_at``, the session's clock; what a person would have waited.

In ``fast`` pace the clock is where the media is, so only the unaware delay means anything and the
aware one is absent (None).

Quantiles interpolate linearly between order statistics (numpy's default). A p99 of fewer than
:data:`LEAST_FOR_P99` samples is absent: it would be the maximum under another name. Decisions that
only the end of the stream brought out are counted in ``at_end``; they belong to the samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from replay.delays import MEASURES, Delay, clip_delays
from replay.latency_live import LiveLatency, LiveTally
from replay.quantiles import LEAST_FOR_P99 as LEAST_FOR_P99
from replay.quantiles import Summary as Summary
from replay.quantiles import summarise as summarise
from replay.run_folder import ClipRun, Run
from replay.trace_reader import Spent
from streaming.events import Seconds, Skipped

AGES: dict[str, str] = {
    "frame_age_ms": "frame age, hands known",
    "block_age_ms": "sound age, taken up",
    "loop_lag_ms": "event loop lag",
}
"""Wall-clock measures in milliseconds, from the last line of a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One delay over a run.

    Attributes:
        unaware: Computation-unaware, seconds.
        aware: Computation-aware, seconds; None in ``fast`` pace.
        at_end: How many of the samples only the end of the stream brought out.
        samples: The samples that count in this pace, ascending.
    """

    unaware: Summary
    aware: Summary | None
    at_end: int
    samples: tuple[Seconds, ...]

    @property
    def shown(self) -> Summary:
        """The aware summary where there is one, else the unaware."""
        return self.unaware if self.aware is None else self.aware


def stage_name(stage: str) -> str:
    """What to call a key of ``cpu_by_stage`` before a person."""
    return "rest of the process" if stage == "other" else f"{stage} thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """What a run cost.

    Attributes:
        media_seconds: Of the clips whose end line states the cost; the ratios are over these.
        busy: By component, over the run. ``longest`` is the longest single step.
        cpu_by_stage: CPU seconds of each stage's thread; ``other`` is the rest of the process.
        cpu_seconds: Of the whole process, all threads; None when not recorded.
        wall_seconds: From start to end of each clip; None when not recorded.
        rss_mb: The largest resident size seen; None when not recorded.
    """

    media_seconds: Seconds
    busy: dict[str, Spent]
    cpu_by_stage: dict[str, float]
    cpu_seconds: float | None
    wall_seconds: float | None
    rss_mb: float | None

    @property
    def real_time_factor(self) -> float | None:
        """Component wall seconds per media second, all components added up; under 1 keeps up.

        Components in different threads overlap, so a run above 1 may still keep up.
        """
        return self.per_second(sum(spent.busy for spent in self.busy.values()) or None)

    @property
    def cpu_per_second(self) -> float | None:
        """CPU seconds per media second."""
        return self.per_second(self.cpu_seconds)

    def per_second(self, seconds: float | None) -> float | None:
        """``seconds`` over the media seconds; None when either is absent."""
        if seconds is None or self.media_seconds <= 0.0:
            return None
        return seconds / self.media_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLatency:
    """All that a run's traces say about time.

    Attributes:
        name: The run's.
        paces, models, languages, machines: Every value met, so that a mixture is seen.
        clips: How many traces were read.
        broken: How many of them broke off before their end.
        faults: Unusable lines over all traces.
        media_seconds: Over all clips.
        delays: By name in :data:`MEASURES`; every name is there.
        ages: By name in :data:`AGES`, milliseconds.
        counters: Added up over the clips: drops, gaps, broken packets and so on.
        skipped: Pieces of work left out because the machine was behind, by what it was.
        live: What live sessions say beside; None when there is none.
    """

    name: str
    paces: tuple[str, ...]
    models: tuple[str, ...]
    languages: tuple[str, ...]
    machines: tuple[str, ...]
    versions: tuple[str, ...]
    clips: int
    broken: int
    faults: int
    media_seconds: Seconds
    delays: dict[str, Measured]
    ages: dict[str, Summary]
    counters: dict[str, int]
    skipped: dict[str, int]
    compute: Compute
    live: LiveLatency | None = None

    @property
    def pace(self) -> str:
        return " + ".join(self.paces) or "unknown"

    @property
    def machine(self) -> str:
        return " + ".join(self.machines) or "unknown machine"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know before trusting the numbers: the pace's, then the warnings."""
        if "fast" not in self.paces:
            return self.warnings
        fast = "fast pace: compute counts as zero; only known_at delays are meaningful"
        return (fast, *self.warnings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is mixed, broken or unreadable."""
        said = []
        if len(self.paces) > 1:
            said.append(f"clips of different paces are mixed: {self.pace}")
        if len(self.machines) > 1:
            said.append(f"clips from different machines are mixed: {self.machine}")
        if self.broken:
            said.append(f"{self.broken} of {self.clips} traces break off before their end")
        if self.skipped:
            named = ", ".join(f"{what} {count}" for what, count in self.skipped.items())
            said.append(f"the machine was behind and left work out: {named}")
        if self.faults:
            said.append(f"{self.faults} trace lines could not be used")
        return tuple(said)


@dataclass(slots=True)
class LatencyTally:
    """Adds up clips, one at a time, so that no more than one trace is in memory."""

    _delays: dict[str, list[Delay]] = field(default_factory=lambda: {name: [] for name in MEASURES})
    _fast: list[bool] = field(default_factory=list)
    _ages: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in AGES})
    _facts: dict[str, dict[str, None]] = field(default_factory=dict)
    _counters: dict[str, int] = field(default_factory=dict)
    _skipped: dict[str, int] = field(default_factory=dict)
    _busy: dict[str, Spent] = field(default_factory=dict)
    _cpu_by_stage: dict[str, float] = field(default_factory=dict)
    _cpu: list[float] = field(default_factory=list)
    _wall: list[float] = field(default_factory=list)
    _rss: list[float] = field(default_factory=list)
    _clips: int = 0
    _broken: int = 0
    _faults: int = 0
    _media: Seconds = 0.0
    _costed_media: Seconds = 0.0
    _live: LiveTally = field(default_factory=LiveTally)

    def add(self, clip: ClipRun) -> None:
        """Take one clip in."""
        self._clips += 1
        self._broken += not clip.complete
        self._faults += clip.fault_count
        self._media += clip.duration
        found = clip_delays(clip)
        for name, delays in found.items():
            self._delays[name] += delays
        if clip.end is not None and clip.end.wall.travel is not None:
            self._live.add(clip.end.wall.travel, found)
        for item in clip.events(Skipped):
            self._skipped[item.event.what] = (
                self._skipped.get(item.event.what, 0) + item.event.count
            )
        self._add_header(clip)
        self._add_end(clip)

    def _add_header(self, clip: ClipRun) -> None:
        if clip.header is None:
            self._note("pace", "unknown")
            return
        self._note("pace", clip.header.pace or "unknown")
        self._note("model", clip.header.model)
        self._note("language", clip.header.language)
        self._note("machine", str(clip.header.machine))
        self._note("version", clip.header.version)

    def _note(self, fact: str, value: str) -> None:
        if value:
            self._facts.setdefault(fact, {})[value] = None

    def _add_end(self, clip: ClipRun) -> None:
        if clip.end is None:
            return
        for name, count in clip.end.counters.items():
            self._counters[name] = self._counters.get(name, 0) + count
        wall = clip.end.wall
        self._ages["frame_age_ms"] += wall.frame_age_ms
        self._ages["block_age_ms"] += wall.block_age_ms
        self._ages["loop_lag_ms"] += wall.loop_lag_ms
        if wall.components or wall.cpu_seconds is not None:
            self._costed_media += clip.duration
        for name, spent in wall.components.items():
            so_far = self._busy.get(name)
            self._busy[name] = spent if so_far is None else _added(so_far, spent)
        for name, seconds in wall.cpu_by_stage.items():
            self._cpu_by_stage[name] = self._cpu_by_stage.get(name, 0.0) + seconds
        for values, value in (
            (self._cpu, wall.cpu_seconds),
            (self._wall, wall.wall_seconds),
            (self._rss, wall.rss_mb),
        ):
            if value is not None:
                values.append(value)

    def total(self, name: str) -> RunLatency:
        """What the clips so far say, under the run's name."""
        paces = tuple(self._facts.get("pace", {}))
        return RunLatency(
            name=name,
            paces=paces,
            models=tuple(self._facts.get("model", {})),
            languages=tuple(self._facts.get("language", {})),
            machines=tuple(self._facts.get("machine", {})),
            versions=tuple(self._facts.get("version", {})),
            clips=self._clips,
            broken=self._broken,
            faults=self._faults,
            media_seconds=self._media,
            delays={
                measure: _measured(delays, aware="fast" not in paces)
                for measure, delays in self._delays.items()
            },
            ages={age: summarise(values) for age, values in self._ages.items()},
            counters=dict(sorted(self._counters.items())),
            skipped=dict(sorted(self._skipped.items())),
            compute=Compute(
                media_seconds=self._costed_media,
                busy=self._busy,
                cpu_by_stage=self._cpu_by_stage,
                cpu_seconds=sum(self._cpu) if self._cpu else None,
                wall_seconds=sum(self._wall) if self._wall else None,
                rss_mb=max(self._rss, default=None),
            ),
            live=self._live.total(),
        )


def _added(left: Spent, right: Spent) -> Spent:
    cpus = [cpu for cpu in (left.cpu, right.cpu) if cpu is not None]
    return Spent(
        busy=left.busy + right.busy,
        longest=max(left.longest, right.longest),
        steps=left.steps + right.steps,
        cpu=sum(cpus) if cpus else None,
    )


def _measured(delays: Sequence[Delay], *, aware: bool) -> Measured:
    return Measured(
        unaware=summarise(delay.unaware for delay in delays),
        aware=summarise(delay.aware for delay in delays) if aware else None,
        at_end=sum(delay.at_end for delay in delays),
        samples=tuple(sorted(delay.aware if aware else delay.unaware for delay in delays)),
    )


def run_latency(run: Run, clips: Iterable[ClipRun]) -> RunLatency:
    """The latency of a run whose clips are read one by one."""
    tally = LatencyTally()
    for clip in clips:
        tally.add(clip)
    return tally.total(run.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A number of another run against the same number of the first: ``other - base``, and over."""

    base: float | None
    other: float | None

    @property
    def delta(self) -> float | None:
        return None if self.base is None or self.other is None else self.other - self.base

    @property
    def ratio(self) -> float | None:
        """``other / base``; None when either is absent or the base is not above 0."""
        if self.base is None or self.other is None or self.base <= 0.0:
            return None
        return self.other / self.base


def comparable(base: RunLatency, other: RunLatency) -> tuple[str, ...]:
    """Warnings: why a difference between two runs may not be the code's."""
    said = []
    for what, left, right in (
        ("pace", base.paces, other.paces),
        ("machine", base.machines, other.machines),
        ("model", base.models, other.models),
    ):
        if left != right:
            said.append(
                f"{what} differs: {' + '.join(left) or 'unknown'} ({base.name}) against "
                f"{' + '.join(right) or 'unknown'} ({other.name})"
            )
    if base.clips != other.clips or abs(base.media_seconds - other.media_seconds) > 0.5:
        said.append(
            f"material differs: {base.clips} clips, {base.media_seconds:.1f} s ({base.name}) "
            f"against {other.clips} clips, {other.media_seconds:.1f} s ({other.name})"
        )
    return tuple(said)
