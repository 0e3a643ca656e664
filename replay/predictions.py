"""Predictions on EcoG-Bench as JSON lines (:mod:`replay.line_log`).

A line is ``{"video_name", "instruction", "output", "coord_order"}`` or, for a model that failed,
``{"video_name", "instruction", "error"}``. ``folder`` may stand beside them: the clip's instruction
folder as a path from the tree's root, which tells apart clips of one name.

Of several lines for one clip, an answer counts before an error, and then the last one counts: a run
that is resumed appends, it never rewrites.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError

from replay.ecog import instruction_of
from replay.ecog.files import first_fault
from replay.line_log import LineLog, split_lines

CoordOrder: TypeAlias = Literal["xy", "yx"]
PredictionKey: TypeAlias = tuple[str, int, str]
"""Video name, instruction and folder (empty when the line names none)."""


class PredictionError(ValueError):
    """A line that is no prediction; the text names the file and the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a model said about one clip, or that it failed.

    Attributes:
        video_name: Name of the clip's video file.
        instruction: Type of the instruction, 1 to 6.
        output: The model's own text, whole.
        coord_order: Order of the two numbers of its points, a property of the model.
        error: What went wrong, or None for an answer (even an empty one).
        folder: The clip's instruction folder as a path from the tree's root, or empty.
    """

    video_name: str
    instruction: int
    output: str = ""
    coord_order: CoordOrder = "xy"
    error: str | None = None
    folder: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.instruction <= 6:
            raise ValueError(f"instruction {self.instruction} of {self.video_name!r}: not 1 to 6")

    @property
    def key(self) -> PredictionKey:
        return (self.video_name, self.instruction, self.folder)

    def as_line(self) -> dict[str, Any]:
        line: dict[str, Any] = {"video_name": self.video_name, "instruction": self.instruction}
        if self.folder:
            line["folder"] = self.folder
        if self.error is not None:
            return line | {"error": self.error}
        return line | {"output": self.output, "coord_order": self.coord_order}


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionFile:
    """All lines of a file.

    Attributes:
        lines: In the file's order.
        torn: The last line was cut off by a crash and is not among them.
    """

    lines: tuple[Prediction, ...]
    torn: bool = False

    def counting(self) -> dict[PredictionKey, Prediction]:
        """The one line of each key that counts."""
        return counting(self.lines)

    def answered(self) -> set[PredictionKey]:
        """Keys with an answer: what a resumed run need not ask again."""
        return {line.key for line in self.lines if line.error is None}


def counting(lines: Iterable[Prediction]) -> dict[PredictionKey, Prediction]:
    """Of the lines of each key the one that counts: an answer before an error, then the last."""
    chosen: dict[PredictionKey, Prediction] = {}
    for line in lines:
        before = chosen.get(line.key)
        if before is None or line.error is None or before.error is not None:
            chosen[line.key] = line
    return chosen


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    video_name: StrictStr
    instruction: int | str
    output: Any = None
    coord_order: CoordOrder | None = None
    error: Any = None
    folder: StrictStr | None = None


def read_predictions(path: Path) -> PredictionFile:
    """Read a file of predictions.

    Raises:
        PredictionError: If a line is no prediction (a torn last line is passed over).
        OSError: If the file cannot be read.
    """
    lines, torn = split_lines(path.read_bytes())
    return PredictionFile(
        lines=tuple(_read_line(line, where=f"{path}, line {number}") for number, line in lines),
        torn=torn,
    )


def _read_line(line: bytes, *, where: str) -> Prediction:
    try:
        value = json.loads(line)
    except RecursionError as error:
        raise PredictionError(f"{where}: nested too deeply") from error
    except ValueError as error:
        raise PredictionError(f"{where}: {error}") from error
    try:
        seen = _Line.model_validate(value)
        return Prediction(
            video_name=seen.video_name,
            instruction=_instruction(seen.instruction),
            output=_text(seen.output),
            coord_order=seen.coord_order or "xy",
            error=_error(seen),
            folder=(seen.folder or "").strip("/"),
        )
    except ValidationError as error:
        raise PredictionError(f"{where}: {first_fault(error)}") from error
    except ValueError as error:
        raise PredictionError(f"{where}: {error}") from error


def _instruction(value: int | str) -> int:
    """1 to 6, also written as ``"3"`` or as the folder's name."""
    if isinstance(value, int):
        return value
    named = instruction_of(value.strip()) or instruction_of(f"inst{value.strip()}")
    if named is None:
        raise ValueError(f"instruction {value!r} is none of 1 to 6")
    return named


def _error(line: _Line) -> str | None:
    """What went wrong; an empty text beside an output means that nothing did."""
    if line.error is None or line.error is False or (line.error == "" and line.output is not None):
        return None
    return _text(line.error) or "no reason given"


def _text(value: Any) -> str:
    """A text as it is, nothing as an empty text, and a parsed output as its JSON again."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class PredictionLog(LineLog):
    """Appends predictions to a file, one synced line each; a context manager.

    Args:
        path: The file; it and its folder are made when absent. A torn last line is removed.
        fresh: Begin with an empty file.

    Attributes:
        answered: Keys that have an answer already, kept up to date.

    Raises:
        PredictionError: If the file holds something else than predictions.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.answered: set[PredictionKey] = set()
        if path.exists() and not fresh:
            self.answered = read_predictions(path).answered()
        super().__init__(path, fresh=fresh)

    def append(self, prediction: Prediction) -> None:
        """Write one line and wait until it is on disk."""
        self.write(prediction.as_line())
        if prediction.error is None:
            self.answered.add(prediction.key)
