"""Reading EgoPoint-Bench: one JSON list of items beside a folder of pictures.

What differs between the published files, and what is done about it:

1. Items carry predictions of the authors' models and remarks on the right answer (``model_output``,
   ``extracted_answer``, ``parsed_ground_truth``, ``is_correct``, ``eval_score``, ``rationale``,
   ``relevance_score`` …). Only the fields of :class:`EgoPointItem` are read; nothing else leaves
   this module, neither towards a model nor as a truth.
2. The mini set has no ``image_path``: the picture is ``<image_id>.jpg`` in the folder of pictures.
   A path is looked for below that folder as it stands, then by its name alone; one that leads out
   of the folder by its name alone.
3. ``Basic Perception (Category)`` is ``Basic Perception``.
4. Several items may ask about one picture: the second gets ``<image_id>#2`` for its name, the third
   ``#3``.
5. An item without a question, or a multiple choice without options, is left out by name. Without a
   ``type`` it is a multiple choice, as in the authors' scripts.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, TypeAlias, get_args

from replay.jobs import NotReplayed
from replay.loose_json import LONGEST_FILE, Fields, UnreadableJsonError, parse

Kind: TypeAlias = Literal["Multiple_Choice", "True_False", "Open_Ended"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CLOSED: tuple[Kind, ...] = ("Multiple_Choice", "True_False")
"""Those that are scored."""
DIMENSIONS = {
    "Basic Perception": "BP",
    "Affordance & Function": "FS",
    "Context & Relation": "SC",
    "OCR & Text": "OCR",
    "Adversarial": "AR",
}
"""As the data have them, and as the paper abbreviates them."""
LEVELS = ("L1", "L2", "L3")
UNKNOWN = "unknown"

_LETTER = re.compile(r"\s*([A-Z])\s*[.):]")


class EgoPointError(ValueError):
    """A file that is no EgoPoint-Bench; one line saying where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoPointItem:
    """One question about one picture.

    Attributes:
        id: Unique in the file.
        image_id: Of the picture.
        image: Where the picture should be; it may be absent.
        question: As it stands.
        options: As they stand, ``A. …``; none unless it is a multiple choice.
        answer: As it stands.
        dimension, level: As normalised; ``unknown`` where the item says nothing.
        kind: What sort of answer is wanted.
    """

    id: str
    image_id: str
    image: Path
    question: str
    options: tuple[str, ...]
    answer: str
    dimension: str
    level: str
    kind: Kind

    @property
    def letters(self) -> str:
        """Letters of its options; those of their places where they have none."""
        return _letters_of(self.options)

    @property
    def is_scored(self) -> bool:
        return self.kind in CLOSED


@cache
def _letters_of(options: tuple[str, ...]) -> str:
    found = [letter for option in options if (letter := option_parts(option)[0])]
    return "".join(dict.fromkeys(found)) or ascii_uppercase[: len(options)]


def option_parts(option: str) -> tuple[str, str]:
    """Letter and text of an option such as ``B. Mug``; no letter where it has none."""
    match = _LETTER.match(option)
    return ("", option.strip()) if match is None else (match[1], option[match.end() :].strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoPointSet:
    """A file of items.

    Attributes:
        path: The file.
        images: Folder of the pictures.
        items: In the file's order.
        left_out: What cannot be asked, and why.
    """

    path: Path
    images: Path
    items: tuple[EgoPointItem, ...]
    left_out: tuple[NotReplayed, ...] = ()


def load_egopoint(path: Path, *, images: Path | None = None) -> EgoPointSet:
    """Read a file of items.

    Args:
        path: The JSON file: a list, or the authors' results with the list in ``details``.
        images: Folder of the pictures; the file's own without.

    Raises:
        EgoPointError: If it holds no items, or the folder is none.
    """
    folder = path.parent if images is None else images
    if images is not None and not images.is_dir():
        raise EgoPointError(f"{images}: no folder of pictures; check --images")
    pictures = _Pictures(folder)
    entries = read_entries(path)
    items: list[EgoPointItem] = []
    left_out: list[NotReplayed] = []
    for (place, entry), id in zip(enumerate(entries, start=1), entry_ids(entries), strict=True):
        try:
            items.append(_item(Fields(entry), id, pictures))
        except ValueError as error:
            left_out.append(NotReplayed(source=id or f"item {place}", reason=str(error)))
    if not items:
        why = f": {left_out[0].source}: {left_out[0].reason}" if left_out else ""
        raise EgoPointError(f"{path} holds no item that can be asked{why}")
    return EgoPointSet(path=path, images=folder, items=tuple(items), left_out=tuple(left_out))


def read_entries(path: Path) -> list[dict[str, Any]]:
    """The raw entries of a file of items or results.

    Raises:
        EgoPointError: If it holds no list of objects.
    """
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise EgoPointError(f"{path} is over {LONGEST_FILE} bytes; is it the right file?")
        value = parse(path.read_bytes())
    except OSError as error:
        raise EgoPointError(f"{path}: {error.strerror or error}") from error
    except UnreadableJsonError as error:
        raise EgoPointError(f"{path}: {error}") from error
    return as_entries(value, path)


def as_entries(value: Any, path: Path) -> list[dict[str, Any]]:
    """The entries of a parsed file: the list itself, or that in ``details``.

    Raises:
        EgoPointError: If there is no list of objects.
    """
    listed = value.get("details") if isinstance(value, dict) else value
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise EgoPointError(f"{path}: expected a list of items, as in pure_real_test.json")
    return listed


def entry_ids(entries: Sequence[dict[str, Any]]) -> list[str]:
    """A name for each entry: its picture's, numbered where one picture has several."""
    seen: Counter[str] = Counter()
    ids = []
    for entry in entries:
        image_id = image_id_of(Fields(entry))
        seen[image_id] += 1
        ids.append(image_id if seen[image_id] == 1 else f"{image_id}#{seen[image_id]}")
    return ids


def _item(read: Fields, id: str, pictures: _Pictures) -> EgoPointItem:
    image_id, question = image_id_of(read), read.text("question").strip()
    if not image_id:
        raise ValueError("neither image_id nor image_path")
    if not question:
        raise ValueError("no question")
    kind = _kind(read.text("type") or "Multiple_Choice")
    options = tuple(read.texts("options")) if kind == "Multiple_Choice" else ()
    if kind == "Multiple_Choice" and not options:
        raise ValueError("a multiple choice without options")
    answer = read.values.get("answer")
    return EgoPointItem(
        id=id,
        image_id=image_id,
        image=pictures.path(read.text("image_path"), image_id),
        question=question,
        options=options,
        answer="" if answer is None else str(answer),
        dimension=_without_stray(read.text("dimension").strip()) or UNKNOWN,
        level=read.text("deixis_level").strip() or UNKNOWN,
        kind=kind,
    )


def _without_stray(dimension: str) -> str:
    """A dimension without the bracket at its end, such as ``(Category)``; in linear time."""
    if not dimension.endswith(")"):
        return dimension
    opened = dimension.find("(", dimension.rfind(")", 0, -1) + 1)
    return dimension if opened < 0 else dimension[:opened].rstrip()


def image_id_of(read: Fields) -> str:
    """Name of an entry's picture, or nothing."""
    named = read.values.get("image_id")
    if isinstance(named, str | int) and not isinstance(named, bool) and str(named).strip():
        return str(named).strip()
    return Path(read.text("image_path")).stem


def _kind(stated: str) -> Kind:
    for kind in KINDS:
        if stated.casefold() == kind.casefold():
            return kind
    raise ValueError(f"type {stated!r} is none of {', '.join(KINDS)}")


class _Pictures:
    """Finds pictures below a folder. Each folder is listed once: asking for each is slow."""

    def __init__(self, folder: Path) -> None:
        self._below = f"{folder}{os.sep}"
        self._listed: dict[str, frozenset[str]] = {}

    def path(self, stated: str, image_id: str) -> Path:
        """Where an item's picture is, or should be."""
        names = []
        if stated:
            stated = stated.replace("\\", "/")
            parts = stated.split("/")
            if not os.path.isabs(stated) and ".." not in parts:
                names.append(stated)
            names.append(parts[-1])
        # A name with a folder in it would lead elsewhere.
        plain = image_id.replace("\\", "/").rpartition("/")[2]
        names += [f"{plain}{ending}" for ending in (".jpg", ".jpeg", ".png")]
        return Path(self._below + next((n for n in names if self._has(n)), names[0]))

    def _has(self, name: str) -> bool:
        folder, _, plain = name.rpartition("/")
        if folder not in self._listed:
            self._listed[folder] = _listing(self._below + folder)
        return plain in self._listed[folder]


def _listing(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except (OSError, ValueError):  # no folder, a NUL, a name too long
        return frozenset()
