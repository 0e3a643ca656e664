"""``deixis measure binding``: which words get which strokes, how soon, and how surely."""

from __future__ import annotations

import json as json_module
import math
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from client.usage import UsageError
from replay.measure.binding import (
    LevelResult,
    Tally,
    Timing,
    fit_calibration,
    quantile,
    simulate_level,
)
from replay.measure.binding_ecog import (
    EcogBinding,
    PairingError,
    Roles,
    measure_run,
    measure_true,
)
from replay.measure.binding_json import ecog_document, level_document
from replay.measure.binding_prior import fit_prior, read_lags
from replay.measure.binding_truth import IDLE, REFERRING, TrueClip, load_true_clips
from replay.measure.deixis import SpanCounts, count_spans, read_sentences
from replay.measure.made_truth import by_difficulty
from replay.simulate import LEVELS
from streaming.binding import BindingSettings, Calibrations
from streaming.config import config_path, load
from streaming.deixis import load_lexicons

Switch = Annotated[bool, Parameter(negative="")]


def binding(
    root: Path | None = None,
    /,
    *,
    run: Path | None = None,
    simulate: int = 0,
    calibrate: Switch = False,
    prior: Path | None = None,
    sentences: Path | None = None,
    language: str = "en",
    config: Path | None = None,
    json: Switch = False,
) -> None:
    """Measure the binder beside nearest apex and the offline optimum.

    Parameters
    ----------
    root
        An EcoG tree: true words are bound to true strokes. A made one is also told by difficulty.
    run
        A run over that tree: its own words, strokes and bindings are compared with what is true.
    simulate
        Bind this many made-up scenes at each level of noise.
    calibrate
        With --simulate: fit the probabilities on that many other scenes a level, and print them.
    prior
        A folder of gesture annotations: print the lag prior that they suggest.
    sentences
        A file of marked sentences: precision and recall of the deictic words.
    language
        Of those sentences, en or zh.
    config
        Settings to use instead of configs/binding.toml.
    json
        Print one JSON object instead of tables.
    """
    if root is None and simulate <= 0 and prior is None and sentences is None:
        raise UsageError(
            "nothing to measure; give an EcoG tree, --simulate, --prior or --sentences"
        )
    if run is not None and root is None:
        raise UsageError("--run needs the EcoG tree that it ran over")
    settings = load(BindingSettings, config or config_path("binding.toml"))
    console = Console(stderr=json)
    document: dict[str, Any] = {}
    if prior is not None:
        document["prior"] = _prior(console, prior)
    if sentences is not None:
        document["sentences"] = _sentences(console, sentences, language)
    if root is not None:
        document["ecog"] = _ecog(console, root, run, settings)
    if simulate > 0 and calibrate:
        fitted = fit_calibration(settings, count=simulate)
        document["fitted"] = _calibrations(console, fitted)
    elif simulate > 0:
        document["simulated"] = _simulated(console, settings, simulate)
    if json:
        print(json_module.dumps(document, ensure_ascii=False))


def _simulated(console: Console, settings: BindingSettings, count: int) -> list[dict[str, Any]]:
    levels = [
        simulate_level(noise, settings, count=count)
        for noise in track(LEVELS, "binding", console=console, transient=True)
    ]
    table = Table(title=f"{count} simulated scenes a level: share of words bound right")
    for heading in ("noise", "words", *levels[0].tallies, "ECE", "Brier"):
        table.add_column(heading, justify="left" if heading == "noise" else "right")
    for level in levels:
        table.add_row(
            level.name,
            str(level.tallies["online"].words),
            *(_percent(tally.accuracy) for tally in level.tallies.values()),
            f"{level.calibration.ece:.3f}",
            f"{level.calibration.brier:.3f}",
        )
    console.print(table)
    console.print(_delay_table(levels))
    return [level_document(level) for level in levels]


def _delay_table(levels: list[LevelResult]) -> Table:
    table = Table(title="Commit delay of pairs in seconds of media time, p50 / p90")
    table.add_column("noise")
    table.add_column(
        "after the later of word offset and apex,\ninstant recognisers", justify="right"
    )
    table.add_column("the same,\nrealistic recognisers", justify="right")
    table.add_column("after the later arrival,\nrealistic recognisers", justify="right")
    for level in levels:
        table.add_row(
            level.name,
            _delays(level.instant.pairs),
            _delays(level.realistic.pairs),
            _delays(level.realistic.pairs_after_arrival),
        )
    return table


def _ecog(
    console: Console, root: Path, run: Path | None, settings: BindingSettings
) -> dict[str, Any]:
    clips, left_out = load_true_clips(root)
    if not clips:
        raise PairingError(f"{root}: no clip whose words and strokes are known to pair up")
    results = _tree_results(clips, run, settings)
    groups = by_difficulty((clip.difficulty, clip) for clip in clips)
    parts = {name: _tree_results(some, run, settings, part=True) for name, some in groups.items()}
    for name, result in results.items():
        console.print(_ecog_table(TITLES[name], result))
        _ecog_notes(console, result)
    if parts:
        console.print(_difficulty_table(parts))
    for clip in left_out:
        console.print(f"left out: {escape(clip.video_name)}: {escape(clip.reason)}")
    return {
        "true": ecog_document(results["true"]),
        "run": ecog_document(results["run"]) if "run" in results else None,
        "by_difficulty": {
            name: {what: ecog_document(result) for what, result in part.items()}
            for name, part in parts.items()
        },
        "left_out": [{"video_name": c.video_name, "reason": c.reason} for c in left_out],
    }


TITLES = {"true": "true words, true strokes", "run": "own words, own strokes"}


def _tree_results(
    clips: list[TrueClip], run: Path | None, settings: BindingSettings, *, part: bool = False
) -> dict[str, EcogBinding]:
    """The clips with true input, and as the run had them; a part that it lacks is left out."""
    results = {"true": measure_true(clips, settings)}
    if run is not None:
        try:
            results["run"] = measure_run(clips, run)
        except PairingError:
            if not part:
                raise
    return results


def _difficulty_table(parts: dict[str, dict[str, EcogBinding]]) -> Table:
    table = Table(title="by difficulty", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    headings = (
        "clips",
        "input",
        "words",
        "right",
        "pair p.",
        "pair r.",
        "whole",
        "found",
        "others",
    )
    for heading in headings:
        left = heading in ("clips", "input")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for name, part in parts.items():
        for what, result in part.items():
            tally = next(iter(result.tallies.values()))
            table.add_row(
                f"{result.clips} {name}",
                "true" if what == "true" else "its own",
                str(tally.words),
                *_shares(tally),
                f"{result.found}/{result.deictics}",
                str(result.invented),
            )
    return table


def _ecog_table(name: str, result: EcogBinding) -> Table:
    table = Table(title=f"{name}: {result.clips} clips")
    for heading in ("method", "words", "right", "pair precision", "pair recall", "whole clips"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for method, tally in result.tallies.items():
        table.add_row(method, str(tally.words), *_shares(tally))
    return table


def _shares(tally: Tally) -> list[str]:
    shares = (tally.accuracy, tally.precision, tally.recall, tally.whole_share)
    return [_percent(share) for share in shares]


def _ecog_notes(console: Console, result: EcogBinding) -> None:
    console.print(
        f"deictic words: {result.found} of {result.deictics} found, {result.invented} others; "
        f"strokes alone: {result.alone[0]} of {result.alone[1]}"
    )
    if result.roles.words:
        console.print(f"words treated as is right: {_role_shares(result.roles)}")
    timing: Timing = result.timing
    console.print(
        f"commit delay p50 / p90: {_delays(timing.pairs)} s after word offset and apex "
        f"({len(timing.pairs)} pairs; {timing.at_end} more at the stream's end); "
        f"ECE {result.calibration.ece:.3f}, Brier {result.calibration.brier:.3f} "
        f"({result.calibration.n} bindings)"
    )
    for mistake in result.mistakes:
        console.print(f"  {escape(mistake)}")


def _role_shares(roles: Roles) -> str:
    known = [role for role in REFERRING + IDLE if role in roles.words]
    return ", ".join(
        f"{role.replace('_', '-')} {roles.right[role]} of {roles.words[role]}" for role in known
    )


def _prior(console: Console, folder: Path) -> dict[str, Any]:
    studies = read_lags(folder)
    table = Table(title="Lag: apex - word onset, seconds")
    for heading in ("file", "n", "p10", "p50", "p90"):
        table.add_column(heading, justify="left" if heading == "file" else "right")
    for study in studies:
        quantiles = (f"{study.quantile(share):+.3f}" for share in (0.1, 0.5, 0.9))
        table.add_row(escape(study.name), str(len(study.lags)), *quantiles)
    console.print(table)
    fitted = fit_prior([lag for study in studies for lag in study.lags])
    console.print(
        f"together: mode {fitted.mode:.2f}, early {fitted.early:.2f}, late {fitted.late:.2f}, "
        f"freedom {fitted.freedom:g}"
    )
    return {
        "files": {study.name: list(study.lags) for study in studies},
        "fit": {"mode": fitted.mode, "early": fitted.early, "late": fitted.late},
    }


def _sentences(console: Console, path: Path, language: str) -> dict[str, Any]:
    lexicons = load_lexicons()
    if language not in lexicons:
        raise UsageError(f"no lexicon for {language!r}; there are {', '.join(lexicons)}")
    table = Table(title=f"{path.name}: expressions that point")
    for heading in ("part", "sentences", "marked", "precision", "recall", "plain p.", "plain r."):
        table.add_column(heading, justify="left" if heading == "part" else "right")
    document: dict[str, Any] = {}
    for part, sentences in read_sentences(path).items():
        counts = count_spans(sentences, language, lexicons)
        plain = count_spans(sentences, language, lexicons, plain=True)
        table.add_row(
            part,
            str(counts.sentences),
            str(counts.marked),
            *(_percent(v) for c in (counts, plain) for v in (c.precision, c.recall)),
        )
        document[part] = {"punctuated": _span_document(counts), "plain": _span_document(plain)}
    console.print(table)
    return document


def _span_document(counts: SpanCounts) -> dict[str, Any]:
    return {
        "sentences": counts.sentences,
        "marked": counts.marked,
        "found": counts.found,
        "hit": counts.hit,
        "wrong": [
            {"text": text, "missed": missed, "extra": extra} for text, missed, extra in counts.wrong
        ],
    }


def _calibrations(console: Console, fitted: Calibrations) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name in ("bound", "unbound"):
        curve = getattr(fitted, name)
        knobs = {knob: getattr(curve, knob) for knob in ("raw", "surprise", "quality", "shift")}
        console.print(f"\\[calibration.{name}]")
        for knob, value in knobs.items():
            console.print(f"{knob} = {value}")
        document[name] = knobs
    return document


def _delays(values: list[float]) -> str:
    if not values:
        return "no delays"
    return f"{quantile(values, 0.5):.2f} / {quantile(values, 0.9):.2f}"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100.0 * share:.1f} %"
