"""What the report takes from ``scores.json`` beside the shared tables of scoring.

Whatever is absent from the file is absent here. Fractions 0...1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from replay.loose_json import Fields
from replay.scoring.cells import estimates
from replay.scoring.cells import scored_clips as interval_clips
from replay.scoring.ecog import Failure, ReferentScore
from replay.scoring.paper_values import Share, share
from replay.scoring.published import PUBLISHED, Published
from replay.scoring.tables import Table

MEASURES: dict[str, str] = {
    "eco": "what, where and when all right",
    "seq": "every referent of the clip right",
    "t": "when: inside the stroke's window",
    "s": "where: inside the mask, or near it",
    "cls": "what: the option's label",
}
"""Each score and what it says, the headline ones first."""
FAILURES: dict[str, str] = {
    "right": "all right",
    Failure.WHAT: "only what is wrong",
    Failure.WHERE: "only where is wrong",
    Failure.WHEN: "only when is wrong",
    Failure.JOINT: "two or three are wrong",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One overall score; None where it is not defined.

    Attributes:
        found: The score with its interval, from the clips; None without any.
        human, best: Published: people's, and the best model's with its name; None if not stated.
    """

    name: str
    about: str
    value: float | None
    found: Share | None = None
    human: float | None = None
    best: tuple[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureShare:
    """How many referents are right, or wrong in one way; ``share`` of all referents."""

    kind: str
    name: str
    count: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredClip:
    """The score of one clip as the file states it."""

    referents: tuple[ReferentScore, ...] = ()
    status: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredClips:
    """The scored clips, found by video name and instruction."""

    by_name: dict[tuple[str, int | None], ScoredClip] = field(default_factory=dict)

    def find(self, truth: Fields) -> ScoredClip | None:
        """The score of the clip whose ``truth.json`` this is."""
        return self.by_name.get((truth.text("video_name"), truth.count("instruction")))


def headline(scores: Fields) -> list[Headline]:
    """The overall scores; empty without any."""
    overall = scores.table("overall")
    if not overall:
        return []
    intervals = estimates(interval_clips(scores))
    return [
        Headline(
            name=name,
            about=about,
            value=_fraction(overall.number(name)),
            found=share(intervals.get(name)),
            human=_human(name),
            best=_best_model(name),
        )
        for name, about in MEASURES.items()
    ]


def _stated(row: Published, name: str) -> float | None:
    return {"eco": row.eco, "seq": row.seq, "t": row.t}.get(name)


def _human(name: str) -> float | None:
    return next((_stated(row, name) for row in PUBLISHED if row.interface == "human"), None)


def _best_model(name: str) -> tuple[str, float] | None:
    stated = [
        (f"{row.system}, {row.interface}", value)
        for row in PUBLISHED
        if row.interface != "human" and (value := _stated(row, name)) is not None
    ]
    return max(stated, key=lambda one: one[1], default=None)


def _fraction(number: float | None) -> float | None:
    return None if number is None else min(max(number, 0.0), 1.0)


def failure_shares(scores: Fields) -> list[FailureShare]:
    """Every referent by what is wrong with it; empty without counts."""
    overall = scores.table("counts").table("overall")
    total, failures = overall.count("referents") or 0, overall.table("failures")
    if total <= 0:
        return []
    counts = {str(kind): max(0, failures.count(str(kind)) or 0) for kind in Failure}
    counts["right"] = max(0, total - sum(counts.values()))
    return [
        FailureShare(kind=str(kind), name=name, count=counts[kind], share=counts[kind] / total)
        for kind, name in FAILURES.items()
    ]


def scored_clips(scores: Fields) -> ScoredClips:
    """Each clip's hits, referent by referent."""
    return ScoredClips(
        by_name={
            (clip.text("video_name"), clip.count("instruction")): ScoredClip(
                referents=tuple(
                    ReferentScore(**{name: one.flag(name) is True for name in ("cls", "s", "t")})
                    for one in clip.tables("referents")
                ),
                status=clip.text("status"),
                reason=clip.text("reason"),
            )
            for clip in scores.tables("details")
        }
    )


def arranged(tables: Sequence[Table]) -> list[Table]:
    """The tables for the page: the published one ranked by eco, with the scores that it has."""
    return [_ranked(table) if table.name == "published" else table for table in tables]


def _ranked(table: Table) -> Table:
    kept = [name for name in ("eco", "seq", "t") if name in table.columns]
    places = [table.columns.index(name) for name in kept]
    rows = [replace(row, cells=tuple(row.cells[place] for place in places)) for row in table.rows]
    rows.sort(key=lambda row: -(row.cells[0] if row.cells and row.cells[0] is not None else -1))
    return replace(table, columns=tuple(kept), rows=tuple(rows))


def listed(scores: Fields, key: str) -> list[tuple[str, str]]:
    """Name and reason of the clips in one of the file's lists: ``left_out``, ``errors``..."""
    return [
        (entry.text("video_name") or "unnamed", entry.text("reason"))
        for entry in scores.tables(key)
    ]
