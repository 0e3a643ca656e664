"""Gemini's Live API: a model that hears and sees the stream while it happens.

Sound goes out as 16 kHz PCM and at most one picture a second as JPEG, when the session's clock
releases them. *When* a turn is over is decided by our own bindings: then :meth:`ground` puts the
question as text (what was heard, when, and what was pointed at when), together with the picture
that its points shall lie on, and streams the answer. The server's own detection of speech is off.

The speaker who speaks again, or a newer question, interrupts an answer; one that was interrupted by
speech from which no newer question came is asked for again. Only for ``realtime`` and ``live``
pace: in ``fast`` pace the stream runs ahead of the questions.

The names ``live_…`` in :attr:`GeminiLiveModel.counters` say what happened: ``connections``,
``go_aways``, ``context_lost`` (a new session, without what was heard before),
``answers_interrupted``, ``answers_resumed``, ``questions_repeated`` (the connection broke under an
answer), ``sound_dropped`` (blocks; only without a connection), ``pictures_sent``,
``pictures_replaced`` (by a newer one, unsent), ``turns_without_end`` (the connection was renewed
to be rid of an interrupted answer), ``unasked_text``, ``heard_pieces`` (of the transcription of our
sound), ``messages_unknown``, ``tokens_sent`` and ``tokens_written``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

import numpy as np
from google import genai
from google.genai import types
from google.genai.live import AsyncSession
from numpy.typing import NDArray

from streaming.asking.endpoint import (
    AttemptFailed,
    Blocked,
    CoordOrder,
    EmptyReply,
    Rejected,
    ServerFault,
    TooSlow,
)
from streaming.asking.opening import check_base_url
from streaming.clock import RealtimeClock
from streaming.config import config_path, load
from streaming.events import (
    Answer,
    AudioBlock,
    Counters,
    Seconds,
    SpeechEnd,
    SpeechStart,
    VideoFrame,
)
from streaming.grounding_query import Query
from streaming.models.gemini_live_failures import LIBRARY_ERRORS, LiveFault
from streaming.models.gemini_live_line import Ask, Hush, LiveLine, Picture, Sound
from streaming.models.gemini_live_question import LivePrompt, load_live_prompt, question
from streaming.models.gemini_live_reply import COORD_ORDER, LiveReply
from streaming.models.gemini_live_settings import LiveSettings
from streaming.models.gemini_live_turns import Turn, Turns

SETTINGS = "gemini_live.toml"
API_VERSION = "v1beta"
"""The one that has the Live API for keys of the Gemini API."""
DEFAULT_URL = "https://generativelanguage.googleapis.com"
_REFUSALS = ("PROHIBITED", "SAFETY", "BLOCKLIST", "REJECTED")

# At its finest level the library of the sockets writes headers into the log, and the key is one.
logging.getLogger("websockets.client").setLevel(logging.INFO)


class GeminiLiveModel:
    """A model of the pipeline that follows the stream itself.

    Args:
        model: As the provider names it, such as ``gemini-3.1-flash-live-preview``.
        key: Of the Gemini API.
        base_url: Of another server with the same protocol; it must speak TLS (the library knows
            no other way).
        language: ``en``, ``zh`` or ``auto``: of the system instruction; questions follow their own
            words.
        settings: See :class:`LiveSettings`.
        prompt: The wording.

    Attributes:
        counters: See above.
    """

    coord_order: CoordOrder = COORD_ORDER

    def __init__(
        self,
        model: str,
        *,
        key: str,
        base_url: str | None = None,
        language: str = "auto",
        settings: LiveSettings | None = None,
        prompt: LivePrompt | None = None,
    ) -> None:
        self.name = f"gemini-live:{model}"
        self.counters = Counters()
        self._model = model
        self._settings = settings or LiveSettings()
        self._prompt = prompt or load_live_prompt()
        self._language = language
        self._spoken = self._settings.speaks(model)
        self._realtime = self._settings.asks_in_realtime(model)
        where = urlsplit(base_url or DEFAULT_URL).netloc or str(base_url)
        self._fault = LiveFault(model=self.name, where=where, key=key)
        if not key:
            raise Rejected(self._fault.line("needs a key; set GEMINI_API_KEY"))
        if base_url is not None and not base_url.startswith("https://"):
            raise Rejected(self._fault.line("needs a base URL that begins with https://"))
        self._client = genai.Client(
            api_key=key,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=base_url or DEFAULT_URL, api_version=API_VERSION
            ),
        )
        self._turns = Turns(speaks=self._spoken, counters=self.counters)
        self._line = LiveLine(
            self._connect,
            settings=self._settings,
            turns=self._turns,
            counters=self.counters,
            fault=self._fault,
            realtime=self._realtime,
        )
        self._next_picture: Seconds = 0.0
        self._speaking = False
        self._silent = asyncio.Event()
        self._silent.set()

    # --- following the stream ------------------------------------------------------------------

    def attend(self, event: AudioBlock | VideoFrame | SpeechStart | SpeechEnd) -> None:
        """Send sound and pictures on; speech interrupts an answer. Never waits."""
        self._line.open()
        match event:
            case AudioBlock():
                self._line.put(Sound(_pcm(event.samples)))
            case VideoFrame() if event.time >= self._next_picture:
                self._next_picture = event.time + 1 / self._settings.frames_per_second
                self._line.put(Picture(event.image, event.pixel_aspect))
            case SpeechStart():
                self._silent.clear()
                interrupted = self._turns.interrupt()
                self._line.withdraw()
                if interrupted:
                    self.counters.add("live_answers_interrupted")
                if interrupted or self._realtime:
                    self._line.put(Hush())
            case SpeechEnd():
                self._silent.set()
            case _:
                pass

    async def close(self) -> None:
        """Hang up, after what the last answer cost was told."""
        if self._turns.ending:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.settle_within):
                    await self._turns.quiet()
        await self._line.close()
        await self._client.aio.aclose()
        self._client.close()

    async def check(self) -> str:
        """Open a session and close it again: a line to show.

        Raises:
            AttemptFailed: If key, server or model do not work.
        """
        try:
            async with asyncio.timeout(self._settings.connect_within), self._connect(None) as live:
                if live.setup_complete is None:
                    raise ServerFault(self._fault.line("did not say that the session is set up"))
        except LIBRARY_ERRORS as error:
            raise self._fault.of(error) from None
        return self._fault.line("opens a session")

    # --- answering -----------------------------------------------------------------------------

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        """The answer as it comes, then the whole of it.

        Raises:
            AttemptFailed: If there is none.
        """
        lost = 0
        while True:
            turn = await self._ask(query)
            reply = LiveReply(query, model=self.name, spoken=self._spoken, counters=self.counters)
            try:
                async for text in self._pieces(turn):
                    for answer in reply.so_far(text):
                        yield answer
            except AttemptFailed:
                lost += 1
                again = turn.state == "failed" and self._line.failure is None
                if not again or lost >= self._settings.attempts:
                    raise
                self.counters.add("live_questions_repeated")
                continue
            finally:
                self._drop(turn)
            if turn.state == "whole":
                self._check_text(turn)
                yield reply.whole(turn.text)
                return
            await self._speaker_is_done()
            self.counters.add("live_answers_resumed")

    async def _ask(self, query: Query) -> Turn:
        """Put the question, after the one before it has ended."""
        self._line.reopen()
        if self._line.failure is not None:
            raise self._line.failure
        if self._turns.busy:
            self._line.put(Hush())
            try:
                async with asyncio.timeout(self._settings.settle_within):
                    await self._turns.quiet()
            except TimeoutError:
                self.counters.add("live_turns_without_end")
                self._line.renew()
                await self._turns.quiet()
        turn = self._turns.ask()
        last = query.last  # its points shall lie on this picture, whatever was seen since
        picture = None if last is None else Picture(last.image, last.pixel_aspect)
        text = question(query, self._prompt, spoken=self._spoken)
        self._line.put(Ask(turn, text, picture))
        return turn

    async def _pieces(self, turn: Turn) -> AsyncIterator[str]:
        """The text so far, whenever there is more of it, until the turn is over.

        Raises:
            AttemptFailed: If it failed, or took too long.
        """
        clock = RealtimeClock()
        while turn.state == "open":
            left = self._settings.answer_within - clock.now()
            try:
                async with asyncio.timeout(max(0.0, left)):
                    await turn.changed.wait()
            except TimeoutError:
                within = self._settings.answer_within
                raise TooSlow(
                    self._fault.line(
                        f"gave no whole answer within {within:g} s; try again, or raise "
                        "answer_within in configs/gemini_live.toml"
                    ),
                    usage=turn.usage,
                ) from None
            turn.changed.clear()
            if turn.state == "open" and turn.text:
                yield turn.text
        if turn.failure is not None:
            raise turn.failure

    def _drop(self, turn: Turn) -> None:
        """Nobody waits for this answer any more."""
        if turn.state == "open":
            turn.end("interrupted")
            self._line.withdraw()
            self.counters.add("live_answers_interrupted")

    async def _speaker_is_done(self) -> None:
        """Wait until there was quiet for long enough that no newer question will come."""
        clock = RealtimeClock()
        while True:
            await self._silent.wait()
            await clock.wait_until(clock.now() + self._settings.resume_after)
            if self._silent.is_set():
                return

    def _check_text(self, turn: Turn) -> None:
        """Tell an answer without text from a wrong one.

        Raises:
            AttemptFailed: If there is no text.
        """
        if turn.text.strip():
            return
        if any(word in turn.reason for word in _REFUSALS):
            raise Blocked(
                self._fault.line(f"refuses to answer this content ({turn.reason})"),
                usage=turn.usage,
            )
        why = f" ({turn.reason})" if turn.reason else ""
        raise EmptyReply(
            self._fault.line(
                f"ended its turn without a word{why}; check modality in configs/gemini_live.toml"
            ),
            usage=turn.usage,
        )

    # --- the connection ------------------------------------------------------------------------

    def _connect(self, handle: str | None) -> contextlib.AbstractAsyncContextManager[AsyncSession]:
        settings = self._settings
        config = types.LiveConnectConfig(
            response_modalities=[types.Modality.AUDIO if self._spoken else types.Modality.TEXT],
            temperature=settings.temperature,
            system_instruction=self._prompt.texts(self._language).system.strip(),
            session_resumption=types.SessionResumptionConfig(handle=handle),
            realtime_input_config=types.RealtimeInputConfig(
                automatic_activity_detection=types.AutomaticActivityDetection(
                    disabled=not settings.server_detects_speech
                ),
                turn_coverage=types.TurnCoverage.TURN_INCLUDES_ALL_INPUT,
            ),
            context_window_compression=(
                types.ContextWindowCompressionConfig(sliding_window=types.SlidingWindow())
                if settings.compress_context
                else None
            ),
            input_audio_transcription=(
                types.AudioTranscriptionConfig() if settings.transcribe_input else None
            ),
            output_audio_transcription=types.AudioTranscriptionConfig() if self._spoken else None,
        )
        return self._client.aio.live.connect(model=self._model, config=config)


def open_live(model: str, *, keys: Mapping[str, str], language: str) -> GeminiLiveModel:
    """The live model of ``gemini-live:NAME``, with the project's settings.

    Args:
        model: As the provider names it.
        keys: The environment: ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``, and
            ``GOOGLE_GEMINI_BASE_URL`` when another server is meant.
        language: ``en``, ``zh`` or ``auto``.

    Raises:
        ModelError: If the key is missing or the address is none.
        ConfigError: If settings or prompts do not fit.
    """
    base_url = keys.get("GOOGLE_GEMINI_BASE_URL") or None
    check_base_url(base_url)
    key = keys.get("GEMINI_API_KEY", "").strip() or keys.get("GOOGLE_API_KEY", "").strip()
    settings = load(LiveSettings, config_path(SETTINGS))
    return GeminiLiveModel(model, key=key, base_url=base_url, language=language, settings=settings)


def _pcm(samples: NDArray[np.float32]) -> bytes:
    """16 bit, little-endian."""
    return (np.clip(samples, -1.0, 1.0) * 32767.0).round().astype("<i2").tobytes()
