"""``deixis replay``: stream clips as if they were live."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from client.choices import AskingOptions, LanguageName, ModelName
from client.live_view import View, view_for
from client.printing import plain_console, printable
from client.usage import UsageError
from replay.batch import BatchError, BatchSettings, Result, RunRecord, run_many
from replay.bench import prediction_of, write_scores
from replay.jobs import Job, Jobs, jobs_from
from replay.out_folder import (
    PREDICTIONS,
    TRACE,
    OutFolderError,
    claimed,
    first_difference,
    forget_whole,
    read_run,
)
from replay.predictions import PredictionLog
from streaming.build import EngineSettings, describe_settings, language_code
from streaming.recorder import Listener
from streaming.version import VERSION

_MUST_AGREE = ("command", "version", "pace", "language", "model", "config", "benchmark")
"""What clips of one run have in common."""


def replay(
    *sources: Path,
    pace: Literal["fast", "realtime"] = "fast",
    language: LanguageName = "auto",
    model: ModelName = "local",
    asr: str = "auto",
    out: Path = Path("runs/replay"),
    audit: Annotated[bool, Parameter(negative=())] = False,
    mirrored: Annotated[bool, Parameter(negative=())] = False,
    asking: AskingOptions | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Stream clips as if they were live, and say which word pointed where and when.

    Parameters
    ----------
    sources
        Media files, folders of them, or an EcoG-Bench tree.
    pace
        `fast` goes as fast as the machine can and is deterministic; `realtime` takes as long as the
        clip and shows what happens while it happens.
    language
        Spoken language: `en`, `zh`, or `auto` to find it for each utterance.
    model
        What answers: `local`, `gemini:NAME`, `openai:NAME` (any server with that protocol), or
        `scripted:FILE` for answers or responses from a recording.
    asr
        Whisper model: `tiny.en`, `base` or a folder with a CTranslate2 model; `auto` picks one by
        language.
    out
        Run folder: one folder a clip with its trace, answer and pictures. Clips that were replayed
        into it in the same way stay in the run; otherwise a new run begins.
    audit
        Replay each clip again, cut at several times, and check that no decision used the future
        (in `fast` pace).
    mirrored
        The pictures are mirrored, as in a selfie view.
    as_json
        Print one JSON object instead of a line a clip.
    """
    if not sources:
        raise UsageError("name at least one file, folder or benchmark tree to replay")
    asked = (asking or AskingOptions()).choice()
    engines = EngineSettings(
        model=model, asr=asr, mirrored=mirrored, early=pace != "fast" and not audit, asking=asked
    )
    try:
        settings = BatchSettings(out=out, pace=pace, engines=engines, audit=audit)
    except BatchError as error:
        raise UsageError(str(error)) from error
    code = language_code(language)
    found = jobs_from(sources, language=code)
    console = plain_console(stderr=as_json)
    results = stream_jobs(found, settings, language=code, console=console)
    if as_json:
        print(json.dumps(_as_json(found, results, out)))
    bad = bool(found.failed) or any(map(_is_bad, results))
    return 1 if bad or not results else 0


def stream_jobs(
    found: Jobs, settings: BatchSettings, *, language: str, console: Console
) -> list[Result]:
    """Replay clips with a live view in realtime pace, and print a line a clip.

    The clips of a benchmark tree are scored as well: ``predictions.jsonl`` and ``scores.json`` are
    written into the run folder.
    """
    benchmark = None
    if found.tree is not None:
        benchmark = {"name": "ecog", "root": str(found.tree.root.resolve())}
    facts = {
        "command": "replay",
        "pace": settings.pace,
        "language": language,
        "model": settings.engines.model,
        "config": describe_settings(settings.engines),
        "benchmark": benchmark,
    }
    with claimed(settings.out):
        record = RunRecord(settings.out, facts)
        record.keep(_kept(settings.out, facts, found.jobs))
        for failed in found.failed:
            record.add_failed(failed)
            console.print(_refusal(failed.source, failed.reason))
        record.write()
        results = _stream(found.jobs, settings, record, console)
        if found.tree is not None:
            _write_predictions(results, settings.out)
            write_scores(found.tree, found.jobs, settings.out)
    return results


def _kept(out: Path, facts: dict[str, Any], jobs: Sequence[Job]) -> list[str]:
    """The clips of an earlier run of this kind that stay; another run's whole is forgotten.

    Raises:
        OutFolderError: If the folder holds a benchmark run, which takes long to make again.
    """
    run = read_run(out)
    if run is None:
        return []
    if run.get("command") == "bench":
        raise OutFolderError(f"{out} holds a benchmark run; give another --out")
    if first_difference(run, {"version": VERSION, **facts}, _MUST_AGREE) is not None:
        forget_whole(out)
        return []
    coming = {job.name for job in jobs}
    return [
        str(name)
        for name in run["clips"]
        if str(name) not in coming and (out / str(name) / TRACE).is_file()
    ]


def _stream(
    jobs: Sequence[Job], settings: BatchSettings, record: RunRecord, console: Console
) -> list[Result]:
    views: list[View] = []
    why: list[str] = []

    def note(line: dict[str, Any]) -> None:
        if line["type"] == "ModelFailed" and line["text"] not in why:
            why.append(line["text"])

    def watch(job: Job) -> Sequence[Listener]:
        why.clear()
        if settings.pace != "realtime":
            return (note,)
        console.print()
        views.append(view_for(console))
        return (note, views[-1].update)

    results = []
    try:
        for result in run_many(jobs, settings, listeners_for=watch):
            while views:
                views.pop().close()
            record.add(result)
            results.append(result)
            console.print(_line(result))
            for text in why:
                console.print(f"  {printable(text)}")
            why.clear()
    finally:
        while views:
            views.pop().close()
    return results


def _write_predictions(results: Sequence[Result], out: Path) -> None:
    """Write ``predictions.jsonl`` of a finished run."""
    with PredictionLog(out / PREDICTIONS, fresh=True) as log:
        for result in results:
            log.append(prediction_of(result))


def _refusal(source: str, reason: str) -> str:
    return f"{printable(source)}: {printable(reason)}"


def _is_bad(result: Result) -> bool:
    unanswered = result.outcome is not None and result.outcome.counters.get("model_failed", 0) > 0
    return bool(result.error or result.differences or unanswered)


def _line(result: Result) -> str:
    """What happened in one clip, in one line."""
    outcome = result.outcome
    if outcome is None:
        return _refusal(result.job.name, result.error)
    count = outcome.lines.get
    told = (
        f"{printable(result.job.name)}: {outcome.duration:.1f} s, {count('Word', 0)} words, "
        f"{count('Deictic', 0)} deictic, {count('Stroke', 0)} strokes, "
        f"{count('Binding', 0)} bindings"
    )
    if outcome.answer is not None:
        told += f" → {printable(outcome.answer.text) or 'no answer'}"
    if result.differences is not None:
        found = printable("; ".join(map(str, result.differences)))
        told += f" · audit: {found or 'no future used'}"
    notes = {name: n for name, n in outcome.counters.items() if name in _TOLD}
    if notes:
        told += " · " + ", ".join(f"{_TOLD[name]} {n}" for name, n in notes.items())
    return told


_TOLD = {
    "no_audio": "no audio track:",
    "no_video": "no video track:",
    "audio_gap": "gaps in the sound:",
    "broken_packet": "broken packets:",
    "dropped_frame": "frames dropped by the source:",
    "frames_skipped": "frames skipped:",
    "hops_skipped": "hops skipped:",
    "time_jump": "time jumps:",
    "model_failed": "model failures:",
    "tokens_sent": "tokens sent:",
    "tokens_written": "tokens written:",
}


def _as_json(found: Jobs, results: Sequence[Result], out: Path) -> dict[str, Any]:
    return {
        "out": str(out),
        "clips": [
            {
                "name": result.job.name,
                "duration": result.outcome.duration,
                "answer": result.outcome.answer.text if result.outcome.answer else None,
                "lines": result.outcome.lines,
                "counters": result.outcome.counters,
                "wall_seconds": round(result.outcome.wall, 3),
                "cpu_seconds": round(result.outcome.cpu, 3),
                "audit": None
                if result.differences is None
                else [str(difference) for difference in result.differences],
            }
            for result in results
            if result.outcome is not None
        ],
        "failed": [
            *({"source": one.source, "reason": one.reason} for one in found.failed),
            *({"source": one.job.name, "reason": one.error} for one in results if one.error),
        ],
    }
