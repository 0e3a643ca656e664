"""Who speaks."""

from __future__ import annotations

import functools

from replay.synth.script import Language
from replay.synth.speech.espeak import EspeakVoice
from replay.synth.speech.kokoro import KokoroVoice
from replay.synth.speech.piper import PiperVoice
from replay.synth.speech.saying import Voice
from replay.synth.speech.settings import speech_settings

_SPEAKERS: dict[Language, tuple[str, ...]] = {
    "en": ("af_heart", "af_bella", "am_michael", "am_fenrir", "bf_emma", "bm_george"),
    "zh": ("zf_xiaobei", "zf_xiaoxiao", "zf_xiaoyi", "zm_yunxi", "zm_yunxia", "zm_yunyang"),
}
"""Of Kokoro: American and British, Mandarin; f: female, m: male."""


@functools.cache
def voices(language: Language) -> tuple[Voice, ...]:
    """The speakers of a language; their models are loaded when they first speak."""
    rhythm = speech_settings().saying.rhythm
    kokoro = tuple(
        Voice(name=name, language=language, model=KokoroVoice(name, language, rhythm=rhythm))
        for name in _SPEAKERS[language]
    )
    if language == "zh":
        return kokoro
    return (Voice(name="joe", language="en", model=PiperVoice()), *kokoro)


def named_voice(language: Language, name: str) -> Voice:
    """The speaker of that name; ``espeak`` is the program espeak-ng.

    Raises:
        ValueError: If there is no such speaker, or the program is missing.
    """
    if name == "espeak":
        return Voice(name=name, language=language, model=EspeakVoice(language))
    for voice in voices(language):
        if voice.name == name:
            return voice
    known = ", ".join(voice.name for voice in voices(language))
    raise ValueError(f"no voice {name!r} for {language}; there are: {known}, espeak")
