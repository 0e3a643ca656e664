"""What a person chooses of the pictures that a model is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from client.usage import UsageError
from replay.asking.visual import VisualChoice
from streaming.asking.visual_budget import (
    FramesChoice,
    HandFinder,
    VisualBudget,
    load_visual_settings,
)
from streaming.asking.visual_tokens import Detail
from streaming.build import read_settings


def chosen_pictures(
    model: str,
    frames: FramesChoice | None,
    *,
    most: int | None,
    gaze: Path | None,
    detail: Detail = "auto",
) -> VisualChoice | None:
    """Which pictures are sent; None when nothing was chosen.

    Args:
        model: As on the command line: its provider's formula counts.
        frames: How they are chosen.
        most: Most visual tokens of a request.
        gaze: Folder of gaze.
        detail: How finely pictures are looked at.

    Raises:
        UsageError: If options do not go together.
        WeightsError: If the hand detector's weights are missing.
    """
    if frames is None:
        if most is not None or gaze is not None:
            raise UsageError("--visual-budget and --gaze go with --frames; give it too")
        return None
    if frames != "uniform" and most is None:
        raise UsageError(f"--frames {frames} chooses under a budget; give --visual-budget")
    if gaze is not None and frames != "roi":
        raise UsageError("--gaze is cut out with --frames roi only")
    if gaze is not None and not gaze.is_dir():
        raise UsageError(f"--gaze {gaze}: no such folder")
    settings = load_visual_settings()
    hands: HandFinder | None = None
    if frames != "uniform":
        from streaming.models.still_hands import StillHands

        hands = StillHands(read_settings().hands)
    budget = VisualBudget(
        choice=frames,
        most=most,
        formula=settings.tokens.of(model),
        hands=hands,
        detail=detail,
        settings=settings,
    )
    return VisualChoice(budget=budget, gaze=gaze)


def visual_cost(facts: Mapping[str, Any]) -> str:
    """What the pictures of a run cost, to go on a line about it; empty where nothing counted."""
    counted = facts.get("visual_tokens")
    if not counted:
        return ""
    return (
        f"; {counted['tokens']} visual tokens in {counted['pictures']} pictures by estimate, "
        f"of {counted['offered']} offered ({counted['left_out']} left out)"
    )
