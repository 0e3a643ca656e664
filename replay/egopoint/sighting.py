"""What is seen on each picture of a set, looked at once and kept in a file, line by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.egopoint.dataset import EgoPointItem
from replay.egopoint.looking import HandsOf, Looked, look, still_hands, things_on
from replay.egopoint.objects import SeenObject
from replay.egopoint.questions import read_settings
from replay.line_log import LineLog, whole_lines
from replay.loose_json import Fields
from replay.media.still import read_still
from replay.source import SourceError
from streaming.models.local_settings import read_local_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A picture that was looked at.

    Attributes:
        width, height: Pixels.
        objects: The things on it: the user's, or object-like regions.
        looked: What of them is hit, near and salient.
    """

    width: int
    height: int
    objects: tuple[SeenObject, ...]
    looked: Looked


def sights_of(
    items: Sequence[EgoPointItem],
    objects: Mapping[str, Sequence[SeenObject]] | None,
    *,
    kept: Path | None = None,
    open_hands: Callable[[], AbstractContextManager[HandsOf]] | None = None,
    on_picture: Callable[[str, str], None] = lambda image_id, error: None,
) -> dict[str, Sight]:
    """Look at each picture, unless the file has it already.

    Args:
        items: Which pictures, by their ``image_id``.
        objects: The things on them; None finds object-like regions. With things, pictures without
            any are left out.
        kept: File of what was seen, JSON lines; kept nowhere without.
        open_hands: Loads the hand models, when something is to be looked at.
        on_picture: Told each picture that is done, and why one could not be read.
    """
    pictures = {item.image_id: item.image for item in items}
    if objects is not None:
        pictures = {name: path for name, path in pictures.items() if objects.get(name)}
    by = "objects" if objects is not None else "regions"
    seen = {} if kept is None else _known(kept, by)
    seen = {name: sight for name, sight in seen.items() if name in pictures}
    for image_id in seen:
        on_picture(image_id, "")
    if len(seen) == len(pictures):
        return seen
    pointing, where = read_local_settings()[0].pointing, read_settings().where
    with (open_hands or still_hands)() as hands_of:
        for image_id, path in pictures.items():
            if image_id in seen:
                continue
            try:
                image = read_still(path)
            except SourceError as error:
                on_picture(image_id, str(error))
                continue
            hands = hands_of(image)
            things = (
                tuple(objects[image_id])
                if objects is not None
                else things_on(image, hands, most=where.things, overlap=where.overlap)
            )
            sight = Sight(
                width=image.shape[1],
                height=image.shape[0],
                objects=things,
                looked=look(image, things, hands, pointing=pointing),
            )
            seen[image_id] = sight
            if kept is not None:
                with LineLog(kept) as log:
                    log.write({"image_id": image_id, "by": by} | _encode(sight))
            on_picture(image_id, "")
    return seen


def _encode(sight: Sight) -> dict[str, Any]:
    looked = sight.looked
    return {
        "size": [sight.width, sight.height],
        "objects": [{"name": one.name, "box": list(one.box)} for one in sight.objects],
        "hand": looked.has_hand,
        "hit": looked.hit,
        "by_distance": list(looked.by_distance),
        "by_salience": list(looked.by_salience),
    }


def _known(kept: Path, by: str) -> dict[str, Sight]:
    known = {}
    for line in whole_lines(kept):
        read = Fields(line if isinstance(line, dict) else {})
        size = read.numbers("size")
        if read.text("by") == by and read.text("image_id") and len(size) == 2:
            known[read.text("image_id")] = _decode(read, size)
    return known


def _decode(read: Fields, size: Sequence[float]) -> Sight:
    objects = []
    for one in read.tables("objects"):
        left, top, right, bottom = one.numbers("box")
        objects.append(SeenObject(name=one.text("name"), box=(left, top, right, bottom)))
    return Sight(
        width=int(size[0]),
        height=int(size[1]),
        objects=tuple(objects),
        looked=Looked(
            has_hand=read.flag("hand") is True,
            hit=read.count("hit"),
            by_distance=tuple(map(int, read.numbers("by_distance"))),
            by_salience=tuple(map(int, read.numbers("by_salience"))),
        ),
    )
