"""What a model is sent about an EgoSAT query: frames of its window, and the question.

The strict prefix ``X[1:t]``: frames are sampled at equal steps over the window, whose end is the
question's own time ``t``; decoding ends there, no frame is later, and the request refuses one that
is. Of the query only its time, distance and options are sent: not its answer, its group, its
region, nor the narration.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from replay.benchmark import UnaskableError
from replay.egosat.prompts import EgosatTexts, frame_text, question_text, system_text
from replay.egosat.queries import Query
from replay.egosat.settings import AskingSettings
from replay.media.window import frames_at
from streaming.asking.request import Part, PicturePart, Request, TextPart
from streaming.events import Seconds, VideoFrame
from streaming.picture_jpeg import jpeg_of, square_pixels

Wording: TypeAlias = Literal["ours", "file"]

_WINDOW_TIE: Seconds = 1e-4
"""So much later than a moment a frame still counts as of it in :mod:`replay.media.window`."""
_TIE: Seconds = 1e-6
_DECODED_SIDE = 1920
_SPARSE: Seconds = 1.0
"""The newest frame may be so much older than the window; an older one shows another moment."""


def request_for(
    query: Query, settings: AskingSettings, texts: EgosatTexts, *, wording: Wording = "ours"
) -> Request:
    """The request of a query.

    Args:
        query: What is asked.
        settings: Number and size of frames.
        texts: The wording.
        wording: ``file`` sends the prompt that the query set holds in place of ours, where it holds
            one; a letter alone (``cand_conf``) is always asked for in our words.

    Raises:
        SourceError: If the film cannot be opened.
        UnaskableError: If it has no frame by then, or none of the window.
    """
    text, name = _text(query, texts, wording)
    parts: list[Part] = []
    frames = frames_of(query, settings)
    if frames and frames[-1].time < query.start - _SPARSE:
        raise UnaskableError(
            f"{query.film}: has no frame between {query.start:.1f} s and {query.asked_at:.1f} s; "
            "is it cut off, or another one?"
        )
    for frame in frames:
        shown = square_pixels(frame.image, pixel_aspect=frame.pixel_aspect, side=settings.side)
        tag = frame_text(texts, frame.time - query.offset)
        parts.append(TextPart(text=tag, until=frame.time))
        parts.append(PicturePart(jpeg=jpeg_of(shown, quality=settings.quality), until=frame.time))
    if not parts:
        raise UnaskableError(f"{query.film}: has no frame before {query.asked_at:.1f} s")
    return Request(
        system=system_text(texts, query.flavour),
        parts=(*parts, TextPart(text=text, until=query.asked_at)),
        schema=None,
        interface=f"egosat {query.task} {query.flavour}",
        prompt=name,
        words="none",
        asked_at=query.asked_at,
    )


def _text(query: Query, texts: EgosatTexts, wording: Wording) -> tuple[str, str]:
    written = query.fields.get("prompt")
    if wording == "file" and query.flavour not in ("open", "cand_conf"):
        if isinstance(written, str) and written.strip():
            return written, "egosat/file"
        raise UnaskableError(f"{query.key}: its query set holds no prompt; ask in our words")
    text = question_text(
        texts,
        query.task,
        query.flavour,
        time=query.asked_at - query.offset,
        span=query.span,
        options=query.options,
    )
    return text, texts.name


def moments_of(query: Query, frames: int) -> list[Seconds]:
    """Where frames are sampled: equal steps over the window, both ends included."""
    if frames == 1:
        return [query.asked_at]
    step = (query.asked_at - query.start) / (frames - 1)
    inner = [query.start + number * step for number in range(frames - 1)]
    return [min(moment, query.asked_at) for moment in (*inner, query.asked_at)]


def frames_of(query: Query, settings: AskingSettings) -> list[VideoFrame]:
    """The newest frame at each sampled moment, once each; none is later than the question.

    Raises:
        SourceError: If the film cannot be opened.
    """
    wanted = [moment - _WINDOW_TIE + _TIE for moment in moments_of(query, settings.frames)]
    found = frames_at(query.film, wanted, max_side=max(_DECODED_SIDE, settings.side))
    return [frame for frame in found if frame.time <= query.asked_at + _TIE]


def longest_answer(query: Query, settings: AskingSettings) -> int:
    """Most tokens of the answer."""
    if query.flavour == "cand_conf":
        return settings.letter_tokens
    return settings.open_tokens if query.flavour == "open" else settings.tag_tokens
