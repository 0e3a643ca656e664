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
from rich.console import Console

from client.choices import LanguageName
from client.printing import plain_console, printable
from client.usage import UsageError
from streaming.build import language_code

if TYPE_CHECKING:
    from client.publishing.link import Link
    from client.publishing.pieces import Pieces
    from client.publishing.publisher import Progress

TOKEN_VARIABLE = "DEIXIS_TOKEN"
_SAY_EVERY = 5.0


def publish(
    source: str,
    url: str,
    *,
    loop: Annotated[bool, Parameter(negative=())] = False,
    hold: Annotated[float, Parameter(validator=Number(gte=0, lte=3600))] = 0.0,
    language: LanguageName = "auto",
    side: Annotated[int, Parameter(validator=Number(gte=64, lte=4096))] = 1280,
    fingerprint: str | None = None,
) -> int:
    """Stream a file or a camera to a live server at the pace at which it happened.

    A connection that breaks is made again; the stream goes on from where it was.

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
    """
    from client.publishing.link import plain_fingerprint

    scheme = urlsplit(url).scheme.lower()
    if scheme not in _WAYS:
        raise UsageError(f"the server's address begins with {', '.join(_WAYS)}")
    plain = None if fingerprint is None else plain_fingerprint(fingerprint)
    connect = _WAYS[scheme](url, language_code(language), plain, side)
    console = plain_console(stderr=False)
    done = asyncio.run(_publish(source, connect, console, loop=loop, hold=hold, side=side))
    console.print(f"ended: {_told(done)}")
    return 0


async def _publish(
    source: str,
    connect: Callable[[], Awaitable[Link]],
    console: Console,
    *,
    loop: bool,
    hold: float,
    side: int,
) -> Progress:
    from client.publishing.publisher import Publisher

    show = _Shown(console)
    pieces = _pieces(source, show, loop=loop, hold=hold, side=side)
    try:
        return await Publisher(pieces, connect, show.update).run()
    finally:
        show.close()
        await pieces.close()


def _pieces(source: str, show: _Shown, *, loop: bool, hold: float, side: int) -> Pieces:
    from client.publishing.pieces import FilePieces
    from client.publishing.pulled import PulledPieces, is_live

    if not is_live(source):
        return FilePieces(Path(source), loop=loop, hold=hold, max_side=side)
    if loop:
        raise UsageError("--loop is for files")
    if hold:
        raise UsageError("--hold is for files")
    return PulledPieces(source, show.tell)


def _websocket(
    url: str, language: str, fingerprint: str | None, side: int
) -> Callable[[], Awaitable[Link]]:
    from client.publishing.websocket import ingest_address, open_websocket

    ingest_address(url)  # said before anything is opened
    return functools.partial(
        open_websocket,
        url,
        token=os.environ.get(TOKEN_VARIABLE),
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
        token=os.environ.get(TOKEN_VARIABLE),
        language=language,
        fingerprint=fingerprint,
        side=side,
    )


_WAYS = {"ws": _websocket, "wss": _websocket, "http": _whip, "https": _whip}


class _Shown:
    """One line that is redrawn on a terminal; elsewhere a line every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("connecting …") if console.is_terminal else None
        self._said = 0.0
        self._problem: str | None = None
        self._connections = 0
        if self._status is not None:
            self._status.start()

    def update(self, progress: Progress) -> None:
        if progress.connections > self._connections:
            self._connections = progress.connections
            self._console.print(f"connected: session {printable(progress.session)}")
        if progress.problem is not None and progress.problem != self._problem:
            self._console.print(printable(f"{progress.problem}; trying again"))
        self._problem = progress.problem
        if self._status is not None:
            self._status.update(_told(progress))
        elif progress.seconds - self._said >= _SAY_EVERY:
            self._said = progress.seconds
            self._console.print(_told(progress))

    def tell(self, text: str) -> None:
        self._console.print(printable(text))

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()


def _told(progress: Progress) -> str:
    told = f"{progress.seconds:.1f} s, {progress.pictures} pictures"
    if progress.skipped:
        told += f", {progress.skipped} left out (slow network)"
    if progress.connections > 1:
        told += f", connected {progress.connections} times"
    if progress.delay is not None:
        told += f", {1000 * progress.delay:.0f} ms to the server and back"
    return told
