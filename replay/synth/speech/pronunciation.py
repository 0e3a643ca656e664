"""How words are said: the project's own tables, closed on purpose.

English words stand as IPA with stress marks (``configs/pronunciations.en.toml``), Chinese ones as
pinyin with tone numbers, one syllable after the other (``configs/pronunciations.zh.toml``). A word
that is in no table would be said in some way nobody checked, so it is an error.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from replay.synth.script import Language
from streaming.config import ConfigError, config_path, read_toml

_VOWELS = "aeiouæɐɑɔəɚɛɜɪʊʌᵻ"


class UnknownWordError(ValueError):
    """A word whose pronunciation is not known. The text is one line: what, where, what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pronunciations:
    """The table of one language.

    Attributes:
        path: The file that it was read from.
        words: IPA or pinyin by word, in lower case.
    """

    language: Language
    path: Path
    words: Mapping[str, str]

    def of(self, word: str) -> str:
        """IPA of an English word, or the syllables of a Chinese one, parted by spaces.

        A Chinese word that is not in the table is said as the longest words of the table that it
        is made of.

        Raises:
            UnknownWordError: If the table does not tell.
        """
        written = word.strip().lower().replace("’", "'")
        if written in self.words:
            return self.words[written]
        found = self._in_parts(written) if self.language == "zh" else None
        if found is None:
            raise UnknownWordError(
                f"no pronunciation of {word!r} in {self.path}; add a line for it there"
            )
        return found

    def _in_parts(self, written: str) -> str | None:
        syllables: list[str] = []
        while written:
            known = next(
                (length for length in range(len(written), 0, -1) if written[:length] in self.words),
                None,
            )
            if known is None:
                return None
            syllables.append(self.words[written[:known]])
            written = written[known:]
        return " ".join(syllables) or None


@functools.cache
def pronunciations(language: Language) -> Pronunciations:
    """The project's table of a language.

    Raises:
        ConfigError: If the file cannot be read, or holds anything but a table ``[words]`` of texts.
    """
    path = config_path(f"pronunciations.{language}.toml")
    words = read_toml(path).get("words")
    if not isinstance(words, dict) or not all(isinstance(said, str) for said in words.values()):
        raise ConfigError(f"{path}: expected one table [words] of texts")
    return Pronunciations(language=language, path=path, words=words)


def stressed(ipa: str) -> str:
    """An English word with a main stress, as a word that points has it: ðɪs, ðˈɪs."""
    if "ˈ" in ipa:
        return ipa
    if "ˌ" in ipa:
        return ipa.replace("ˌ", "ˈ", 1)
    for place, symbol in enumerate(ipa):
        if symbol in _VOWELS:
            return f"{ipa[:place]}ˈ{ipa[place:]}"
    return ipa
