"""Gemini, asked with google-genai: pictures, films with their sound, text that streams in."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from typing import Any, cast
from urllib.parse import urlsplit

from google import genai
from google.genai import types

from streaming.asking.endpoint import (
    AttemptFailed,
    Completion,
    CoordOrder,
    Generation,
    Rejected,
    TextPiece,
    TooSlow,
    Unreachable,
)
from streaming.asking.request import FilmPart, Part, PicturePart, Request, TextPart
from streaming.events import Seconds
from streaming.models.gemini_answer import AnswerReader
from streaming.models.gemini_films import FilmShelf
from streaming.models.gemini_http import LIBRARY_FAILURES, Wording, aclose, http_options

SERVER = "https://generativelanguage.googleapis.com"
MOST_INLINE = 20_000_000
"""Bytes of a request, base64 and all; a film that does not fit in goes through the Files API.

The provider has allowed more since 2026, servers that speak its protocol have not."""
_AROUND = 64 << 10  # JSON around the parts, and a schema
_CHECK_WITHIN: Seconds = 20.0
_LOW_BUDGET = 4096
_RESOLUTIONS = {
    "low": types.MediaResolution.MEDIA_RESOLUTION_LOW,
    "high": types.MediaResolution.MEDIA_RESOLUTION_HIGH,
    "auto": None,
}

# It warns of keys in the environment, which are not read here.
logging.getLogger("google_genai._api_client").setLevel(logging.ERROR)


class GeminiEndpoint:
    """One model of the Gemini API; see :class:`~streaming.asking.endpoint.Endpoint`.

    Points come as ``[y, x]``. ``temperature``, ``max_tokens`` and log-probabilities are passed on;
    ``detail`` becomes the media resolution, of films too. Models from Gemini 3 on know levels of
    thinking and not budgets: see :func:`thinking`.

    Args:
        model: Such as ``gemini-3-flash``.
        key: Of the API. It is in no text that leaves this class.
        base_url: Another server that speaks the protocol.

    Raises:
        Rejected: If key, name or server cannot be right.
    """

    def __init__(self, model: str, *, key: str, base_url: str | None = None) -> None:
        self.name = f"gemini:{model}"
        self.coord_order: CoordOrder = "yx"
        self.takes_films = True
        self._model = model
        key, server = key.strip(), (base_url or SERVER).rstrip("/")
        self._refuse_nonsense(key, server)
        parts = urlsplit(server)
        shown = f"{parts.scheme}://{parts.hostname}"
        shown += f":{parts.port}" if parts.port else ""
        self.identity = {"provider": "gemini", "model": model, "server": shown + parts.path}
        self._wording = Wording(name=self.name, server=shown, secret=key)
        self._options = http_options(server)
        self._client = genai.Client(api_key=key, vertexai=False, http_options=self._options)
        self._films = FilmShelf(self._client.aio.files, self._wording)

    def _refuse_nonsense(self, key: str, server: str) -> None:
        """Before it gets into a path, a header, or an error that shows it."""
        if not re.fullmatch(r"((models|tunedModels)/)?[A-Za-z0-9._-]+", self._model):
            raise Rejected(
                f"{self.name!r}: no name of a model; expected such as gemini:gemini-3-flash"
            )
        if not key:
            raise Rejected(f"{self.name}: no key; set GEMINI_API_KEY")
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise Rejected(f"{self.name}: the key holds characters that no key has; set it anew")
        try:
            parts = urlsplit(server)
            fine = parts.scheme in ("http", "https") and bool(parts.hostname)
            fine = (
                fine and not (parts.query or parts.fragment or parts.username) and parts.port != 0
            )
        except ValueError:
            fine = False
        if not fine:
            raise Rejected(f"{self.name}: no address of a server; expected such as {SERVER}")

    @property
    def left_behind(self) -> tuple[str, ...]:
        """Names of films that could not be deleted at the provider."""
        return tuple(self._films.left_behind)

    async def stream(
        self, request: Request, generation: Generation
    ) -> AsyncIterator[TextPiece | Completion]:
        """One attempt: pieces of text as they come, then one :class:`Completion`.

        Raises:
            AttemptFailed: If there is no whole answer.
        """
        deadline = asyncio.get_running_loop().time() + generation.within
        reader = AnswerReader(self.name)
        responses = self._responses(request, generation)
        try:
            while True:
                response = await self._next(responses, reader, deadline, generation.within)
                if response is None:
                    break
                if text := reader.push(response):
                    yield TextPiece(text=text)
        finally:
            await responses.aclose()
        yield reader.completion()

    async def _next(
        self,
        responses: AsyncIterator[types.GenerateContentResponse],
        reader: AnswerReader,
        deadline: Seconds,
        within: Seconds,
    ) -> types.GenerateContentResponse | None:
        """The next response of the stream, None at its end."""
        failed: AttemptFailed
        try:
            async with asyncio.timeout_at(deadline):
                return await anext(responses, None)
        except TimeoutError:
            failed = TooSlow(f"{self.name}: no whole answer within {within:g} s")
        except AttemptFailed as error:
            failed = error
        except LIBRARY_FAILURES as error:
            failed = self._wording.failure(error)
        if isinstance(failed, Unreachable | TooSlow) and reader.finished:
            return None  # the whole text is here; only the connection's end is not
        failed.usage = reader.usage
        # Not from within the handler: what the library raised holds the request and its key.
        raise failed

    async def _responses(
        self, request: Request, generation: Generation
    ) -> AsyncGenerator[types.GenerateContentResponse, None]:
        async with AsyncExitStack() as loans:
            parts = await self._parts(request, loans)
            stream = await self._client.aio.models.generate_content_stream(
                model=self._model,
                contents=types.Content(role="user", parts=parts),
                config=_config(self._model, request, generation),
            )
            async with aclosing(cast(AsyncGenerator[types.GenerateContentResponse, None], stream)):
                async for response in stream:
                    yield response

    async def _parts(self, request: Request, loans: AsyncExitStack) -> list[types.Part]:
        uploads = not _fits_inline(request)
        parts = []
        for part in request.parts:
            if uploads and isinstance(part, FilmPart):
                uri = await loans.enter_async_context(self._films.lent(part))
                file = types.FileData(file_uri=uri, mime_type=part.mime)
                parts.append(types.Part(file_data=file))
            else:
                parts.append(_inline(part))
        return parts

    async def check(self) -> str:
        """Ask for the model's description, which costs nothing.

        Raises:
            AttemptFailed: If key, name or server do not work.
        """
        failed: AttemptFailed | None = None
        try:
            async with asyncio.timeout(_CHECK_WITHIN):
                model = await self._client.aio.models.get(model=self._model)
        except TimeoutError:
            failed = TooSlow(
                f"{self.name}: {self._wording.server} is silent for {_CHECK_WITHIN:g} s"
            )
        except LIBRARY_FAILURES as error:
            failed = self._wording.failure(error)
        if failed is not None:
            raise failed
        actions = model.supported_actions
        if actions and "generateContent" not in actions:
            raise Rejected(f"{self.name}: does not take such questions, only {', '.join(actions)}")
        limits = f"up to {model.input_token_limit} tokens in, {model.output_token_limit} out"
        return f"{self._wording.line(model.display_name or self._model)} answers, {limits}"

    async def aclose(self) -> None:
        """Delete films that are left at the provider, and close connections."""
        await self._films.aclose()
        await aclose(self._options)


def _inline(part: Part) -> types.Part:
    match part:
        case TextPart():
            return types.Part(text=_well_formed(part.text))
        case PicturePart():
            return types.Part(inline_data=types.Blob(data=part.jpeg, mime_type="image/jpeg"))
        case FilmPart():
            return types.Part(inline_data=types.Blob(data=part.content, mime_type=part.mime))


def _well_formed(text: str) -> str:
    """Without halves of characters (lone surrogates), which no JSON in UTF-8 can hold."""
    return text.encode(errors="replace").decode()


def _fits_inline(request: Request) -> bool:
    size = _AROUND + len(request.system.encode(errors="replace"))
    for part in request.parts:
        match part:
            case TextPart():
                size += len(part.text.encode(errors="replace"))
            case PicturePart():
                size += _in_base64(part.jpeg)
            case FilmPart():
                size += _in_base64(part.content)
    return size <= MOST_INLINE


def _in_base64(content: bytes) -> int:
    return -(-len(content) // 3) * 4


def _config(model: str, request: Request, generation: Generation) -> types.GenerateContentConfig:
    http_options = types.HttpOptions(timeout=max(1, round(1000 * generation.within)))
    structured: dict[str, Any] = {}
    if generation.json_mode and request.schema is not None:
        structured["response_mime_type"] = "application/json"
        # Not as a setting of the library's: it would parse each piece of the text as JSON of its
        # own, and fail where a piece is nested too deeply or holds too long a number.
        schema = {"responseJsonSchema": dict(request.schema)}
        http_options.extra_body = {"generationConfig": schema}
    return types.GenerateContentConfig(
        http_options=http_options,
        system_instruction=_well_formed(request.system) or None,
        temperature=generation.temperature,
        max_output_tokens=generation.max_tokens,
        candidate_count=1,
        thinking_config=thinking(model, generation.thinking_budget),
        media_resolution=_RESOLUTIONS[generation.detail],
        response_logprobs=True if generation.logprobs else None,
        logprobs=generation.top_logprobs or None,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,  # it would ask, and be paid, again
        **structured,
    )


def thinking(model: str, budget: int | None) -> types.ThinkingConfig | None:
    """The setting for a budget of tokens for thoughts; None leaves it to the model.

    Gemini 2.5 takes the budget. Later models take a level: for 0 the lowest that the model has
    (``minimal`` of a Flash, else ``low``; none of them can be kept from thinking), ``low`` up to
    4096 tokens, ``high`` above. ``medium`` is left out, as not all of them know it.
    """
    if budget is None:
        return None
    version = re.match(r"(?:models/)?gemini-([0-9]+)", model)
    if version is None or int(version[1]) < 3:
        return types.ThinkingConfig(thinking_budget=budget)
    if budget == 0 and "flash" in model:
        return types.ThinkingConfig(thinking_level=types.ThinkingLevel.MINIMAL)
    low = budget <= _LOW_BUDGET
    level = types.ThinkingLevel.LOW if low else types.ThinkingLevel.HIGH
    return types.ThinkingConfig(thinking_level=level)
