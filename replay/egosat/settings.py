"""``configs/egosat.toml``: how query sets are built, asked and scored. Times in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from replay.egosat.names import STEPS
from streaming.config import config_path, load
from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSettings:
    """How a question is put.

    Attributes:
        frames: Of a query, over its window.
        side, quality: Of a frame: longest side in pixels, JPEG quality.
        letter_tokens, tag_tokens, open_tokens: Longest answers.
        top_logprobs: Likeliest tokens of a place that are asked for where confidence is.
    """

    frames: int
    side: int
    quality: int
    letter_tokens: int
    tag_tokens: int
    open_tokens: int
    top_logprobs: int

    def __post_init__(self) -> None:
        least = min(self.frames, self.side, self.letter_tokens, self.tag_tokens, self.open_tokens)
        if least < 1 or not 1 <= self.quality <= 100 or not 0 <= self.top_logprobs <= 20:
            raise ValueError(
                "frames, side and tokens: expected 1 or more; quality: 1 to 100; "
                "top_logprobs: 0 to 20"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSettings:
    """What a query may look back on, and how far it asks.

    Attributes:
        lookback: Of the present and the newest past.
        context: Of a prediction.
        horizon: Of the next interaction.
        leads, lags: Of the three steps.
        positions: Into a switch's new region.
    """

    lookback: Seconds
    context: Seconds
    horizon: Seconds
    leads: tuple[Seconds, ...]
    lags: tuple[Seconds, ...]
    positions: tuple[Seconds, ...]

    def __post_init__(self) -> None:
        if min(self.lookback, self.context, self.horizon, *self.leads, *self.lags) <= 0:
            raise ValueError("lookback, context, horizon, leads and lags: expected above 0")
        if len(self.leads) != len(STEPS) or len(self.lags) != len(STEPS):
            raise ValueError(f"leads and lags: expected {len(STEPS)} of each")
        if min(self.positions, default=-1) < 0:
            raise ValueError("positions: expected one or more, each 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildingSettings:
    """How query sets are made of annotations.

    Attributes:
        every: Between queries.
        near: Farthest hard negative.
        far: Nearest absurd option in the same video.
        candidates: That the absurd option is chosen among.
        branch_quantile, surprise_quantile: Above them a prediction is branching, or surprising.
    """

    every: Seconds
    near: Seconds
    far: Seconds
    candidates: int
    branch_quantile: float
    surprise_quantile: float

    def __post_init__(self) -> None:
        if min(self.every, self.near, self.far) <= 0 or self.candidates < 1:
            raise ValueError("every, near, far: expected above 0; candidates: 1 or more")
        if not 0 <= self.branch_quantile <= 1 or not 0 <= self.surprise_quantile <= 1:
            raise ValueError("branch_quantile and surprise_quantile: expected 0...1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringSettings:
    """How calibration is measured: bins of a reliability diagram."""

    bins: int

    def __post_init__(self) -> None:
        if self.bins < 1:
            raise ValueError(f"bins {self.bins}: expected 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class EgosatSettings:
    """All of the file."""

    asking: AskingSettings
    windows: WindowSettings
    building: BuildingSettings
    scoring: ScoringSettings


def read_settings() -> EgosatSettings:
    """The project's own settings.

    Raises:
        ConfigError: If the file is missing or does not fit.
    """
    return load(EgosatSettings, config_path("egosat.toml"))
