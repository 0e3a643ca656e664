"""Which models are asked through which interfaces: one cell, or a matrix of them in a TOML file.

A matrix file::

    model = ["gemini:gemini-3-flash", "gemini:gemini-3-pro"]     # for every [[run]] below
    [[run]]
    interface = ["video", "frames+asr", "bound"]
    [[run]]
    model = "openai:Qwen/Qwen3-VL-8B-Instruct"
    base_url = "http://localhost:8000/v1"
    interface = "frames"

Every combination of a run's models and interfaces is a cell.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from streaming.asking.endpoint import CoordOrder, Generation
from streaming.asking.interfaces import INTERFACES, needs
from streaming.asking.opening import check_base_url
from streaming.config import ConfigError, build, read_toml
from streaming.grounding_query import ModelError

Words: TypeAlias = Literal["auto", "benchmark", "ours"]
When: TypeAlias = Literal["model", "binder"]
Detail: TypeAlias = Literal["low", "high", "auto"]

_LONGEST_NAME = 160
"""Bytes of a cell's name; file systems take 255, and partial files are a little longer."""

OFFLINE = ("local",)
"""Models that answer inside the pipeline and have no interface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model, asked through one interface.

    Attributes:
        model: As on the command line, such as ``gemini:gemini-3-flash`` or ``local``.
        interface: One of :data:`streaming.asking.interfaces.INTERFACES`; empty for ``local``.
        words: Whose words are sent: the benchmark's transcript, or those that we heard.
        when: Whose times count: the model's own, or those of our bindings.
        base_url: The server, where it is not the provider's own.
        coord_order: Order of a point's two numbers, where it is not the provider's usual one.
        generation: How texts are generated.

    Raises:
        ValueError: If the interface is none, or does not go with the rest, or the address of the
            server cannot be used.
    """

    model: str
    interface: str = ""
    words: Words = "auto"
    when: When = "model"
    base_url: str = ""
    coord_order: CoordOrder | None = None
    generation: Generation = field(default_factory=Generation)

    def __post_init__(self) -> None:
        if self.model in OFFLINE:
            if self.interface or self.when != "model" or self.words == "benchmark":
                raise ValueError(
                    f"{self.model} sees and hears for itself: it has no interface, no when and no "
                    "transcript of the benchmark"
                )
            return
        try:
            check_base_url(self.base_url or None)
        except ModelError as error:
            raise ValueError(str(error)) from error
        if self.interface not in INTERFACES:
            raise ValueError(f"interface {self.interface!r} is not one of {', '.join(INTERFACES)}")
        if self.interface == "bound" and self.words == "benchmark":
            raise ValueError("bound sends the words that bindings were made of, which are ours")

    @property
    def words_from(self) -> Literal["benchmark", "ours", "none"]:
        """Whose words are sent, decided: ours go with our bindings, else the benchmark's."""
        if self.interface == "video":
            return "none"
        if self.interface == "bound" or not self.interface:
            return "ours"
        return "ours" if self.words == "ours" else "benchmark"

    @property
    def is_watched(self) -> bool:
        """Whether our own eyes and ears are needed before the model is asked."""
        return (
            "perception" in needs(self.interface)
            or self.words_from == "ours"
            or self.when == "binder"
        )

    @property
    def name(self) -> str:
        """Name of its folder; cells that differ in what a person chose differ in it."""
        parts = [self.model, self.interface]
        if self.words == "ours" and self.interface not in ("bound", "video"):
            parts.append("ours")
        if self.when == "binder":
            parts.append("binder")
        if self.coord_order is not None:
            parts.append(self.coord_order)
        plain, asked = Generation(), self.generation.as_key()
        parts += [
            f"{key}-{asked[key]}" for key, usual in plain.as_key().items() if usual != asked[key]
        ]
        return _shortened(
            "_".join(re.sub(r"[^\w.+-]+", "-", part).strip(".-") for part in parts if part)
        )

    def as_facts(self) -> dict[str, Any]:
        """What a run made by it says about itself."""
        return {
            "model": self.model,
            "interface": self.interface,
            "words": self.words_from,
            "when": self.when,
            "base_url": self.base_url,
            "coord_order": self.coord_order,
            "generation": self.generation.as_key(),
        }


def _shortened(name: str) -> str:
    """A name that a folder can have: of a longer one the beginning, and a digest of the whole."""
    encoded = name.encode(errors="backslashreplace")
    if len(encoded) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(encoded).hexdigest()[:12]
    start = encoded[: _LONGEST_NAME - len(digest) - 1].decode(errors="ignore")
    return f"{start}-{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One ``[[run]]``; what it leaves out is taken from the file's own head."""

    model: tuple[str, ...] | None = None
    interface: tuple[str, ...] | None = None
    asr: Words | None = None
    when: tuple[When, ...] | None = None
    base_url: str | None = None
    coord_order: CoordOrder | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    thinking_budget: int | None = None
    detail: Detail | None = None
    logprobs: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _MatrixFile:
    run: tuple[_Run, ...]
    model: tuple[str, ...] = ()
    interface: tuple[str, ...] = ()
    asr: Words = "auto"
    when: tuple[When, ...] = ("model",)
    base_url: str = ""
    coord_order: CoordOrder | None = None
    temperature: float = Generation().temperature
    max_tokens: int = Generation().max_tokens
    thinking_budget: int | None = None
    detail: Detail = "auto"
    logprobs: bool = False


_LISTS = ("model", "interface", "when")


def read_matrix(path: Path) -> tuple[Cell, ...]:
    """The cells of a matrix file, in its order, each once.

    Raises:
        ConfigError: If the file cannot be read, or a cell cannot be.
    """
    values = read_toml(path)
    runs = values.get("run", [{}])
    listed = {**_listed(values), "run": [_listed(run) for run in runs]} if _tables(runs) else values
    matrix = build(_MatrixFile, listed, where=str(path))
    try:
        cells = [cell for run in matrix.run for cell in _cells(run, matrix)]
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    _check_names(cells, path)
    return tuple(dict.fromkeys(cells))


def _tables(runs: Any) -> bool:
    return isinstance(runs, list) and all(isinstance(run, dict) for run in runs)


def _listed(table: dict[str, Any]) -> dict[str, Any]:
    """The same table; a single name stands for a list of one."""
    return {
        key: [value] if key in _LISTS and isinstance(value, str) else value
        for key, value in table.items()
    }


def _cells(run: _Run, matrix: _MatrixFile) -> Iterable[Cell]:
    def chosen(name: str) -> Any:
        value = getattr(run, name)
        return getattr(matrix, name) if value is None else value

    models = chosen("model")
    if not models:
        raise ValueError("a [[run]] has no model; name one in it or above all runs")
    generation = Generation(
        temperature=chosen("temperature"),
        max_tokens=chosen("max_tokens"),
        thinking_budget=chosen("thinking_budget"),
        detail=chosen("detail"),
        logprobs=chosen("logprobs"),
    )
    for model in models:
        if model in OFFLINE:
            yield Cell(model=model)
            continue
        if not chosen("when"):
            raise ValueError(f"{model} has an empty list for when; leave it out, or name one")
        if not chosen("interface"):
            raise ValueError(f"{model} has no interface; choose of {', '.join(INTERFACES)}")
        for interface in chosen("interface"):
            for when in chosen("when"):
                yield Cell(
                    model=model,
                    interface=interface,
                    words=chosen("asr"),
                    when=when,
                    base_url=chosen("base_url"),
                    coord_order=chosen("coord_order"),
                    generation=generation,
                )


def _shown(cell: Cell) -> str:
    return f"{cell.model} at {cell.base_url}" if cell.base_url else cell.model


def _check_names(cells: Iterable[Cell], path: Path) -> None:
    taken: dict[str, Cell] = {}
    for cell in cells:
        other = taken.setdefault(cell.name.casefold(), cell)
        if other != cell:
            raise ConfigError(
                f"{path}: {_shown(other)} and {_shown(cell)} would share a folder, {cell.name}; "
                "run them apart"
            )
