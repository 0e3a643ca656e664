"""Which cameras this machine has, told without switching one on."""

from __future__ import annotations

import errno
import os
import platform
import struct
from dataclasses import dataclass
from pathlib import Path

_QUERYCAP = 0x80685600
"""``VIDIOC_QUERYCAP`` of ``linux/videodev2.h``: ``_IOR('V', 0, struct v4l2_capability)``."""
_CAPABILITY = struct.Struct("16s32s32sIII12x")
_VIDEO_CAPTURE = 0x00000001
_DEVICE_CAPS = 0x80000000


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """One camera.

    Attributes:
        device: What to open: ``/dev/video0``.
        name: What its driver calls it.
        problem: Why it cannot be opened, and what to do; None when it can.
    """

    device: str
    name: str
    problem: str | None = None


def list_cameras(
    *, devices: Path = Path("/dev"), system: Path = Path("/sys/class/video4linux")
) -> list[Camera]:
    """The cameras that deliver pictures, by number.

    Only Linux lists its cameras (as ``/dev/video*``); elsewhere the list is empty. Nodes that
    deliver no pictures (metadata, codecs) are left out; a node that cannot be asked is listed with
    the reason.
    """
    found = sorted(
        (path for path in devices.glob("video*") if path.name[5:].isdigit()),
        key=lambda path: int(path.name[5:]),
    )
    cameras = (_look(path, system / path.name / "name") for path in found)
    return [camera for camera in cameras if camera is not None]


def _look(path: Path, name_file: Path) -> Camera | None:
    try:
        name = name_file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        name = path.name
    try:
        capture, card = _capabilities(path)
    except OSError as error:
        return Camera(device=str(path), name=name, problem=_problem(path, error))
    return Camera(device=str(path), name=card or name) if capture else None


def _capabilities(path: Path) -> tuple[bool, str]:
    """Whether a node captures video, and the name of its card.

    Raises:
        OSError: If it cannot be opened or is no video device.
    """
    if platform.system() != "Linux":
        raise OSError(errno.ENOTSUP, "cameras are listed on Linux only")
    import fcntl

    node = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        answer = fcntl.ioctl(node, _QUERYCAP, bytes(_CAPABILITY.size))
    finally:
        os.close(node)
    return read_capability(answer)


def read_capability(answer: bytes) -> tuple[bool, str]:
    """Whether a ``v4l2_capability`` says that its node captures video, and its card's name."""
    _, card, _, _, whole, node = _CAPABILITY.unpack(answer)
    flags = node if whole & _DEVICE_CAPS else whole
    return bool(flags & _VIDEO_CAPTURE), card.split(b"\0")[0].decode("utf-8", "replace")


def _problem(path: Path, error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        return "may not be opened; run: sudo usermod -aG video $USER, then log in again"
    if error.errno == errno.EBUSY:
        return "is in use by another program; close that one"
    return f"cannot be opened ({error.strerror})"
