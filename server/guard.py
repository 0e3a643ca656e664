"""Who may come in: the rules, without any waiting or sending.

:mod:`server.guard_middleware` applies them to every request and message.

* On this machine's own address nothing is needed; on any other a token and TLS.
* A page of another site gets nowhere: its origin is not ours, and a host name that was pointed here
  (DNS rebinding) is not one of ours.
* The token is compared in constant time, and stands in no address, log, ``repr`` or error.
"""

from __future__ import annotations

import asyncio
import contextvars
import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Scope

from server.connections import http_connection, socket_connection
from server.guard_log import log_settings
from server.limits import Budgets, Limits, Refusal, check_headers
from server.metrics import Metrics
from server.tls import Certificate
from streaming.events import Seconds

SUBPROTOCOL = "deixis"
"""What a browser asks for beside ``bearer.<token>``, which alone would not be answered."""
PUBLIC = frozenset({"/", "/index.html", "/favicon.ico", "/healthz"})
PUBLIC_FOLDERS = ("/static/",)
PUBLIC_FILE = re.compile(r"/[A-Za-z0-9_-]+\.(?:js|css|html|svg|png|webmanifest)\Z")
"""Files of the page, wherever it is mounted."""
TALKING = frozenset({"/ingest"})
"""WebSockets whose client sends media, and so is never silent for long."""
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"})

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,256}=*\Z")
_HOST = re.compile(rb"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::([0-9]{1,5}))?\Z")
_ORIGIN = re.compile(rb"(https?)://([^/?#@\s]+)\Z")
_BAD_RAW = re.compile(rb"%(?:2f|5c|00|25)|\\", re.IGNORECASE)
_BAD_PATH = re.compile(r"[\x00-\x1f\x7f\\]|(?:^|/)\.\.?(?:/|$)|//")
_TOKEN_QUERY = re.compile(rb"(?:^|&)(?:access_?)?token=", re.IGNORECASE)
_PORTS = {b"http": 80, b"https": 443}
_admitted: contextvars.ContextVar[bool] = contextvars.ContextVar("admitted", default=False)


class BindError(ValueError):
    """An address that must not be served like this. The text is one line."""


class Token:
    """The secret that lets in.

    Raises:
        ValueError: If it is too short, or holds what no header can carry.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        if not _TOKEN.match(secret):
            raise ValueError(
                "the token must be 16 to 256 letters, digits or ._~+/- ; "
                "leave it out to have one made"
            )
        self._secret = secret.encode("ascii")

    @classmethod
    def made(cls) -> Token:
        """A new one of 256 random bits."""
        return cls(secrets.token_urlsafe(32))

    def reveal(self) -> str:
        """The secret itself, to be shown once to the person who started the server."""
        return self._secret.decode("ascii")

    def matches(self, candidate: object) -> bool:
        """Compare in time that depends on the candidate's length only."""
        if not isinstance(candidate, str):
            return False
        return hmac.compare_digest(candidate.encode("utf-8", "replace"), self._secret)

    def inside(self, text: bytes) -> bool:
        """Whether the secret stands somewhere in ``text``."""
        return self._secret in text

    def scrub(self, text: str) -> str:
        """``text`` without the secret."""
        return text.replace(self.reveal(), "…")

    def __repr__(self) -> str:
        return "Token(…)"

    def __reduce__(self) -> str:
        raise TypeError("a token is not to be pickled")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """How the server is reached.

    Attributes:
        host: Address or name that it listens on.
        port: 0 for any free one.
        token: Needed by everything but the page itself and ``/healthz``.
        certificate: For TLS.
        names: Host names and addresses that it is called by, beside its own.
        origins: Of pages that may talk to it although they come from elsewhere, such as behind a
            reverse proxy: ``https://glasses.example``.
        limits: See :class:`~server.limits.Limits`.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: Token | None = None
    certificate: Certificate | None = None
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise ValueError(f"port is {self.port}, expected 0 to 65535")
        for origin in self.origins:
            if not _ORIGIN.match(origin.lower().encode("utf-8", "replace")):
                raise ValueError(f"origin {origin!r} is none; expected https://host")


def is_local(host: str) -> bool:
    """Whether only this machine reaches ``host``.

    Raises:
        BindError: If it is a name that leads nowhere.
    """
    if host in ("", "*"):
        return False
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise BindError(f"cannot serve on {host!r}: no such address on this machine") from error
    return all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)


def check_bind(settings: GuardSettings) -> None:
    """Refuse to serve other machines without a token and TLS.

    Raises:
        BindError: With what is missing.
    """
    if is_local(settings.host):
        return
    lacks = [
        what
        for what, missing in (
            ("a token (--token)", settings.token is None),
            ("TLS (--tls, or --cert and --key)", settings.certificate is None),
        )
        if missing
    ]
    if lacks:
        raise BindError(
            f"{settings.host or '*'} can be reached from other machines, which needs "
            f"{' and '.join(lacks)}; 127.0.0.1 needs nothing"
        )


def uvicorn_options(settings: GuardSettings) -> dict[str, Any]:
    """What ``uvicorn.Config`` is given beside the application.

    Raises:
        BindError: If the address must not be served like this.
    """
    check_bind(settings)
    limits, certificate = settings.limits, settings.certificate
    options: dict[str, Any] = {
        "host": settings.host.strip("[]"),
        "port": settings.port,
        "http": http_connection(limits),
        "ws": socket_connection(limits),
        "ws_max_size": limits.message,
        "ws_per_message_deflate": False,  # a small message could unpack to a large one
        "h11_max_incomplete_event_size": limits.header_bytes,
        "timeout_keep_alive": 5,
        "timeout_graceful_shutdown": 30,
        "proxy_headers": False,  # they would let a client choose its address
        "server_header": False,
        "access_log": False,  # addresses are nobody's business
        "log_config": log_settings(settings.token.scrub if settings.token else str),
        "log_level": "warning",
    }
    if certificate is not None:
        options["ssl_certfile"] = str(certificate.certificate)
        options["ssl_keyfile"] = str(certificate.key)
    return options


class Guard:
    """The rules of one server.

    Args:
        settings: How it is reached.
        metrics: Where refusals are counted.
        clock: Seconds that only rise; by default the running event loop's.
    """

    def __init__(
        self,
        settings: GuardSettings,
        *,
        metrics: Metrics | None = None,
        clock: Callable[[], Seconds] | None = None,
    ) -> None:
        self.settings = settings
        self.limits = settings.limits
        self.metrics = metrics or Metrics(process=False)
        self._clock = clock
        self._local = is_local(settings.host)
        self._names = _own_names(settings, local=self._local)
        self._requests = Budgets(rate=self.limits.requests, burst=self.limits.requests_burst)

    def now(self) -> Seconds:
        """The clock's time."""
        return self._clock() if self._clock else asyncio.get_running_loop().time()

    def middleware(self) -> Sequence[Middleware]:
        """For ``Starlette(middleware=…)``."""
        from server.guard_middleware import GuardMiddleware

        return (Middleware(GuardMiddleware, guard=self),)

    def wrap(self, app: ASGIApp) -> ASGIApp:
        """``app`` behind this guard."""
        from server.guard_middleware import GuardMiddleware

        return GuardMiddleware(app, guard=self)

    def admits(self, token: str | None) -> bool:
        """Whether ``token`` is enough, or whoever asks has shown it on this connection before."""
        secret = self.settings.token
        return secret is None or _admitted.get() or secret.matches(token)

    def admit(self) -> None:
        """Remember, for the running task, that the token was shown."""
        _admitted.set(True)

    def forget(self) -> None:
        """Another connection begins in the running task."""
        _admitted.set(False)

    def check_token(self, scope: Scope) -> bool:
        """Whether a request carries what it needs beside an allowed origin."""
        return self.admits(bearer(scope))

    def check_http(self, scope: Scope) -> Refusal | None:
        """Whether a request may reach the application; the first reason against it."""
        refusal = self._check_request(scope)
        if refusal is None and not _is_public(scope) and not self.check_token(scope):
            return self.wrong_token(scope)
        return refusal

    def check_websocket(
        self, scope: Scope, hello: Mapping[str, Any] | None = None
    ) -> Refusal | None:
        """Whether a WebSocket may be opened and, once its ``hello`` is there, may go on.

        Without ``hello`` a missing token is no reason yet: it may come with it.
        """
        if hello is None:
            return self._check_request(scope)
        if self.check_token(scope) or self.admits(hello.get("token")):
            return None
        return self.wrong_token(scope)

    def wrong_token(self, scope: Scope) -> Refusal:
        """Count it against the client's address, so that trying tokens out is slow."""
        self._requests.fine(_address(scope), self.limits.wrong_token, now=self.now())
        return Refusal(
            status=401,
            reason="token",
            text="a token is needed: Authorization: Bearer …, or the token of the hello",
            headers=((b"www-authenticate", b'Bearer realm="deixis"'),),
        )

    def _check_request(self, scope: Scope) -> Refusal | None:
        if not self._requests.afford(_address(scope), 1.0, now=self.now()):
            text = "too many requests; wait a moment"
            return Refusal(status=429, reason="rate", text=text, headers=((b"retry-after", b"5"),))
        headers = scope["headers"]
        return (
            check_headers(headers, self.limits)
            or _check_method(scope)
            or _check_path(scope)
            or self._check_host(headers)
            or self._check_origin(scope, headers)
            or self._check_url(scope)
        )

    def _check_host(self, headers: list[tuple[bytes, bytes]]) -> Refusal | None:
        hosts = [value for name, value in headers if name == b"host"]
        split = _HOST.match(hosts[0].lower()) if len(hosts) == 1 else None
        if split is None:
            return Refusal(status=400, reason="host", text="one Host header is needed")
        if self._is_own(split[1].decode("ascii")):
            return None
        text = "this server does not go by that name; start it with --name to add one"
        return Refusal(status=403, reason="host", text=text)

    def _is_own(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host.strip("[]"))
        except ValueError:
            return host.rstrip(".") in self._names
        # Only a name can be pointed elsewhere, so for a server with a token any address will do.
        return address.is_loopback or not self._local or str(address) in self._names

    def _check_origin(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> Refusal | None:
        origins = [value.lower() for name, value in headers if name == b"origin"]
        if not origins:
            return _check_site(dict(headers))
        if len(origins) == 1:
            if origins[0].decode("latin-1") in map(str.lower, self.settings.origins):
                return None
            secure = scope.get("scheme") in ("https", "wss")
            host = dict(headers)[b"host"].lower()
            if _same(origins[0], b"https" if secure else b"http", host):
                return None
        return Refusal(status=403, reason="origin", text="pages of other sites may not ask this")

    def _check_url(self, scope: Scope) -> Refusal | None:
        secret = self.settings.token
        query = scope.get("query_string", b"")
        url = unquote_to_bytes(scope.get("raw_path") or b"") + b"?" + unquote_to_bytes(query)
        if secret is None or not (_TOKEN_QUERY.search(query) or secret.inside(url)):
            return None
        text = "a token does not belong into an address; send it as Authorization: Bearer …"
        return Refusal(status=400, reason="token", text=text)


def bearer(scope: Scope) -> str | None:
    """The token that a request carries, in a header or as a WebSocket's subprotocol."""
    sent = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(sent) == 1:
        kind, _, value = sent[0].decode("latin-1").partition(" ")
        return value.strip() if kind.lower() == "bearer" else None
    marked = [one for one in scope.get("subprotocols", ()) if one.startswith("bearer.")]
    return str(marked[0][len("bearer.") :]) if len(marked) == 1 else None


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _is_public(scope: Scope) -> bool:
    if scope["method"] == "OPTIONS":
        return True
    reads = scope["method"] in ("GET", "HEAD")
    path: str = scope["path"]
    return reads and (
        path in PUBLIC or path.startswith(PUBLIC_FOLDERS) or PUBLIC_FILE.match(path) is not None
    )


def _own_names(settings: GuardSettings, *, local: bool) -> frozenset[str]:
    given = [settings.host, *settings.names]
    if not local:
        own = socket.gethostname()
        given += [own, f"{own}.local"]
    plain = {name.strip("[]").lower().rstrip(".") for name in given}
    return frozenset(plain | {"localhost"}) - {""}


def _check_method(scope: Scope) -> Refusal | None:
    if scope["type"] == "websocket" or scope["method"] in METHODS:
        return None
    return Refusal(status=405, reason="method", text="no such method here")


def _check_path(scope: Scope) -> Refusal | None:
    raw = scope.get("raw_path") or b""
    if not scope["path"].startswith("/") or _BAD_RAW.search(raw) or _BAD_PATH.search(scope["path"]):
        return Refusal(status=400, reason="path", text="no such path can be asked for")
    return None


def _check_site(headers: dict[bytes, bytes]) -> Refusal | None:
    """Requests that another site's page makes without naming its origin, such as for a picture."""
    site, mode = headers.get(b"sec-fetch-site"), headers.get(b"sec-fetch-mode")
    if site in (b"cross-site", b"same-site") and mode != b"navigate":
        return Refusal(status=403, reason="origin", text="pages of other sites may not ask this")
    return None


def _same(origin: bytes, scheme: bytes, host: bytes) -> bool:
    """Whether ``origin`` is ``scheme://host``, a missing port being the scheme's own."""
    split = _ORIGIN.match(origin)
    if split is None or split[1] != scheme:
        return False
    theirs, ours = _HOST.match(split[2]), _HOST.match(host)
    if theirs is None or ours is None or theirs[1] != ours[1]:
        return False
    port = _PORTS[scheme]
    return int(theirs[2] or port) == int(ours[2] or port)
