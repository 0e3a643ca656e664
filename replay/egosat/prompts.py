"""The wording of EgoSAT's questions, ``configs/prompt.egosat.toml``.

The tags are the benchmark's: ``<NOW>``, ``<PAST>`` and ``<FUTURE>`` around ``<STATE>``, ``<ANS>``,
``<VERB>``, ``<NOUN>``, ``<DESC>`` and ``<CONF>``, and the states INTERACTION and NO_INTERACTION.
The words are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

from replay.egosat.names import LETTERS, Flavour, Task
from streaming.config import ConfigError, config_path, load
from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NowTexts:
    """Questions about the present."""

    state: str
    open: str
    choice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTexts:
    """Questions about the past or the future."""

    open: str
    choice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterTexts:
    """Questions whose answer is a letter alone."""

    system: str
    ago: str
    next: str
    later: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EgosatTexts:
    """All texts."""

    version: int
    system: str
    frame: str
    options: str
    now: NowTexts
    newest: TaskTexts
    ago: TaskTexts
    next: TaskTexts
    later: TaskTexts
    letter: LetterTexts

    @property
    def name(self) -> str:
        """Of the wording, for records."""
        return f"egosat/en/{self.version}"


def read_texts() -> EgosatTexts:
    """The project's own wording.

    Raises:
        ConfigError: If the file is missing or does not fit, or a text of it lacks a placeholder or
            names an unknown one.
    """
    path = config_path("prompt.egosat.toml")
    texts = load(EgosatTexts, path)
    try:
        for task, flavours in _WANTED.items():
            for flavour in flavours:
                question_text(
                    texts, task, flavour, time=1.0, span=8.0, options=["1", "2", "3", "4"]
                )
        frame_text(texts, 1.0)
    except (KeyError, ValueError) as error:
        raise ConfigError(f"{path}: a placeholder is unknown or unfinished: {error}") from error
    return texts


_WANTED: dict[Task, tuple[Flavour, ...]] = {
    "now_narration": ("open", "cand_state", "cand_mcq"),
    "sh_pred": ("open", "cand", "cand_conf"),
    "ms_pred": ("open", "cand", "cand_conf"),
    "sh_rtrv": ("open", "cand"),
    "ms_rtrv": ("open", "cand", "cand_conf"),
}


def system_text(texts: EgosatTexts, flavour: Flavour) -> str:
    """The system instruction."""
    return (texts.letter.system if flavour == "cand_conf" else texts.system).strip()


def frame_text(texts: EgosatTexts, time: Seconds) -> str:
    """What stands before a frame; seconds since the clip's start."""
    return Template(texts.frame).substitute(time=f"{time:.1f}")


def question_text(
    texts: EgosatTexts,
    task: Task,
    flavour: Flavour,
    *,
    time: Seconds,
    span: Seconds,
    options: Sequence[str] = (),
) -> str:
    """The question, with its options and the form of its answer.

    Args:
        texts: The wording.
        task, flavour: What is asked, and how.
        time: Of the question, since the clip's start.
        span: Seconds that the task is about: looked back, ahead, or between.
        options: Four where there is a choice.

    Raises:
        ValueError: If the task has no such flavour, or a choice has not four options.
    """
    values = {"time": f"{time:.1f}", "span": f"{span:.1f}"}
    question = Template(_question(texts, task, flavour))
    if "options" not in question.get_identifiers():
        return question.substitute(values).strip()
    if len(options) != len(LETTERS):
        raise ValueError(f"{len(options)} options, expected {len(LETTERS)}")
    named = dict(zip("abcd", options, strict=True))
    listed = Template(texts.options).substitute(named).strip()
    return question.substitute(values, options=listed).strip()


def _question(texts: EgosatTexts, task: Task, flavour: Flavour) -> str:
    table: TaskTexts
    match task, flavour:
        case (("now_narration" | "now_state_switch"), "open"):
            return texts.now.open
        case (("now_narration" | "now_state_switch"), "cand_state"):
            return texts.now.state
        case "now_narration", "cand_mcq":
            return texts.now.choice
        case "sh_pred", _:
            table, letter = texts.next, texts.letter.next
        case "ms_pred", _:
            table, letter = texts.later, texts.letter.later
        case "ms_rtrv", _:
            table, letter = texts.ago, texts.letter.ago
        case "sh_rtrv", ("open" | "cand"):
            table, letter = texts.newest, ""
        case _:
            raise ValueError(f"{task} has no flavour {flavour}")
    match flavour:
        case "open":
            return table.open
        case "cand" | "cand_full":
            return table.choice
        case "cand_conf":
            return letter
    raise ValueError(f"{task} has no flavour {flavour}")
