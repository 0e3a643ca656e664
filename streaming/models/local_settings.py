"""Settings of the local model, read from ``configs/``."""

from __future__ import annotations

from dataclasses import dataclass, field

from streaming.config import config_path, load
from streaming.models.local_patches import RegionSettings
from streaming.models.local_pointing import PointingSettings
from streaming.models.local_scene import SceneSettings
from streaming.models.local_text import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class ColourSettings:
    """What colours look like, see ``configs/colours.toml``.

    Attributes:
        examples: For each colour name some colours as ``#rrggbb``.
        kin: How far a thing called by the first name may look like the second, 0...1.
    """

    examples: dict[str, tuple[str, ...]]
    kin: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """See ``configs/local.toml``.

    Attributes:
        abstain_below: Confidence under which a referent gets no label, unless a benchmark asks.
        doubtful_distance: Distance from the ray (picture heights) from which a thing is doubtful.
        regions, scene, pointing: Of the parts.
    """

    abstain_below: float = 0.25
    doubtful_distance: float = 0.25
    regions: RegionSettings = field(default_factory=RegionSettings)
    scene: SceneSettings = field(default_factory=SceneSettings)
    pointing: PointingSettings = field(default_factory=PointingSettings)


def read_local_settings() -> tuple[LocalSettings, ColourSettings, Vocabulary]:
    """The project's own settings.

    Raises:
        ConfigError: If a file is missing or says something that does not fit.
    """
    return (
        load(LocalSettings, config_path("local.toml")),
        load(ColourSettings, config_path("colours.toml")),
        load(Vocabulary, config_path("local_words.toml")),
    )
