"""Reading traces that may be cut off, edited or damaged.

Lines that cannot be used are counted and named (:class:`Fault`), and reading goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from replay.loose_json import Fields, UnreadableJsonError, parse_object
from streaming.events import CameraMotion, HandsSeen, Seconds
from streaming.trace import FORMAT_VERSION, TraceError, decode_event

DENSE: tuple[type, ...] = (HandsSeen, CameraMotion)
"""One of each for every frame: too many to keep for a long clip."""
LONGEST_LINE = 1 << 26
"""Bytes; the last line of a long session lists an age for every frame."""
LATEST: Seconds = 1e9
"""A time beyond this (some thirty years) is a damaged number, not a time."""
FAULTS_KEPT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One event of a trace.

    Attributes:
        event: One of :data:`streaming.events.Event`.
        known_at: Media watermark at which it became known, seconds.
        emitted_at: Session clock at which it was emitted, seconds.
        stage: ``source``, ``hearing``, ``seeing``, ``understanding`` or ``answering``.
        finish: Only the end of the stream brought it out.
    """

    event: Any
    known_at: Seconds
    emitted_at: Seconds
    stage: str = ""
    finish: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A line that could not be used; ``line`` counts from 1, 0 means the file as a whole."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a run was computed on; empty where the trace does not say."""

    cpu: str = ""
    cores: int | None = None
    os: str = ""
    python: str = ""

    def __str__(self) -> str:
        cores = "" if self.cores is None else f"{self.cores} core{'' if self.cores == 1 else 's'}"
        named = [part for part in (self.cpu, cores, self.os) if part]
        return ", ".join(named) or "unknown machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """The clip's media, as the header states them."""

    name: str = ""
    duration: Seconds | None = None
    width: int | None = None
    height: int | None = None
    video: bool = True
    audio: bool = True
    fps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a trace."""

    version: str = ""
    clip: str = ""
    source: SourceFacts = field(default_factory=SourceFacts)
    pace: str = ""
    language: str = ""
    model: str = ""
    machine: Machine = field(default_factory=Machine)
    config: Fields = field(default_factory=Fields)
    weights: Fields = field(default_factory=Fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one component cost.

    Attributes:
        busy: Wall seconds in all.
        longest: Wall seconds of its longest step.
        steps: How many steps.
        cpu: CPU seconds of the stage's own thread; None when not recorded.
    """

    busy: float
    longest: float
    steps: int
    cpu: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Travel:
    """How long media and lines of a live session were on their way (:mod:`server.journey`).

    Attributes:
        lead_ms: How much earlier a thing was caught than the session's clock says; None where the
            sender's clock is not known.
        within_ms: How wrong that may be.
        ways: Samples by what was on its way, milliseconds.
    """

    lead_ms: float | None = None
    within_ms: float | None = None
    ways: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """All that depends on the wall clock of a run. Ages and lags in milliseconds."""

    started: str = ""
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    rss_mb: float | None = None
    loop_lag_ms: tuple[float, ...] = ()
    frame_age_ms: tuple[float, ...] = ()
    block_age_ms: tuple[float, ...] = ()
    components: dict[str, Spent] = field(default_factory=dict)
    cpu_by_stage: dict[str, float] = field(default_factory=dict)
    travel: Travel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last line of a trace."""

    complete: bool = False
    duration: Seconds | None = None
    counters: dict[str, int] = field(default_factory=dict)
    wall: Wall = field(default_factory=Wall)


def trace_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines without their end, each cut just above :data:`LONGEST_LINE` bytes."""
    while line := stream.readline(LONGEST_LINE + 1):
        whole = line.endswith(b"\n")
        while not whole and (rest := stream.readline(LONGEST_LINE)):
            whole = rest.endswith(b"\n")
        yield line


class TraceReader:
    """The events of a trace, line by line; header, end and faults as they are met.

    Args:
        lines: The trace's lines as bytes.
        dense: Whether to decode the :data:`DENSE` events.
    """

    def __init__(self, lines: Iterable[bytes], *, dense: bool = True) -> None:
        self._lines = lines
        self._skipped = () if dense else tuple(kind.__name__ for kind in DENSE)
        self.header: Header | None = None
        self.end: End | None = None
        self.faults: list[Fault] = []
        self.fault_count = 0

    def __iter__(self) -> Iterator[Recorded]:
        watermark = float("-inf")
        number = 0
        for number, line in enumerate(self._lines, start=1):
            item = self._read(number, line)
            if item is None:
                continue
            if self.end is not None:
                self._fault(number, "comes after the End line")
            if item.known_at < watermark:
                self._fault(number, f"known_at falls from {watermark} to {item.known_at}")
            watermark = max(watermark, item.known_at)
            yield item
        if self.header is None:
            self._fault(0, "no header line")
        if self.end is None:
            self._fault(0, f"no End line: the trace breaks off after line {number}")

    def _fault(self, number: int, text: str) -> None:
        self.fault_count += 1
        if len(self.faults) < FAULTS_KEPT:
            self.faults.append(Fault(line=number, text=text[:200]))

    def _read(self, number: int, line: bytes) -> Recorded | None:
        if not line.strip():
            return None
        if len(line) > LONGEST_LINE:
            self._fault(number, f"longer than {LONGEST_LINE} bytes")
            return None
        try:
            fields = parse_object(line)
            return self._understand(fields)
        except (UnreadableJsonError, TraceError) as error:
            self._fault(number, str(error))
            return None

    def _understand(self, fields: Fields) -> Recorded | None:
        kind = fields.text("type")
        if kind == "Header":
            if self.header is not None:
                raise TraceError("a second header")
            self.header = _header(fields)
            if fields.count("format") != FORMAT_VERSION:
                raise TraceError(
                    f"format {fields.values.get('format')!r}, this reads {FORMAT_VERSION}"
                )
            return None
        if kind == "End":
            self.end = _end(fields)
            return None
        if kind in self._skipped:
            return None
        known_at, emitted_at = fields.number("known_at"), fields.number("emitted_at")
        if known_at is None or emitted_at is None:
            raise TraceError(f"{kind or 'line'}: known_at or emitted_at is no number")
        event = decode_event(dict(fields.values))
        about = (getattr(event, name, 0.0) for name in ("onset", "offset", "apex", "time"))
        for time in (known_at, emitted_at, *about):
            if not abs(time) <= LATEST:
                raise TraceError(f"{kind}: {time} s is no time")
        return Recorded(
            event=event,
            known_at=known_at,
            emitted_at=emitted_at,
            stage=fields.text("stage"),
            finish=fields.flag("finish") is True,
        )


def read_machine(fields: Fields) -> Machine:
    return Machine(
        cpu=fields.text("cpu"),
        cores=fields.count("cores"),
        os=fields.text("os"),
        python=fields.text("python"),
    )


def _duration(fields: Fields) -> Seconds | None:
    duration = fields.number("duration")
    return duration if duration is not None and 0.0 <= duration <= LATEST else None


def _header(fields: Fields) -> Header:
    source = fields.table("source")
    return Header(
        version=fields.text("version"),
        clip=fields.text("clip"),
        source=SourceFacts(
            name=source.text("name"),
            duration=_duration(source),
            width=source.count("width"),
            height=source.count("height"),
            video=source.flag("video") is not False,
            audio=source.flag("audio") is not False,
            fps=source.number("fps"),
        ),
        pace=fields.text("pace"),
        language=fields.text("language"),
        model=fields.text("model"),
        machine=read_machine(fields.table("machine")),
        config=fields.table("config"),
        weights=fields.table("weights"),
    )


def _end(fields: Fields) -> End:
    wall = fields.table("wall")
    counters = fields.table("counters").all_numbers()
    return End(
        complete=fields.flag("complete") is True,
        duration=_duration(fields),
        counters={name: int(count) for name, count in counters.items()},
        wall=Wall(
            started=wall.text("started"),
            wall_seconds=wall.number("wall_seconds"),
            cpu_seconds=wall.number("cpu_seconds"),
            rss_mb=wall.number("rss_mb"),
            loop_lag_ms=tuple(wall.numbers("loop_lag_ms")),
            frame_age_ms=tuple(wall.numbers("frame_age_ms")),
            block_age_ms=tuple(wall.numbers("block_age_ms")),
            components={
                name: Spent(
                    busy=spent.number("busy") or 0.0,
                    longest=spent.number("longest") or 0.0,
                    steps=spent.count("steps") or 0,
                    cpu=spent.number("cpu"),
                )
                for name, spent in wall.table("components").children().items()
            },
            cpu_by_stage=wall.table("cpu_by_stage").all_numbers(),
            travel=_travel(wall.table("journey")) if "journey" in wall else None,
        ),
    )


def _travel(fields: Fields) -> Travel:
    kinds = {kind: fields.table(kind) for kind in ("sound", "pictures")}
    within = {
        f"{kind}_{name}": tuple(table.numbers(name))
        for kind, table in kinds.items()
        for name in ("network_ms", "decoding_ms", "whole_ms")
    }
    out = {name: tuple(fields.numbers(name)) for name in ("feed_ms", "reader_ms")}
    return Travel(
        lead_ms=fields.number("lead_ms"),
        within_ms=fields.number("within_ms"),
        ways={**within, **out},
    )
