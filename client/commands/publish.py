"""``deixis publish``: stream a file or a camera to a live server."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter
from cyclopts.validators import Number

from client.choices import LanguageName
from client.printing import plain_console
from client.usage import UsageError
from streaming.build import language_code

if TYPE_CHECKING:
    from client.publishing.following import Following
    from client.publishing.link import Link
    from client.publishing.pieces import Pieces
    from client.publishing.publisher import Progress
    from client.publishing.shown import Shown

TOKEN_VARIABLE = "DEIXIS_TOKEN"
_ANSWERED_WITHIN = 20.0
"""Seconds that the server has to work off what it got."""


def publish(
    source: str,
    url: str,
    *,
    loop: Annotated[bool, Parameter(negative=())] = False,
    hold: Annotated[float, Parameter(validator=Number(gte=0, lte=3600))] = 0.0,
    language: LanguageName = "auto",
    side: Annotated[int, Parameter(validator=Number(gte=64, lte=4096))] = 1280,
    fingerprint: str | None = None,
    quiet: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Stream a file or a camera to a live server at the pace at which it happened.

    What the server makes of it is shown meanwhile: words, strokes, bindings and answers. A
    connection that breaks is made again; the stream goes on from where it was, and over a WebSocket
    in the same session if it was not long. Exit code 0 when the stream has ended, 1 when the server
    refuses, is not there or does not come back.

    Parameters
    ----------
    source
        A media file, a camera (`camera`, `camera:1`), or an address that FFmpeg reads (RTSP, RTMP,
        SRT, HTTP).
    url
        The server: `ws://HOST:PORT` or `wss://HOST:PORT` for a WebSocket, `http://HOST:PORT` or
        `https://HOST:PORT` for WebRTC by WHIP. What the server asks for as token is taken from
        `DEIXIS_TOKEN`.
    loop
        Begin again when the file ends; Ctrl-C ends it.
    hold
        Go on for so many seconds with a file's last picture and silence, as a camera would.
    language
        Spoken language: `en`, `zh` or `auto`.
    side
        Scale larger pictures down to it, in pixels.
    fingerprint
        SHA-256 of a certificate that the server made itself, as it prints it.
    quiet
        Say nothing but what goes wrong.
    """
    from client.publishing.following import Following
    from client.publishing.link import plain_fingerprint
    from client.publishing.shown import Shown, told

    scheme = urlsplit(url).scheme.lower()
    if scheme not in _WAYS:
        raise UsageError(f"the server's address begins with {', '.join(_WAYS)}")
    plain = None if fingerprint is None else plain_fingerprint(fingerprint)
    connect = _WAYS[scheme](url, language_code(language), plain, side)
    shown = Shown(plain_console(stderr=False), quiet=quiet)
    following = None
    if not quiet:
        following = functools.partial(
            Following,
            url,
            token=os.environ.get(TOKEN_VARIABLE) or None,
            fingerprint=plain,
            show=shown.line,
            tell=shown.mention,
        )
    try:
        pieces = functools.partial(_pieces, source, shown, loop=loop, hold=hold, side=side)
        done = asyncio.run(_publish(pieces, connect, shown, following))
    finally:
        shown.close()
    shown.mention(f"ended: {told(done)}")
    return 0


async def _publish(
    opened: Callable[[], Pieces],
    connect: Callable[[], Awaitable[Link]],
    shown: Shown,
    followed: Callable[[], Following] | None,
) -> Progress:
    from client.publishing.publisher import Publisher

    pieces = opened()
    following = None if followed is None else followed()

    def update(progress: Progress) -> None:
        shown.update(progress)
        if following is not None and progress.problem is None:
            following.begin(progress.session)

    try:
        done = await Publisher(pieces, connect, update).run()
        if following is not None:
            await following.finish(within=_ANSWERED_WITHIN)
        return done
    finally:
        await pieces.close()
        if following is not None:
            await following.close()


def _pieces(source: str, shown: Shown, *, loop: bool, hold: float, side: int) -> Pieces:
    from client.publishing.pieces import FilePieces
    from client.publishing.pulled import PulledPieces, is_live

    if not is_live(source):
        return FilePieces(Path(source), loop=loop, hold=hold, max_side=side)
    if loop:
        raise UsageError("--loop is for files")
    if hold:
        raise UsageError("--hold is for files")
    return PulledPieces(source, shown.tell)


def _websocket(
    url: str, language: str, fingerprint: str | None, side: int
) -> Callable[[], Awaitable[Link]]:
    from client.publishing.websocket import WebSocketWay, ingest_address

    ingest_address(url)  # said before anything is opened
    return WebSocketWay(
        url,
        token=os.environ.get(TOKEN_VARIABLE) or None,
        language=language,
        fingerprint=fingerprint,
        side=side,
    )


def _whip(
    url: str, language: str, fingerprint: str | None, side: int
) -> Callable[[], Awaitable[Link]]:
    from client.publishing.whip import open_whip, whip_address

    whip_address(url)
    return functools.partial(
        open_whip,
        url,
        token=os.environ.get(TOKEN_VARIABLE) or None,
        language=language,
        fingerprint=fingerprint,
        side=side,
    )


_WAYS = {"ws": _websocket, "wss": _websocket, "http": _whip, "https": _whip}
