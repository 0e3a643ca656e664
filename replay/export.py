"""Tables as files: LaTeX for a paper, CSV for a spreadsheet, Markdown for a page of text.

* **LaTeX**: a ``tabular`` with the rules of booktabs and no other package; every text is escaped,
  and no character needs more than pdflatex's own UTF-8.
* **CSV** as in RFC 4180: comma, double quotes where needed, CRLF, UTF-8. Fractions and differences
  are raw numbers, not percent; the ends of an interval, whether it may be trusted, and a p-value
  stand in columns of their own. An empty field is an absent number.
* **Markdown**: a pipe table, as GitHub and pandoc read it.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from replay.scoring.paper_values import (
    UNTRUSTED,
    Amount,
    PaperCell,
    PaperRow,
    PaperTable,
    Share,
    show,
    show_ends,
    show_value,
)

FOLDER = "tables"
INCOMPLETE = "*"

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"$<$", ">": r"$>$", "|": r"$|$", '"': r"\textquotedbl{}",
    "−": r"$-$", "–": "--", "→": r"$\rightarrow$", UNTRUSTED: r"$^{\dagger}$",
    # A row that begins with it would be an argument of the line before.
    "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip


def write_exports(tables: Iterable[PaperTable], folder: Path) -> list[Path]:
    """Write each table as ``tables/<name>.tex``, ``.csv`` and ``.md`` under ``folder``.

    A file is written whole or not at all.

    Returns:
        The files, in the tables' order.
    """
    target = folder / FOLDER
    target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for table in tables:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", table.name)
        for ending, text in (
            ("tex", as_latex(table)),
            ("csv", as_csv(table)),
            ("md", as_markdown(table)),
        ):
            path = target / f"{name}.{ending}"
            _write_whole(path, text)
            written.append(path)
    return written


def _write_whole(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".part")
    # Line ends are the format's own. A name may hold half a surrogate pair.
    partial.write_bytes(text.encode("utf-8", errors="replace"))
    os.replace(partial, path)


def first_keys(row: PaperRow) -> tuple[str, ...]:
    """What names a row, marked when its run lacks something."""
    if not row.lacks or not row.keys:
        return row.keys
    return (row.keys[0] + INCOMPLETE, *row.keys[1:])


def as_latex(table: PaperTable) -> str:
    """The table as a LaTeX ``table`` with booktabs' rules."""
    columns = "l" * len(table.keys) + "r" * len(table.columns)
    lines = [
        "% Needs \\usepackage{booktabs}.",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{latex(table.title)}}}",
        f"\\label{{tab:{re.sub(r'[^A-Za-z0-9]+', '-', table.name)}}}",
        f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        "\\toprule",
        _latex_line(latex(name) for name in (*table.keys, *table.columns)),
        "\\midrule",
    ]
    ours_before = True
    for row in table.rows:
        if ours_before and not row.ours:
            lines.append("\\addlinespace")
        ours_before = row.ours
        lines.append(
            _latex_line([*map(latex, first_keys(row)), *(_latex_cell(cell) for cell in row.cells)])
        )
    lines += ["\\bottomrule", "\\end{tabular}"]
    if table.notes:
        lines += ["", "\\smallskip", "{\\footnotesize"]
        lines += [latex(note) + "\\\\" for note in table.notes[:-1]]
        lines += [latex(table.notes[-1]), "}"]
    return "\n".join([*lines, "\\end{table}", ""])


def latex(text: str) -> str:
    """A text as LaTeX sets it literally, on one line.

    What pdflatex's fonts have no letter for, such as Chinese, is kept: its own engine, or a package
    of the reader's choice, sets it.
    """
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(plain.split()))


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: PaperCell) -> str:
    """A cell; the interval small beside its number, a significant difference starred."""
    if not isinstance(cell, Share):
        return latex(show(cell))
    ends = show_ends(cell)
    stars = f"$^{{{cell.stars}}}$" if cell.stars else ""
    small = f" {{\\scriptsize {latex(ends)}}}" if ends else ""
    return latex(show_value(cell)) + stars + small


def as_csv(table: PaperTable) -> str:
    """The table as CSV; see the module for what becomes of intervals."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    parts = [_parts_of([row.cells[place] for row in table.rows])
             for place in range(len(table.columns))]  # fmt: skip
    heads = [
        f"{name}{f' {part}' if part else ''}"
        for name, named in zip(table.columns, parts, strict=True)
        for part in named
    ]
    writer.writerow([*table.keys, *heads, "measured", "lacks"])
    for row in table.rows:
        fields = [
            _field(cell, part)
            for cell, named in zip(row.cells, parts, strict=True)
            for part in named
        ]
        measured = "here" if row.ours else "elsewhere"
        writer.writerow([*map(_inert, row.keys), *fields, measured, row.lacks])
    return stream.getvalue()


def _parts_of(cells: Sequence[PaperCell]) -> tuple[str, ...]:
    """The columns that one column becomes."""
    shares = [cell for cell in cells if isinstance(cell, Share)]
    parts = [""]
    if any(cell.low is not None for cell in shares):
        parts += ["low", "high", "trusted"]
    if any(cell.p is not None for cell in shares):
        parts.append("p")
    return tuple(parts)


def _field(cell: PaperCell, part: str) -> str:
    if not isinstance(cell, Share):
        return "" if part or cell is None else _plain(cell)
    if part == "trusted":
        return "" if cell.low is None else str(cell.trusted).lower()
    number = {"": cell.value, "low": cell.low, "high": cell.high, "p": cell.p}[part]
    return "" if number is None else _number(number)


def _plain(cell: Amount | int | str) -> str:
    return _number(cell.value) if isinstance(cell, Amount) else _inert(str(cell))


def _number(value: float) -> str:
    """Twelve digits: more than any score has, and the same text on every machine."""
    text = f"{value:.12g}"
    return "0" if text == "-0" else text


def _inert(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") else text


def as_markdown(table: PaperTable) -> str:
    """The table as a Markdown section."""
    keys = len(table.keys)
    heads = (*table.keys, *table.columns)
    lines = [
        f"### {markdown(table.title)}",
        "",
        _pipe(markdown(name) for name in heads),
        _pipe([*[":--"] * keys, *["--:"] * len(table.columns)]),
        *(
            _pipe([*map(markdown, first_keys(row)), *(markdown(show(cell)) for cell in row.cells)])
            for row in table.rows
        ),
    ]
    if table.notes:
        lines += ["", *(f"{markdown(note)}  " for note in table.notes)]
    return "\n".join([*lines, ""])


def markdown(text: str) -> str:
    """A text as Markdown shows it literally, on one line."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return re.sub(r"([\\`*_{}\[\]<>|#~&!])", r"\\\1", " ".join(plain.split()))


def _pipe(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
