"""A stream over WebRTC, offered by WHIP (RFC 9725): to this project's server or to any other."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ssl
import time as wall
from collections import deque
from fractions import Fraction
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
import numpy as np
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCRtpSender,
    RTCSessionDescription,
)
from aiortc.exceptions import InvalidStateError
from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame as SentPicture
from numpy.typing import NDArray

from client.publishing.feed_clock import compare_clocks
from client.publishing.link import LinkLost, PublishError, fingerprint_context, server_address
from client.publishing.rtc_reports import report_catching
from client.publishing.server_clock import ServerClock
from streaming.events import SAMPLE_RATE, AudioBlock, VideoFrame
from streaming.picture_jpeg import square_pixels

_WITHIN = 10.0
_ANSWER_WITHIN = 90.0
"""Seconds for the answer: the server may have to load its models."""
_CONNECTED_WITHIN = 20.0
_TICKS = 90_000
_PACKET = SAMPLE_RATE // 50
_LEAP = SAMPLE_RATE // 200
"""Samples of difference that are no rounding any more."""
_LATER = {429, 500, 502, 504}


class _Track(MediaStreamTrack):
    """Gives what was put in; what nobody takes in time is left out, the oldest first."""

    def __init__(self, kind: str, most: int) -> None:
        super().__init__()
        self.kind = kind
        self._frames: deque[Any] = deque(maxlen=most)
        self._came = asyncio.Event()

    def put(self, frame: Any) -> None:
        self._frames.append(frame)
        self._came.set()

    async def recv(self) -> Any:
        while not self._frames:
            self._came.clear()
            await self._came.wait()
        return self._frames.popleft()


class WhipLink:
    """One connection. See :class:`client.publishing.link.Link`; make it by :func:`open_whip`."""

    def __init__(
        self, peer: RTCPeerConnection, sound: _Track, pictures: _Track, *, name: str, side: int
    ) -> None:
        self.name = name
        self._clock = ServerClock()
        self._comparing: asyncio.Task[None] | None = None
        self.zero: float | None = None
        self._peer = peer
        self._sound = sound
        self._pictures = pictures
        self._side = side
        self._packets = _Packets()
        self._resource: tuple[httpx2.AsyncClient, str] | None = None

    @property
    def delay(self) -> float | None:
        return self._clock.delay

    def compare(self, feed: str, *, token: str | None, context: ssl.SSLContext | None) -> None:
        """Compare clocks at the server's feed from now on."""
        self._comparing = asyncio.create_task(
            compare_clocks(feed, self._clock, lambda: self.zero, token=token, context=context)
        )

    def owns(self, client: httpx2.AsyncClient, resource: str) -> None:
        """Say where the session is to be deleted, and by whom."""
        self._resource = (client, resource)

    def since(self) -> float | None:
        """Seconds passed since the connection's time 0."""
        return None if self.zero is None else wall.monotonic() - self.zero

    async def send(self, piece: AudioBlock | VideoFrame, *, time: float) -> None:
        if self._peer.connectionState in ("failed", "closed"):
            raise LinkLost("the connection was lost (no answer)")
        if isinstance(piece, AudioBlock):
            for frame in self._packets.push(piece, time):
                self._sound.put(frame)
        else:
            self._pictures.put(await asyncio.to_thread(_sent_picture, piece, time, self._side))

    async def close(self) -> None:
        if self._comparing is not None:
            self._comparing.cancel()
            await asyncio.gather(self._comparing, return_exceptions=True)
        if self._resource is not None:
            client, resource = self._resource
            with contextlib.suppress(httpx2.HTTPError):
                await client.delete(resource)
            await client.aclose()
        await self._peer.close()


class _Packets:
    """Sound cut anew into 20 ms: aiortc gives all packets of a longer frame the same time."""

    def __init__(self) -> None:
        self._open: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._end = 0

    def push(self, block: AudioBlock, time: float) -> list[AudioFrame]:
        """Take sound that begins at ``time``."""
        begin = round(time * SAMPLE_RATE)
        if abs(begin - self._end) > _LEAP:
            self._open, self._end = self._open[:0], begin
        self._open = np.concatenate([self._open, block.samples])
        self._end += len(block.samples)
        whole = len(self._open) - len(self._open) % _PACKET
        first = self._end - len(self._open)
        frames = [
            _sent_sound(self._open[at : at + _PACKET], first + at)
            for at in range(0, whole, _PACKET)
        ]
        self._open = self._open[whole:]
        return frames


def _sent_sound(samples: NDArray[np.float32], pts: int) -> AudioFrame:
    pcm = (np.clip(samples, -1.0, 1.0) * 32767).astype(np.int16)
    frame = AudioFrame.from_ndarray(pcm[np.newaxis], format="s16", layout="mono")
    frame.sample_rate = SAMPLE_RATE
    frame.pts, frame.time_base = pts, Fraction(1, SAMPLE_RATE)
    return frame


def _sent_picture(frame: VideoFrame, time: float, side: int) -> SentPicture:
    image = square_pixels(frame.image, pixel_aspect=frame.pixel_aspect, side=side)
    height, width = (max(2, size - size % 2) for size in image.shape[:2])
    sent = SentPicture.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    sent = sent.reformat(width=width, height=height, format="yuv420p", threads=1)
    sent.pts, sent.time_base = round(time * _TICKS), Fraction(1, _TICKS)
    return sent


def whip_address(url: str) -> str:
    """``url`` with the path of the WHIP endpoint, if it has none.

    Raises:
        PublishError: If it is no address, or holds a password.
    """
    return server_address(url, path="/whip")


async def open_whip(
    url: str,
    *,
    token: str | None = None,
    language: str = "auto",
    fingerprint: str | None = None,
    side: int = 1280,
) -> WhipLink:
    """Offer a stream, and wait until the media connection stands.

    Args: as :func:`client.publishing.websocket.open_websocket`, with ``http://`` or ``https://``.

    Raises:
        LinkLost: If there is no connection.
        PublishError: If the server refuses.
    """
    address = whip_address(url)
    options: dict[str, Any] = {"timeout": _WITHIN, "follow_redirects": False}
    if fingerprint is not None:
        options["verify"] = await _pinned(address, fingerprint)
    if token is not None:
        options["headers"] = {"authorization": f"Bearer {token}"}
    peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    client = httpx2.AsyncClient(**options)
    sound, pictures = _Track("audio", 50), _Track("video", 2)
    link = WhipLink(peer, sound, pictures, name="", side=side)
    try:
        for track in (sound, pictures):
            report_catching(peer.addTrack(track), link.since)
        _only_opus(peer)
        await peer.setLocalDescription(await peer.createOffer())
        answer = await _ask(client, address, language, peer.localDescription.sdp)
        resource = _resource(address, answer)
        link.name = urlsplit(resource).path.rsplit("/", 1)[-1][:100]
        link.owns(client, resource)
        await peer.setRemoteDescription(RTCSessionDescription(sdp=answer.text, type="answer"))
        await _connected(peer)
        feed = _feed(address, answer)
        if feed is not None:
            link.compare(feed, token=token, context=options.get("verify"))
    except (ValueError, InvalidStateError) as error:
        await _give_up(link, client)
        raise (
            error
            if isinstance(error, PublishError)
            else PublishError("the server's answer cannot be used")
        ) from None
    except BaseException:
        await _give_up(link, client)
        raise
    return link


def _only_opus(peer: RTCPeerConnection) -> None:
    """Offer nothing else for sound: everybody has it (RFC 7874), others are of a telephone."""
    for transceiver in peer.getTransceivers():
        if transceiver.kind == "audio":
            codecs = RTCRtpSender.getCapabilities("audio").codecs
            transceiver.setCodecPreferences(
                [codec for codec in codecs if codec.mimeType.lower() == "audio/opus"]
            )


def _resource(address: str, answer: httpx2.Response) -> str:
    """The address of the session, to which the token is sent as well."""
    location = answer.headers.get("location")
    if not location:
        raise PublishError("the server does not say where the session is (no Location)")
    resource = urljoin(address, location)
    if urlsplit(resource)[:2] != urlsplit(address)[:2]:
        raise PublishError("the server sends the session to another host; not followed")
    return resource


def _feed(address: str, answer: httpx2.Response) -> str | None:
    """Where clocks are compared, at a server of this project."""
    said = answer.headers.get("deixis-feed", "")
    if not said.startswith("/feed/"):
        return None
    scheme = "wss" if urlsplit(address).scheme == "https" else "ws"
    return f"{scheme}://{urlsplit(address).netloc}{said}?lines=none"


async def _give_up(link: WhipLink, client: httpx2.AsyncClient) -> None:
    await link.close()
    await client.aclose()


async def _ask(
    client: httpx2.AsyncClient, address: str, language: str, offer: str
) -> httpx2.Response:
    try:
        answer = await client.post(
            address,
            params=None if language == "auto" else {"language": language},
            content=offer,
            headers={"content-type": "application/sdp"},
            timeout=httpx2.Timeout(_WITHIN, read=_ANSWER_WITHIN),
        )
    except httpx2.ConnectError as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise PublishError(
                "the server's certificate is not trusted; give the --fingerprint that it prints"
            ) from None
        raise LinkLost("no connection (nobody answers there)") from None
    except httpx2.HTTPError as error:
        raise LinkLost(f"no connection ({type(error).__name__})") from None
    if answer.status_code == 201:
        return answer
    text = " ".join(answer.text[:300].split()) if len(answer.content) < 2000 else ""
    if answer.status_code in _LATER:
        raise LinkLost(f"the server is not ready ({answer.status_code} {text})")
    advice = "; set DEIXIS_TOKEN" if answer.status_code in (401, 403) else ""
    raise PublishError(f"the server refuses with {answer.status_code} {text}".rstrip() + advice)


async def _connected(peer: RTCPeerConnection) -> None:
    changed = asyncio.Event()
    peer.on("connectionstatechange", changed.set)
    try:
        async with asyncio.timeout(_CONNECTED_WITHIN):
            while peer.connectionState not in ("connected", "failed", "closed"):
                changed.clear()
                await changed.wait()
    except TimeoutError:
        raise LinkLost(f"no media connection within {_CONNECTED_WITHIN:g} s") from None
    if peer.connectionState != "connected":
        raise LinkLost("no media connection; a firewall may block UDP, try ws:// instead")


async def _pinned(address: str, fingerprint: str) -> ssl.SSLContext:
    """TLS that trusts the one certificate with ``fingerprint``, once the server has shown it."""
    parts = urlsplit(address)
    if parts.scheme != "https":
        raise PublishError("a fingerprint needs an encrypted address: https://")
    try:
        async with asyncio.timeout(_WITHIN):
            _, writer = await asyncio.open_connection(
                parts.hostname, parts.port or 443, ssl=fingerprint_context()
            )
    except (OSError, TimeoutError) as error:
        reason = getattr(error, "strerror", None) or "no answer"
        raise LinkLost(f"no connection ({reason})") from None
    shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    if hashlib.sha256(shown).hexdigest() != fingerprint:
        raise PublishError("the server's certificate has another fingerprint; nothing was sent")
    context = ssl.create_default_context(cadata=ssl.DER_cert_to_PEM_cert(shown))
    context.check_hostname = False  # the certificate itself is what was compared
    return context
