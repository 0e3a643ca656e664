"""Which question a message of the server answers, and when that answer is whole.

The server's messages do not say which question they belong to. They belong to the oldest question
whose turn has not ended; an interrupted turn ends too (``interrupted``, then ``turnComplete``). A
turn that was asked for and then given up is kept until its end has come, so that its rest is not
taken for the beginning of the next answer. Where no end comes, only a new connection helps.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Literal, TypeAlias

from google.genai import types

from streaming.asking.endpoint import AttemptFailed, Usage
from streaming.events import Counters

State: TypeAlias = Literal["open", "whole", "interrupted", "failed"]


class Turn:
    """One question and what has come of its answer.

    Attributes:
        number: From 0.
        text: What was said so far.
        state: ``whole`` when nothing more will come, ``interrupted`` when it was cut off by the
            speaker, ``failed`` when the connection went (see ``failure``).
        failure: Why it failed.
        reason: The server's own word for why the turn ended, or empty.
        sent: The question is on its way to the server.
        usage: Tokens that the server counted.
        changed: Set whenever any of this changes.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.text = ""
        self.state: State = "open"
        self.failure: AttemptFailed | None = None
        self.reason = ""
        self.sent = False
        self.usage = Usage()
        self.changed = asyncio.Event()

    def end(self, state: State, failure: AttemptFailed | None = None) -> None:
        """Give it its last state; the first one stays."""
        if self.state == "open":
            self.state, self.failure = state, failure
            self.changed.set()


class Turns:
    """The questions of a session whose turns have not ended on the server.

    Args:
        speaks: The model speaks: the transcription of its speech is the text, and may come after
            the word that generation is complete.
        counters: Told what could not be used.
    """

    def __init__(self, *, speaks: bool, counters: Counters) -> None:
        self._speaks = speaks
        self._counters = counters
        self._open: deque[Turn] = deque()
        self._asked = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    def ask(self) -> Turn:
        """A new turn."""
        turn = Turn(self._asked)
        self._asked += 1
        self._open.append(turn)
        self._quiet.clear()
        return turn

    def interrupt(self) -> bool:
        """End all open answers as interrupted; whether there was one."""
        hit = [turn for turn in self._open if turn.state == "open"]
        for turn in hit:
            turn.end("interrupted")
        return bool(hit)

    @property
    def busy(self) -> bool:
        """Whether the server may still be at a turn."""
        return bool(self._open)

    @property
    def ending(self) -> bool:
        """Whether an answer is whole, and the end of its turn with its cost is still to come."""
        return any(turn.state == "whole" for turn in self._open)

    async def quiet(self) -> None:
        """Return when the server has ended every turn."""
        await self._quiet.wait()

    def withdraw(self, turn: Turn) -> None:
        """Wait for nothing of this turn any more."""
        if turn in self._open:
            self._open.remove(turn)
        if not self._open:
            self._quiet.set()

    def lose(self, failure: AttemptFailed, *, for_good: bool) -> None:
        """The connection went, and the answers with it.

        Questions that were not sent yet wait for the next one, unless there will be none.
        """
        for turn in tuple(self._open):
            if turn.sent or for_good:
                turn.end("failed", failure)
                self.withdraw(turn)

    def take(self, message: types.LiveServerMessage) -> None:
        """Take the next message of the server."""
        turn = self._open[0] if self._open else None
        if message.usage_metadata is not None:
            self._count(message.usage_metadata, turn)
        content = message.server_content
        if content is None:
            return
        if content.input_transcription is not None and content.input_transcription.text:
            self._counters.add("live_heard_pieces")
        if turn is None:
            if _said(content, self._speaks):
                self._counters.add("live_unasked_text")
            return
        self._hear(content, turn)
        if content.interrupted and turn.state == "open":
            self._counters.add("live_answers_interrupted")
            turn.end("interrupted")
        if content.generation_complete and not self._speaks and turn.text:
            turn.end("whole")
        if _ended(content):
            self._end(turn, content)

    def _hear(self, content: types.LiveServerContent, turn: Turn) -> None:
        said = _said(content, self._speaks)
        if said and turn.state == "open":
            turn.text += said
            turn.changed.set()

    def _end(self, turn: Turn, content: types.LiveServerContent) -> None:
        reason = content.turn_complete_reason
        turn.reason = "" if reason is None else str(reason.value)
        turn.end("whole")
        self.withdraw(turn)

    def _count(self, usage: types.UsageMetadata, turn: Turn | None) -> None:
        spent = Usage(
            sent=usage.prompt_token_count or 0,
            cached=usage.cached_content_token_count or 0,
            written=usage.response_token_count or 0,
            thought=usage.thoughts_token_count or 0,
        )
        self._counters.add("live_tokens_sent", spent.sent)
        self._counters.add("live_tokens_written", spent.written + spent.thought)
        if turn is not None:
            turn.usage += spent


def _ended(content: types.LiveServerContent) -> bool:
    status = content.interaction_status
    if status is None or status == types.InteractionStatus.INTERACTION_STATUS_UNSPECIFIED:
        return bool(content.turn_complete)
    return status == types.InteractionStatus.IDLE


def _said(content: types.LiveServerContent, speaks: bool) -> str:
    if speaks:
        heard = content.output_transcription
        return (heard.text or "") if heard is not None else ""
    turn = content.model_turn
    parts = (turn.parts or []) if turn is not None else []
    return "".join(part.text for part in parts if part.text and not part.thought)
