"""The wording of requests: one versioned file a language, ``configs/prompt.<language>.toml``.

A file is checked when it is read: every text must be there, name only the placeholders that will
be filled in (``$name``, as in :class:`string.Template`), and name all that it cannot do without.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from streaming.config import ConfigError, config_path, load

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordOrderTexts:
    """How the two numbers of a point are told, by their order."""

    xy: str
    yx: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTexts:
    """What the blocks of each interface are."""

    video: str
    frames: str
    frames_untold: str
    frames_asr: str
    no_frame_timestamps: str
    no_word_timing: str
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTexts:
    """How many targets there are: by EcoG-Bench's instruction types 1 to 6, then for others."""

    silent: str
    taken: str
    placed: str
    placed_beside: str
    placed_then_taken: str
    placed_twice: str
    counted: str
    open: str
    entry: str
    entries: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTexts:
    """Headings of the two parts of the options, and what stands in their place."""

    objects: str
    spaces: str
    none: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechTexts:
    """What stands in the place of words."""

    silent: str
    unheard: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTexts:
    """Captions of the interface ``bound``."""

    words: str
    targets: str
    gesture: str
    held: str
    holding: str
    used: str
    unused: str
    keyframe: str
    into_picture: str
    crop: str
    frame: str
    clear: str
    marked: str
    carried: str
    outside: str
    lost: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTexts:
    """The last line of a request."""

    video: str
    frames: str
    bound: str
    no_picture: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTexts:
    """All texts of one language.

    Attributes:
        version: Of the wording.
        system: The system instruction.
        answer_with_options, answer_without_options: What the answer looks like.
    """

    version: int
    system: str
    answer_with_options: str
    answer_without_options: str
    coord_order: CoordOrderTexts
    inputs: InputTexts
    scenario: ScenarioTexts
    options: OptionTexts
    speech: SpeechTexts
    bound: BoundTexts
    ask: AskTexts


PLACEHOLDERS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"inputs", "order", "order_words", "answer"}),
    "answer_with_options": frozenset({"order"}),
    "answer_without_options": frozenset({"order"}),
    "scenario.counted": frozenset({"count", "kinds"}),
    "scenario.entries": frozenset({"count"}),
    "bound.words": frozenset({"words"}),
    "bound.targets": frozenset({"targets"}),
    "bound.gesture": frozenset({"gesture", "uses", "apex", "hold"}),
    "bound.held": frozenset({"end"}),
    "bound.holding": frozenset({"end"}),
    "bound.used": frozenset({"targets"}),
    "bound.keyframe": frozenset({"picture", "gesture", "time", "tip", "ahead", "doubt"}),
    "bound.crop": frozenset({"picture", "keyframe", "first", "second"}),
    "bound.frame": frozenset({"picture", "time"}),
    "bound.clear": frozenset({"picture", "time"}),
    "bound.marked": frozenset({"picture", "time", "carried"}),
    "bound.carried": frozenset({"gesture", "tip", "ahead"}),
    "bound.outside": frozenset({"gesture", "tip"}),
    "bound.lost": frozenset({"gesture"}),
    "bound.last": frozenset({"picture", "time"}),
    "ask.bound": frozenset({"picture"}),
}
"""Every placeholder of every text: all of them must occur, and no others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The texts of one language, ready to be filled in."""

    language: str
    texts: PromptTexts

    @property
    def name(self) -> str:
        """Language and version, such as ``en/1``, for records."""
        return f"{self.language}/{self.texts.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The wording in every language."""

    by_language: Mapping[str, Prompt]

    def in_language(self, language: str) -> Prompt:
        """The prompt of a language; English for one that has none."""
        return self.by_language.get(language.split("-")[0].lower(), self.by_language["en"])


def fill(text: str, **values: object) -> str:
    """``text`` with its placeholders filled in."""
    return Template(text).substitute(values)


def load_prompts(folder: Path | None = None) -> Prompts:
    """Read the prompts of all languages.

    Args:
        folder: Where ``prompt.<language>.toml`` lie; the project's own settings when None.

    Raises:
        ConfigError: If a file is missing, or a text of it is missing, empty, or has a placeholder
            too many or too few; it names the file and the text.
    """
    found = {}
    for language in LANGUAGES:
        name = f"prompt.{language}.toml"
        path = config_path(name) if folder is None else folder / name
        found[language] = read_prompt(path, language=language)
    return Prompts(by_language=found)


def read_prompt(path: Path, *, language: str) -> Prompt:
    """Read and check one file.

    Raises:
        ConfigError: As :func:`load_prompts`.
    """
    texts = load(PromptTexts, path)
    if texts.version < 1:
        raise ConfigError(f"{path}: version: expected 1 or more, got {texts.version}")
    for key, text in _texts(texts):
        _check(text, where=f"{path}: {key}", wanted=PLACEHOLDERS.get(key, frozenset()))
    return Prompt(language=language, texts=texts)


def _check(text: str, *, where: str, wanted: frozenset[str]) -> None:
    if not text.strip():
        raise ConfigError(f"{where}: is empty")
    template = Template(text)
    if not template.is_valid():
        raise ConfigError(f"{where}: a dollar sign names nothing; write two for one")
    found = set(template.get_identifiers())
    if found - wanted:
        known = ", ".join(f"${name}" for name in sorted(wanted)) or "none"
        raise ConfigError(f"{where}: unknown placeholder ${min(found - wanted)}; known: {known}")
    if wanted - found:
        raise ConfigError(f"{where}: placeholder ${min(wanted - found)} is missing")


def _texts(table: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every text with its dotted key."""
    for field in dataclasses.fields(table):
        value = getattr(table, field.name)
        if isinstance(value, str):
            yield prefix + field.name, value
        elif dataclasses.is_dataclass(value):
            yield from _texts(value, f"{prefix}{field.name}.")
