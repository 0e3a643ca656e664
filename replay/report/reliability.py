"""Reliability diagrams and curves of selective accuracy as SVG, on a page or as files.

They hold numbers only, so nothing in them needs escaping; colours are readable on light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from replay.loose_json import Fields

_SIDE, _EDGE = 200.0, 30.0
_BAR, _GAP = "#3478b8", "#d9822b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """What is known of how far one kind of answer's confidence can be trusted.

    Attributes:
        name: Of the answers.
        count: How many.
        bins: Low and high end, mean confidence and accuracy of each bin that is not empty.
        coverage: Accuracy over the surest share, by that share.
        error: Expected calibration error.
        risk: Area under risk over coverage.
    """

    name: str
    count: int
    bins: Sequence[tuple[float, float, float, float]]
    coverage: Mapping[float, float]
    error: float | None
    risk: float | None

    @property
    def diagram(self) -> Markup:
        """Accuracy by confidence."""
        return reliability_diagram(self.bins)

    @property
    def curve(self) -> Markup:
        """Accuracy over coverage."""
        return coverage_curve(self.coverage)


def read_reliability(scores: Fields) -> list[Reliability]:
    """What ``calibration`` of a ``scores.json`` says, by name; what is malformed is left out.

    An entry is ``{"count", "ece", "aurc", "bins": [{"low", "high", "confidence", "accuracy"}],
    "accuracy_at_coverage": {"0.1": …}}``.
    """
    found = []
    stated = scores.table("calibration")
    for name in stated.values:
        entry = stated.table(name)
        bins = [
            (low, high, confidence, accuracy)
            for one in entry.tables("bins")
            if (low := _share(one, "low")) is not None
            and (high := _share(one, "high")) is not None
            and (confidence := _share(one, "confidence")) is not None
            and (accuracy := _share(one, "accuracy")) is not None
        ]
        coverage = {
            share: value
            for key, value in entry.table("accuracy_at_coverage").all_numbers().items()
            if (share := _as_share(key)) is not None and 0 <= value <= 1
        }
        if bins:
            found.append(
                Reliability(
                    name=name,
                    count=entry.count("count") or 0,
                    bins=bins,
                    coverage=coverage,
                    error=entry.number("ece"),
                    risk=entry.number("aurc"),
                )
            )
    return found


def _share(entry: Fields, name: str) -> float | None:
    value = entry.number(name)
    return value if value is not None and 0 <= value <= 1 else None


def _as_share(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= 1 else None


def reliability_diagram(bins: Sequence[tuple[float, float, float, float]]) -> Markup:
    """Accuracy of each bin as a bar, and its gap to the bin's mean confidence.

    Args:
        bins: Low and high end, mean confidence and accuracy, each 0...1.
    """
    parts = []
    for low, high, confidence, accuracy in bins:
        left, right = _x(low) + 1, _x(high) - 1
        parts.append(_box(left, right, _y(accuracy), _y(0), f'fill="{_BAR}"'))
        top, bottom = sorted((_y(accuracy), _y(confidence)))
        look = f'fill="{_GAP}" fill-opacity="0.35" stroke="{_GAP}"'
        parts.append(_box(left, right, top, bottom, look))
    even = f"M{_x(0):g} {_y(0):g}L{_x(1):g} {_y(1):g}"
    parts.append(f'<path d="{even}" stroke="currentColor" stroke-dasharray="4 3" opacity="0.5"/>')
    return _drawing(parts, label="Accuracy against confidence", across="confidence")


def coverage_curve(coverage: Mapping[float, float]) -> Markup:
    """Accuracy over the surest share of answers, by that share."""
    points = [f"{_x(share):.1f} {_y(coverage[share]):.1f}" for share in sorted(coverage)]
    path = f'<path d="M{"L".join(points)}" fill="none" stroke="{_BAR}" stroke-width="2"/>'
    return _drawing([path] if points else [], label="Accuracy against coverage", across="coverage")


def _drawing(parts: Sequence[str], *, label: str, across: str) -> Markup:
    whole = _SIDE + 2 * _EDGE
    axes = f"M{_x(0):g} {_y(1):g}V{_y(0):g}H{_x(1):g}"
    frame = [
        f'<path d="{axes}" fill="none" stroke="currentColor"/>',
        *(_text(_x(one) - 6, _y(0) + 14, f"{one:g}") for one in (0, 0.5, 1)),
        *(_text(6, _y(one) + 4, f"{one:g}") for one in (0, 0.5, 1)),
        _text(_x(0.5) - 25, _y(0) + 28, across),
    ]
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole:g} {whole:g}" '
        f'width="{whole:g}" height="{whole:g}" role="img" aria-label="{label}" '
        f'font-family="sans-serif" font-size="10">{"".join(parts)}{"".join(frame)}</svg>'
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="currentColor">{text}</text>'


def _box(left: float, right: float, top: float, bottom: float, look: str) -> str:
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(0.0, right - left):.1f}" '
        f'height="{max(0.0, bottom - top):.1f}" {look}/>'
    )


def _x(share: float) -> float:
    return _EDGE + _SIDE * share


def _y(share: float) -> float:
    return _EDGE / 2 + _SIDE * (1 - share)
