"""Settings: ``configs/*.toml`` read into frozen dataclasses.

An unknown key is an error that names the nearest known one; a value of the wrong type is an error
that names the key, the value and the type.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import tomllib
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class ConfigError(ValueError):
    """A setting that cannot be used. The text is one line: what, where, what to do."""


def config_path(name: str) -> Path:
    """The file ``name`` among the project's own settings, in a checkout or in a wheel.

    Raises:
        ConfigError: If there is no such file.
    """
    here = Path(__file__).resolve().parent
    for folder in (here.parent / "configs", here / "configs"):
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(f"settings {name!r} are missing from {here.parent / 'configs'}; reinstall")


def read_toml(path: Path) -> dict[str, Any]:
    """The contents of a TOML file.

    Raises:
        ConfigError: If it cannot be read or is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: no TOML: {error}; mend it or reinstall") from error


def load(kind: type[T], path: Path) -> T:
    """Read the TOML file at ``path`` into the (nested, frozen) dataclass ``kind``.

    Keys that are absent keep the dataclass's defaults.
    """
    return build(kind, read_toml(path), where=str(path))


def build(kind: type[T], values: dict[str, Any], *, where: str) -> T:
    """Make a ``kind`` from plain values; ``where`` names their origin in errors."""
    known = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    made: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}{_nearest(key, known)}")
        made[key] = _convert(hints[key], value, where=f"{where}: {key}")
    missing = [
        name
        for name, field in known.items()
        if name not in made
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ConfigError(f"{where}: missing key {missing[0]!r}")
    try:
        return kind(**made)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from error


def _nearest(key: str, known: dict[str, Any]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
    return f"; did you mean {near[0]!r}?" if near else ""


def _convert(hint: Any, value: Any, *, where: str) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, dict):
            raise ConfigError(f"{where}: expected a table, got {value!r}")
        return build(hint, value, where=where)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        options = [part for part in parts if part is not type(None)]
        return _convert(options[0], value, where=where)
    if origin is tuple and isinstance(value, list):
        return tuple(
            _convert(inner, item, where=where)
            for inner, item in zip(_inner(parts, value, where), value, strict=True)
        )
    if origin is dict and isinstance(value, dict):
        return {
            key: _convert(parts[1], item, where=f"{where}.{key}") for key, item in value.items()
        }
    if origin is typing.Literal:
        if value not in parts:
            raise ConfigError(f"{where}: {value!r} is not one of {', '.join(map(repr, parts))}")
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value, where)
    wanted = origin or hint
    if isinstance(wanted, type) and (
        not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))
    ):
        raise ConfigError(f"{where}: expected {wanted.__name__}, got {value!r}")
    return value


def _finite(value: int | float, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ConfigError(f"{where}: expected a finite number, got {value!r}")
    return number


def _inner(parts: tuple[Any, ...], value: list[Any], where: str) -> Sequence[Any]:
    """The type of each item of a tuple."""
    if parts[1:] == (Ellipsis,):
        return parts[:1] * len(value)
    if len(parts) != len(value):
        raise ConfigError(f"{where}: expected {len(parts)} values, got {len(value)}")
    return parts
