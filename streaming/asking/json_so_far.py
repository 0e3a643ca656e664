"""Reading JSON before all of it has come, or when the end of it never came.

What is whole counts: a text or number that is cut in the middle is left out, and what is open is
closed. So ``{"a": [{"b": 1}, {"b": 2, "c": "x`` reads as ``{"a": [{"b": 1}, {"b": 2}]}``.
"""

from __future__ import annotations

from typing import Literal

_DEEPEST = 64
_TOLD_DEPTH = 2
_MOST_TOLD = 64
_CLOSERS = {"{": "}", "[": "]"}


class JsonSoFar:
    """Follows the first JSON object of a text while the text grows.

    Everything before the first ``{`` is passed over, and everything after its end.
    """

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._length = 0
        self._stack: list[Literal["{", "["]] = []
        self._begun = False
        self._over = False
        self._told = 0
        self._in_text = False
        self._escaped = False
        self._in_word = False
        self._awaits_key = False
        self._text_is_key = False
        self._whole: tuple[int, tuple[str, ...]] = (0, ())

    @property
    def over(self) -> bool:
        """Whether the object is closed, or is no JSON that can be followed."""
        return self._over

    def feed(self, text: str) -> list[str]:
        """Take the next piece.

        Returns:
            The JSON as far as it went, closed, for each field that is a list or an object, and for
            each such item of it, that this piece completed (the first 64). How the text is cut
            into pieces makes no difference.
        """
        completed = []
        for character in text:
            if self._over:
                break
            if not self._begun:
                if character != "{":
                    continue
                self._begun = True
            self._kept.append(character)
            self._length += 1
            closes = self._take(character) and 0 < len(self._stack) <= _TOLD_DEPTH
            if closes and self._told < _MOST_TOLD:
                self._told += 1
                completed.append(self.closed())
        return completed

    def closed(self) -> str:
        """What is whole of the object, closed; empty when none has begun."""
        length, stack = self._whole
        if not length:
            return ""
        return "".join(self._kept[:length]) + "".join(_CLOSERS[one] for one in reversed(stack))

    def _take(self, character: str) -> bool:
        """Take one character; true when it closes an object or a list."""
        if self._in_text:
            self._take_inside_text(character)
            return False
        if self._in_word and character in " \t\r\n,]}":
            self._in_word = False
            self._mark(self._length - 1)
        match character:
            case "{" | "[":
                self._open(character)
            case "}" | "]":
                return self._close(character)
            case '"':
                self._in_text = True
                self._text_is_key = self._awaits_key
            case ",":
                self._awaits_key = bool(self._stack) and self._stack[-1] == "{"
            case ":":
                self._awaits_key = False
            case _ if not character.isspace():
                self._in_word = True
        return False

    def _take_inside_text(self, character: str) -> None:
        if self._escaped:
            self._escaped = False
        elif character == "\\":
            self._escaped = True
        elif character == '"':
            self._in_text = False
            if not self._text_is_key:
                self._mark(self._length)

    def _open(self, character: Literal["{", "["]) -> None:
        if len(self._stack) == _DEEPEST:
            self._over = True
            return
        self._stack.append(character)
        self._awaits_key = character == "{"
        self._mark(self._length)

    def _close(self, character: str) -> bool:
        if not self._stack or _CLOSERS[self._stack[-1]] != character:
            self._over = True
            return False
        self._stack.pop()
        self._awaits_key = False
        self._mark(self._length)
        self._over = not self._stack
        return True

    def _mark(self, length: int) -> None:
        """All before ``length`` is whole."""
        self._whole = (length, tuple(self._stack))
