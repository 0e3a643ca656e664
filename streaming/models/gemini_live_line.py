"""One live session, kept open over as many connections as it takes.

Sound, pictures and questions wait here and leave in order. A connection ends when the server says
that it will (go-away), when it breaks, or when the session does; the next one takes up the
conversation with the last handle that the server gave. What was said on the old connection after
that handle is lost to the server, as its API has it; what had not been sent yet is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from google.genai import types
from google.genai.live import AsyncSession
from numpy.typing import NDArray

from streaming.asking.endpoint import AttemptFailed, Rejected, ServerFault, Unreachable
from streaming.clock import RealtimeClock
from streaming.events import SAMPLE_RATE, Counters, Seconds
from streaming.models.gemini_live_failures import LIBRARY_ERRORS, LiveFault
from streaming.models.gemini_live_settings import LiveSettings
from streaming.models.gemini_live_turns import Turn, Turns
from streaming.picture_jpeg import jpeg_of, square_pixels

SOUND_TYPE = f"audio/pcm;rate={SAMPLE_RATE}"
_BYTES_A_SECOND = 2 * SAMPLE_RATE
_FIRST_WAIT: Seconds = 0.25
_LONGEST_WAIT: Seconds = 4.0

Connect: TypeAlias = Callable[[str | None], contextlib.AbstractAsyncContextManager[AsyncSession]]
"""Opens a connection that goes on from a handle, or begins a new session."""


@dataclass(frozen=True, slots=True)
class Sound:
    """PCM, 16 bit, little-endian, mono."""

    pcm: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture, encoded only when it is sent."""

    image: NDArray[np.uint8]
    pixel_aspect: float = 1.0


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, whose answer is wanted at once, and the picture that it is about."""

    turn: Turn
    text: str
    picture: Picture | None


@dataclass(frozen=True, slots=True)
class Hush:
    """The speaker goes on, or asks anew: the answer in progress is of no use."""


Outgoing: TypeAlias = Sound | Picture | Ask | Hush


class LiveLine:
    """Sends and receives, and connects again.

    Args:
        connect: See :data:`Connect`.
        settings: The session's.
        turns: Told of every message of the server, and when the connection went.
        counters: Told what happened.
        fault: Words the failures.
        realtime: Questions go as text inside an activity, not as a turn of the conversation.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        settings: LiveSettings,
        turns: Turns,
        counters: Counters,
        fault: LiveFault,
        realtime: bool,
    ) -> None:
        self._connect = connect
        self._settings = settings
        self._turns = turns
        self._counters = counters
        self._fault = fault
        self._realtime = realtime
        self._waiting: deque[Outgoing] = deque()
        self._held = 0  # bytes of sound that wait
        self._something = asyncio.Event()
        self._going: Seconds | None = None
        self._go_away = asyncio.Event()
        self._handle: str | None = None
        self._met = False  # a server has taken the session once
        self._active = False  # an activity is open on this connection
        self._proved = False  # this connection has brought an answer
        self._task: asyncio.Task[None] | None = None
        self._clock: RealtimeClock | None = None
        self.failure: AttemptFailed | None = None

    def open(self) -> None:
        """Connect in the background, if that was not begun already."""
        if self._task is None:
            self._clock = RealtimeClock()
            self._task = asyncio.create_task(self._run(), name="gemini-live")

    def reopen(self) -> None:
        """As :meth:`open`; a line that was given up is tried again, where that may help."""
        if self.failure is not None and self.failure.retryable:
            self.failure = self._task = None
        self.open()

    async def close(self) -> None:
        """Hang up."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()

    def renew(self) -> None:
        """Go on over a new connection: nothing more of the old one is of any use."""
        self._going = 0.0
        self._go_away.set()

    def put(self, thing: Outgoing) -> None:
        """Send ``thing`` as soon as what was put before it is gone; never waits.

        A picture takes the place of one that still waits. Without a connection the oldest sound
        gives way to the newest.
        """
        if isinstance(thing, Picture):
            self._drop_waiting_picture()
        elif isinstance(thing, Sound):
            self._held += len(thing.pcm)
        self._waiting.append(thing)
        self._drop_old_sound()
        self._something.set()

    def withdraw(self) -> None:
        """Send no question that nobody waits for any more."""
        stale = [one for one in self._waiting if isinstance(one, Ask) and one.turn.state != "open"]
        for ask in stale:
            self._waiting.remove(ask)
            self._turns.withdraw(ask.turn)

    def _drop_waiting_picture(self) -> None:
        for position, other in enumerate(self._waiting):
            if isinstance(other, Picture):
                del self._waiting[position]
                self._counters.add("live_pictures_replaced")
                return

    def _drop_old_sound(self) -> None:
        most = self._settings.audio_held * _BYTES_A_SECOND
        while self._held > most:
            for position, other in enumerate(self._waiting):
                if isinstance(other, Sound):
                    del self._waiting[position]
                    self._held -= len(other.pcm)
                    self._counters.add("live_sound_dropped")
                    break

    # --- connections ---------------------------------------------------------------------------

    async def _run(self) -> None:
        failed = 0
        while self.failure is None:
            try:
                await self._connected()
                failed = 0
            except AttemptFailed as failure:
                if isinstance(failure, Rejected) and self._handle is not None and not self._proved:
                    self._handle = None  # it may be this that is refused
                    self._break(failure)
                    continue
                failed = 1 if self._proved else failed + 1
                if not failure.retryable or failed >= self._settings.attempts:
                    self.failure = failure
                self._break(failure)
                if self.failure is None:
                    await self._pause(min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failed - 1)))

    async def _pause(self, seconds: Seconds) -> None:
        assert self._clock is not None
        await self._clock.wait_until(self._clock.now() + seconds)

    def _break(self, failure: AttemptFailed) -> None:
        """The connection is gone, and with it the answers that were to come over it."""
        self._turns.lose(failure, for_good=self.failure is not None)
        self.withdraw()
        self._waiting = deque(one for one in self._waiting if not isinstance(one, Hush))

    async def _connected(self) -> None:
        """One connection, from its opening to its end.

        Raises:
            AttemptFailed: Unless it was left because the server had said that it would end.
        """
        self._proved, self._active = False, False
        self._go_away.clear()
        async with contextlib.AsyncExitStack() as stack:
            session = await self._dial(stack)
            self._counters.add("live_connections")
            if self._met and self._handle is None:
                self._counters.add("live_context_lost")
            self._met = True
            tasks = [
                asyncio.create_task(self._send_all(session)),
                asyncio.create_task(self._receive_all(session)),
                asyncio.create_task(self._leave_in_time()),
            ]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            failure = next((one for task in done if (one := task.exception())), None)
            # Said before the closing, which may take a while.
            self._break(
                failure
                if isinstance(failure, AttemptFailed)
                else Unreachable(self._fault.line("ended the connection amid an answer"))
            )
            if failure is not None:
                raise failure

    async def _dial(self, stack: contextlib.AsyncExitStack) -> AsyncSession:
        try:
            async with asyncio.timeout(self._settings.connect_within):
                session = await stack.enter_async_context(self._connect(self._handle))
        except LIBRARY_ERRORS as error:
            raise self._fault.of(error) from None
        if session.setup_complete is None:
            raise ServerFault(self._fault.line("did not say that the session is set up"))
        return session

    async def _leave_in_time(self) -> None:
        """Return when the connection should be left, after the server has said that it will end."""
        await self._go_away.wait()
        assert self._going is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, self._going - self._settings.leave_before)):
                await self._turns.quiet()

    # --- receiving -----------------------------------------------------------------------------

    async def _receive_all(self, session: AsyncSession) -> None:
        while True:  # the library's receive() ends with every turn
            try:
                async for message in session.receive():
                    self._take(message)
            except TypeError:
                # What the library does with a kind of message that it does not know.
                self._counters.add("live_messages_unknown")
            except LIBRARY_ERRORS as error:
                raise self._fault.of(error) from None

    def _take(self, message: types.LiveServerMessage) -> None:
        if message.go_away is not None:
            self._counters.add("live_go_aways")
            self._going = _seconds(message.go_away.time_left)
            self._go_away.set()
        update = message.session_resumption_update
        # A turn in progress cannot be resumed; the handle from before it still can.
        if update is not None and update.resumable and update.new_handle:
            self._handle = update.new_handle
        if message.server_content is not None and message.server_content.turn_complete:
            self._proved = True
        self._turns.take(message)

    # --- sending -------------------------------------------------------------------------------

    async def _send_all(self, session: AsyncSession) -> None:
        while True:
            await self._something.wait()
            if not self._waiting:
                self._something.clear()
                continue
            thing = self._next()
            try:
                await self._send(session, thing)
            except LIBRARY_ERRORS as error:
                self._put_back(thing)
                raise self._fault.of(error) from None
            except asyncio.CancelledError:
                self._put_back(thing)
                raise

    def _next(self) -> Outgoing:
        thing = self._waiting.popleft()
        if isinstance(thing, Ask):
            thing.turn.sent = True
        if not isinstance(thing, Sound):
            return thing
        pcm = thing.pcm
        while len(pcm) < self._settings.audio_chunk * _BYTES_A_SECOND and self._waiting:
            following = self._waiting[0]
            if not isinstance(following, Sound):
                break
            pcm += following.pcm
            self._waiting.popleft()
        self._held -= len(pcm)
        return Sound(pcm)

    def _put_back(self, thing: Outgoing) -> None:
        if isinstance(thing, Sound):
            self._waiting.appendleft(thing)
            self._held += len(thing.pcm)

    async def _send(self, session: AsyncSession, thing: Outgoing) -> None:
        match thing:
            case Sound():
                blob = types.Blob(data=thing.pcm, mime_type=SOUND_TYPE)
                await session.send_realtime_input(audio=blob)
            case Picture():
                await self._show(session, thing)
            case Hush():
                await self._hush(session)
            case Ask():
                await self._ask(session, thing)

    async def _show(self, session: AsyncSession, picture: Picture) -> None:
        jpeg = await asyncio.to_thread(self._encoded, picture)
        await session.send_realtime_input(video=types.Blob(data=jpeg, mime_type="image/jpeg"))
        self._counters.add("live_pictures_sent")

    def _encoded(self, picture: Picture) -> bytes:
        side, quality = self._settings.longest_side, self._settings.jpeg_quality
        upright = square_pixels(picture.image, pixel_aspect=picture.pixel_aspect, side=side)
        return jpeg_of(upright, quality=quality)

    async def _hush(self, session: AsyncSession) -> None:
        if self._realtime:
            await self._begin_activity(session)
        else:
            # Any content of the client's ends the generation in progress.
            await session.send_client_content(turn_complete=False)

    async def _ask(self, session: AsyncSession, ask: Ask) -> None:
        if self._realtime:
            await self._begin_activity(session)
        if ask.picture is not None:
            await self._show(session, ask.picture)
        if not self._realtime:
            turn = types.Content(role="user", parts=[types.Part(text=ask.text)])
            await session.send_client_content(turns=turn, turn_complete=True)
            return
        await session.send_realtime_input(text=ask.text)
        if self._active:
            self._active = False
            await session.send_realtime_input(activity_end=types.ActivityEnd())

    async def _begin_activity(self, session: AsyncSession) -> None:
        if not self._active and not self._settings.server_detects_speech:
            self._active = True
            await session.send_realtime_input(activity_start=types.ActivityStart())


def _seconds(duration: str | None) -> Seconds:
    """Seconds of a protobuf duration such as ``9.5s``; 0 for what is none."""
    try:
        return float((duration or "0").removesuffix("s"))
    except ValueError:
        return 0.0
