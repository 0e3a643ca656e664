"""Short scripts of clips: what is said and pointed at, what is meant and what is answered.

All content is invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from streaming.events import DeicticKind, Point, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A spoken word; ``kind`` when it refers, ``stroke`` when through a stroke.

    ``spans`` is how many words the referring expression has that begins here.
    """

    text: str
    onset: Seconds
    offset: Seconds
    kind: DeicticKind | None = None
    stroke: int | None = None
    spans: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """A stroke: onset, apex and end of hold, and where the fingertip was."""

    onset: Seconds
    apex: Seconds
    offset: Seconds
    tip: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """One referent: the truth, and what the pretended model answered."""

    stroke: int
    kind: str
    choice: str
    window: tuple[Seconds, Seconds]
    center: Point
    size: tuple[float, float]
    label: str | None
    point: Point | None
    time: Seconds | None
    confidence: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One clip."""

    name: str
    instruction: int
    level: str
    language: str
    scene: str
    duration: Seconds
    words: Sequence[Said]
    strokes: Sequence[Pointed]
    meant: Sequence[Meant]
    objects: Sequence[str]
    spaces: Sequence[str] = ()
    false_words: dict[int, str] = field(default_factory=dict)


MUG = Script(
    name="en3_mug",
    instruction=3,
    level="L3",
    language="en",
    scene="Kitchen Scene",
    duration=6.4,
    words=(
        Said(text="Put", onset=1.52, offset=1.71),
        Said(text="this", onset=1.76, offset=2.04, kind="object", stroke=0),
        Said(text="mug", onset=2.08, offset=2.41),
        Said(text="over", onset=3.60, offset=3.81, kind="place", stroke=1, spans=2),
        Said(text="there.", onset=3.84, offset=4.22),
    ),
    strokes=(
        Pointed(onset=1.32, apex=1.83, offset=2.55, tip=(0.36, 0.47)),
        Pointed(onset=3.28, apex=3.92, offset=4.80, tip=(0.71, 0.56)),
    ),
    meant=(
        Meant(
            stroke=0, kind="object", choice="C", window=(1.74, 2.52), center=(0.33, 0.42),
            size=(0.09, 0.13), label="C", point=(0.335, 0.425), time=1.90, confidence=0.91,
        ),
        Meant(
            stroke=1, kind="space", choice="b", window=(3.85, 4.75), center=(0.74, 0.52),
            size=(0.10, 0.07), label="b", point=(0.735, 0.53), time=4.02, confidence=0.78,
        ),
    ),
    objects=(
        "A. Red bowl, to the left of the blue box",
        "B. Blue box, behind the yellow mug",
        "C. Yellow mug, to the right of the red bowl",
    ),
    spaces=(
        "a. Empty space behind the blue box",
        "b. Empty space to the right of the green bottle",
        "c. Empty space in front of the red bowl",
    ),
)  # fmt: skip

FOUR = Script(
    name="en6_four",
    instruction=6,
    level="L4",
    language="en",
    scene="Industrial Scene",
    duration=10.2,
    words=(
        Said(text="Put", onset=1.40, offset=1.58),
        Said(text="this", onset=1.62, offset=1.93, kind="object", stroke=0),
        Said(text="to", onset=2.30, offset=2.38),
        Said(text="the", onset=2.41, offset=2.50),
        Said(text="right", onset=2.53, offset=2.74),
        Said(text="of", onset=2.77, offset=2.86),
        Said(text="that,", onset=2.90, offset=3.24, kind="object", stroke=2),
        Said(text="then", onset=4.10, offset=4.26),
        Said(text="put", onset=4.30, offset=4.47),
        Said(text="this", onset=4.52, offset=4.80, kind="object", stroke=3),
        Said(text="in", onset=5.20, offset=5.30),
        Said(text="front", onset=5.34, offset=5.60),
        Said(text="of", onset=5.62, offset=5.71),
        Said(text="it", onset=5.75, offset=5.90, kind="anaphor"),
        Said(text="or", onset=6.50, offset=6.62),
        Said(text="here.", onset=6.70, offset=7.05, kind="place", stroke=4),
    ),
    strokes=(
        Pointed(onset=1.20, apex=1.70, offset=2.20, tip=(0.30, 0.52)),
        Pointed(onset=2.32, apex=2.55, offset=2.62, tip=(0.48, 0.66)),
        Pointed(onset=2.70, apex=3.02, offset=3.60, tip=(0.62, 0.44)),
        Pointed(onset=4.05, apex=4.60, offset=5.15, tip=(0.42, 0.38)),
        Pointed(onset=6.20, apex=6.80, offset=7.60, tip=(0.78, 0.60)),
    ),
    meant=(
        Meant(
            stroke=0, kind="object", choice="A", window=(1.60, 2.18), center=(0.27, 0.47),
            size=(0.08, 0.10), label="A", point=(0.275, 0.475), time=1.75, confidence=0.86,
        ),
        Meant(
            stroke=2, kind="space", choice="b", window=(2.95, 3.55), center=(0.67, 0.40),
            size=(0.09, 0.06), label="c", point=(0.60, 0.41), time=3.05, confidence=0.41,
        ),
        Meant(
            stroke=3, kind="object", choice="D", window=(4.52, 5.10), center=(0.40, 0.33),
            size=(0.07, 0.12), label="D", point=(0.402, 0.335), time=4.66, confidence=0.83,
        ),
        Meant(
            stroke=4, kind="space", choice="a", window=(6.70, 7.50), center=(0.80, 0.55),
            size=(0.11, 0.07), label="a", point=(0.55, 0.70), time=6.10, confidence=0.35,
        ),
    ),
    objects=(
        "A. Orange ball, in front of the brown book",
        "B. Brown book, to the left of the green jar",
        "C. Green jar, behind the orange ball",
        "D. White carton, to the right of the brown book",
    ),
    spaces=(
        "a. Empty space in front of the green jar",
        "b. Empty space to the right of the white carton",
        "c. Empty space to the left of the orange ball",
    ),
)  # fmt: skip

CHINESE = Script(
    name="zh3_碗",
    instruction=3,
    level="L3",
    language="zh",
    scene="Office Scene",
    duration=6.0,
    words=(
        Said(text="把", onset=1.30, offset=1.44),
        Said(text="这个", onset=1.48, offset=1.92, kind="object", stroke=0),
        Said(text="放到", onset=2.30, offset=2.66),
        Said(text="那里", onset=2.90, offset=3.42, kind="place", stroke=1),
    ),
    strokes=(
        Pointed(onset=1.10, apex=1.62, offset=2.20, tip=(0.40, 0.50)),
        Pointed(onset=2.62, apex=3.15, offset=3.90, tip=(0.66, 0.42)),
    ),
    meant=(
        Meant(
            stroke=0, kind="object", choice="B", window=(1.55, 2.15), center=(0.37, 0.45),
            size=(0.10, 0.08), label="A", point=(0.37, 0.455), time=1.70, confidence=0.55,
        ),
        Meant(
            stroke=1, kind="space", choice="a", window=(3.05, 3.88), center=(0.69, 0.38),
            size=(0.09, 0.06), label="a", point=(0.69, 0.385), time=3.20, confidence=0.72,
        ),
    ),
    objects=("A. 红色马克杯，在碗的左边", "B. 青色碗，在马克杯的右边"),
    spaces=("a. 绿色瓶子右边的空位", "b. 碗前面的空位"),
    false_words={3: "哪里"},
)  # fmt: skip

SILENT = Script(
    name="en1_silent",
    instruction=1,
    level="L1",
    language="en",
    scene="Kitchen Scene",
    duration=4.6,
    words=(),
    strokes=(Pointed(onset=1.60, apex=2.25, offset=3.40, tip=(0.56, 0.50)),),
    meant=(
        Meant(
            stroke=0, kind="object", choice="B", window=(2.15, 3.35), center=(0.53, 0.45),
            size=(0.08, 0.14), label="B", point=(0.53, 0.46), time=2.25, confidence=0.88,
        ),
    ),
    objects=("A. Pink plate, to the left of the green bottle", "B. Green bottle, behind the plate"),
)  # fmt: skip

SCRIPTS: tuple[Script, ...] = (SILENT, MUG, CHINESE, FOUR)
