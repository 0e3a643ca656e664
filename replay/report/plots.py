"""Small static drawings as SVG. They hold numbers only, so nothing in them needs escaping."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

MOST_TICKS = 240
"""More samples than this are drawn as that many evenly ranked ones."""


def rug(
    samples: Sequence[float], *, p50: float | None, p95: float | None, longest: float
) -> Markup:
    """Every sample as a tick on a line from 0 to ``longest``, with p50 and p95 marked.

    Args:
        samples: Ascending.
        p50: Drawn as a dot.
        p95: Drawn as a bar.
        longest: Right end of the axis; later samples stand at the end.
    """
    width, middle = 260.0, 11.0
    scale = (width - 8) / longest if longest > 0 else 0.0

    def place(value: float) -> str:
        return f"{min(max(4 + value * scale, 4.0), width - 4):.1f}"

    ticks = "".join(f"M{place(value)} 5V17" for value in _ranked(samples))
    parts = [
        f'<svg class="rug" viewBox="0 0 {width:.0f} 22" width="{width:.0f}" height="22" '
        'aria-hidden="true" focusable="false">',
        f'<path class="rug-axis" d="M4 {middle}H{width - 4}"/>',
        f'<path class="rug-ticks" d="{ticks}"/>',
    ]
    if p95 is not None:
        parts.append(f'<path class="rug-p95" d="M{place(p95)} 2V20"/>')
    if p50 is not None:
        parts.append(f'<circle class="rug-p50" cx="{place(p50)}" cy="{middle}" r="4.5"/>')
    return Markup("".join(parts) + "</svg>")


def _ranked(samples: Sequence[float]) -> Sequence[float]:
    if len(samples) <= MOST_TICKS:
        return samples
    last = len(samples) - 1
    return [samples[round(rank * last / (MOST_TICKS - 1))] for rank in range(MOST_TICKS)]


def bar(share: float | None, *, kind: str = "") -> Markup:
    """A horizontal bar of a share 0...1, 100 units long; empty for None."""
    if share is None:
        return Markup("")
    width = 100 * min(max(share, 0.0), 1.0)
    names = f"bar {kind}" if kind.isidentifier() else "bar"
    return Markup(
        f'<svg class="{names}" viewBox="0 0 100 8" preserveAspectRatio="none" '
        'aria-hidden="true" focusable="false">'
        f'<rect class="bar-all" width="100" height="8"/>'
        f'<rect class="bar-part" width="{width:.2f}" height="8"/></svg>'
    )
