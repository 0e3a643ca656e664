"""Pictures and masks that go with a script."""

from __future__ import annotations

import base64
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import Point
from tests.run_scripts import Meant, Script

WIDTH, HEIGHT = 640, 480


def scene(script: Script, *, tip: Point | None) -> NDArray[np.uint8]:
    """A table, a coloured thing for each referent, and an arm that ends in a fingertip."""
    table = np.full((HEIGHT, WIDTH, 3), (188, 200, 208), np.uint8)
    table[: HEIGHT // 4] = (150, 146, 140)
    image = np.asarray(cv2.GaussianBlur(table, (0, 0), 14), np.uint8)
    colours = [(60, 190, 235), (70, 130, 60), (60, 70, 190), (180, 120, 70)]
    for index, meant in enumerate(script.meant):
        if meant.kind != "object":
            continue
        center = (int(meant.center[0] * WIDTH), int(meant.center[1] * HEIGHT))
        axes = (int(meant.size[0] * WIDTH / 2), int(meant.size[1] * HEIGHT / 2))
        cv2.ellipse(image, center, axes, 0, 0, 360, colours[index % 4], -1, cv2.LINE_AA)
    if tip is not None:
        end = (int(tip[0] * WIDTH), int(tip[1] * HEIGHT))
        knuckle = (int((tip[0] + 0.06) * WIDTH), int((tip[1] + 0.07) * HEIGHT))
        cv2.line(image, (WIDTH + 20, HEIGHT - 10), knuckle, (120, 90, 70), 64, cv2.LINE_AA)
        cv2.line(image, knuckle, end, (150, 175, 215), 20, cv2.LINE_AA)
    return image


def true_referent(meant: Meant) -> dict[str, Any]:
    """One entry of the benchmark's right answer."""
    x, y = meant.center
    answer: dict[str, Any] = {
        "choice": meant.choice,
        "stroke_begin_time": int(meant.window[0] * 1000),
        "stroke_end_time": int(meant.window[1] * 1000),
        "points": [[round(y * 1000), round(x * 1000)]],
    }
    if meant.kind == "object":
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        axes = (int(meant.size[0] * WIDTH / 2), int(meant.size[1] * HEIGHT / 2))
        center = (int(x * WIDTH), int(y * HEIGHT))
        cv2.ellipse(mask, center, axes, 0, 0, 360, 255, -1)
        png = cv2.imencode(".png", mask)[1].tobytes()
        answer["mask"] = {
            "bbox": [center[0] - axes[0], center[1] - axes[1],
                     center[0] + axes[0], center[1] + axes[1]],
            "mask_base64": base64.b64encode(png).decode("ascii"),
        }  # fmt: skip
    return answer
