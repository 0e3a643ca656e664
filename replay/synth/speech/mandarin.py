"""Pinyin to the phonemes that Kokoro learnt Mandarin from.

A syllable is an initial, a final, and a tone, which stands as an arrow after the final's vowel. The
correspondence of pinyin and IPA is that of Lin (2007) and Duanmu (2007); two apical vowels share ɨ,
and diphthongs have no sign below, as in the voices' training (misaki 0.7). Tones change in a row:
of two third tones the first becomes a second, 不 rises before a fourth tone, and 一 changes too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_INITIALS = {
    "b": "p", "p": "pʰ", "m": "m", "f": "f", "d": "t", "t": "tʰ", "n": "n", "l": "l",
    "g": "k", "k": "kʰ", "h": "x", "j": "ʨ", "q": "ʨʰ", "x": "ɕ", "r": "ɻ",
    "zh": "ꭧ", "ch": "ꭧʰ", "sh": "ʂ", "z": "ʦ", "c": "ʦʰ", "s": "s",
}  # fmt: skip
_FINALS = {
    "a": "a0", "ai": "ai0", "an": "a0n", "ang": "a0ŋ", "ao": "au0", "e": "ɤ0", "ei": "ei0",
    "en": "ə0n", "eng": "ə0ŋ", "er": "ɚ0", "o": "wo0", "ong": "ʊ0ŋ", "ou": "ou0",
    "i": "i0", "ia": "ja0", "ian": "jɛ0n", "iang": "ja0ŋ", "iao": "jau0", "ie": "je0",
    "in": "i0n", "ing": "i0ŋ", "iong": "jʊ0ŋ", "iu": "jou0", "iou": "jou0",
    "u": "u0", "ua": "wa0", "uai": "wai0", "uan": "wa0n", "uang": "wa0ŋ", "ui": "wei0",
    "uei": "wei0", "un": "wə0n", "uen": "wə0n", "ueng": "wə0ŋ", "uo": "wo0",
    "ü": "y0", "üe": "ɥe0", "üan": "ɥɛ0n", "ün": "y0n",
}  # fmt: skip
_APICAL = ("zh", "ch", "sh", "r", "z", "c", "s")
_TONES = {1: "→", 2: "↗", 3: "↓", 4: "↘", 5: ""}
_SYLLABLE = re.compile(r"(zh|ch|sh|[bpmfdtnlgkhjqxrzcs]?)([a-zü]+)([1-5])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Syllable:
    """A syllable of Mandarin.

    Attributes:
        character: That it is written with, if known.
        initial: In pinyin, often empty.
        final: In pinyin, ``y`` and ``w`` resolved: "yan" is "ian".
        tone: 1...5.
    """

    character: str
    initial: str
    final: str
    tone: int

    @property
    def phonemes(self) -> str:
        """As Kokoro reads it."""
        apical = self.final == "i" and self.initial in _APICAL
        vowel = "ɨ0" if apical else _FINALS[self.final]
        return _INITIALS.get(self.initial, "") + vowel.replace("0", _TONES[self.tone])


def syllables(pinyin: str, written: str) -> list[Syllable]:
    """The syllables of a word, from pinyin with tone numbers parted by spaces.

    Raises:
        ValueError: If something is no syllable of Mandarin.
    """
    parts = pinyin.split()
    characters = list(written) if len(written) == len(parts) else [""] * len(parts)
    return [_syllable(part, character) for part, character in zip(parts, characters, strict=True)]


def _syllable(pinyin: str, character: str) -> Syllable:
    found = _SYLLABLE.fullmatch(pinyin)
    if found is None:
        raise ValueError(f"{pinyin!r} is no syllable of pinyin with a tone number")
    initial, final, tone = found[1], found[2], int(found[3])
    if not initial and final[0] in "yw":
        final = _without_glide(final)
    elif initial in ("j", "q", "x") and final[0] == "u":
        final = "ü" + final[1:]
    if final not in _FINALS:
        raise ValueError(f"{pinyin!r} is no syllable of pinyin: unknown final {final!r}")
    return Syllable(character=character, initial=initial, final=final, tone=tone)


def _without_glide(final: str) -> str:
    """The final behind a written ``y`` or ``w``: yi is i, ya is ia, yu is ü, wei is uei."""
    rest = final[1:]
    if final[0] == "w":
        return rest if rest == "u" else "u" + rest
    if rest[:1] == "u":
        return "ü" + rest[1:]
    return rest if rest[:1] == "i" else "i" + rest


def in_a_row(words: Sequence[Sequence[Syllable]]) -> list[list[Syllable]]:
    """The words with the tones that they have when said in one breath."""
    row = [syllable for word in words for syllable in word]
    changed = [
        replace(this, tone=_tone_before(this, following))
        for this, following in zip(row, [*row[1:], None], strict=True)
    ]
    said = iter(changed)
    return [[next(said) for _ in word] for word in words]


def _tone_before(this: Syllable, following: Syllable | None) -> int:
    """The tone of a syllable as said before another one (before its change), or at the end."""
    if following is None:
        return this.tone
    if this.tone == 3 and following.tone == 3:
        return 2
    if this.character == "不" and this.tone == 4 and following.tone == 4:
        return 2
    if this.character == "一" and this.tone == 1:
        return 2 if following.tone in (4, 5) else 4
    return this.tone
