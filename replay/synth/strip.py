"""One made clip as a strip of frames above its timeline, as an SVG.

    python -m replay.synth.strip TREE NAME OUT.svg

``TREE`` is a made tree, ``NAME`` a video's name in it. Above: the first frame, the frames at the
apexes with the pointing ray drawn in, the last frame. Below, on one time axis: the words (those
that point in colour, joined to their strokes), each stroke's preparation, stroke and hold after
Kendon with the annotators' window, and movement that is no stroke.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.source import SourceError, open_source
from replay.synth.folder import TRUTH
from streaming.events import VideoFrame

WIDTH, PICTURE, GAP, LEFT = 1200, 232, 6, 84
COLOURS = ("#c2410c", "#1d4ed8", "#15803d", "#7e22ce", "#a16207")
LANES = {"words": 56, "strokes": 118, "window": 146, "other": 176}
HEIGHT = 218
CHARACTER = 6.8
"""Width of a letter, about."""

Axis = Callable[[float], float]
"""From milliseconds to where they lie."""


def strip(tree: Path, name: str) -> str:
    """The SVG.

    Raises:
        ValueError: If ``tree`` holds no such made clip.
    """
    try:
        clips = json.loads((tree / TRUTH).read_text(encoding="utf-8"))["clips"]
        clip = next(one for one in clips if one["video_name"] == name)
        video = next(tree.rglob(name))
    except (OSError, ValueError, KeyError, StopIteration) as error:
        raise ValueError(f"{tree}: no made clip {name} with a {TRUTH} that tells of it") from error
    frames = [one.image for one in open_source(video).events() if isinstance(one, VideoFrame)]
    pictures = _pictures(clip, frames)
    each = (WIDTH - GAP * (len(pictures) - 1)) / len(pictures)
    tall = each * clip["height"] / clip["width"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall + HEIGHT:.0f}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{tall + HEIGHT:.0f}" fill="#ffffff"/>',
    ]
    for place, (label, picture) in enumerate(pictures):
        x = place * (each + GAP)
        parts.append(
            f'<image x="{x:.1f}" width="{each:.1f}" height="{tall:.1f}" href="{_data(picture)}"/>'
            f'<text x="{x + 6:.1f}" y="{tall - 8:.1f}" fill="#fff" stroke="#000" '
            f'stroke-width="2.5" paint-order="stroke">{escape(label)}</text>'
        )
    parts.append(f'<g transform="translate(0 {tall:.1f})">{"".join(_timeline(clip))}</g></svg>')
    return "".join(parts)


def _pictures(
    clip: dict[str, Any], frames: Sequence[NDArray[np.uint8]]
) -> list[tuple[str, NDArray[np.uint8]]]:
    shown = [("0.0 s", frames[0])]
    for stroke in clip["strokes"]:
        number = min(-(-stroke["apex_ms"] * clip["fps"] // 1000), len(frames) - 1)
        picture = frames[number].copy()
        tip, to = stroke["fingertip_px_at_apex"], stroke["pointed_px_at_apex"]
        colour = _rgb(COLOURS[stroke["index"] % len(COLOURS)])
        ends = [(round(x), round(y)) for x, y in (tip, to)]
        cv2.arrowedLine(picture, ends[0], ends[1], colour, 3, cv2.LINE_AA, tipLength=0.25)
        cv2.circle(picture, ends[0], 6, colour, 2, cv2.LINE_AA)
        word = stroke["word"] or "silent"
        label = f"{stroke['apex_ms'] / 1000:.1f} s · {word} · {stroke['target']}"
        room = int(WIDTH / (len(clip["strokes"]) + 2) / CHARACTER)
        if len(label) > room:
            label = label[: room - 1] + "…"
        shown.append((label, picture))
    return [*shown, (f"{clip['duration_ms'] / 1000:.1f} s", frames[-1])]


def _timeline(clip: dict[str, Any]) -> list[str]:
    scale: float = (WIDTH - LEFT - 12) / clip["duration_ms"]

    def x(time: float) -> float:
        return LEFT + time * scale

    parts = [
        f'<text x="0" y="{y + 5}" fill="#64748b">{name}</text>'
        for name, y in (
            ("words", LANES["words"]),
            ("strokes", LANES["strokes"]),
            ("windows", LANES["window"]),
            ("no stroke", LANES["other"]),
        )
    ]
    for second in range(int(clip["duration_ms"] / 1000) + 1):
        parts.append(
            f'<line x1="{x(1000 * second):.1f}" x2="{x(1000 * second):.1f}" y1="12" y2="192" '
            f'stroke="#e2e8f0"/><text x="{x(1000 * second):.1f}" y="208" text-anchor="middle" '
            f'fill="#64748b">{second} s</text>'
        )
    for stroke in clip["strokes"]:
        parts += _stroke(clip, stroke, x)
    for number, word in enumerate(clip["words"]):
        colour = "#334155"
        if word["stroke"] is not None:
            colour = COLOURS[word["stroke"] % len(COLOURS)]
        weight = "700" if word["stroke"] is not None else "400"
        y = LANES["words"] - (16 if number % 2 else 0)
        parts.append(
            f'<rect x="{x(word["begin_ms"]):.1f}" y="{LANES["words"] + 8}" height="5" '
            f'width="{max(2.0, (word["end_ms"] - word["begin_ms"]) * scale):.1f}" fill="{colour}"/>'
            f'<text x="{x(word["begin_ms"]):.1f}" y="{y}" fill="{colour}" '
            f'font-weight="{weight}">{escape(word["text"] + word["punct"])}</text>'
        )
    for other in clip["beats"]:
        parts.append(
            _bar(x, other["begin_ms"], other["end_ms"], LANES["other"] - 6, 12, "#cbd5e1")
            + f'<text x="{x(other["begin_ms"]) + 4:.1f}" y="{LANES["other"] + 4}" '
            f'fill="#334155" font-size="11">{escape(other["kind"])}</text>'
        )
    return parts


def _stroke(clip: dict[str, Any], stroke: dict[str, Any], x: Axis) -> list[str]:
    colour = COLOURS[stroke["index"] % len(COLOURS)]
    y = LANES["strokes"] - 10
    apex = x(stroke["apex_ms"])
    begin, end = stroke["stroke_window_ms"]
    parts = [
        _bar(x, stroke["prep_begin_ms"], stroke["onset_ms"], y, 20, colour, 0.2),
        _bar(x, stroke["onset_ms"], stroke["apex_ms"], y, 20, colour, 0.5),
        _bar(x, stroke["apex_ms"], stroke["hold_end_ms"], y, 20, colour, 1.0),
        _bar(x, begin, end, LANES["window"] - 4, 8, colour, 0.7),
    ]
    if stroke["word_begin_ms"] is not None:
        parts.append(
            f'<line x1="{x(stroke["word_begin_ms"]):.1f}" y1="{LANES["words"] + 13}" '
            f'x2="{apex:.1f}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
        )
    return parts


def _bar(
    x: Axis, begin: float, end: float, y: float, tall: float, fill: str, opacity: float = 1.0
) -> str:
    return (
        f'<rect x="{x(begin):.1f}" y="{y}" width="{max(0.0, x(end) - x(begin)):.1f}" '
        f'height="{tall}" fill="{fill}" fill-opacity="{opacity}"/>'
    )


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _data(picture: NDArray[np.uint8]) -> str:
    wide = 2 * PICTURE
    tall = round(wide * picture.shape[0] / picture.shape[1])
    small = cv2.resize(picture, (wide, tall), interpolation=cv2.INTER_AREA)
    done, jpeg = cv2.imencode(".jpg", small[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 82])
    assert done
    return "data:image/jpeg;base64," + base64.b64encode(jpeg.tobytes()).decode("ascii")


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 3:
        print("usage: python -m replay.synth.strip TREE NAME OUT.svg", file=sys.stderr)
        return 2
    tree, name, out = arguments
    try:
        Path(out).write_text(strip(Path(tree), name), encoding="utf-8")
    except (ValueError, OSError, SourceError) as error:
        print(f"strip: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
