"""The page of a matrix of runs: models and interfaces side by side, in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.report.html_file import render
from replay.report.scores_view import FAILURES, MEASURES, FailureShare, failure_shares
from replay.scoring.bootstrap import DEFAULT, Resampling
from replay.scoring.cells import Matrix, ScoredRun, estimates, plain_model
from replay.scoring.paper import paper_tables
from replay.scoring.paper_tables import published_like
from replay.scoring.paper_values import (
    PaperRow,
    PaperTable,
    Share,
    share,
    show,
    show_ends,
    show_p,
    show_value,
)
from replay.scoring.published import PUBLISHED, Published
from replay.trace_reader import Machine

BENCHMARKS = {"ecog": "EcoG-Bench"}
STEP = "frames+asr → bound"
"""The gain that is told at the top of the page."""
REPORT = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotRow:
    """One run in the plot.

    Attributes:
        run: It.
        label, about: The interface, and whose words and *when* where they are not the usual.
        found: The estimate, None where there is none.
        published: What was published for this model and interface, 0...1.
        best: No run is higher.
        report: Its own report, as a path from this page; empty when there is none.
    """

    run: ScoredRun
    label: str
    about: str
    found: Share | None
    published: float | None
    best: bool
    report: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One measure: the rows of each model, and what was published as lines through all of them."""

    measure: str
    about: str
    models: Sequence[tuple[str, Sequence[PlotRow]]]
    lines: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A number at the top; ``unit`` behind it, what it is about below it."""

    name: str
    value: str
    unit: str = ""
    about: Sequence[str] = ()


def build_matrix_report(matrix: Matrix, *, how: Resampling = DEFAULT) -> str:
    """The whole page.

    Args:
        matrix: The runs.
        how: How intervals and tests draw.
    """
    runs = [run for run in matrix.cells if run.clips]
    tables = paper_tables(runs, how=how)
    return render(
        "matrix.html.j2",
        {
            "title": BENCHMARKS.get(matrix.benchmark.text("name")) or "Runs",
            "matrix_name": matrix.name,
            "facts": _facts(matrix, runs),
            "notes": _notes(matrix),
            "tiles": _tiles(matrix, runs, tables, how),
            "plots": [_plot(name, about, runs, how) for name, about in MEASURES.items()],
            "failures": _failures(runs),
            "failure_kinds": FAILURES,
            "tables": [
                (table, best_of(table), f"table-of-{table.name}")
                for table in tables
                if table.name != "failures"
            ],
            "failure_table": next((one for one in tables if one.name == "failures"), None),
            "named": named,
        },
        scripts=("toggle.js", "matrix.js"),
        styles=("report.css", "matrix.css"),
        filters={
            "cell": show, "share_value": show_value, "share_ends": show_ends, "share_p": show_p,
            "is_share": lambda cell: isinstance(cell, Share), "percent": _percent,
        },
    )  # fmt: skip


def _percent(fraction: float | None) -> str:
    """A place on the axis, for a style sheet."""
    return "0%" if fraction is None else f"{100 * min(max(fraction, 0.0), 1.0):.2f}%"


def _facts(matrix: Matrix, runs: Sequence[ScoredRun]) -> list[tuple[str, str]]:
    models = list(dict.fromkeys(plain_model(run.model) or run.name for run in runs))
    sizes = sorted({len(run.clips) for run in runs})
    prompts = list(dict.fromkeys(run.prompt for run in runs if run.prompt))
    return [
        (name, value)
        for name, value in (
            ("models", ", ".join(models)),
            ("runs", str(len(matrix.cells))),
            ("scored clips a run", "–".join(str(size) for size in dict.fromkeys(_ends(sizes)))),
            ("benchmark", matrix.benchmark.text("root")),
            ("prompts", " + ".join(prompts)),
            ("machine", said_machine(matrix.machine)),
            ("version", matrix.version),
        )
        if value
    ]


def _ends(sizes: Sequence[int]) -> Sequence[int]:
    return (sizes[0], sizes[-1]) if sizes else ()


def said_machine(machine: Machine) -> str:
    """A machine in a few words."""
    cores = f"{machine.cores} cores" if machine.cores else ""
    return ", ".join(part for part in (machine.cpu, cores) if part)


def _notes(matrix: Matrix) -> list[str]:
    said = list(matrix.notes)
    for run in matrix.cells:
        if not run.clips:
            said.append(f"{run.name}: no scored clip, left out")
        elif run.lacks:
            said.append(f"{run.name} is incomplete ({run.lacks}): run it again")
    sizes = {len(run.clips) for run in matrix.cells if run.clips}
    if sizes and max(sizes) < 811:
        said.append(
            "the published numbers are of 811 clips: compare them with a run over all of these only"
        )
    return said


def _tiles(
    matrix: Matrix, runs: Sequence[ScoredRun], tables: Sequence[PaperTable], how: Resampling
) -> list[Tile]:
    """The best run, what the last interface gains there, and what it all took."""
    tiles: list[Tile] = []
    best = _best_run(runs, "eco", how)
    for name in ("eco", "seq"):
        run = _best_run(runs, name, how)
        found = share(estimates(run.clips, how=how).get(name)) if run else None
        if run and found:
            about = (run.title, show_ends(found))
            tiles.append(Tile(name=f"best {name}", value=show_value(found), unit="%", about=about))
    gained = _gain(best, tables)
    if best is not None and gained is not None:
        about = (f"{plain_model(best.model)}, {STEP}", f"{show_ends(gained)} {show_p(gained)}")
        tiles.append(Tile(name="gain in eco", value=show_value(gained), unit="points", about=about))
    complete = sum(not run.lacks and bool(run.clips) for run in matrix.cells)
    answered = sum(clip.answered for run in runs for clip in run.clips)
    tiles.append(
        Tile(
            name="runs complete",
            value=str(complete),
            unit=f"of {len(matrix.cells)}",
            about=(f"{answered:,} clips answered".replace(",", " "),),
        )
    )
    costs = [cost for run in matrix.cells if (cost := run.facts.number("cost")) is not None]
    if costs:
        unknown = len(matrix.cells) - len(costs)
        said = f"without {unknown} runs of unknown price" if unknown else "over all runs"
        tiles.append(Tile(name="cost", value=f"{sum(costs):.2f}", unit="$", about=(said,)))
    return tiles


def _best_run(runs: Sequence[ScoredRun], measure: str, how: Resampling) -> ScoredRun | None:
    return max(runs, key=lambda run: estimates(run.clips, how=how)[measure].value, default=None)


def _gain(best: ScoredRun | None, tables: Sequence[PaperTable]) -> Share | None:
    """In eco, of the model that the best run is of."""
    table = next((one for one in tables if one.name == "table3_interfaces"), None)
    if best is None or table is None:
        return None
    place = table.columns.index("eco")
    model = plain_model(best.model) or best.name
    found = [row.cells[place] for row in table.rows if row.keys[:2] == (model, STEP) and row.ours]
    return found[0] if found and isinstance(found[0], Share) else None


def _plot(measure: str, about: str, runs: Sequence[ScoredRun], how: Resampling) -> Plot:
    best = _best_run(runs, measure, how)
    models: dict[str, list[PlotRow]] = {}
    for run in runs:
        published = published_like(run)
        row = PlotRow(
            run=run,
            label=run.interface or run.name,
            about=_unusual(run, runs),
            found=share(estimates(run.clips, how=how).get(measure)),
            published=_stated(published, measure) if published else None,
            best=run is best,
            report=f"{run.name}/{REPORT}" if (run.folder / REPORT).is_file() else "",
        )
        models.setdefault(plain_model(run.model) or run.name, []).append(row)
    return Plot(measure=measure, about=about, models=list(models.items()), lines=_lines(measure))


def _unusual(run: ScoredRun, runs: Sequence[ScoredRun]) -> str:
    """What tells a run apart from others of its model and interface."""
    alike = [one for one in runs if (one.model, one.interface) == (run.model, run.interface)]
    said = []
    if run.words in ("ours", "benchmark"):
        said.append("our words" if run.words == "ours" else "benchmark’s words")
    if run.when == "binder":
        said.append("our when")
    if len({(one.words, one.when) for one in alike}) < len(alike):
        said.append(run.name)
    return ", ".join(said)


def _stated(row: Published, measure: str) -> float | None:
    value = {"eco": row.eco, "seq": row.seq, "t": row.t}.get(measure)
    return None if value is None else value / 100


def _lines(measure: str) -> list[tuple[str, float]]:
    """People's score, and the best model's."""
    stated = [(row, value) for row in PUBLISHED if (value := _stated(row, measure)) is not None]
    people = [("people", value) for row, value in stated if row.interface == "human"]
    models = [value for row, value in stated if row.interface != "human"]
    return [*([("best published", max(models))] if models else []), *people]


def _failures(runs: Sequence[ScoredRun]) -> list[tuple[ScoredRun, str, list[FailureShare]]]:
    shown = []
    for run in runs:
        parts = failure_shares(run.scores)
        if parts:
            shown.append((run, _unusual(run, runs), parts))
    return shown


def best_of(table: PaperTable) -> dict[int, float]:
    """The highest of our own values of each column, where higher is better."""
    best: dict[int, float] = {}
    if not table.name.startswith("table2"):
        return best
    for place in range(len(table.columns)):
        values = [
            cell.value
            for row in table.rows
            if row.ours and isinstance(cell := row.cells[place], Share)
        ]
        if len(values) > 1 and max(values) > 0:
            best[place] = max(values)
    return best


def named(row: PaperRow, table: PaperTable) -> tuple[str, str]:
    """What names a row, on two lines: the first key, and the rest as far as it says anything."""
    first, *rest = row.keys
    said = [_said(name, key) for name, key in zip(table.keys[1:], rest, strict=True)]
    return first, " · ".join(filter(None, said))


def _said(name: str, key: str) -> str:
    if key in ("–", "none") or (name, key) == ("when", "model"):
        return ""
    if name == "words" and key in ("ours", "benchmark"):
        return "our words" if key == "ours" else "benchmark’s words"
    return f"{name}: {key}" if name in ("words", "when") else key
