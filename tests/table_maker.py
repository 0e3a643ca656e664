"""Tables with coloured things on them, drawn, and queries about them: no media needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import IDENTITY, Binding, Deictic, Hand, Homography, Stroke, Word
from streaming.grounding import Keyframe, Query, Task, View
from streaming.grounding_choice import choose
from streaming.grounding_frames import crop_along, encoded, ray_of

WIDTH, HEIGHT = 640, 480
ASPECT = WIDTH / HEIGHT

Colour = tuple[int, int, int]
RED: Colour = (200, 30, 30)
BLUE: Colour = (30, 60, 200)
GREEN: Colour = (25, 120, 50)
YELLOW: Colour = (235, 200, 30)
WHITE: Colour = (240, 240, 238)
PURPLE: Colour = (110, 35, 160)
BLACK: Colour = (25, 25, 28)
WOOD: Colour = (205, 165, 120)
GREY: Colour = (150, 155, 162)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A thing to draw: its foot's middle ``(x, y)`` in pixels, its size and its colour."""

    x: int
    y: int
    width: int
    height: int
    colour: Colour
    round: bool = False

    @property
    def middle(self) -> tuple[float, float]:
        return self.x / WIDTH, (self.y - self.height / 2) / HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointing:
    """A stroke: where the tip is and where the knuckle, in fractions, and when."""

    tip: tuple[float, float]
    knuckle: tuple[float, float]
    apex: float = 1.0
    hold: float = 0.6


def table(
    items: Sequence[Item], *, surface: Colour = WOOD, texture: float = 4.0, seed: int = 1
) -> NDArray[np.uint8]:
    """A picture of ``items`` on a table before a wall, RGB uint8."""
    rng = np.random.default_rng(seed)
    image = np.empty((HEIGHT, WIDTH, 3), dtype=np.float32)
    image[:] = (168, 160, 150)
    image[120:] = surface
    grain = rng.normal(0.0, texture, (HEIGHT, WIDTH // 8)).astype(np.float32)
    image += cv2.resize(grain, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR)[..., None]
    for item in sorted(items, key=lambda item: item.y):
        _draw(image, item)
    image += rng.normal(0.0, 1.5, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def moved(image: NDArray[np.uint8], homography: Homography) -> NDArray[np.uint8]:
    """The picture as another camera sees it; ``homography`` takes old points to new ones."""
    scale = np.diag([WIDTH, HEIGHT, 1.0])
    matrix = scale @ np.asarray(homography) @ np.linalg.inv(scale)
    out = cv2.warpPerspective(image, matrix, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REPLICATE)
    return out.astype(np.uint8)


def pointing_at(
    target: tuple[float, float], *, gap: float = 0.05, apex: float = 1.0, side: float = 0.6
) -> Pointing:
    """A stroke from the lower right that ends ``gap`` picture heights before ``target``."""
    along = np.array([-side, -1.0]) / np.hypot(side, 1.0)
    tip = np.array([target[0] * ASPECT, target[1]]) - gap * along
    knuckle = tip - 0.12 * along
    return Pointing(
        tip=(float(tip[0] / ASPECT), float(tip[1])),
        knuckle=(float(knuckle[0] / ASPECT), float(knuckle[1])),
        apex=apex,
    )


def hand_at(pointing: Pointing, *, track: int = 0) -> Hand:
    """A hand behind the finger of ``pointing``, roughly."""
    tip, knuckle = np.array(pointing.tip), np.array(pointing.knuckle)
    back = knuckle - tip
    wrist = knuckle + 1.2 * back
    across = np.array([-back[1], back[0]]) * 0.4
    points = [wrist, *(knuckle + across * k / 4 for k in range(4)), knuckle]
    points += [knuckle + (tip - knuckle) * k / 3 for k in range(1, 3)]
    points += [tip]
    points += [knuckle + across * (1 + k / 12) for k in range(21 - len(points))]
    landmarks = tuple((float(x), float(y)) for x, y in points)
    return Hand(track=track, side="right", score=0.9, landmarks=landmarks)


def query(
    image: NDArray[np.uint8],
    strokes: Sequence[Pointing],
    *,
    task: Task | None = None,
    words: Sequence[Word] = (),
    deictics: Sequence[Deictic] = (),
    bindings: Sequence[Binding] | None = None,
    to_last: Homography | None = IDENTITY,
    language: str = "en",
) -> Query:
    """A query about ``image``; without ``bindings`` deictics and strokes go in pairs."""
    task = task or Task()
    frames = tuple(_keyframe(k, stroke, image, to_last) for k, stroke in enumerate(strokes))
    if bindings is None:
        bindings = [
            Binding(
                deictic=k if k < len(deictics) else None, stroke=k, probability=0.9, reason="end"
            )
            for k in range(len(strokes))
        ]
    pointed = choose(
        task.kinds,
        deictics=deictics,
        bindings=bindings,
        strokes=[frame.stroke for frame in frames],
        hold_ends={frame.stroke.index: frame.hold_end or 0.0 for frame in frames},
        inset=0.08,
    )
    return Query(
        turn=0,
        asked_at=10.0,
        task=task,
        pointed=pointed,
        keyframes=frames,
        last=View(time=10.0, image=image, to_last=IDENTITY),
        words=tuple(words),
        deictics=tuple(deictics),
        bindings=tuple(bindings),
        language=language,
        final=True,
    )


def said(text: str, *, pointing: Sequence[str] = (), language: str = "en") -> dict[str, object]:
    """Words of ``text``, half a second each, and the deictics among them, as arguments.

    Args:
        text: Words parted by spaces.
        pointing: The deictic words in order; ``here``, ``there`` and ``那里`` are places.
        language: Of the words.
    """
    words = tuple(
        Word(text=word, onset=0.5 * k, offset=0.5 * k + 0.4, language=language)
        for k, word in enumerate(text.split())
    )
    deictics: list[Deictic] = []
    for word in words:
        if len(deictics) < len(pointing) and word.text == pointing[len(deictics)]:
            kind = "place" if word.text in ("here", "there", "那里", "这里") else "object"
            deictics.append(
                Deictic(
                    index=len(deictics),
                    text=word.text,
                    onset=word.onset,
                    offset=word.offset,
                    kind="place" if kind == "place" else "object",
                    language=language,
                )
            )
    return {"words": words, "deictics": tuple(deictics), "language": language}


def _draw(image: NDArray[np.float32], item: Item) -> None:
    left, right = item.x - item.width // 2, item.x + item.width // 2
    top = item.y - item.height
    shade = image.copy()
    cv2.ellipse(
        shade,
        (item.x, item.y - 2),
        (item.width * 3 // 5, item.width // 5),
        0,
        0,
        360,
        (60, 50, 45),
        -1,
    )
    image[:] = 0.6 * image + 0.4 * shade
    body = np.array(item.colour, dtype=np.float32)
    if item.round:
        middle = (item.x, (top + item.y) // 2)
        cv2.ellipse(
            image, middle, (item.width // 2, item.height // 2), 0, 0, 360, body.tolist(), -1
        )
        return
    image[top : item.y, left:right] = body
    # One side lies in the shade, as on a real block.
    image[top : item.y, left + 2 * (right - left) // 3 : right] = 0.8 * body


def _keyframe(
    index: int, pointing: Pointing, image: NDArray[np.uint8], to_last: Homography | None
) -> Keyframe:
    stroke = Stroke(
        index=index,
        onset=pointing.apex - 0.3,
        apex=pointing.apex,
        tip=pointing.tip,
        knuckle=pointing.knuckle,
    )
    hand = hand_at(pointing)
    ray = ray_of(stroke, (hand,))
    return Keyframe(
        stroke=stroke,
        time=pointing.apex,
        jpeg=encoded(image),
        hands=(hand,),
        ray=ray,
        crop=crop_along(ray, share=0.3, aspect=ASPECT),
        hold_end=pointing.apex + pointing.hold,
        to_last=to_last,
    )


def with_last(asked: Query, view: View, *, clear: View | None = None) -> Query:
    """The same query about another last frame."""
    return replace(asked, last=view, clear=clear)
