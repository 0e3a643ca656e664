"""One HTML page about scored EgoSAT predictions: tables, reliability diagrams, risk curves.

It needs nothing but a browser. Every text goes through Jinja2's escaping; drawings hold numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from replay.egosat.calibration import Bin, Floats
from replay.egosat.scored import EgosatScores
from replay.egosat.tables import egosat_tables
from replay.scoring.paper_values import show

_SIDE, _EDGE = 220.0, 30.0
_MOST_POINTS = 200

_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; --ink: light-dark(#222, #ddd); --pale: light-dark(#ccc, #555);
  --bar: light-dark(#2a6fb0, #6fb0ec); --gap: light-dark(#d9822b, #f0a860); }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
  padding: 0 1rem; color: var(--ink); background: light-dark(#fff, #1b1b1b); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--pale); }
th:first-child, td.key { text-align: left; }
caption { text-align: left; font-weight: 600; padding: .4rem 0; }
.note { color: light-dark(#555, #aaa); margin: 0 0 1rem; }
.drawings { display: flex; flex-wrap: wrap; gap: 1.5rem; }
figure { margin: 0; } figcaption { font-size: 13px; }
svg text { font-size: 10px; fill: var(--ink); }
.axis { stroke: var(--ink); fill: none; } .even { stroke: var(--pale); stroke-dasharray: 4 3; }
.bin { fill: var(--bar); } .gap { fill: var(--gap); fill-opacity: .35; stroke: var(--gap); }
.curve { stroke: var(--bar); fill: none; stroke-width: 2; }
</style></head><body>
<h1>{{ title }}</h1>
{% for table in tables %}
<div class="scroll"><table><caption>{{ table.title }}</caption>
<thead><tr>{% for name in table.keys %}<th scope="col">{{ name }}</th>{% endfor %}
{% for name in table.columns %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in table.rows %}
<tr>{% for key in row.keys %}<td class="key">{{ key }}</td>{% endfor %}
{% for cell in row.cells %}<td>{{ cell | show }}</td>{% endfor %}</tr>{% endfor %}
</tbody></table></div>
{% for note in table.notes %}<p class="note">{{ note }}</p>{% endfor %}
{% endfor %}
<h2>Reliability and selective accuracy</h2>
{% if not diagrams %}<p>No answer came with a confidence.</p>{% endif %}
{% for one in diagrams %}
<h3>{{ one.name }} (n = {{ one.count }})</h3>
<div class="drawings">
<figure>{{ one.reliability }}<figcaption>accuracy by confidence; ECE {{ one.error }}; the pale part
is the gap to the diagonal</figcaption></figure>
<figure>{{ one.risk }}<figcaption>accuracy over the surest share of answers; AURC {{ one.area }}
</figcaption></figure>
</div>
{% endfor %}
{% if remarks %}<h2>Remarks</h2><ul>{% for line in remarks %}<li>{{ line }}</li>{% endfor %}</ul>
{% endif %}
</body></html>
"""


def egosat_page(scores: EgosatScores, *, system: str) -> str:
    """The page."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["show"] = show
    diagrams = [
        {
            "name": name,
            "count": found.count,
            "error": f"{found.error:.3f}",
            "area": f"{found.risk:.3f}",
            "reliability": reliability_diagram(found.bins),
            "risk": coverage_curve(found.curve),
        }
        for name, found in scores.calibrations.items()
    ]
    return environment.from_string(_TEMPLATE).render(
        title=f"EgoSAT, {system}",
        tables=egosat_tables(scores, system=system),
        diagrams=diagrams,
        remarks=list(scores.remarks()),
    )


def reliability_diagram(bins: Sequence[Bin]) -> Markup:
    """Accuracy of each bin as a bar, and its gap to the bin's mean confidence."""
    parts = []
    for one in bins:
        if not one.count:
            continue
        left, right = _x(one.low) + 1, _x(one.high) - 1
        parts.append(_box("bin", left, right, _y(one.accuracy), _y(0)))
        ends = sorted((_y(one.accuracy), _y(one.confidence)))
        parts.append(_box("gap", left, right, *ends))
    label = "Reliability diagram: accuracy against confidence"
    return _drawing(parts, label=label, across="confidence", even=True)


def coverage_curve(curve: Floats) -> Markup:
    """Accuracy over coverage."""
    size = curve.size
    places = range(1, size + 1)
    if size > _MOST_POINTS:
        places = range(1, size + 1, -(-size // _MOST_POINTS))
    points = [f"{_x(place / size):.1f} {_y(float(curve[place - 1])):.1f}" for place in places]
    if size:
        points.append(f"{_x(1):.1f} {_y(float(curve[-1])):.1f}")
    path = f'<path class="curve" d="M{"L".join(points)}"/>' if points else ""
    label = "Accuracy against coverage"
    return _drawing([path], label=label, across="coverage", even=False)


def _drawing(parts: Sequence[str], *, label: str, across: str, even: bool) -> Markup:
    whole = _SIDE + 2 * _EDGE
    frame = [
        f'<path class="axis" d="M{_x(0)} {_y(1)}V{_y(0)}H{_x(1)}"/>',
        f'<path class="even" d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}"/>' if even else "",
        *(f'<text x="{_x(one) - 6}" y="{_y(0) + 14}">{one:g}</text>' for one in (0, 0.5, 1)),
        *(f'<text x="4" y="{_y(one) + 4}">{one:g}</text>' for one in (0, 0.5, 1)),
        f'<text x="{_x(0.5) - 25}" y="{whole - 3}">{across}</text>',
    ]
    return Markup(
        f'<svg viewBox="0 0 {whole:g} {whole:g}" width="{whole:g}" height="{whole:g}" '
        f'role="img" aria-label="{label}">{"".join(parts)}{"".join(frame)}</svg>'
    )


def _box(name: str, left: float, right: float, top: float, bottom: float) -> str:
    return (
        f'<rect class="{name}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{max(0.0, bottom - top):.1f}"/>'
    )


def _x(share: float) -> float:
    return _EDGE + _SIDE * share


def _y(share: float) -> float:
    return _EDGE / 2 + _SIDE * (1 - share)
