"""The numbers of the grounder (:mod:`streaming.grounding`)."""

from __future__ import annotations

from dataclasses import dataclass

from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingSettings:
    """Settings of the :class:`Grounder`, see ``configs/grounding.toml``.

    Attributes:
        ring_seconds: How long frames are kept; a stroke must be announced within it.
        ring_gap: Frames nearer than this to the one kept before are left out.
        most_keyframes: Most strokes that a query carries; the oldest go first.
        early_after: How long no word began after the last one before a turn that is not over is
            asked early (:mod:`streaming.grounding_early`); 0 never asks early.
        settle: Quiet after a stroke without words before it counts as said.
        longest_wait: How long a hold may go on after the words before the query is asked anyway.
        inset: How far inside the hold the moment of a referent stays.
        crop_share: Width of the zoom on the fingertip, as a share of the frame's.
        still_radius: How far a still fingertip wanders, in picture heights.
        still_seconds: How long a hand keeps still at least, where strokes are missing.
    """

    ring_seconds: Seconds = 0.8
    ring_gap: Seconds = 0.03
    most_keyframes: int = 12
    early_after: Seconds = 0.0
    settle: Seconds = 1.0
    longest_wait: Seconds = 0.6
    inset: Seconds = 0.08
    crop_share: float = 0.3
    still_radius: float = 0.04
    still_seconds: Seconds = 0.3

    def __post_init__(self) -> None:
        if self.ring_seconds <= 0 or self.most_keyframes < 1 or not 0 < self.crop_share <= 1:
            raise ValueError(
                f"ring_seconds {self.ring_seconds}, most_keyframes {self.most_keyframes} and "
                f"crop_share {self.crop_share} must be positive, the last at most 1"
            )
        if self.early_after < 0:
            raise ValueError(f"early_after is {self.early_after}, expected 0 (off) or more")
