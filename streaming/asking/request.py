"""What is sent to a model: texts, pictures and films, in order, each with the time it reaches to.

A request is content only. How it is generated (temperature, length) is a
:class:`~streaming.asking.endpoint.Generation`, and who is asked an endpoint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A piece of text.

    Attributes:
        text: As it is sent.
        until: Media time of the newest thing that it tells of; None when it tells of no time.
    """

    text: str
    until: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturePart:
    """A picture.

    Attributes:
        jpeg: Encoded.
        until: Media time of its frame.
        what: Why it is sent, for the record, such as ``frame`` or ``crop of stroke 2``.
    """

    jpeg: bytes = field(repr=False)
    until: Seconds
    what: str = "frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmPart:
    """A film with its sound, as a media file.

    Attributes:
        content: The file.
        until: Media time of its end.
        mime: Its media type.
    """

    content: bytes = field(repr=False)
    until: Seconds
    mime: str = "video/mp4"


Part: TypeAlias = TextPart | PicturePart | FilmPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model, whoever that is.

    Attributes:
        system: The system instruction.
        parts: The user's message, in order.
        schema: JSON schema of the answer; None asks for free text.
        interface: Name of the input interface that composed it.
        prompt: Name and version of the prompt, such as ``en/1``.
        words: Whose words it holds: ``benchmark``, ``ours``, or ``none``.
        asked_at: Media time of the question: no part reaches further.

    Raises:
        ValueError: If a part tells of a time after ``asked_at``.
    """

    system: str
    parts: tuple[Part, ...]
    schema: Mapping[str, Any] | None
    interface: str
    prompt: str
    words: str
    asked_at: Seconds

    def __post_init__(self) -> None:
        for part in self.parts:
            if part.until is not None and part.until > self.asked_at + 1e-6:
                raise ValueError(
                    f"a {type(part).__name__} of {self.interface} reaches to {part.until:.3f} s, "
                    f"but is asked at {self.asked_at:.3f} s"
                )

    def digest(self) -> str:
        """SHA-256, in hex, of all that the model gets to see."""
        whole = hashlib.sha256()
        whole.update(json.dumps([self.system, self.schema], sort_keys=True).encode())
        for part in self.parts:
            match part:
                case TextPart():
                    kind, content = "text", part.text.encode(errors="surrogatepass")
                case PicturePart():
                    kind, content = "image/jpeg", part.jpeg
                case FilmPart():
                    kind, content = part.mime, part.content
            # Kind and length first, so that no two lists of parts run into one.
            whole.update(f"\n{kind} {len(content)}\n".encode())
            whole.update(content)
        return whole.hexdigest()

    def described(self) -> dict[str, Any]:
        """The request for a record: texts whole, pictures and films by size and SHA-256."""
        return {
            "digest": self.digest(),
            "interface": self.interface,
            "prompt": self.prompt,
            "words": self.words,
            "asked_at": round(self.asked_at, 6),
            "system": self.system,
            "schema": None if self.schema is None else dict(self.schema),
            "parts": [_described(part) for part in self.parts],
        }


def _described(part: Part) -> dict[str, Any]:
    until = None if part.until is None else round(part.until, 6)
    match part:
        case TextPart():
            return {"type": "text", "text": part.text, "until": until}
        case PicturePart():
            return {"type": "picture", "what": part.what, "until": until} | _sized(part.jpeg)
        case FilmPart():
            return {"type": "film", "mime": part.mime, "until": until} | _sized(part.content)


def _sized(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
