"""Query sets and prediction files of EgoSAT: found, read, and matched to each other.

A query set is one JSON object a task and clip, with a list ``samples``; some files call themselves
``.jsonl`` and hold one object over one or many lines, or a list of one. Predictions lie below
``<root>/<task>/<flavour>[/sspos_t_1_0]/`` and name their query set. It is looked for, as the
authors' scorer does: at the path that is named; else by file name, then by stem, below each root.

Deviations from the authors' scorer, none of which changes a number:

1. A query set's folder is searched once, not once a prediction file.
2. A path with backslashes (written on Windows) is looked up by its last part.
3. A file that is no JSON is an error of one line, naming the file.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Fields: TypeAlias = Mapping[str, Any]
"""A JSON object as it stands in a file; the benchmark's files vary too much for anything firmer."""

_NO_PREDICTION = ("manifest", "summary", "details", "teacher_cache")
_SCORES = "main_table_metrics.json"


class EgosatError(ValueError):
    """Files of EgoSAT that cannot be used. One line: what, where, what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySet:
    """One query set as it stands in its file.

    Attributes:
        path: Its file.
        fields: All of it but the samples.
        samples: Its questions, in order; entries that are no objects are left out.
    """

    path: Path
    fields: Fields
    samples: tuple[Fields, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """One prediction file beside its query set.

    Attributes:
        path: The prediction file.
        queries: What it answers.
        answers: Predicted samples by :func:`sample_key`; of two with one key the last counts.
    """

    path: Path
    queries: QuerySet
    answers: Mapping[Hashable, Fields]


def read_object(path: Path) -> Any:
    """The JSON in a file: one value, or one a line (then a list, or its only item).

    Raises:
        EgosatError: If it cannot be read or is no JSON.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EgosatError(f"{path}: cannot be read: {error}") from error
    if not text:
        raise EgosatError(f"{path}: is empty; make it anew or leave it out")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise EgosatError(f"{path}: nested too deeply to be a file of EgoSAT") from error
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            values = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            raise EgosatError(f"{path}: is no JSON: {error}; mend it or leave it out") from error
    return values[0] if len(values) == 1 else values


def read_query_set(path: Path) -> QuerySet:
    """A query set.

    Raises:
        EgosatError: If it cannot be read, or is no object with a list of samples.
    """
    content = read_object(path)
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    if not isinstance(content, dict):
        raise EgosatError(f"{path}: expected a JSON object with samples, as a query set is")
    samples = content.pop("samples", [])
    if not isinstance(samples, list):
        raise EgosatError(f"{path}: samples: expected a list")
    kept = tuple(sample for sample in samples if isinstance(sample, dict))
    return QuerySet(path=path, fields=content, samples=kept)


def sample_key(sample: Fields, place: int) -> Hashable:
    """What tells a sample from the others of its file: ``idx``, else an id, else its place."""
    key = sample.get("idx")
    if key is None:
        key = sample.get("sample_id") or sample.get("id") or place
    if isinstance(key, float) and key.is_integer():
        return int(key)
    return key if isinstance(key, Hashable) else repr(key)


def prediction_files(folder: Path) -> list[Path]:
    """The prediction files below a folder, by path; summaries and manifests are none."""
    found = sorted(folder.rglob("*.json"), key=lambda path: path.as_posix())
    return [path for path in found if path.is_file() and _is_prediction(path.name.lower())]


def _is_prediction(name: str) -> bool:
    return name != _SCORES and not any(word in name for word in _NO_PREDICTION)


class QuerySets:
    """Finds query sets below some folders.

    Args:
        roots: Searched in this order.
        moved: Beginnings of paths that lie elsewhere now: ``(old, new)``.
    """

    def __init__(self, roots: Sequence[Path], *, moved: Sequence[tuple[str, str]] = ()) -> None:
        self._roots = [root for root in dict.fromkeys(roots) if root.is_dir()]
        self._moved = moved
        self._named: list[dict[str, list[Path]]] | None = None

    def read_all(self, folder: Path) -> Iterator[tuple[Predicted, None] | tuple[None, str]]:
        """Each prediction file below a folder with its query set, or why it does not count.

        Raises:
            EgosatError: If a file cannot be read, or its query set cannot be found.
        """
        seen: set[Path] = set()
        for path in prediction_files(folder):
            prediction = read_object(path)
            if not isinstance(prediction, dict):
                yield None, f"{path}: no JSON object, passed over"
                continue
            source = self.find(prediction)
            if source is None:
                raise EgosatError(
                    f"{path}: its query set is not found by the path or the name that it gives; "
                    "name the folder that holds the query sets"
                )
            if source.resolve() in seen:
                yield None, f"{path}: a second prediction for {source.name}, passed over"
                continue
            seen.add(source.resolve())
            samples = prediction.get("samples")
            answers = {
                sample_key(sample, place): sample
                for place, sample in enumerate(samples if isinstance(samples, list) else ())
                if isinstance(sample, dict)
            }
            yield Predicted(path=path, queries=read_query_set(source), answers=answers), None

    def find(self, prediction: Fields) -> Path | None:
        """The query set that a prediction names, or None."""
        for named in dict.fromkeys(_named_query_sets(prediction)):
            found = self._find(named)
            if found is not None:
                return found
        return None

    def _find(self, named: str) -> Path | None:
        for path in dict.fromkeys((self._moved_path(named.strip()), named.strip())):
            if is_file(path):
                return Path(path)
        name = re.split(r"[\\/]", named.strip())[-1]
        stem, suffix = Path(name).stem, Path(name).suffix
        for by_name in self._by_name():
            wanted = (name, *([stem + suffix] if suffix else []), stem + ".json", stem + ".jsonl")
            for one in wanted:
                if by_name.get(one):
                    return by_name[one][0]
        return None

    def _moved_path(self, path: str) -> str:
        for old, new in self._moved:
            bare = old.rstrip("/\\")
            if path == old or path.startswith((bare + "/", bare + "\\")):
                return new.rstrip("/\\") + path[len(bare) :]
        return path

    def _by_name(self) -> list[dict[str, list[Path]]]:
        if self._named is None:
            self._named = []
            for root in self._roots:
                by_name: dict[str, list[Path]] = defaultdict(list)
                for path in sorted(root.rglob("*.json*"), key=lambda one: one.as_posix()):
                    if path.is_file():
                        by_name[path.name].append(path)
                self._named.append(by_name)
        return self._named


def is_file(path: str | Path) -> bool:
    """Whether a file is there, whatever the path that a file names."""
    try:
        return bool(str(path)) and Path(path).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null byte
        return False


def _named_query_sets(prediction: Fields) -> Iterator[str]:
    named = prediction.get("source_queryset")
    if isinstance(named, str) and named.strip():
        yield named
    about = prediction.get("video_metadata")
    named = about.get("queryset_path") if isinstance(about, dict) else None
    if isinstance(named, str) and named.strip():
        yield named
    yield from _mentioned(prediction)


def _mentioned(value: Any) -> Iterator[str]:
    """Every text that the files are known to hide a query set's path in, depth first."""
    if isinstance(value, list):
        for item in value:
            yield from _mentioned(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                text = item.lower()
                if "queryset" in key.lower() or "queryset" in text or "derived_" in text:
                    yield item
            else:
                yield from _mentioned(item)
