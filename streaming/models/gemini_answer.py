"""What Gemini answers, put together from its stream, and told apart when it is no answer."""

from __future__ import annotations

import warnings

from google.genai import types

from streaming.asking.endpoint import (
    AttemptFailed,
    Blocked,
    Completion,
    EmptyReply,
    Exhausted,
    ServerFault,
    TokenChance,
    Unreachable,
    Usage,
)

MOST_TEXT = 4 << 20
"""Characters of an answer; a model that writes more goes round in circles."""
_UNSPECIFIED = ("FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")
_REFUSALS = (
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED",
    "SPII",
    "ESCALATION",
    "PUP_LIMITED_DISABLED",
    "MODEL_ARMOR",
)
"""Parts of the names of finish reasons that stand for a refusal of the content."""

# Reasons that are newer than the library are understood by their names.
warnings.filterwarnings("ignore", r".* is not a valid (FinishReason|BlockedReason)$", UserWarning)


class AnswerReader:
    """Takes the stream's responses in order; says at the end what they were.

    Attributes:
        usage: Tokens counted so far.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._pieces: list[str] = []
        self._length = 0
        self._chances: list[TokenChance] = []
        self._finish = ""
        self._blocked = ""
        self._candidates = False
        self._served_by = ""
        self.usage = Usage()

    @property
    def finished(self) -> bool:
        """Whether the model has said that its text ends here."""
        return self._finish in ("STOP", "MAX_TOKENS")

    def push(self, response: types.GenerateContentResponse) -> str:
        """The text that it adds, thoughts left out.

        Raises:
            ServerFault: If the text has grown longer than :data:`MOST_TEXT`.
        """
        self._served_by = response.model_version or self._served_by
        if response.usage_metadata is not None:
            self.usage = _usage(response.usage_metadata)
        feedback = response.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            self._blocked = feedback.block_reason.value
        if not response.candidates:
            return ""
        self._candidates = True
        candidate = response.candidates[0]
        if candidate.finish_reason is not None:
            self._finish = candidate.finish_reason.value
        self._chances += _chances(candidate)
        parts = (candidate.content.parts if candidate.content is not None else None) or []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        self._length += len(text)
        if self._length > MOST_TEXT:
            raise ServerFault(
                f"{self._name}: the answer is longer than {MOST_TEXT} characters", usage=self.usage
            )
        self._pieces.append(text)
        return text

    def completion(self) -> Completion:
        """The whole answer, at the end of the stream.

        Raises:
            AttemptFailed: If it is none.
        """
        text = "".join(self._pieces)
        failed = self._failed(empty=not text.strip())
        if failed is not None:
            raise failed
        return Completion(
            text=text,
            finish="length" if self._finish == "MAX_TOKENS" else "stop",
            usage=self.usage,
            chances=tuple(self._chances),
            served_by=self._served_by,
        )

    def _failed(self, *, empty: bool) -> AttemptFailed | None:
        name, finish, usage = self._name, self._finish, self.usage
        if self._blocked:
            return Blocked(f"{name}: the request was blocked ({self._blocked})", usage=usage)
        if any(part in finish for part in _REFUSALS):
            return Blocked(f"{name}: the answer was blocked ({finish})", usage=usage)
        if not self._candidates:
            return EmptyReply(f"{name}: an answer without candidates, no reason given", usage=usage)
        if finish == "MAX_TOKENS" and empty:
            return Exhausted(
                f"{name}: no text within the longest answer, {usage.thought} tokens of thoughts; "
                "allow more tokens or less thinking",
                usage=usage,
            )
        if finish in ("", *_UNSPECIFIED):
            return Unreachable(f"{name}: the answer broke off before its end", usage=usage)
        if finish not in ("STOP", "MAX_TOKENS"):
            return ServerFault(f"{name}: the answer ended with {finish}", usage=usage)
        if empty:
            return EmptyReply(f"{name}: an answer without text, no reason given", usage=usage)
        return None


def _usage(counted: types.GenerateContentResponseUsageMetadata) -> Usage:
    return Usage(
        sent=counted.prompt_token_count or 0,
        cached=counted.cached_content_token_count or 0,
        written=counted.candidates_token_count or 0,
        thought=counted.thoughts_token_count or 0,
    )


def _chances(candidate: types.Candidate) -> list[TokenChance]:
    result = candidate.logprobs_result
    chosen = (result.chosen_candidates if result is not None else None) or []
    places = (result.top_candidates if result is not None else None) or []
    found = []
    for number, one in enumerate(chosen):
        if one.log_probability is None:
            continue
        likeliest = (places[number].candidates or []) if number < len(places) else []
        others = tuple(
            TokenChance(token=other.token or "", logprob=other.log_probability)
            for other in likeliest
            if other.log_probability is not None
        )
        found.append(
            TokenChance(token=one.token or "", logprob=one.log_probability, alternatives=others)
        )
    return found
