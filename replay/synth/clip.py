"""Makes one clip: draws until a draw is clear, films it, and writes down what is true."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replay.synth.choosing import Option, UnclearError, lettered
from replay.synth.drawing import Drawn, draw, place_of
from replay.synth.ecog_files import Choice, TimedWord, annotation, ground_truth
from replay.synth.filming import FEWEST_PIXELS, Ray, Set, Sights, rays, sights
from replay.synth.orders import Order
from replay.synth.scene import SceneObject, SceneSpace
from replay.synth.truth import describe, milliseconds, subject_windows
from replay.synth.world import Floats

ATTEMPTS = 40
"""Draws for one clip; most are clear at the first few."""


def make_clip(order: Order, path: Path, *, folder: str) -> dict[str, Any]:
    """Make a clip's video at ``path``.

    Args:
        folder: Where the video will lie, from the set's root.

    Returns:
        Its entries ``annotation``, ``ground_truth`` and ``truth``, JSON-able.

    Raises:
        UnclearError: If no draw of :data:`ATTEMPTS` is clear.
        OSError: If the video cannot be written.
    """
    drawn, ready, found, seen = clear_draw(order)
    part = _told(drawn, ready, found, seen, folder)
    ready.film(path)
    return part


def clear_draw(order: Order) -> tuple[Drawn, Set, tuple[Ray, ...], Sights]:
    """The first draw that a person could solve.

    Raises:
        UnclearError: If there is none.
    """
    reasons: dict[str, int] = {}
    for attempt in range(ATTEMPTS):
        try:
            drawn = draw(order, attempt)
            found = rays(drawn)
            ready = Set(drawn)
            return drawn, ready, found, sights(drawn, ready)
        except UnclearError as error:
            reasons[str(error)] = reasons.get(str(error), 0) + 1
    most = max(reasons, key=lambda reason: reasons[reason])
    raise UnclearError(f"no clear clip in {ATTEMPTS} draws; most often: {most}")


def _told(
    drawn: Drawn, ready: Set, found: Sequence[Ray], seen: Sights, folder: str
) -> dict[str, Any]:
    rng = drawn.order.draws(drawn.attempt)["answer"]
    options = _options(rng, drawn, ready, seen)
    letters = {id(option.item): option.letter for option in options}
    windows = subject_windows(rng, drawn, drawn.subjects, letters)
    choices = tuple(_choice(rng, option, drawn, ready, seen) for option in options)
    order = drawn.order
    return {
        "annotation": annotation(
            order,
            setting=drawn.scene.setting,
            folder=folder,
            choices=choices,
            text=drawn.script.text,
            words=_words(drawn),
        ),
        "ground_truth": ground_truth(
            order,
            choices=choices,
            answer=tuple(windows[number] for number in drawn.script.referents),
        ),
        "truth": describe(drawn, ready, options=options, rays=found, windows=windows),
    }


def _options(
    rng: np.random.Generator, drawn: Drawn, ready: Set, seen: Sights
) -> tuple[Option, ...]:
    """What can be seen on the last frame, and what is meant in any case."""
    meant = {id(subject.meant) for subject in drawn.subjects}
    objects = [
        one
        for one in drawn.scene.objects
        if id(one) in meant or seen.seen(one.label) >= FEWEST_PIXELS
    ]
    camera = ready.camera(ready.last)
    spaces = [
        one
        for one in drawn.scene.spaces
        if id(one) in meant or _inside(camera.project(one.point)[0], drawn)
    ]
    return lettered(rng, objects, spaces)


def _inside(pixel: Floats, drawn: Drawn) -> bool:
    frames = drawn.order.frames
    return bool(0 <= pixel[0] < frames.width and 0 <= pixel[1] < frames.height)


def _choice(
    rng: np.random.Generator, option: Option, drawn: Drawn, ready: Set, seen: Sights
) -> Choice:
    item = option.item
    place = ready.camera(ready.last).project(place_of(item))[0]
    if isinstance(item, SceneSpace):
        points = place + rng.normal(0.0, 1.5, (int(rng.integers(1, 3)), 2))
        return Choice(letter=option.letter, name=item.names[drawn.order.language], points=points)
    pixels = seen.last == item.label
    return Choice(
        letter=option.letter,
        name=item.names[drawn.order.language],
        points=_clicks(rng, pixels, place),
        pixels=pixels if pixels.any() else None,
        full_frame=bool(rng.random() < 0.5),
        score=float(rng.uniform(0.85, 0.97)),
    )


def _clicks(rng: np.random.Generator, pixels: np.ndarray, place: Floats) -> Floats:
    """One or two points that an annotator would set on the object, on what is seen of it."""
    rows, columns = np.nonzero(pixels)
    if not len(rows):
        return np.asarray(place[None], np.float64)
    seen = np.stack([columns, rows], 1) + 0.5
    middle = seen.mean(0) + rng.normal(0.0, 0.15 * seen.std(0) + 0.3, (int(rng.integers(1, 3)), 2))
    nearest = [int(np.argmin(((seen - click) ** 2).sum(1))) for click in middle]
    return np.asarray(seen[nearest], np.float64)


def _words(drawn: Drawn) -> tuple[TimedWord, ...]:
    if drawn.spoken is None:
        return ()
    start = drawn.spoken.start
    return tuple(
        TimedWord(
            text=word.text + word.punctuation,
            begin_ms=milliseconds(start + heard.onset),
            end_ms=milliseconds(start + heard.offset),
        )
        for word, heard in zip(drawn.script.words, drawn.spoken.speech.words, strict=True)
    )


__all__ = ["ATTEMPTS", "SceneObject", "UnclearError", "clear_draw", "make_clip"]
