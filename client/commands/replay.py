"""``deixis replay``: stream clips as if they were live."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from client.live_view import View, view_for
from client.printing import printable
from replay.batch import BatchSettings, Result, RunRecord, run_many
from replay.bench import PREDICTIONS, prediction_of, write_scores
from replay.jobs import Job, Jobs, jobs_from
from replay.predictions import PredictionLog
from streaming.build import EngineSettings, describe_settings, language_code
from streaming.recorder import Listener


def replay(
    *sources: Path,
    pace: Literal["fast", "realtime"] = "fast",
    language: str = "auto",
    model: str = "local",
    asr: str = "auto",
    out: Path = Path("runs/replay"),
    audit: Annotated[bool, Parameter(negative=())] = False,
    mirrored: Annotated[bool, Parameter(negative=())] = False,
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
        What answers: `local`, or `scripted:FILE` for answers from a recording.
    asr
        Whisper model: `tiny.en`, `base` or a folder with a CTranslate2 model; `auto` picks one by
        language.
    out
        Run folder: one folder a clip with its trace, answer and pictures.
    audit
        Replay each clip again, cut at several times, and check that no decision used the future.
    mirrored
        The pictures are mirrored, as in a selfie view.
    as_json
        Print one JSON object instead of a line a clip.
    """
    if not sources:
        raise ValueError("name at least one file, folder or benchmark tree to replay")
    code = language_code(language)
    found = jobs_from(sources, language=code)
    settings = BatchSettings(
        out=out,
        pace=pace,
        engines=EngineSettings(model=model, asr=asr, mirrored=mirrored),
        audit=audit,
    )
    console = Console(stderr=as_json, highlight=False)
    results = stream_jobs(found, settings, language=code, console=console)
    if as_json:
        print(json.dumps(_as_json(found, results, out), ensure_ascii=False))
    bad = bool(found.failed) or any(result.error or result.differences for result in results)
    return 1 if bad or not results else 0


def stream_jobs(
    found: Jobs, settings: BatchSettings, *, language: str, console: Console
) -> list[Result]:
    """Replay clips with a live view in realtime pace, and print a line a clip.

    The clips of a benchmark tree are scored as well: ``predictions.jsonl`` and ``scores.json`` are
    written into the run folder.
    """
    tree = None if found.tree is None else {"name": "ecog", "root": str(found.tree.root)}
    record = RunRecord(
        settings.out,
        {
            "pace": settings.pace,
            "language": language,
            "model": settings.engines.model,
            "config": describe_settings(settings.engines),
            "benchmark": tree,
        },
    )
    settings.out.mkdir(parents=True, exist_ok=True)
    for failed in found.failed:
        record.add_failed(failed)
        console.print(_refusal(failed.source, failed.reason), markup=False, soft_wrap=True)
    record.write()
    views: list[View] = []

    def watch(job: Job) -> Sequence[Listener]:
        if settings.pace != "realtime":
            return ()
        console.print()
        views.append(view_for(console))
        return (views[-1].update,)

    results = []
    try:
        for result in run_many(found.jobs, settings, listeners_for=watch):
            while views:
                views.pop().close()
            record.add(result)
            results.append(result)
            console.print(_line(result), markup=False, soft_wrap=True)
    finally:
        while views:
            views.pop().close()
    if found.tree is not None:
        _write_predictions(results, settings.out)
        write_scores(found.tree, found.jobs, settings.out)
    return results


def _write_predictions(results: Sequence[Result], out: Path) -> None:
    """Write ``predictions.jsonl`` of a finished run."""
    with PredictionLog(out / PREDICTIONS, fresh=True) as log:
        for result in results:
            log.append(prediction_of(result))


def _refusal(source: str, reason: str) -> str:
    return f"{printable(source)}: {printable(reason)}"


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
        told += f" → {outcome.answer.text or 'no answer'}"
    if result.differences is not None:
        told += " · audit: " + ("; ".join(map(str, result.differences)) or "no future used")
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
