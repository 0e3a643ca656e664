"""Tables as LaTeX, CSV and Markdown: what is escaped, what balances, what comes back."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.export import as_csv, as_latex, as_markdown, latex, markdown, write_exports
from replay.scoring.bootstrap import Resampling
from replay.scoring.cells import open_matrix
from replay.scoring.paper import paper_tables
from replay.scoring.paper_values import Amount, PaperRow, PaperTable, Share
from tests.matrix_maker import make_matrix

EVIL = r"a&b_c%d$e#f{g}~h^i\j<k>|l\input{/etc/passwd}" + "\n[x]*\t\x00é"
TABLE = PaperTable(
    name="t",
    title="Title & 100 %",
    keys=("model",),
    columns=("eco", "clips", "cost, $"),
    rows=(
        PaperRow(
            keys=("one_two",),
            cells=(Share(value=0.481, low=0.41, high=0.552, p=0.004, signed=True), 60, None),
            lacks="3 missing",
        ),
        PaperRow(keys=("three, four",), cells=(None, None, Amount(value=1.25))),
        PaperRow(keys=("five",), cells=(Share(value=-0.2), 811, None), ours=False),
    ),
    notes=("First note.", "* second & last"),
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[PaperTable]:
    folder = make_matrix(tmp_path_factory.mktemp("matrix") / "night")
    return paper_tables(open_matrix(folder).cells, how=Resampling(resamples=100))


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_latex_by_hand() -> None:
    lines = as_latex(TABLE).splitlines()
    assert lines[3] == r"\caption{Title \& 100 \%}"
    assert r"one\_two{*} & +48.1$^{**}$ {\scriptsize {[}+41.0, +55.2{]}} & 60 & -- \\" in lines
    assert r"three, four & -- & -- & 1.25 \\" in lines
    assert lines[lines.index(r"\addlinespace") + 1] == r"five & $-$20.0 & 811 & -- \\"
    assert r"First note.\\" in lines
    assert r"{*} second \& last" in lines


def test_latex_is_balanced_and_of_even_rows(tables: list[PaperTable]) -> None:
    for table in [*tables, TABLE]:
        text = as_latex(table)
        begun, ended = (re.findall(rf"\\{what}{{(\w+)}}", text) for what in ("begin", "end"))
        assert sorted(begun) == sorted(ended)
        bare = re.sub(r"\\[{}\\&%$#_]", "", text)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        width = len(table.keys) + len(table.columns)
        rows = [line for line in text.splitlines() if line.endswith(r" \\")]
        assert len(rows) == len(table.rows) + 1
        assert all(len(re.findall(r"(?<!\\)&", row)) == width - 1 for row in rows)
        for rule in ("toprule", "midrule", "bottomrule"):
            assert text.count(rf"\{rule}") == 1


def test_latex_needs_booktabs_only_and_letters_of_pdflatex(tables: list[PaperTable]) -> None:
    known = {"begin", "end", "centering", "caption", "label", "toprule", "midrule", "bottomrule",
             "addlinespace", "smallskip", "footnotesize", "scriptsize", "rightarrow", "dagger",
             "usepackage", "textbackslash", "textasciitilde", "textasciicircum"}  # fmt: skip
    for table in [*tables, TABLE]:
        text = as_latex(table)
        assert set(re.findall(r"\\([A-Za-z]+)", text)) <= known
        assert text.isascii()


@given(st.text(max_size=40))
@settings(deadline=None, max_examples=200)
def test_no_text_gets_a_command_past_the_escapes(text: str) -> None:
    escaped = latex(text)
    commands = set(re.findall(r"\\([A-Za-z]+)", escaped))
    assert commands <= {"textbackslash", "textasciicircum", "textasciitilde", "textquotedbl",
                        "rightarrow", "dagger"}  # fmt: skip
    bare = re.sub(r"\\[{}&%$#_]", "", escaped)
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"(?<!\\)[&%#_~]", bare)
    assert "\n" not in escaped


def test_hostile_names_stay_text() -> None:
    table = replace(TABLE, rows=(PaperRow(keys=(EVIL,), cells=(EVIL, 1, None)),), notes=(EVIL,))
    assert r"\input" not in as_latex(table)
    assert "<k>" not in as_markdown(table).replace(r"\<", "")
    assert rows_of(as_csv(table))[1][0] == EVIL


def test_csv_has_raw_fractions_and_ends_in_columns_of_their_own() -> None:
    text = as_csv(TABLE)
    assert text.endswith("\r\n")
    assert rows_of(text) == [
        ["model", "eco", "eco low", "eco high", "eco trusted", "eco p", "clips", "cost, $",
         "measured", "lacks"],
        ["one_two", "0.481", "0.41", "0.552", "true", "0.004", "60", "", "here", "3 missing"],
        ["three, four", "", "", "", "", "", "", "1.25", "here", ""],
        ["five", "-0.2", "", "", "", "", "811", "", "elsewhere", ""],
    ]  # fmt: skip


def test_csv_rows_are_all_of_one_width(tables: list[PaperTable]) -> None:
    for table in tables:
        rows = rows_of(as_csv(table))
        assert {len(row) for row in rows} == {len(rows[0])}
        assert len(set(rows[0])) == len(rows[0])
        assert len(rows) == len(table.rows) + 1


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-2", "@x", "\ttab"])
def test_csv_names_are_no_formulas(name: str) -> None:
    table = replace(TABLE, rows=(PaperRow(keys=(name,), cells=(None, None, None)),))
    assert rows_of(as_csv(table))[1][0] == "'" + name


def test_markdown_by_hand() -> None:
    lines = as_markdown(TABLE).splitlines()
    assert lines[0] == r"### Title \& 100 %"
    assert lines[2:4] == ["| model | eco | clips | cost, $ |", "| :-- | --: | --: | --: |"]
    assert lines[4] == r"| one\_two\* | +48.1 \[+41.0, +55.2\] p = 0.004 \*\* | 60 | – |"


def test_markdown_rows_are_all_of_one_width(tables: list[PaperTable]) -> None:
    for table in tables:
        rows = [line for line in as_markdown(table).splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {
            len(table.keys) + len(table.columns) + 1
        }


@given(st.text(max_size=40))
@settings(deadline=None, max_examples=100)
def test_markdown_text_is_on_one_line_without_bare_pipes(text: str) -> None:
    escaped = markdown(text)
    assert len(escaped.splitlines()) <= 1
    assert not re.search(r"(?<!\\)[|<]", escaped.replace("\\\\", ""))


def test_files_are_written_whole_and_named_safely(tmp_path: Path) -> None:
    written = write_exports([TABLE, replace(TABLE, name="../../evil name")], tmp_path / "out")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in written] == [
        "tables/t.tex", "tables/t.csv", "tables/t.md",
        "tables/______evil_name.tex", "tables/______evil_name.csv", "tables/______evil_name.md",
    ]  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    assert not list(tmp_path.rglob("*.part"))
    assert written[1].read_bytes().decode() == as_csv(TABLE)
    assert write_exports([TABLE], tmp_path / "out") == written[:3]


def test_half_a_surrogate_pair_in_a_name_can_be_written(tmp_path: Path) -> None:
    table = replace(TABLE, rows=(PaperRow(keys=("\ud83d",), cells=(None, None, None)),))
    assert all(path.exists() for path in write_exports([table], tmp_path))


def test_table_refuses_a_row_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        replace(TABLE, columns=("eco",))
