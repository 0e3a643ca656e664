"""The displayed size of a video file, without decoding it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import av
import cv2

DEFAULT_SIZE = (1920, 1080)
"""Width and height taken for a video that cannot be read."""


@lru_cache(maxsize=4096)
def video_size(path: Path) -> tuple[int, int]:
    """Width and height in pixels as displayed (rotation applied, pixels taken as square).

    OpenCV is asked, as in the benchmark's own code, since the size decides which pixel a point
    falls on. PyAV opens the file first: it fails quietly where OpenCV prints to the terminal.
    """
    if not _has_video(path):
        return DEFAULT_SIZE
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    try:
        if not capture.isOpened():
            return DEFAULT_SIZE
        size = (
            int(capture.get(cv2.CAP_PROP_FRAME_WIDTH)),
            int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT)),
        )
    finally:
        capture.release()
    return size if min(size) > 0 else DEFAULT_SIZE


def _has_video(path: Path) -> bool:
    try:
        with av.open(str(path), metadata_errors="replace") as container:
            return bool(container.streams.video)
    except (av.FFmpegError, OSError):
        return False
