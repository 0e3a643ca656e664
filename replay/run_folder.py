"""Reading what a run left on disk: the run's facts, each clip's trace, answer and truth.

A run folder is written by ``deixis replay`` and ``deixis bench``::

    run.json  scores.json  <clip>/trace.jsonl  answer.json  truth.json  last.jpg  apex_<n>.jpg

Nothing in it is trusted: a run may have been cut off, edited or damaged. Lines that cannot be
used are counted and named (:class:`Fault`) and reading goes on; only a path that holds no run at
all is an error. Clip names may not lead out of the folder.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from replay.loose_json import LONGEST_FILE, Fields, UnreadableJsonError, parse_object, read_object
from replay.trace_reader import (
    DENSE,
    End,
    Fault,
    Header,
    Machine,
    Recorded,
    TraceReader,
    read_machine,
    trace_lines,
)
from streaming.events import Seconds

TRACE, ANSWER, TRUTH, RUN, SCORES = (
    "trace.jsonl",
    "answer.json",
    "truth.json",
    "run.json",
    "scores.json",
)

_LINES_LOOKED_AT = 50


class RunError(ValueError):
    """A path that holds no run; one line saying what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRun:
    """One clip of a run.

    Attributes:
        name: Name of its folder.
        folder: Where its files are; None for a trace that stands alone.
        header: None when the trace has none.
        recorded: Its events in the trace's order, without the :data:`DENSE` ones.
        end: None when the trace breaks off before its last line.
        faults: The first :data:`FAULTS_KEPT` lines that could not be used.
        fault_count: How many there were.
        answer_text: ``answer.json`` as written by the model, empty when absent.
        truth: ``truth.json``, empty when absent.
    """

    name: str
    folder: Path | None
    header: Header | None
    recorded: tuple[Recorded, ...]
    end: End | None
    faults: tuple[Fault, ...] = ()
    fault_count: int = 0
    answer_text: str = ""
    truth: Fields = field(default_factory=Fields)

    @property
    def complete(self) -> bool:
        return self.end is not None and self.end.complete

    @property
    def duration(self) -> Seconds:
        """Media seconds: as the end says, else the header, else the last thing known."""
        if self.end is not None and self.end.duration is not None:
            return max(0.0, self.end.duration)
        if self.header is not None and self.header.source.duration is not None:
            return max(0.0, self.header.source.duration)
        return max((item.known_at for item in self.recorded), default=0.0)

    def events(self, kind: type) -> list[Recorded]:
        """Those whose event is a ``kind``, in order."""
        return [item for item in self.recorded if isinstance(item.event, kind)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedClip:
    """A source that could not be replayed."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run's facts and where its clips are. The traces are read by :func:`read_clip`.

    Attributes:
        path: What was opened: a run folder, a clip folder or a trace.
        traces: The clips' traces, in the run's order.
        benchmark: Name of the benchmark, or empty.
        scores: ``scores.json``, empty when absent.
        facts: ``run.json``, empty when absent.
        notes: What was missing or odd, one line each.
    """

    path: Path
    traces: tuple[Path, ...]
    version: str = ""
    pace: str = ""
    language: str = ""
    model: str = ""
    benchmark: str = ""
    machine: Machine = field(default_factory=Machine)
    failed: tuple[FailedClip, ...] = ()
    scores: Fields = field(default_factory=Fields)
    facts: Fields = field(default_factory=Fields)
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where things about the run are written."""
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def name(self) -> str:
        return self.path.resolve().name if self.path.is_dir() else str(self.path)


def open_run(path: Path) -> Run:
    """The run at ``path``: a run folder, a clip folder, a folder of recorded live sessions
    (``NAME.trace.jsonl``), or a trace.

    Raises:
        RunError: If there is none.
    """
    if path.is_file():
        _check_trace(path)
        return Run(path=path, traces=(path,))
    if not path.is_dir():
        raise RunError(f"{path}: no such run; give a run folder, a clip folder or a {TRACE}")
    if (path / TRACE).is_file() and not (path / RUN).is_file():
        return Run(path=path, traces=(path / TRACE,))
    recorded = sorted(path.glob(f"*.{TRACE}"))
    if recorded and not (path / RUN).is_file():
        return Run(path=path, traces=tuple(recorded))
    notes: list[str] = []
    facts = Fields()
    try:
        facts = read_object(path / RUN)
    except UnreadableJsonError as error:
        notes.append(f"{error}; clips taken in order of name")
    traces = _traces(path, facts, notes)
    if not traces and not facts:
        raise RunError(f"{path}: no {RUN} and no clip with a {TRACE} in it; is it a run folder?")
    return Run(
        path=path,
        traces=tuple(traces),
        version=facts.text("version"),
        pace=facts.text("pace"),
        language=facts.text("language"),
        model=facts.text("model"),
        benchmark=facts.table("benchmark").text("name"),
        machine=read_machine(facts.table("machine")),
        failed=tuple(
            FailedClip(source=item.text("source"), reason=item.text("reason"))
            for item in facts.tables("failed")
        ),
        scores=_optional(path / SCORES, notes),
        facts=facts,
        notes=tuple(notes),
    )


def _check_trace(path: Path) -> None:
    """Refuse a file of another kind: not one of its first lines is a trace's."""
    with path.open("rb") as stream:
        for line in itertools.islice(trace_lines(stream), _LINES_LOOKED_AT):
            try:
                if parse_object(line).text("type"):
                    return
            except UnreadableJsonError:
                continue
    raise RunError(f"{path}: not one of its first lines is a trace's; give a {TRACE}")


def _traces(folder: Path, facts: Fields, notes: list[str]) -> list[Path]:
    if "clips" not in facts:
        return sorted(folder.glob(f"*/{TRACE}"))
    root = folder.resolve()
    found: list[Path] = []
    for name in facts.texts("clips"):
        trace = folder / name / TRACE
        try:
            inside, there = trace.resolve().is_relative_to(root), trace.is_file()
        except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links, a name too long
            inside = there = False
        if not inside:
            notes.append(f"clip {name[:100]!r} leads out of the run folder: left out")
        elif not there:
            notes.append(f"clip {name!r} has no {TRACE}")
        else:
            found.append(trace)
    strays = sorted(set(folder.glob(f"*/{TRACE}")) - set(found))
    if strays:
        named = ", ".join(repr(stray.parent.name) for stray in strays[:3])
        more = f" and {len(strays) - 3} more" if len(strays) > 3 else ""
        notes.append(f"left out, as {RUN} does not name it: {named}{more}")
    return list(dict.fromkeys(found))


def _optional(path: Path, notes: list[str]) -> Fields:
    if not path.exists():
        return Fields()
    try:
        return read_object(path)
    except UnreadableJsonError as error:
        notes.append(str(error))
        return Fields()


def _text(path: Path, notes: list[str]) -> str:
    if not path.exists():
        return ""
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise OSError(f"over {LONGEST_FILE} bytes")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        notes.append(f"{path.name}: {error}")
        return ""


def read_clip(trace: Path, *, dense: Callable[[Recorded], None] | None = None) -> ClipRun:
    """Read one clip's trace and the files beside it.

    Args:
        trace: Its ``trace.jsonl``.
        dense: Is given each :data:`DENSE` event as it is read. Without it they are not decoded.

    Raises:
        OSError: If the trace cannot be opened.
    """
    with trace.open("rb") as stream:
        reader = TraceReader(trace_lines(stream), dense=dense is not None)
        kept: list[Recorded] = []
        for item in reader:
            if not isinstance(item.event, DENSE):
                kept.append(item)
            elif dense is not None:
                dense(item)
    notes: list[str] = []
    folder = trace.parent
    answer_text, truth = _text(folder / ANSWER, notes), _optional(folder / TRUTH, notes)
    faults = [*reader.faults, *(Fault(line=0, text=note) for note in notes)]
    return ClipRun(
        name=folder.resolve().name,
        folder=folder,
        header=reader.header,
        recorded=tuple(kept),
        end=reader.end,
        faults=tuple(faults),
        fault_count=reader.fault_count + len(notes),
        answer_text=answer_text,
        truth=truth,
    )
