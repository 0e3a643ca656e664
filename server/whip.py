"""WebRTC ingest by WHIP (RFC 9725): one POST with an offer, and sound and pictures come.

``POST /whip`` with an offer makes a session: 201, the answer, and in ``Location`` its address,
whose last part is the session's id. ``PATCH`` there adds candidates (trickle ICE; an ICE restart is
refused with 422), ``DELETE`` ends it. It also ends when the connection does, or is never made.
``?language=en|zh|auto`` says what is spoken. Errors are one line of text.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from aiortc import (
    RTCConfiguration,
    RTCIceCandidate,
    RTCIceServer,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.exceptions import InternalError, InvalidAccessError, InvalidStateError, OperationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from server.guard import Guard, bearer
from server.hub import Hub, HubFull
from server.ingest import Ingest
from server.journey import Journey
from server.limits import Limits
from server.rtc_certificate import widen
from server.rtc_tracks import PeerMedia
from server.settings import ServerSettings
from server.whip_offer import BAD_SDP, Offer, OfferError, read_fragment, read_offer
from server.whip_settings import WhipSettings

OFFER = "application/sdp"
FRAGMENT = "application/trickle-ice-sdpfrag"
FEED = "Deixis-Feed"
"""Header of an answer that says where the session's events are, and clocks are compared."""
LANGUAGES = ("auto", "en", "zh")
_LOOK_EVERY = 0.5
_RETRY_AFTER = "10"
_REFUSED = (
    *BAD_SDP,
    InternalError,
    InvalidAccessError,
    InvalidStateError,
    OperationError,
    ConnectionError,
)
"""What aiortc raises at an offer that it cannot answer."""

_log = logging.getLogger(__name__)


class OpenSession(Protocol):
    """A session as far as media that come in need it."""

    @property
    def id(self) -> str: ...

    @property
    def ingest(self) -> Ingest: ...

    async def started(self) -> None: ...


@runtime_checkable
class Travelled(Protocol):
    """A session that measures how long media are on their way; clocks are compared at its feed."""

    journey: Journey


class Gate(Protocol):
    """Who may come in; :class:`server.guard.Guard` is one."""

    def admits(self, token: str | None) -> bool: ...


class Sessions(Protocol):
    """Opens and finds sessions; :class:`server.hub.Hub` is one."""

    def open(self, kind: str, *, language: str) -> OpenSession: ...

    def get(self, name: str) -> object | None: ...


class Peer:
    """One client's connection, from its offer to its end.

    Args:
        session: Where its media go.
        settings: See there.

    Attributes:
        etag: Names the ICE session.
        media: What reads its tracks.
        offer: What it was given.
    """

    def __init__(self, session: OpenSession, settings: WhipSettings) -> None:
        self.etag = f'"{secrets.token_urlsafe(9)}"'
        self.offer: Offer | None = None
        self._session = session
        self._settings = settings
        self._candidates_left = settings.candidates
        self._connection = RTCPeerConnection(
            RTCConfiguration(
                iceServers=[
                    RTCIceServer(
                        urls=one.url,
                        username=one.username or None,
                        credential=one.credential or None,
                    )
                    for one in settings.ice
                ]
            )
        )
        widen(self._connection)
        now = asyncio.get_running_loop().time
        journey = session.journey if isinstance(session, Travelled) else None
        self.media = PeerMedia(session, now=now, limits=settings.media, journey=journey)
        self._changed = asyncio.Event()
        self._connection.on("connectionstatechange", self._changed.set)
        self._reason: str | None = None
        self._adding: asyncio.Task[None] | None = None

    async def answer(self, offer: Offer) -> str:
        """Answer an offer with all candidates of this server.

        Raises:
            OfferError: 406 if no codec fits, 400 if it cannot be answered otherwise.
        """
        try:
            await self._connection.setRemoteDescription(
                RTCSessionDescription(sdp=offer.sdp, type="offer")
            )
            for transceiver in self._connection.getTransceivers():
                transceiver.direction = "recvonly"
            await self._connection.setLocalDescription(await self._connection.createAnswer())
        except OperationError as error:
            raise OfferError(406, "none of the offered codecs is known here") from error
        except _REFUSED as error:
            raise OfferError(400, "the offer cannot be answered") from error
        self.offer = offer
        self.media.attach(self._connection)
        self._adding = asyncio.create_task(self._add(offer.candidates, complete=offer.complete))
        return str(self._connection.localDescription.sdp)

    async def add(self, body: bytes) -> None:
        """Take a trickle ICE fragment.

        Raises:
            OfferError: 400 if it is none, 422 if it asks for an ICE restart.
        """
        if self.offer is None:
            raise RuntimeError("candidates before an offer")
        fragment = read_fragment(body, self.offer.mids, candidates=self._settings.candidates)
        if fragment.ufrag not in ("", self.offer.ufrag):
            raise OfferError(422, "ICE restarts are not done here; make a new session")
        taken = fragment.candidates[: self._candidates_left]
        self._candidates_left -= len(taken)
        await self._add(taken, complete=fragment.complete)

    async def _add(self, candidates: Iterable[RTCIceCandidate], *, complete: bool) -> None:
        await asyncio.gather(*map(self._add_candidate, candidates))
        if complete:
            await self._add_candidate(None)

    async def _add_candidate(self, candidate: RTCIceCandidate | None) -> None:
        """Take one, or None for no more; what cannot be used is left out (RFC 9725)."""
        with contextlib.suppress(*_REFUSED):
            await self._connection.addIceCandidate(candidate)

    def end(self, reason: str) -> None:
        """Have :meth:`run` return soon."""
        self._reason = self._reason or reason
        self._changed.set()

    async def run(self, sessions: Sessions) -> None:
        """Read until the connection or the session ends, and then end both."""
        reading = asyncio.create_task(self.media.run())
        reason = "the server is ending"
        try:
            reason = await self._until_end(reading, sessions)
        finally:
            await self.close(reason, reading)

    async def close(self, reason: str, reading: asyncio.Task[None] | None = None) -> None:
        """End the connection and the session."""
        if self._adding is not None:
            self._adding.cancel()
            await asyncio.wait({self._adding})
        if reading is not None:
            reading.cancel()
            await asyncio.wait({reading})
            if not reading.cancelled() and (error := reading.exception()) is not None:
                _log.error("media of a WHIP client could not be read", exc_info=error)
                reason = "the media could not be read"
        counts = sorted(self.media.counters.counts.items())
        if counts:
            said = ", ".join(f"{name} {count}" for name, count in counts)
            self._session.ingest.note("counted", said)
        self._session.ingest.close(reason)
        await self._connection.close()

    async def _until_end(self, reading: asyncio.Task[None], sessions: Sessions) -> str:
        now = asyncio.get_running_loop().time
        late = now() + self._settings.connected_within
        connected = False
        while self._reason is None:
            state = self._connection.connectionState
            connected = connected or state == "connected"
            if reading.done() or (connected and state == "closed"):
                return "the sender stopped"
            if state in ("failed", "closed"):
                return "the connection was lost" if connected else "no connection could be made"
            if not connected and now() >= late:
                return f"no connection within {self._settings.connected_within:g} s"
            if sessions.get(self._session.id) is None:
                return "the session has ended"
            self._changed.clear()
            changed = asyncio.create_task(self._changed.wait())
            await asyncio.wait(
                {changed, reading}, timeout=_LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED
            )
            changed.cancel()
        return self._reason


class WhipEndpoint:
    """The endpoint and its sessions.

    Args:
        sessions: Opened one for each client.
        settings: See there.
        limits: Of what a client sends.
        admits: Whether a request may see the passwords of ICE servers; OPTIONS asks for no token.
        path: Where it is.
    """

    def __init__(
        self,
        sessions: Sessions,
        settings: WhipSettings | None = None,
        *,
        limits: Limits | None = None,
        admits: Callable[[Request], bool] = lambda request: False,
        path: str = "/whip",
    ) -> None:
        self._sessions = sessions
        self._settings = WhipSettings() if settings is None else settings
        self._limits = Limits() if limits is None else limits
        self._admits = admits
        self._path = path
        self._peers: dict[str, Peer] = {}
        self._running: set[asyncio.Task[None]] = set()

    def routes(self) -> list[BaseRoute]:
        """What Starlette is given; other methods are answered with 405."""
        one = self._path + "/{session}"
        return [
            Route(self._path, self._post, methods=["POST"]),
            Route(self._path, self._options, methods=["OPTIONS"]),
            Route(one, self._patch, methods=["PATCH"]),
            Route(one, self._delete, methods=["DELETE"]),
            Route(one, self._options, methods=["OPTIONS"]),
        ]

    async def aclose(self) -> None:
        """End all connections."""
        for peer in self._peers.values():
            peer.end("the server is ending")
        if self._running:
            await asyncio.wait(set(self._running))

    async def _options(self, request: Request) -> Response:
        if "session" in request.path_params:
            return Response(headers={"Accept-Patch": FRAGMENT, "Allow": "DELETE, OPTIONS, PATCH"})
        response = Response(headers={"Accept-Post": OFFER, "Allow": "OPTIONS, POST"})
        for server in self._settings.ice:
            if not server.credential or self._admits(request):
                response.headers.append("Link", server.link)
        return response

    async def _post(self, request: Request) -> Response:
        try:
            offer = read_offer(
                await self._body(request, OFFER),
                self._limits,
                candidates=self._settings.candidates,
            )
            language = request.query_params.get("language", "auto")
            if language not in LANGUAGES:
                raise OfferError(400, f"language must be one of {', '.join(LANGUAGES)}")
            session = self._sessions.open("whip", language=language)
        except OfferError as error:
            return _refuse(error.status, str(error))
        except HubFull as error:
            return _refuse(503, str(error), {"Retry-After": _RETRY_AFTER})
        peer = Peer(session, self._settings)
        try:
            async with asyncio.timeout(self._settings.started_within):
                await session.started()
                answer = await peer.answer(offer)
        except OfferError as error:
            await peer.close("the offer was refused")
            return _refuse(error.status, str(error))
        except (TimeoutError, RuntimeError) as error:
            await peer.close("the session did not start")
            return _refuse(503, f"the session did not start: {error or 'it took too long'}")
        except asyncio.CancelledError:
            await peer.close("the client went away")
            raise
        self._run(session.id, peer)
        response = Response(answer, status_code=201, media_type=OFFER)
        response.headers["Location"] = f"{self._path}/{session.id}"
        response.headers["ETag"] = peer.etag
        if isinstance(session, Travelled):
            response.headers[FEED] = f"/feed/{session.id}"
        for server in self._settings.ice:
            response.headers.append("Link", server.link)
        return response

    async def _patch(self, request: Request) -> Response:
        peer = self._peers.get(request.path_params["session"])
        if peer is None:
            return _refuse(404, "no such session")
        matches = request.headers.get("If-Match")
        if matches is None:
            return _refuse(428, "If-Match with the session's ETag is needed")
        if matches.strip() not in ("*", peer.etag):
            return _refuse(412, "this ETag is not the session's")
        try:
            await peer.add(await self._body(request, FRAGMENT))
        except OfferError as error:
            return _refuse(error.status, str(error))
        return Response(status_code=204)

    async def _delete(self, request: Request) -> Response:
        peer = self._peers.get(request.path_params["session"])
        if peer is None:
            return _refuse(404, "no such session")
        peer.end("ended by the client")
        return Response(status_code=200)

    async def _body(self, request: Request, kind: str) -> bytes:
        """A request's body, no more of it read than an offer may have.

        Raises:
            OfferError: 415 if it is of another kind, 413 if it is too large.
        """
        said = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if said != kind:
            raise OfferError(415, f"the body must be {kind}")
        body = bytearray()
        try:
            async for part in request.stream():
                body += part
                if len(body) > self._limits.sdp:
                    raise OfferError(413, f"an offer of more than {self._limits.sdp} bytes")
        except ClientDisconnect as error:
            raise OfferError(400, "the offer was cut off") from error
        return bytes(body)

    def _run(self, name: str, peer: Peer) -> None:
        running = asyncio.create_task(peer.run(self._sessions), name="WHIP peer")
        self._peers[name] = peer
        self._running.add(running)

        def ended(task: asyncio.Task[None]) -> None:
            self._running.discard(task)
            self._peers.pop(name, None)
            if not task.cancelled() and (error := task.exception()) is not None:
                _log.error("a WHIP client's connection could not be ended", exc_info=error)

        running.add_done_callback(ended)


def whip_endpoint(hub: Hub, guard: Gate, settings: ServerSettings) -> WhipEndpoint:
    """The application's endpoint; ``guard`` stands before all of its routes."""

    def admits(request: Request) -> bool:
        return guard.admits(bearer(request.scope))

    limits = guard.limits if isinstance(guard, Guard) else None
    return WhipEndpoint(hub, settings.whip, limits=limits, admits=admits)


def _refuse(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(text + "\n", status_code=status, headers=headers)
