"""Published EcoG-Bench numbers, to print beside ours.

Percent, as printed. ``eco`` and ``seq`` overall, and ``t`` overall, are from the paper (arXiv
2603.07966: main table, temporal accuracy, ablation of the anchors); eco by level is from the
table in the authors' repository (``jetteezhou/Listening-with-the-Eyes``, README.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Interface = Literal[
    "human", "video", "frames", "frames+asr", "no_frame_timestamps", "no_word_timing"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One row of a published table, in percent; None or absent where nothing is stated.

    Attributes:
        system: Name of the model.
        interface: What it was given.
        eco, seq, t: Over all 811 clips.
        eco_by_level: The same by level, ``L1`` to ``L4``.
    """

    system: str
    interface: Interface
    eco: float | None = None
    seq: float | None = None
    t: float | None = None
    eco_by_level: Mapping[str, float] = field(default_factory=dict)


def _levels(l1: float, l2: float, l3: float, l4: float) -> dict[str, float]:
    return {"L1": l1, "L2": l2, "L3": l3, "L4": l4}


PUBLISHED: tuple[Published, ...] = (
    Published(system="Human", interface="human", eco=96.9, seq=96.2),
    Published(
        system="Gemini-3-Pro",
        interface="video",
        eco=17.0,
        seq=10.9,
        t=56.5,
        eco_by_level=_levels(30.2, 29.2, 10.6, 10.2),
    ),
    Published(system="Gemini-3-Pro", interface="frames+asr", eco=42.9, seq=25.5, t=76.5),
    Published(
        system="Gemini-3-Flash",
        interface="video",
        eco=7.0,
        seq=4.1,
        t=19.3,
        eco_by_level=_levels(12.2, 10.2, 3.2, 6.6),
    ),
    Published(system="Gemini-3-Flash", interface="frames+asr", eco=48.1, seq=30.8, t=81.8),
    Published(
        system="Qwen3-Omni-30B-A3B",
        interface="video",
        eco=0.7,
        eco_by_level=_levels(3.6, 0.7, 0.0, 0.0),
    ),
    Published(
        system="Qwen3-Omni-Flash",
        interface="video",
        eco=0.7,
        seq=0.6,
        eco_by_level=_levels(2.9, 0.7, 0.2, 0.0),
    ),
    Published(system="Qwen3-Omni-Flash", interface="frames+asr", eco=9.3, seq=6.5),
    Published(
        system="Qwen3-VL-30B",
        interface="frames",
        eco=11.4,
        seq=6.7,
        eco_by_level=_levels(18.0, 19.7, 8.5, 6.6),
    ),
    Published(
        system="Qwen3-VL-8B",
        interface="frames",
        eco=8.8,
        seq=6.5,
        eco_by_level=_levels(21.6, 16.1, 4.4, 2.7),
    ),
    Published(
        system="GPT-5-mini",
        interface="frames",
        eco=3.3,
        seq=1.5,
        eco_by_level=_levels(5.0, 2.9, 2.8, 3.2),
    ),
)
"""The systems of the main table."""

ABLATION: tuple[Published, ...] = (
    Published(system="Gemini-3-Flash", interface="frames+asr", eco=48.1, t=81.8),
    Published(system="Gemini-3-Flash", interface="no_frame_timestamps", eco=30.4, t=62.7),
    Published(system="Gemini-3-Flash", interface="no_word_timing", eco=45.9, t=77.2),
)
"""What the anchors in time are worth (``no_...``: without them)."""

CLIPS_BY_LEVEL: Mapping[str, int] = {"L1": 139, "L2": 137, "L3": 284, "L4": 251}
"""Number of clips of the whole benchmark."""
