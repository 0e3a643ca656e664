"""How Ego-EXTRA is read: numbers (``configs/egoextra.toml``) and wording, each from its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from string import Template

from streaming.config import config_path, load
from streaming.events import Seconds

_PROMPT_FILE = "prompt.egoextra.en.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProactiveSettings:
    """When to speak.

    Attributes:
        every: Seconds between the moments at which the system is asked.
        window: An intervention agrees with a turn that begins within so many seconds of it.
        rest: Seconds of silence after an intervention.
        turn_gap: Cues of the expert nearer than this are one turn.
        answer_tokens: Longest answer.
    """

    every: Seconds = 5.0
    window: Seconds = 5.0
    rest: Seconds = 10.0
    turn_gap: Seconds = 2.0
    answer_tokens: int = 256

    def __post_init__(self) -> None:
        if self.every <= 0 or min(self.window, self.rest, self.turn_gap) < 0:
            raise ValueError(
                f"every {self.every} must be positive, window {self.window}, rest {self.rest} and "
                f"turn_gap {self.turn_gap} not negative"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoExtraSettings:
    """How questions are put.

    Attributes:
        side: Longest side of a frame, pixels.
        quality: Of its JPEG, 1 to 100.
        frames: Of a clip, but for the single frame of ``TS``.
        answer_tokens: Longest answer.
        proactive: When to speak.
    """

    side: int = 768
    quality: int = 90
    frames: int = 8
    answer_tokens: int = 256
    proactive: ProactiveSettings = field(default_factory=ProactiveSettings)

    def __post_init__(self) -> None:
        if self.side < 1 or self.frames < 1 or not 1 <= self.quality <= 100:
            raise ValueError(
                f"side {self.side} and frames {self.frames} must be positive, quality "
                f"{self.quality} 1 to 100"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTexts:
    """A system instruction and the last part of a request."""

    system: str
    ask: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTexts:
    """What is said of the words: none are sent, the benchmark's, ours; and an empty transcript."""

    none: str
    benchmark: str
    ours: str
    nothing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoExtraPrompt:
    """The wording of one language.

    Attributes:
        version: Of the wording.
        question: A five-option question.
        memory: The words that go with it.
        proactive: Whether to speak.
    """

    version: int
    question: AskTexts
    memory: MemoryTexts
    proactive: AskTexts

    def __post_init__(self) -> None:
        for where, text, names in (
            ("question.system", self.question.system, {"memory"}),
            ("question.ask", self.question.ask, {"question", "options"}),
            ("proactive.system", self.proactive.system, {"memory"}),
            ("proactive.ask", self.proactive.ask, {"now"}),
        ):
            if set(Template(text).get_identifiers()) != names:
                raise ValueError(f"{where} must name {', '.join(sorted(names))} and no other")

    @property
    def name(self) -> str:
        return f"egoextra/en/{self.version}"


def load_egoextra_settings() -> EgoExtraSettings:
    """The project's own numbers.

    Raises:
        ConfigError: If they are missing or do not fit.
    """
    return load(EgoExtraSettings, config_path("egoextra.toml"))


def load_egoextra_prompt() -> EgoExtraPrompt:
    """The project's own wording.

    Raises:
        ConfigError: If it is missing or does not fit.
    """
    return load(EgoExtraPrompt, config_path(_PROMPT_FILE))
