"""Whether models behind an API can be asked: one cheap call each, that costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from client.health import KEYS, Check, State
from streaming.asking.endpoint import Endpoint
from streaming.asking.opening import open_endpoint
from streaming.grounding_query import ModelError

SERVERS = {"gemini": "GOOGLE_GEMINI_BASE_URL", "openai": "OPENAI_BASE_URL"}
"""Variables that name a server in place of the provider's own."""
_ANY = {"gemini": "gemini-flash-latest", "openai": "gpt-5-mini"}
"""A model to ask for when none is named."""


def configured(environment: Mapping[str, str]) -> list[str]:
    """A model of each provider that has a key, or a server that needs none."""
    return [
        f"{provider}:{_ANY[provider]}"
        for provider, names in KEYS.items()
        if any(environment.get(name, "").strip() for name in names)
        or (provider == "openai" and environment.get(SERVERS[provider], "").strip())
    ]


async def check_models(
    models: Sequence[str],
    environment: Mapping[str, str],
    *,
    base_url: str | None = None,
    needed: bool,
) -> list[Check]:
    """Ask each model's server, all at the same time.

    Args:
        models: Such as ``gemini:gemini-3-flash`` or ``openai:NAME``.
        environment: With the keys, which are never shown.
        base_url: The server, in place of the provider's own.
        needed: A model that cannot be asked is ``missing``, otherwise ``optional``.
    """
    lacking: State = "missing" if needed else "optional"
    checks = [_checked(model, environment, base_url, lacking) for model in dict.fromkeys(models)]
    return list(await asyncio.gather(*checks))


async def _checked(
    model: str, environment: Mapping[str, str], base_url: str | None, lacking: State
) -> Check:
    try:
        endpoint = open_endpoint(model, keys=environment, base_url=base_url)
        found = await _asked(endpoint)
    except ModelError as error:
        reason, _, mend = str(error).partition("; ")
        detail = _without(model, reason)
        return Check(section="models", name=model, state=lacking, detail=detail, mend=mend)
    return Check(section="models", name=model, state="ok", detail=_without(model, found))


async def _asked(endpoint: Endpoint) -> str:
    try:
        return await endpoint.check()
    finally:
        await endpoint.aclose()


def _without(model: str, text: str) -> str:
    """The text without the model's name before it, which stands beside it anyway."""
    return text.removeprefix(model).removeprefix(":").strip()
