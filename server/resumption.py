"""Sessions that outlive their connection: a client that was cut off comes back and goes on.

A client that asks for it gets a secret with its welcome. When its connection breaks, its session
waits for a while; a new connection that names the session and knows the secret goes on with it.
Its times begin anew, so they are placed where the session's clock is (a new epoch).
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from server.hub import Hub
from server.live_session import LiveSession
from streaming.events import Seconds


@dataclass(slots=True, kw_only=True)
class _Kept:
    """A session that may be resumed.

    Attributes:
        leave: Makes the connection that feeds it let go, while there is one.
        ends: Ends the session when nobody has come back, while there is no connection.
    """

    session: LiveSession
    secret: str
    leave: Callable[[], None] | None = None
    ends: asyncio.TimerHandle | None = None
    left_at: Seconds = 0.0


class Resumption:
    """Use it within the event loop.

    Args:
        hub: Whose sessions they are.
        within: Seconds that a session waits for its client.
    """

    def __init__(self, hub: Hub, *, within: Seconds) -> None:
        self.within = within
        self._hub = hub
        self._kept: dict[str, _Kept] = {}

    def keep(self, session: LiveSession) -> str:
        """Make ``session`` one that may be resumed, and return what its client has to know.

        That stays the same: a client that is cut off again before its welcome knows it too.
        """
        self._kept = {name: kept for name, kept in self._kept.items() if self._runs(kept)}
        if session.id in self._kept:
            return self._kept[session.id].secret
        kept = _Kept(session=session, secret=secrets.token_urlsafe(16))
        self._kept[session.id] = kept
        return kept.secret

    def resume(self, name: str, secret: str) -> LiveSession | None:
        """The session called ``name``, if it still runs and this is its secret.

        A connection that still feeds it is made to let go: it is one that the client has given up.
        """
        kept = self._kept.get(name)
        # Compared in constant time, whether or not there is such a session.
        known = "" if kept is None else kept.secret
        right = hmac.compare_digest(secret.encode("utf-8", "replace"), known.encode())
        if kept is None or not right or not self._runs(kept):
            return None
        if kept.leave is not None:
            kept.leave()
            kept.leave = None
        gone = 0.0
        if kept.ends is not None:
            kept.ends.cancel()
            kept.ends = None
            gone = asyncio.get_running_loop().time() - kept.left_at
        kept.session.journey.captured = None
        text = f"the client was gone for {gone:.1f} s and goes on; its times begin anew"
        kept.session.ingest.note("resumed", text)
        return kept.session

    def attach(self, session: LiveSession, leave: Callable[[], None]) -> None:
        """A connection feeds ``session``, and one that did so lets go; ``leave`` makes it do so."""
        kept = self._kept.get(session.id)
        if kept is None:
            return
        if kept.leave is not None:
            kept.leave()
        kept.leave = leave

    def left(self, session: LiveSession, leave: Callable[[], None] | None = None) -> bool:
        """A connection broke: wait for its client, if it may come back and is not there already.

        Args:
            leave: As it was attached; None if it was not yet.
        """
        kept = self._kept.get(session.id)
        if kept is None or not self._runs(kept):
            return False
        if kept.leave not in (None, leave):
            return True
        if kept.ends is not None:
            kept.ends.cancel()
        loop = asyncio.get_running_loop()
        kept.leave, kept.left_at = None, loop.time()
        kept.ends = loop.call_later(self.within, self._end, kept)
        session.ingest.note("connection_lost", "the connection broke; the client may come back")
        return True

    def forget(self, session: LiveSession) -> None:
        """``session`` ends: nobody comes back to it."""
        self._kept.pop(session.id, None)

    async def make_room(self) -> bool:
        """End the session that has waited longest for its client; False when none waits."""
        waiting = [kept for kept in self._kept.values() if kept.ends is not None]
        waiting = [kept for kept in waiting if self._runs(kept)]
        if not waiting:
            return False
        kept = min(waiting, key=lambda one: one.left_at)
        self._end(kept)
        await self._hub.close(kept.session.id)
        return True

    def _end(self, kept: _Kept) -> None:
        if kept.ends is not None:
            kept.ends.cancel()
            kept.ends = None
        self.forget(kept.session)
        kept.session.ingest.close("the client did not come back")

    def _runs(self, kept: _Kept) -> bool:
        session = kept.session
        return self._hub.get(session.id) is session and session.source.closed is None


class Placed:
    """An :class:`~server.ingest.Ingest` before a session's, for one connection.

    Args:
        session: That it feeds.
        anew: What comes first is placed where the session's clock is, and all the rest keeps its
            distance; otherwise the connection's times are the session's.
    """

    def __init__(self, session: LiveSession, *, anew: bool) -> None:
        self._session = session
        self._shift: Seconds | None = None if anew else 0.0

    def place(self, time: Seconds, *, end: Seconds) -> Seconds:
        """Session time of the connection's ``time``, of something that ends at ``end``."""
        if self._shift is None:
            self._shift = max(0.0, self._session.now() - end)
        return time + self._shift

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None:
        placed = self.place(time, end=time + samples.shape[1] / rate)
        self._session.ingest.sound(samples, rate=rate, time=placed)

    def picture(
        self, image: NDArray[np.uint8], *, time: Seconds, pixel_aspect: float = 1.0
    ) -> None:
        placed = self.place(time, end=time)
        self._session.ingest.picture(image, time=placed, pixel_aspect=pixel_aspect)

    def note(self, kind: str, text: str) -> None:
        self._session.ingest.note(kind, text)

    def close(self, reason: str) -> None:
        self._session.ingest.close(reason)
