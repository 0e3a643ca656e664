"""Settings: ``configs/*.toml`` read into frozen dataclasses.

An unknown key is an error that names the nearest known one; a value of the wrong type is an error
that names the key, the value and the type.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
import types
import typing
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
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error


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
    except ValueError as error:
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
        inner = parts[0] if parts else Any
        return tuple(_convert(inner, item, where=where) for item in value)
    if origin is dict and isinstance(value, dict):
        return {
            key: _convert(parts[1], item, where=f"{where}.{key}") for key, item in value.items()
        }
    if origin is typing.Literal:
        if value not in parts:
            raise ConfigError(f"{where}: {value!r} is not one of {', '.join(map(repr, parts))}")
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (hint is int and value is True)):
        raise ConfigError(f"{where}: expected {hint.__name__}, got {value!r}")
    return value
