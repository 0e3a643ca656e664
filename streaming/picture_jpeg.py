"""Pictures made ready to be sent: upright, with square pixels, no larger than asked, as JPEG."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray


def square_pixels(
    image: NDArray[np.uint8], *, pixel_aspect: float = 1.0, side: int
) -> NDArray[np.uint8]:
    """``image`` as it is displayed, scaled down so that no side is longer than ``side``.

    Args:
        image: RGB, shape ``(height, width, 3)``.
        pixel_aspect: Width over height of one of its pixels.
        side: In pixels.
    """
    height, width = image.shape[:2]
    shown = width * pixel_aspect
    scale = min(1.0, side / max(shown, height))
    size = (max(1, round(shown * scale)), max(1, round(height * scale)))
    if size == (width, height):
        return image
    smaller = size[0] <= width and size[1] <= height
    way = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size, interpolation=way), dtype=np.uint8)


def jpeg_of(image: NDArray[np.uint8], *, quality: int) -> bytes:
    """JPEG of an RGB picture, colours at full resolution: they tell small things apart.

    Raises:
        ValueError: If it is no picture.
    """
    options = (
        cv2.IMWRITE_JPEG_QUALITY,
        quality,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
    )
    if image.size == 0:
        raise ValueError(f"a picture of shape {image.shape} cannot be encoded")
    done, buffer = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
    if not done:
        raise ValueError(f"a picture of shape {image.shape} cannot be encoded")
    return bytes(buffer.tobytes())
