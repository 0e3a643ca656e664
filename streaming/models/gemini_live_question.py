"""The text of a question in a live session: what our own ears and eyes made of the stream.

The stream itself is with the model already, so a question holds words, times and bindings only, and
nothing later than the query's own time.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from streaming.config import config_path, load
from streaming.events import Point
from streaming.grounding_choice import Pointed
from streaming.grounding_query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTexts:
    """All texts of one language; those of :data:`_FILLED` have names to fill in."""

    system: str
    now: str
    words: str
    unheard: str
    targets: str
    object: str
    space: str
    by_word: str
    by_gesture: str
    target: str
    target_unseen: str
    no_targets: str
    objects: str
    spaces: str
    no_options: str
    answer: str
    answer_spoken: str


_FILLED = {
    "now": {"now"},
    "words": {"words"},
    "by_word": {"word", "onset"},
    "by_gesture": {"apex", "tip"},
    "target": {"number", "kind", "time", "from", "probability"},
    "target_unseen": {"number", "kind"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePrompt:
    """The wording, see ``configs/prompt_live.toml``.

    Raises:
        ValueError: If a text has a name to fill in too many or too few.
    """

    version: int
    en: LiveTexts
    zh: LiveTexts

    def __post_init__(self) -> None:
        for language in ("en", "zh"):
            texts = self.texts(language)
            for name in LiveTexts.__dataclass_fields__:
                found = set(Template(getattr(texts, name)).get_identifiers())
                if found != _FILLED.get(name, set()):
                    raise ValueError(
                        f"{language}.{name}: names {sorted(found)} to fill in, expected "
                        f"{sorted(_FILLED.get(name, set()))}"
                    )

    def texts(self, language: str) -> LiveTexts:
        """In a language; English for one that has none."""
        return self.zh if language.lower().startswith("zh") else self.en


def load_live_prompt() -> LivePrompt:
    """Read ``configs/prompt_live.toml``.

    Raises:
        ConfigError: If it is missing or does not fit.
    """
    return load(LivePrompt, config_path("prompt_live.toml"))


def question(query: Query, prompt: LivePrompt, *, spoken: bool) -> str:
    """What is asked about the stream so far.

    Args:
        query: The query.
        prompt: The wording.
        spoken: The answer is wanted in speech.
    """
    texts = prompt.texts(query.language)
    words = ", ".join(
        f"{word.text} {_ms(word.onset)} {_ms(word.offset)}"
        for word in query.words
        if word.onset <= query.asked_at
    )
    return "\n".join(
        [
            _fill(texts.now, now=_ms(query.asked_at)),
            _fill(texts.words, words=words) if words else texts.unheard,
            *_targets(query, texts),
            *_options(query, texts),
            (texts.answer_spoken if spoken else texts.answer).strip(),
        ]
    )


def _targets(query: Query, texts: LiveTexts) -> list[str]:
    if not query.pointed:
        return [texts.no_targets]
    return [
        texts.targets,
        *(_target(number, one, query, texts) for number, one in enumerate(query.pointed, start=1)),
    ]


def _target(number: int, pointed: Pointed, query: Query, texts: LiveTexts) -> str:
    kind = texts.object if pointed.kind == "object" else texts.space
    if pointed.time is None:
        return _fill(texts.target_unseen, number=number, kind=kind)
    origin = []
    deictic, keyframe = query.deictic(pointed.deictic), query.keyframe(pointed.stroke)
    if deictic is not None:
        origin.append(_fill(texts.by_word, word=deictic.text, onset=_ms(deictic.onset)))
    if keyframe is not None:
        stroke = keyframe.stroke
        origin.append(_fill(texts.by_gesture, apex=_ms(stroke.apex), tip=_yx(stroke.tip)))
    return _fill(
        texts.target,
        number=number,
        kind=kind,
        time=_ms(pointed.time),
        probability=f"{pointed.probability:.2f}",
        **{"from": ", ".join(origin) or "-"},
    )


def _options(query: Query, texts: LiveTexts) -> list[str]:
    lines: list[str] = []
    for heading, choices in (
        (texts.objects, query.task.object_choices),
        (texts.spaces, query.task.space_choices),
    ):
        if choices:
            lines += [heading, *choices]
    return lines or [texts.no_options]


def _fill(text: str, **values: object) -> str:
    return Template(text).substitute(values)


def _ms(time: float) -> int:
    return round(1000 * time)


def _yx(point: Point) -> str:
    return f"[{round(1000 * point[1])}, {round(1000 * point[0])}]"
