"""JPEG from strangers: its size is read first, as a small file could become a huge picture."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

MOST_SCANS = 64
"""A progressive picture has about ten, and each goes over all of it: a small file with thousands
would be decoded for minutes."""
_SCAN = b"\xff\xda"
_NO_SIZE = frozenset({0xC4, 0xC8, 0xCC})
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})


class JpegError(ValueError):
    """Bytes that are no JPEG, or one that is too large."""


def jpeg_size(encoded: bytes) -> tuple[int, int]:
    """Width and height as its frame header says (ITU-T T.81, B.2.2).

    Raises:
        JpegError: If there is none.
    """
    if encoded[:2] != b"\xff\xd8":
        raise JpegError("a picture that is no JPEG")
    place = 2
    while place + 9 <= len(encoded) and encoded[place] == 0xFF:
        marker = encoded[place + 1]
        if marker == 0xFF or marker in _ALONE:
            place += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height = int.from_bytes(encoded[place + 5 : place + 7], "big")
            width = int.from_bytes(encoded[place + 7 : place + 9], "big")
            return width, height
        place += 2 + int.from_bytes(encoded[place + 2 : place + 4], "big")
    raise JpegError("a JPEG without a frame header")


def decode_jpeg(encoded: bytes, most_pixels: int) -> NDArray[np.uint8]:
    """An upright RGB picture, shape ``(height, width, 3)``.

    Raises:
        JpegError: If it is none, has more pixels than ``most_pixels``, or far too many scans.
    """
    width, height = jpeg_size(encoded)
    if not 0 < width * height <= most_pixels:
        raise JpegError(f"a picture of {width}x{height}, expected at most {most_pixels} pixels")
    # Within a scan this pair cannot stand, and a thumbnail has no more than a few (B.1.1.2).
    if encoded.count(_SCAN) > MOST_SCANS:
        raise JpegError(f"a JPEG of more than {MOST_SCANS} scans")
    try:
        image = cv2.imdecode(np.frombuffer(encoded, dtype=np.uint8), cv2.IMREAD_COLOR_RGB)
    except cv2.error as error:
        raise JpegError("a JPEG that cannot be decoded") from error
    if image is None or image.size > 3 * most_pixels:
        raise JpegError("a JPEG that cannot be decoded")
    return np.asarray(image, dtype=np.uint8)
