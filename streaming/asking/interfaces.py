"""Input interfaces: how a query is put to a vision-language model.

======================  ==================================================================
``video``               the film with its sound; no words in writing, no times
``frames``              frames at equal steps with their times, the words as plain text
``frames+asr``          the same, and every word with its begin and end
``no_frame_timestamps`` ``frames+asr`` without the frames' times
``no_word_timing``      ``frames+asr`` without the words' times
``bound``               what this pipeline worked out, see :mod:`streaming.asking.bound`
======================  ==================================================================

All but the last are EcoG-Bench's (arXiv 2603.07966): its tags ``<timestamp_ms>``,
``<instruction>`` and ``<asr_data>``, its times (whole milliseconds; those of frames truncated) and
its order: words first, then each frame behind its time. The wording is our own.

**What is told of the answer.** In EcoG-Bench every model is told the instruction type of the clip,
by an example that shows the number, the kinds and the order of the targets; so are ours, whatever
the interface, and the schema asks for that many. Nothing else of the truth is in a
:class:`~streaming.grounding_query.Task`. Without an instruction type the number and the kinds are
told where they are known, and otherwise the model is to find them. A silent clip (type 1) is said
to be silent, and no words are sent, whoever heard some.

Nothing sent is later than the query: every part says how far it reaches, and
:class:`~streaming.asking.request.Request` refuses one that reaches too far. The same query gives
the same bytes.
"""

from __future__ import annotations

import json
from typing import Any

from streaming.asking.answer_schema import answer_schema
from streaming.asking.bound import bound_parts
from streaming.asking.endpoint import CoordOrder
from streaming.asking.interface_settings import InterfaceSettings, load_interface_settings
from streaming.asking.prompts import Prompt, Prompts, PromptTexts, fill
from streaming.asking.request import FilmPart, Part, PicturePart, Request, TextPart
from streaming.events import Seconds, Word
from streaming.grounding_prefix import PrefixFrame
from streaming.grounding_query import ModelError, Query, Task
from streaming.picture_jpeg import jpeg_of, square_pixels

INTERFACES: tuple[str, ...] = (
    "video",
    "frames",
    "frames+asr",
    "no_frame_timestamps",
    "no_word_timing",
    "bound",
)

_SCENARIOS = {
    1: "silent",
    2: "taken",
    3: "placed",
    4: "placed_beside",
    5: "placed_then_taken",
    6: "placed_twice",
}
_TYPES = {"object": "target_object", "space": "spatial_affordance"}
_SILENT = 1
_QUALITY = 90


def needs(interface: str) -> frozenset[str]:
    """What a query must hold for an interface: of ``frames``, ``film`` and ``perception``.

    ``bound`` does with perception alone; frames help it where a gesture was missed.

    Raises:
        ModelError: If there is no such interface.
    """
    _check(interface)
    if interface == "video":
        return frozenset({"film"})
    return frozenset({"perception", "frames"} if interface == "bound" else {"frames"})


def compose(
    query: Query,
    *,
    interface: str,
    prompts: Prompts,
    coord_order: CoordOrder,
    settings: InterfaceSettings | None = None,
) -> Request:
    """The request that puts ``query`` to a model.

    Args:
        query: What to ask; its language chooses the prompt.
        interface: One of :data:`INTERFACES`.
        prompts: The wording.
        coord_order: Order of the two numbers of a point that the model is asked to write.
        settings: What else can be chosen; the project's own when None.

    Raises:
        ModelError: If there is no such interface, or the query lacks what it needs.
        ConfigError: If the project's own settings are missing or do not fit.
    """
    _check(interface)
    settings = settings or load_interface_settings()
    prompt = prompts.in_language(query.language)
    texts = prompt.texts
    parts: list[Part] = [TextPart(text=_task_text(query.task, texts))]
    match interface:
        case "video":
            parts += _film_parts(query, texts)
        case "bound":
            if query.task.kinds and not query.pointed:
                raise ModelError(
                    "the interface bound needs what the pipeline perceived, and this query was "
                    "made without; replay the clip, or use another interface"
                )
            spoken = () if query.task.instruction == _SILENT else query.words
            parts += _speech_missing(query, texts)
            parts += bound_parts(
                query, spoken, prompt=prompt, coord_order=coord_order, settings=settings.bound
            )
        case _:
            parts += _words_parts(query, interface, prompt, settings)
            parts += _frame_parts(query, interface, settings)
            parts.append(TextPart(text=texts.ask.frames))
    return Request(
        system=_system(query.task, interface, texts, coord_order, settings),
        parts=tuple(parts),
        schema=answer_schema(query.task),
        interface=interface,
        prompt=prompt.name,
        words=query.words_from if _tells_words(query, interface, settings) else "none",
        asked_at=query.asked_at,
    )


def _check(interface: str) -> None:
    if interface not in INTERFACES:
        raise ModelError(f"no interface {interface!r}; use one of {', '.join(INTERFACES)}")


def _system(
    task: Task,
    interface: str,
    texts: PromptTexts,
    coord_order: CoordOrder,
    settings: InterfaceSettings,
) -> str:
    inputs = {
        "video": texts.inputs.video,
        "frames": texts.inputs.frames if settings.frames_transcript else texts.inputs.frames_untold,
        "frames+asr": texts.inputs.frames_asr,
        "no_frame_timestamps": texts.inputs.no_frame_timestamps,
        "no_word_timing": texts.inputs.no_word_timing,
        "bound": texts.inputs.bound,
    }[interface]
    order = "[x, y]" if coord_order == "xy" else "[y, x]"
    given = bool(task.object_choices or task.space_choices)
    answer = texts.answer_with_options if given else texts.answer_without_options
    words = texts.coord_order.xy if coord_order == "xy" else texts.coord_order.yx
    return fill(
        texts.system.strip(),
        inputs=inputs.strip(),
        order=order,
        order_words=words,
        answer=fill(answer.strip(), order=order),
    )


def _task_text(task: Task, texts: PromptTexts) -> str:
    """How many targets there are, and the options."""
    blocks = [_scenario(task, texts)]
    for heading, choices in (
        (texts.options.objects, task.object_choices),
        (texts.options.spaces, task.space_choices),
    ):
        if choices:
            blocks.append("\n".join([heading, *choices]))
    if len(blocks) == 1:
        blocks.append(texts.options.none)
    return "\n\n".join(blocks)


def _scenario(task: Task, texts: PromptTexts) -> str:
    scenario = texts.scenario
    if task.instruction in _SCENARIOS:
        return str(getattr(scenario, _SCENARIOS[task.instruction]))
    if not task.kinds:
        return scenario.open
    count = len(task.kinds)
    entries = scenario.entry if count == 1 else fill(scenario.entries, count=count)
    kinds = ", ".join(_TYPES[kind] for kind in task.kinds)
    return fill(scenario.counted, count=entries, kinds=kinds)


# --- words -------------------------------------------------------------------------------------


def _tells_words(query: Query, interface: str, settings: InterfaceSettings) -> bool:
    if interface == "video" or (interface == "frames" and not settings.frames_transcript):
        return False
    return bool(query.words) and query.task.instruction != _SILENT


def _speech_missing(query: Query, texts: PromptTexts) -> list[Part]:
    """That nothing was said, where that is so."""
    if query.task.instruction == _SILENT:
        return [TextPart(text=texts.speech.silent)]
    if not query.words:
        return [TextPart(text=texts.speech.unheard, until=query.asked_at)]
    return []


def _words_parts(
    query: Query, interface: str, prompt: Prompt, settings: InterfaceSettings
) -> list[Part]:
    silent = query.task.instruction == _SILENT
    if interface == "frames" and not settings.frames_transcript and not silent:
        return []
    missing = _speech_missing(query, prompt.texts)
    if missing:
        return missing
    text = query.transcript or spoken_text(query.words)
    lines = [f"<instruction>{text}</instruction>"]
    if interface != "frames":
        told: dict[str, Any] = {"text": text}
        if interface != "no_word_timing":
            told["words"] = [_timed(word) for word in query.words]
        lines.append(f"<asr_data>{json.dumps(told, ensure_ascii=False)}</asr_data>")
    until = min(query.asked_at, max(word.offset for word in query.words))
    return [TextPart(text="\n".join(lines), until=until)]


def spoken_text(words: tuple[Word, ...]) -> str:
    """Words as running text: with spaces, but for those between Chinese words."""
    text = ""
    for word in words:
        joined = text[-1:].isascii() or word.text[:1].isascii()
        text += (" " if text and joined else "") + word.text
    return text


def _timed(word: Word) -> dict[str, Any]:
    """A word as in EcoG-Bench's ``asr_result``; one that has no time of its own says none."""
    if not word.timed:
        return {"text": word.text}
    begin, end = round(word.onset * 1000), round(word.offset * 1000)
    return {"text": word.text, "begin_time": begin, "end_time": end}


# --- pictures ----------------------------------------------------------------------------------


def _film_parts(query: Query, texts: PromptTexts) -> list[Part]:
    if query.prefix.film is None:
        raise ModelError(
            "the interface video needs the film of the stream, which this session does not keep; "
            "use another interface or a source that is a file"
        )
    try:
        content = query.prefix.film.until(query.asked_at)
    except ValueError as error:
        raise ModelError(f"the interface video has nothing to send: {error}") from error
    silent = query.task.instruction == _SILENT
    return [
        *([TextPart(text=texts.speech.silent)] if silent else []),
        FilmPart(content=content, until=query.asked_at, mime=film_type(content)),
        TextPart(text=texts.ask.video),
    ]


def film_type(content: bytes) -> str:
    """Media type of a film, by its first bytes; MP4 when they say nothing else."""
    box, brand = content[4:8], content[8:12]
    if (box == b"ftyp" and brand == b"qt  ") or box in (b"moov", b"mdat", b"wide"):
        return "video/quicktime"
    if content[:4] == b"\x1a\x45\xdf\xa3":
        return "video/webm" if b"webm" in content[:64] else "video/x-matroska"
    if content[:4] == b"RIFF" and brand == b"AVI ":
        return "video/x-msvideo"
    return "video/mp4"


def _frame_parts(query: Query, interface: str, settings: InterfaceSettings) -> list[Part]:
    frames = _frames(query, settings)
    if not frames:
        raise ModelError(
            f"the interface {interface} needs sampled frames, and this query has none; use a "
            "source with pictures, in a session that samples them"
        )
    parts: list[Part] = []
    for frame in frames:
        if interface != "no_frame_timestamps":
            parts.append(timestamp_tag(frame.time))
        parts.append(PicturePart(jpeg=frame.jpeg, until=frame.time))
    return parts


def timestamp_tag(time: Seconds) -> TextPart:
    """The block before a frame, as EcoG-Bench has it: milliseconds, truncated."""
    return TextPart(text=f"<timestamp_ms>{int(time * 1000)}", until=time)


def _frames(query: Query, settings: InterfaceSettings) -> tuple[PrefixFrame, ...]:
    frames = query.prefix.frames
    wanted = settings.frames_last
    if wanted == "never" or (wanted == "live" and query.task.benchmark) or query.last is None:
        return frames
    last = query.last
    if frames and frames[-1].time >= last.time:
        return frames
    side = settings.bound.last_side
    shown = square_pixels(last.image, pixel_aspect=last.pixel_aspect, side=side)
    jpeg = jpeg_of(shown, quality=_QUALITY)
    return (*frames, PrefixFrame(time=last.time, sampled_at=last.time, jpeg=jpeg))
