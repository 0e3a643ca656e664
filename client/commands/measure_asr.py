"""``deixis measure asr``: the transcript against what was said."""

from __future__ import annotations

import dataclasses
import json as json_module
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from replay.measure.asr import Measures
from replay.measure.asr_run import AsrRig, loop_memory
from replay.measure.asr_truth import Recording, find_recordings
from replay.measure.made_truth import by_difficulty
from streaming.config import config_path, load
from streaming.transcript import TranscriptSettings
from streaming.vad import VadSettings


def asr(
    folder: Path,
    /,
    *,
    model: str = "auto",
    hop: float | None = None,
    language: str = "",
    reference: Annotated[bool, Parameter(negative="")] = False,
    loop_minutes: float = 0.0,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Measure the incremental transcript on recordings whose words are known.

    Beside each sound file lies a TextGrid, an .align.json or a .txt of the same name, or the folder
    is an EcoG tree (replay/measure/asr_truth.py says how they are read). Prints error rates of the
    committed (live) words and of the final pass, onset errors, emission delays with computing time
    (aware) and without (unaware), unstable words, words invented where nothing is said, and cost:
    per file, pooled, and by difficulty where a made tree states it.

    Parameters
    ----------
    folder
        Recordings, or one of them, or an EcoG tree.
    model
        tiny.en, base, or any other Whisper model; auto takes tiny.en for English, base else.
    hop
        Seconds between two hypotheses; the setting of configs/transcript.toml by default.
    language
        en, zh or auto; by default what each recording's words are written in. The clips of a tree
        are in the tree's languages with auto too.
    reference
        Transcribe each file as a whole as well (faster-whisper, greedy), for comparison.
    loop_minutes
        Instead: play the recordings round and round for so many minutes and say how much memory is
        held.
    json
        Print one JSON object instead of tables.
    """
    settings = load(TranscriptSettings, config_path("transcript.toml"))
    if hop is not None:
        settings = dataclasses.replace(settings, hop=hop)
    rig = AsrRig(
        model=model,
        language=language,
        vad=load(VadSettings, config_path("vad.toml")),
        transcript=settings,
    )
    recordings = find_recordings(folder)
    if loop_minutes > 0.0:
        _print_memory(loop_memory(rig, recordings, minutes=loop_minutes), json=json)
        return
    document = _measure(rig, recordings, reference=reference, json=json)
    document = {"model": model, "hop": settings.hop} | document
    if json:
        print(json_module.dumps(document, ensure_ascii=False))
    else:
        _print_tables(document, reference=reference)


def _measure(
    rig: AsrRig, recordings: list[Recording], *, reference: bool, json: bool
) -> dict[str, Any]:
    files: list[dict[str, Any]] = []
    measures: list[tuple[Recording, Measures]] = []
    shown = track(recordings, console=Console(stderr=True), transient=True, disable=json)
    for recording in shown:
        measured = rig.measure(recording, reference=reference)
        measures.append((recording, measured.measures))
        files.append(
            {
                "file": str(recording.audio),
                "language": recording.language,
                "difficulty": recording.difficulty or None,
                "model": measured.model,
                "live": measured.live,
                "final": measured.final,
                **measured.measures.summary(),
            }
        )
    groups = by_difficulty((one.difficulty, (one, made)) for one, made in measures)
    return {
        "files": files,
        "pooled": _pooled(measures),
        "by_difficulty": {name: _pooled(group) for name, group in groups.items()},
    }


def _pooled(measures: list[tuple[Recording, Measures]]) -> dict[str, Any]:
    """Summaries by language."""
    pools: dict[str, Measures] = {}
    for recording, measured in measures:
        pools.setdefault(recording.language, Measures()).add(measured)
    return {code: pool.summary() for code, pool in pools.items()}


ROWS = (
    ("files", ("files",)),
    ("audio, s", ("duration",)),
    ("true words", ("reference_words",)),
    ("files without words", ("silent", "files")),
    ("words invented there, live", ("silent", "invented_live")),
    ("words invented there, final pass", ("silent", "invented_final")),
    ("error rate, live", ("error_rate_live",)),
    ("error rate, final pass", ("error_rate_final",)),
    ("error rate, offline", ("error_rate_offline",)),
    ("unstable words", ("unstable_ratio",)),
    ("onset error p50, s", ("onset_error", "p50")),
    ("onset error p90, s", ("onset_error", "p90")),
    ("onset error, signed median, s", ("onset_error", "median_signed")),
    ("onset within 0.05 s", ("onset_error", "within", "0.05")),
    ("onset within 0.1 s", ("onset_error", "within", "0.1")),
    ("onset within 0.2 s", ("onset_error", "within", "0.2")),
    ("words with times", ("onset_error", "n")),
    ("delay aware p50, s", ("delay_aware", "p50")),
    ("delay aware p90, s", ("delay_aware", "p90")),
    ("delay aware p99, s", ("delay_aware", "p99")),
    ("delay unaware p50, s", ("delay_unaware", "p50")),
    ("delay unaware p90, s", ("delay_unaware", "p90")),
    ("delay unaware p99, s", ("delay_unaware", "p99")),
    ("CPU s per audio s", ("cpu_per_second",)),
    ("real-time factor", ("real_time_factor",)),
    ("longest step, s", ("longest_step",)),
    ("most behind, s", ("most_behind",)),
    ("words out of order or outside", ("disorder",)),
)
"""What the pooled table shows, and where it stands in a summary."""


def _print_tables(document: dict[str, Any], *, reference: bool) -> None:
    console = Console()
    files = Table(box=SIMPLE_HEAD, title=f"model {document['model']}, hop {document['hop']:g} s")
    for heading in ("file", "model", "words", "live", "final", "delay aware p50", "onset p50"):
        files.add_column(heading, justify="left" if heading in ("file", "model") else "right")
    if reference:
        files.add_column("offline", justify="right")
    for entry in document["files"]:
        row = [
            escape(Path(entry["file"]).name),
            escape(entry["model"]),
            str(entry["reference_words"]),
            _text(entry["error_rate_live"]),
            _text(entry["error_rate_final"]),
            _text(entry["delay_aware"]["p50"]),
            _text(entry["onset_error"]["p50"]),
        ]
        files.add_row(*row, *([_text(entry.get("error_rate_offline"))] if reference else []))
    console.print(files)
    pooled = Table(box=SIMPLE_HEAD, title="pooled")
    pooled.add_column("")
    for code in document["pooled"]:
        pooled.add_column(f"{code} ({'CER' if code == 'zh' else 'WER'})", justify="right")
    for title, path in ROWS:
        cells = [_cell(summary, path) for summary in document["pooled"].values()]
        if any(cell != "" for cell in cells):
            pooled.add_row(title, *cells)
    console.print(pooled)
    if document["by_difficulty"]:
        console.print(_difficulty_table(document["by_difficulty"]))


COLUMNS = (
    ("files", ("files",)),
    ("words", ("reference_words",)),
    ("live", ("error_rate_live",)),
    ("final", ("error_rate_final",)),
    ("onset p50", ("onset_error", "p50")),
    ("delay p50", ("delay_aware", "p50")),
    ("silent", ("silent", "files")),
    ("invented", ("silent", "invented_live")),
)
"""What the table by difficulty shows, and where it stands in a summary; ``delay`` is aware."""


def _difficulty_table(parts: dict[str, dict[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="by difficulty", padding=(0, 1, 0, 0))
    table.add_column("")
    for heading, _ in COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, part in parts.items():
        for code, summary in part.items():
            cells = [_cell(summary, path) for _, path in COLUMNS]
            table.add_row(f"{name} {code}", *cells)
    return table


def _cell(summary: dict[str, Any], path: tuple[str, ...]) -> str:
    value: Any = summary
    for key in path:
        if key not in value:
            return ""
        value = value[key]
    return _text(value)


def _text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _print_memory(marks: list[tuple[float, float]], *, json: bool) -> None:
    if json:
        rows = [{"minutes": minutes, "rss_mb": rss} for minutes, rss in marks]
        sys.stdout.write(json_module.dumps({"memory": rows}) + "\n")
        return
    table = Table(box=SIMPLE_HEAD, title="resident memory")
    table.add_column("minutes", justify="right")
    table.add_column("MB", justify="right")
    for minutes, rss in marks:
        table.add_row(f"{minutes:g}", f"{rss:.0f}")
    Console().print(table)
