"""Which clips a set holds, and the random draws that each of them has for itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from replay.ecog.clips import LEVELS
from replay.synth.script import Difficulty, Language

DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
LANGUAGES: tuple[Language, ...] = get_args(Language)

PARTS = ("scene", "wording", "voice", "lag", "arm", "head", "lens", "sound", "answer", "choice")
"""Each part of a clip draws from a stream of its own, so that a change of one part leaves the
others' draws alone. Only ever added to, at the end."""

SAID = ("wording", "voice")
SAYINGS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """Size and rate of the pictures. The same world is seen at any size and rate."""

    width: int = 640
    height: int = 480
    fps: int = 30

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("width", self.width, 160, 3840),
            ("height", self.height, 120, 2160),
            ("fps", self.fps, 10, 120),
        ):
            if not low <= value <= high:
                raise ValueError(f"{name} is {value}, expected {low} to {high}")
        if self.width % 2 or self.height % 2:
            raise ValueError(f"{self.width}x{self.height}: H.264 wants an even width and height")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One clip to be made; everything in it follows from this.

    Attributes:
        seed: Of the set.
        index: Number in the set, from 0.
        instruction: Type of the instruction, 1 to 6.
    """

    seed: int
    index: int
    instruction: int
    language: Language
    difficulty: Difficulty
    frames: Frames = Frames()

    @property
    def name(self) -> str:
        """The video's name without ending."""
        return f"{self.language}{self.instruction}_{self.difficulty}_{self.seed}_{self.index:04d}"

    @property
    def level(self) -> str:
        return LEVELS[self.instruction]

    def draws(self, attempt: int) -> dict[str, np.random.Generator]:
        """A generator for each of :data:`PARTS`; another attempt has others.

        What is said stays for :data:`SAYINGS` attempts: a voice costs more than all the rest.
        """
        return {
            part: np.random.default_rng(
                np.random.SeedSequence(
                    self.seed,
                    spawn_key=(
                        self.index,
                        attempt // SAYINGS if part in SAID else attempt,
                        number,
                    ),
                )
            )
            for number, part in enumerate(PARTS)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPlan:
    """What a set consists of.

    Attributes:
        clips: How many.
        seed: 0 or more.
        levels: Of EcoG-Bench, ``L1`` ... ``L4``.
    """

    clips: int
    seed: int
    levels: tuple[str, ...] = ("L1", "L2", "L3", "L4")
    languages: tuple[Language, ...] = LANGUAGES
    difficulties: tuple[Difficulty, ...] = ("real",)
    frames: Frames = Frames()

    def __post_init__(self) -> None:
        if self.clips < 1:
            raise ValueError(f"clips is {self.clips}, expected at least 1")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}, expected 0 or more")
        for name, given, known in (
            ("levels", self.levels, tuple(sorted(set(LEVELS.values())))),
            ("languages", self.languages, LANGUAGES),
            ("difficulties", self.difficulties, DIFFICULTIES),
        ):
            if not given or len(set(given)) != len(given) or not set(given) <= set(known):
                raise ValueError(
                    f"{name} is {','.join(given) or 'empty'}, expected some of {','.join(known)}"
                )

    def orders(self) -> Iterator[Order]:
        """The clips. Clip ``i`` is the same however many there are.

        Difficulties alternate clip by clip; within each, instructions go round, and each
        instruction alternates its language.
        """
        instructions = [number for number, level in LEVELS.items() if level in self.levels]
        for index in range(self.clips):
            round_, which = divmod(index, len(self.difficulties))
            instruction = instructions[(round_ + 2 * which) % len(instructions)]
            turn = round_ + round_ // len(instructions) + which
            yield Order(
                seed=self.seed,
                index=index,
                instruction=instruction,
                language=self.languages[turn % len(self.languages)],
                difficulty=self.difficulties[which],
                frames=self.frames,
            )
