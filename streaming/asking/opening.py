"""Which endpoint a model's name on the command line stands for, and where its key comes from.

Keys come from the environment and go nowhere else: they are in no setting and in no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from streaming.asking.endpoint import CoordOrder, Endpoint
from streaming.asking.responses import holds_responses
from streaming.grounding_query import ModelError

Keys: TypeAlias = Mapping[str, str]
"""The environment, or what of it a provider needs."""

PROVIDERS = ("gemini", "openai")


def is_asked(model: str) -> bool:
    """Whether a model is asked through an endpoint: a provider's, or recorded responses."""
    provider, _, rest = model.partition(":")
    if provider in PROVIDERS:
        return True
    return provider == "scripted" and holds_responses(_recording(rest)[0])


def open_endpoint(
    model: str,
    *,
    keys: Keys,
    base_url: str | None = None,
    coord_order: CoordOrder | None = None,
    takes_films: bool = False,
) -> Endpoint:
    """The endpoint of ``gemini:NAME``, ``openai:NAME`` or ``scripted:FILE`` (``…FILE#MODEL``).

    Args:
        model: As on the command line.
        keys: ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``; ``OPENAI_API_KEY``, which may be absent when
            a server is named. ``GOOGLE_GEMINI_BASE_URL`` and ``OPENAI_BASE_URL`` name one too.
        base_url: The server, in place of the provider's own.
        coord_order: Order of a point's numbers, in place of the model's own.
        takes_films: The ``openai`` server takes films as they are.

    Raises:
        ModelError: If the key is missing, the address is none, or there is no such model.
    """
    provider, _, name = model.partition(":")
    if not name:
        raise ModelError(
            f"no model {model!r}; use gemini:NAME, openai:NAME or scripted:FILE of responses"
        )
    match provider:
        case "gemini":
            endpoint = _gemini(name, keys, base_url)
        case "openai":
            endpoint = _openai(name, keys, base_url, takes_films=takes_films)
        case "scripted":
            from streaming.models.scripted_endpoint import ScriptedEndpoint

            path, recorded = _recording(name)
            return ScriptedEndpoint(path, model=recorded, coord_order=coord_order)
        case _:
            raise ModelError(
                f"no model {model!r}; use gemini:NAME, openai:NAME or scripted:FILE of responses"
            )
    if coord_order is not None:
        endpoint.coord_order = coord_order
    return endpoint


def check_base_url(base_url: str | None) -> None:
    """Refuse an address that is none, or that holds a secret, which would go into records.

    Raises:
        ModelError: If it is such an address.
    """
    if base_url is None:
        return
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ModelError("the base URL is no http:// or https:// address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ModelError(
            "the base URL holds a user, password or query; give the server's address alone, and "
            "the key by the environment"
        )


def _gemini(name: str, keys: Keys, base_url: str | None) -> Endpoint:
    key = _key(keys, "GEMINI_API_KEY", "GOOGLE_API_KEY")
    if key is None:
        raise ModelError(f"gemini:{name} needs a key; set GEMINI_API_KEY in the environment")
    base_url = base_url or keys.get("GOOGLE_GEMINI_BASE_URL") or None
    check_base_url(base_url)
    from streaming.models.gemini import GeminiEndpoint

    return GeminiEndpoint(name, key=key, base_url=base_url)


def _openai(name: str, keys: Keys, base_url: str | None, *, takes_films: bool) -> Endpoint:
    key = _key(keys, "OPENAI_API_KEY")
    base_url = base_url or keys.get("OPENAI_BASE_URL") or None
    if key is None and base_url is None:
        raise ModelError(
            f"openai:{name} needs a key or a server; set OPENAI_API_KEY in the environment, or "
            "name a server by --base-url or OPENAI_BASE_URL"
        )
    check_base_url(base_url)
    from streaming.models.openai_chat import OpenAiEndpoint

    return OpenAiEndpoint(name, key=key, base_url=base_url, takes_films=takes_films)


def _key(keys: Keys, *names: str) -> str | None:
    """The first key that is set; spaces and line ends around it are a slip of pasting."""
    return next((keys[name].strip() for name in names if keys.get(name, "").strip()), None)


def _recording(argument: str) -> tuple[Path, str | None]:
    """File and model of ``FILE`` or ``FILE#MODEL``."""
    path = Path(argument)
    if path.exists() or "#" not in argument:
        return path, None
    file, _, model = argument.rpartition("#")
    return Path(file), model
