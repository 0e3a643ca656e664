"""uvicorn's connections, made to give up on clients that send or read too slowly.

uvicorn waits without end for a request's headers, for a client to read what it was sent, and for
the last fragment of a message; these do not. What an application can see is limited in
:mod:`server.guard_middleware`; this is what it cannot.
"""

from __future__ import annotations

import asyncio
from asyncio import BaseTransport, TimerHandle, Transport
from collections.abc import Iterable
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State

from server.limits import Limits


class _Stall:
    """Cuts a connection whose client leaves what it is sent unread."""

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.stall_seconds
        self._timer: TimerHandle | None = None

    def watch(self, transport: Transport) -> None:
        """Count every unread byte as unread, so that the last ones do not keep a closing
        connection open."""
        transport.set_write_buffer_limits(high=1)  # at 0 asyncio's TLS is never done writing

    def begin(self, transport: Transport) -> None:
        self.end()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._seconds, transport.abort)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def too_many(open_now: Iterable[Any], address: str | None, limits: Limits) -> bool:
    """Whether one more connection, already among ``open_now``, is one too many."""
    addresses = [client[0] if client else None for client in (one.client for one in open_now)]
    return len(addresses) > limits.connections or addresses.count(address) > limits.connections_each


def http_connection(limits: Limits) -> type[asyncio.Protocol]:
    """The class of connections that speak HTTP within ``limits``."""

    class GuardedHttp(H11Protocol):
        """Gives a client ``header_seconds`` for each request's headers."""

        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            self._stall = _Stall(limits)
            self._headers: TimerHandle | None = None

        def connection_made(self, transport: BaseTransport) -> None:
            stream = cast(Transport, transport)
            super().connection_made(stream)
            if too_many(self.connections, self.client[0] if self.client else None, limits):
                stream.abort()
                return
            self._stall.watch(stream)
            self._await_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._headers_came()
            self._stall.end()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._answering() or self.transport.get_protocol() is not self:
                self._headers_came()

        def send_400_response(self, msg: str) -> None:
            """End a connection on which something that is no request came.

            The one before it may still be in the making, or already told all it had to say.
            """
            if self._answering():
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                super().send_400_response(msg)
            else:
                self.transport.close()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self._answering():
                self._await_headers()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stall.begin(self.transport)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stall.end()

        def _answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _await_headers(self) -> None:
            self._headers_came()
            self._headers = self.loop.call_later(limits.header_seconds, self.transport.abort)

        def _headers_came(self) -> None:
            if self._headers is not None:
                self._headers.cancel()
                self._headers = None

    return GuardedHttp


def socket_connection(limits: Limits) -> type[asyncio.Protocol]:
    """The class of connections that speak WebSocket within ``limits``."""

    class GuardedSocket(WebSocketsSansIOProtocol):
        """Bounds what a client can make the connection keep without completing a message."""

        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            self._stall = _Stall(limits)

        def connection_made(self, transport: BaseTransport) -> None:
            super().connection_made(transport)
            self._stall.watch(cast(Transport, transport))

        def connection_lost(self, exc: Exception | None) -> None:
            self._stall.end()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stall.begin(self.transport)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stall.end()

        def shutdown(self) -> None:
            # The base takes a connection for open that its client has begun to close, and fails
            # to close it, and with it the end of the whole server.
            if self.handshake_complete and self.conn.state is not State.OPEN:
                self.stop_keepalive()
                self.transport.close()
            else:
                super().shutdown()

        def handle_cont(self, event: Frame) -> None:
            # Empty fragments count for nothing in a message's size, and would pile up.
            if len(self.frames) >= limits.fragments:
                self.frames = []
                self.conn.fail(1009, "too many fragments")
                self.transport.write(b"".join(self.conn.data_to_send()))
                self.handle_parser_exception()
                return
            super().handle_cont(event)

        def handle_ping(self) -> None:
            # Pongs that nobody reads would pile up; leaving some out is allowed (RFC 6455, 5.5.3).
            if self.writable.is_set():
                super().handle_ping()
            else:
                self.conn.data_to_send()

    return GuardedSocket
