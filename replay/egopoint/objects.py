"""The things on EgoPoint-Bench's pictures, and which of them an option speaks of.

The benchmark publishes no boxes, so that they come from a file of the user's: an annotator's, a
detector's, or the truth of a made set::

    {"<image_id>": [{"name": "red mug", "box": [x1, y1, x2, y2]}, …], …}

``box`` is in pixels of the picture, the last two being those after the last. ``truth.json`` of
``deixis synth --benchmark egopoint`` is read as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from replay.egopoint.dataset import EgoPointError, EgoPointItem, option_parts
from replay.loose_json import Fields, UnreadableJsonError, read_object

_WORD = re.compile(r"[^\W_]+")
_SAYS_NOTHING = frozenset({"a", "an", "the", "of", "on", "with", "it", "its", "in", "and", "only"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenObject:
    """A thing on a picture.

    Attributes:
        name: What it is called.
        box: ``(x1, y1, x2, y2)`` in pixels, the last two after the last.
    """

    name: str
    box: tuple[float, float, float, float]

    def __post_init__(self) -> None:
        x1, y1, x2, y2 = self.box
        if not (x1 < x2 and y1 < y2):
            raise ValueError(f"box {self.box} of {self.name!r} is no box")

    @property
    def words(self) -> frozenset[str]:
        return words_of(self.name)


def read_objects(path: Path) -> dict[str, tuple[SeenObject, ...]]:
    """The things on each picture, by ``image_id``.

    Raises:
        EgoPointError: If the file cannot be read, or holds none.
    """
    try:
        stated = read_object(path)
    except UnreadableJsonError as error:
        raise EgoPointError(f"{path}: {error}") from error
    stills = stated.tables("stills")
    listed = (
        {still.text("image_id"): still.tables("things") for still in stills}
        if stills
        else {image: stated.tables(image) for image in stated.values}
    )
    found = {image: _objects(things) for image, things in listed.items() if image}
    if not any(found.values()):
        raise EgoPointError(
            f'{path}: no objects; expected {{"image_id": [{{"name": ..., "box": [x1, y1, x2, y2]'
            "}, ...]}}"
        )
    return found


def _objects(things: Sequence[Fields]) -> tuple[SeenObject, ...]:
    found = []
    for thing in things:
        box, name = thing.numbers("box"), thing.text("name").strip()
        if name and len(box) == 4 and box[0] < box[2] and box[1] < box[3]:
            found.append(SeenObject(name=name, box=(box[0], box[1], box[2], box[3])))
    return tuple(found)


def words_of(text: str) -> frozenset[str]:
    """The words of a text that say something."""
    return frozenset(word.casefold() for word in _WORD.findall(text)) - _SAYS_NOTHING


def spoken_of(text: str, objects: Sequence[SeenObject]) -> int | None:
    """Which thing an option speaks of, by its place among ``objects``; None when that is not clear.

    An option speaks of a thing that it names whole ("the red mug on the left" of "red mug"; of
    several the longest name counts), or whose name holds all of its words ("mug").
    """
    said = words_of(text)
    if not said:
        return None
    named = [(len(one.words), place) for place, one in enumerate(objects) if one.words <= said]
    if named:
        most = max(named)[0]
        longest = [place for length, place in named if length == most and most]
        return longest[0] if len(longest) == 1 else None
    inside = [place for place, one in enumerate(objects) if said <= one.words]
    return inside[0] if len(inside) == 1 else None


def options_of(item: EgoPointItem, objects: Sequence[SeenObject]) -> dict[str, int]:
    """The thing that each option speaks of, by letter; options of one thing alike are left out."""
    spoken: dict[str, int] = {}
    for option in item.options:
        letter, text = option_parts(option)
        place = spoken_of(text, objects)
        if letter and place is not None:
            spoken[letter] = place
    places = list(spoken.values())
    return {letter: place for letter, place in spoken.items() if places.count(place) == 1}
