"""``deixis serve``: point and speak, live."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from client.choices import AskingOptions, LanguageName, ModelName
from client.printing import plain_console, printable
from client.usage import UsageError
from streaming.build import Engines, EngineSettings, language_code

if TYPE_CHECKING:
    from server.guard import GuardSettings, Token
    from server.settings import ServerSettings
    from server.tls import Certificate

TOKEN_VARIABLE = "DEIXIS_TOKEN"


class RecordingsError(ValueError):
    """A folder in which nothing can be recorded; one line."""


def serve(
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 8480,
    token: Annotated[bool, Parameter(negative=())] = False,
    tls: Annotated[bool, Parameter(negative=())] = False,
    cert: Path | None = None,
    key: Path | None = None,
    name: tuple[str, ...] = (),
    origin: tuple[str, ...] = (),
    model: ModelName = "local",
    language: LanguageName = "auto",
    asr: str = "auto",
    mirrored: Annotated[bool, Parameter(negative=())] = False,
    source: tuple[str, ...] = (),
    record: Annotated[bool, Parameter(negative=())] = False,
    recordings: Path | None = None,
    settings: Path | None = None,
    asking: AskingOptions | None = None,
) -> int:
    """Serve a page on which to point and speak, and take streams from glasses and phones.

    Ctrl-C ends it: sessions work off what they have; a second one does not wait.

    Parameters
    ----------
    host
        Address to listen on. Only 127.0.0.1 needs neither a token nor TLS.
    port
        Port to listen on; 0 for any free one.
    token
        Let in only who has the token: that in `DEIXIS_TOKEN`, or else one that is made and printed.
    tls
        Encrypt, with a certificate that is made and whose fingerprint is printed, or your own.
    cert
        Your own certificate (PEM), with `--key`.
    key
        Its key.
    name
        Another host name that this server is called by.
    origin
        Another page's address from which browsers may use it, such as `https://glasses.example`.
    model
        What answers: `local`, `gemini:NAME`, `openai:NAME`, `gemini-live:NAME` or `scripted:FILE`.
    language
        Language whose models are loaded at once: `en`, `zh` or `auto`; each session has its own.
    asr
        Whisper model: `tiny.en`, `base` or a folder with a CTranslate2 model; `auto` picks one by
        language.
    mirrored
        The pictures are mirrored, as in a selfie view.
    source
        A stream that the server fetches: an RTSP, RTMP or SRT address, `camera`, `/dev/video0`
        or a file. May be given several times.
    record
        Record each session from its start; otherwise only while its page has that switched on.
    recordings
        Folder for recordings, `runs/live` if none is given. `deixis replay` takes what lies there.
    settings
        A TOML file with what `configs/server.toml` says otherwise, such as STUN and TURN servers.
    """
    from server.guard import GuardSettings, check_bind

    console = plain_console(stderr=False)
    secret, certificate = _token(token), _certificate(tls, cert, key, host, name)
    guard = GuardSettings(
        host=host, port=port, token=secret, certificate=certificate, names=name, origins=origin
    )
    check_bind(guard)
    _check_port(host, port)
    asked = (asking or AskingOptions()).choice()
    engines = Engines(
        EngineSettings(model=model, asr=asr, mirrored=mirrored, early=True, asking=asked)
    )
    chosen = _settings(settings, record, recordings)
    asyncio.run(_serve(guard, engines, chosen, language_code(language), source, console))
    return 0


def _settings(own: Path | None, record: bool, recordings: Path | None) -> ServerSettings:
    from server.settings import read_server_settings

    settings = read_server_settings(own)
    folder = settings.recordings if recordings is None else str(recordings)
    chosen = replace(settings, record=record or settings.record, recordings=folder)
    if chosen.record:
        _check_recordings(Path(chosen.recordings))
    return chosen


def _check_port(host: str, port: int) -> None:
    """Say before the models are loaded that an address cannot be served."""
    from server.guard import BindError

    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    with socket.socket(family) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((plain, port))
        except OSError as error:
            why = error.strerror or error
            raise BindError(
                f"{plain or '*'}:{port} cannot be served ({why}); give another --port or --host"
            ) from None


def _check_recordings(folder: Path) -> None:
    """Say at once, and not in each session, that nothing can be recorded there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or error
        raise RecordingsError(
            f"{folder} cannot take recordings ({why}); name another folder by --recordings"
        ) from None


async def _serve(
    guard: GuardSettings,
    engines: Engines,
    settings: ServerSettings,
    language: str,
    sources: tuple[str, ...],
    console: Console,
) -> None:
    import uvicorn

    from server.app import build_app
    from server.guard import Guard, uvicorn_options
    from server.hub import Hub
    from server.memory import use_few_arenas
    from server.metrics import Metrics
    from server.pulling import Pulls
    from server.serving import LiveServer

    use_few_arenas()
    gate = Guard(guard, metrics=Metrics())
    hub = Hub(settings, engines, metrics=gate.metrics)
    console.print("loading models …")
    await hub.prepare(language)
    config = uvicorn.Config(build_app(hub, gate, settings), lifespan="on", **uvicorn_options(guard))
    page = ""
    pulls = Pulls(
        hub,
        sources,
        language=language,
        on_open=lambda name, session: console.print(
            f"{printable(name)}: {page}#session={session.id}", soft_wrap=True
        ),
    )

    def begin(port: int) -> None:
        nonlocal page
        page = _page(guard, port)
        _announce(guard, page, console)
        pulls.start()

    await LiveServer(config, hub, on_start=begin, before_end=pulls.aclose).serve()
    console.print("ended")


def _page(guard: GuardSettings, port: int) -> str:
    """Where a person reaches the server."""
    scheme = "http" if guard.certificate is None else "https"
    host = guard.host
    if host in ("", "0.0.0.0", "::"):
        host = guard.names[0] if guard.names else _own_address()
    elif ":" in host:
        host = f"[{host.strip('[]')}]"
    return f"{scheme}://{host}:{port}/"


def _own_address() -> str:
    """The address by which others in the network find this machine; its name without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # sends nothing: it only asks for the way (RFC 5737)
            return str(asked.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _announce(guard: GuardSettings, page: str, console: Console) -> None:
    console.print(f"open {printable(page)} · Ctrl-C ends", soft_wrap=True)
    if guard.certificate is not None and guard.certificate.self_made:
        console.print(f"fingerprint (SHA-256): {guard.certificate.fingerprint}", soft_wrap=True)
    if guard.token is not None and not os.environ.get(TOKEN_VARIABLE):
        console.print(f"token: {guard.token.reveal()}", soft_wrap=True)


def _token(wanted: bool) -> Token | None:
    from server.guard import Token

    given = os.environ.get(TOKEN_VARIABLE)
    if given:
        return Token(given)
    return Token.made() if wanted else None


def _certificate(
    tls: bool, cert: Path | None, key: Path | None, host: str, names: tuple[str, ...]
) -> Certificate | None:
    from server.tls import machine_names, own_certificate, self_made_certificate

    if (cert is None) != (key is None):
        raise UsageError("--cert and --key go together")
    if cert is not None and key is not None:
        return own_certificate(cert, key)
    return self_made_certificate([*machine_names(host), *names]) if tls else None
