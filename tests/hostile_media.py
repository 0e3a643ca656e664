"""Media that are huge, broken, absurd or none, for :mod:`tests.hostile_ways`."""

from __future__ import annotations

import functools
import io
import random
import struct

import av
import cv2
import numpy as np

from tests.hostile_sockets import HEAD, Target, ingest, send_all
from tests.test_server_hostile import broken


@functools.cache
def small_jpeg() -> bytes:
    _, encoded = cv2.imencode(".jpg", np.full((48, 64, 3), 90, np.uint8))
    return encoded.tobytes()


def _jpeg_saying(width: int, height: int) -> bytes:
    """A small file that says that its picture is large."""
    content = bytearray(small_jpeg())
    at = content.index(b"\xff\xc0")
    struct.pack_into(">HH", content, at + 5, height, width)
    return bytes(content)


@functools.cache
def _jpeg_of_scans() -> bytes:
    """A progressive picture whose last scan, of a few bytes, is said over and over."""
    options = [int(cv2.IMWRITE_JPEG_PROGRESSIVE), 1]
    _, encoded = cv2.imencode(".jpg", np.zeros((4000, 4000, 3), np.uint8), options)
    content = encoded.tobytes()
    last = content[content.rindex(b"\xff\xda") : -2]
    return content[:-2] + last * ((1_900_000 - len(content)) // len(last)) + b"\xff\xd9"


def _times(made: random.Random) -> int:
    return made.choice((0, 1, made.randrange(10**8), 2**63, 2**64 - 1, 10**15, 999_999))


async def pictures(target: Target, made: random.Random) -> int:
    """Pictures that are huge, broken or not pictures."""
    large = [_jpeg_saying(*size) for size in ((65_535, 65_535), (4000, 4000), (1, 65_535), (0, 0))]
    choices = [*large, small_jpeg(), b"\xff\xd8" + b"\xff" * 5000, b"\xff\xd8\xff\xe1\xff\xff"]
    messages: list[bytes | str] = []
    for _ in range(40):
        picture = made.choice(choices)
        picture = broken(made, picture) if made.random() < 0.4 else picture
        messages.append(HEAD.pack(2, _times(made)) + picture)
    if made.random() < 0.2:
        messages.append(HEAD.pack(2, 1) + _jpeg_of_scans())
    async with ingest(target) as ws:
        return await send_all(ws, messages)
    return 1


async def sound(target: Target, made: random.Random) -> int:
    """Sound with absurd times and lengths."""
    messages: list[bytes | str] = [
        HEAD.pack(made.choice((1, 1, 1, 0, 3, 255)), _times(made))
        + made.choice((b"", b"\0", bytes(640), made.randbytes(640), bytes(1_500_000)))
        for _ in range(60)
    ]
    async with ingest(target) as ws:
        return await send_all(ws, messages)
    return 1


async def words(target: Target, made: random.Random) -> int:
    """JSON that is deep, large or strange."""
    number = ("NaN", "-Infinity", "1e999", "9" * 4000, "-1", "true", '"x"', "[]", "null")
    kinds: list[bytes | str] = [
        "[" * 8000,
        '{"a":' * 4000,
        "\x00",
        '{"type":"hello"}',
        '{"type":"\ud83d"}'.encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
        *(f'{{"type":"clock","sent":{one}}}' for one in number),
        *(f'{{"type":"clock","sent":1,"late":{one}}}' for one in number),
        *(f'{{"type":"captured","zero":{one},"within":{one}}}' for one in number),
        '{"type":"captured","zero":0,"within":0,"rtp":{' + '"1":1,' * 900 + '"2":2}}',
    ]
    async with ingest(target) as ws:
        return await send_all(ws, made.choices(kinds, k=40))
    return 1


@functools.cache
def _webm() -> bytes:
    out = io.BytesIO()
    with av.open(out, "w", format="webm") as container:
        stream = container.add_stream("libvpx", rate=10)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for index in range(10):
            image = np.full((48, 64, 3), 20 * index, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return out.getvalue()


async def webm(target: Target, made: random.Random) -> int:
    """WebM with absurd sizes, cut and changed anywhere."""
    content = _webm()
    if made.random() < 0.3:
        content = content[:40] + b"\x01" + b"\xff" * 7 + content[48:]
    elif made.random() < 0.3:
        at = content.find(b"\xb0\x82")  # how wide the pictures are
        content = content[:at] + b"\xb0\x84\xff\xff\xff\xff" + content[at + 4 :]
    else:
        content = broken(made, content)
    pieces = [content[at : at + 3000] for at in range(0, len(content), 3000)]
    messages: list[bytes | str] = [HEAD.pack(3, 0) + piece for piece in pieces * 2 if piece]
    async with ingest(target, format="webm") as ws:
        return await send_all(ws, messages)
    return 1
