"""From what a reader of a feed got, how long after it happened each thing was there. Pure.

*Happened* is on the sender's side: when a file's sound or picture was due, on the server's clock
(:mod:`server.journey`). A word was *spoken* when its truth says that it ended; where a clip has no
truth, when the pipeline says so. What only the end of the stream brought out says where the clip
ended, not how fast the pipeline is: it is counted, and left out of the quantiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from replay.measure.live_feed import Received, Watched
from replay.quantiles import Summary, summarise
from streaming.events import Seconds

EVENTS: dict[str, str] = {
    "word_seen": "word first on the feed, after it was spoken",
    "word": "word committed, after it was spoken",
    "stroke": "stroke, after its apex",
    "binding": "binding of a word to a stroke, after the later of word and apex",
    "alone": "word or stroke found to stand alone, after it",
    "answer_first": "answer's first part, after the later of last word and apex",
    "answer_last": "answer's last part, after the later of last word and apex",
}
WAYS: dict[str, str] = {
    "sound_network": "sound: from when it was made until it arrived",
    "sound_decoding": "sound: from there until the session had it",
    "sound_whole": "sound: both",
    "pictures_network": "pictures: from when it was shown until it arrived",
    "pictures_decoding": "pictures: from there until the session had it",
    "pictures_whole": "pictures: both",
    "feed": "a line: from when it was said until it was sent",
    "down": "a line: from when it was said until its reader had it",
}
_CJK = ("\u3400", "\u9fff")
SAME_WORD_WITHIN: Seconds = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A word of a clip's truth: its text, and when it ended on the clip's own time."""

    text: str
    offset: Seconds


@dataclass(slots=True, kw_only=True)
class Samples:
    """Of any number of sessions.

    Attributes:
        events: Seconds by the names of :data:`EVENTS`.
        media: Of the same, the media that had to be seen first: what would be left of the delay on
            an infinitely fast way and machine.
        at_end: How many more only the end of a stream brought out, by the same names.
        ways: Seconds by the names of :data:`WAYS`.
        matched, spoken: Words of the truth that were found, and that there are.
    """

    events: dict[str, list[Seconds]] = field(default_factory=lambda: {name: [] for name in EVENTS})
    media: dict[str, list[Seconds]] = field(default_factory=lambda: {name: [] for name in EVENTS})
    at_end: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EVENTS, 0))
    ways: dict[str, list[Seconds]] = field(default_factory=lambda: {name: [] for name in WAYS})
    matched: int = 0
    spoken: int = 0

    def add(self, watched: Watched, truth: Sequence[Spoken]) -> None:
        """Take a session in.

        Raises:
            LiveMeasureError: If its clocks were not compared, or it did not end well.
        """
        self._add_ways(watched)
        glass = _Glass(watched)
        self._add_words(watched, truth, glass)
        for one in watched.of("Stroke"):
            self._add("stroke", one, [glass.of(one.line["apex"])], glass)
        self._add_bindings(watched, glass)
        self._add_answers(watched, glass)

    def _add_ways(self, watched: Watched) -> None:
        journey = watched.journey
        for kind in ("sound", "pictures"):
            for name in ("network", "decoding", "whole"):
                samples = journey[kind][f"{name}_ms"]
                self.ways[f"{kind}_{name}"] += [value / 1000 for value in samples]
        self.ways["feed"] += [value / 1000 for value in journey["feed_ms"]]
        self.ways["down"] += watched.down

    def _add(self, name: str, one: Received, about: list[Seconds], glass: _Glass) -> None:
        if one.line.get("finish"):
            self.at_end[name] += 1
        elif about:
            self.events[name].append(glass.read(one) - max(about))
            self.media[name].append(one.line["known_at"] - glass.time(max(about)))

    def _add_words(self, watched: Watched, truth: Sequence[Spoken], glass: _Glass) -> None:
        words = watched.of("Word")
        said = match_words(truth, [one.line["text"] for one in words])
        self.spoken += len(truth)
        self.matched += len(said)
        for place, word in enumerate(words):
            if truth and place not in said:
                continue
            offset = (
                glass.captured(truth[said[place]].offset)
                if truth
                else glass.of(word.line["offset"])
            )
            self._add("word", word, [offset], glass)
            seen = first_seen(word, watched.of("Partial"))
            self._add("word_seen", seen, [offset], glass)

    def _add_bindings(self, watched: Watched, glass: _Glass) -> None:
        times = _times(watched)
        for one in watched.of("Binding"):
            pair = (("Deictic", one.line["deictic"]), ("Stroke", one.line["stroke"]))
            about = [glass.of(times[key]) for key in pair if key in times]
            self._add("binding" if len(about) == 2 else "alone", one, about, glass)

    def _add_answers(self, watched: Watched, glass: _Glass) -> None:
        begun: set[int] = set()
        for one in watched.of("Answer"):
            before = [
                *(w.line["offset"] for w in watched.of("Word") if w.at <= one.at),
                *(s.line["apex"] for s in watched.of("Stroke") if s.at <= one.at),
            ]
            about = [glass.of(max(before))] if before else []
            if one.line["turn"] not in begun:
                self._add("answer_first", one, about, glass)
            begun.add(one.line["turn"])
            if one.line.get("final"):
                self._add("answer_last", one, about, glass)

    def summaries(self) -> dict[str, Summary]:
        """Quantiles in seconds, of the events and then of the ways."""
        return {name: summarise(values) for name, values in {**self.events, **self.ways}.items()}

    def added(self, quantile: str) -> Seconds | None:
        """What the transport adds, in and out: the slower of sound and pictures on its way in,
        and a line on its way out, each at its own ``p50`` or ``p95``.
        """
        found = self.summaries()
        ways = [getattr(found[name], quantile) for name in ("sound_whole", "pictures_whole")]
        known = [value for value in ways if value is not None]
        down = getattr(found["down"], quantile)
        return None if not known or down is None else max(known) + down


class _Glass:
    """When things were before the sender's camera, on the server's steady clock."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._zero = watched.zero
        lead = watched.journey["lead_ms"]
        self._lead = 0.0 if lead is None else lead / 1000
        self._origin = watched.origin or 0.0

    def captured(self, time: Seconds) -> Seconds:
        """Of the sender's own time."""
        return self._zero + time

    def of(self, time: Seconds) -> Seconds:
        """Of the session's time."""
        return self._origin + time - self._lead

    def time(self, at: Seconds) -> Seconds:
        """The session's time of what was there at a moment of the steady clock."""
        return at - self._origin + self._lead

    def read(self, one: Received) -> Seconds:
        """When a line came."""
        return self._watched.steady(one.at)


def _times(watched: Watched) -> dict[tuple[str, int], Seconds]:
    ends = {"Deictic": "offset", "Stroke": "apex"}
    return {
        (one.line["type"], one.line["index"]): one.line[ends[one.line["type"]]]
        for one in watched.of("Deictic", "Stroke")
    }


def first_seen(word: Received, partials: Iterable[Received]) -> Received:
    """The line that first showed a committed word: a ``Partial``, or its own."""
    for one in partials:
        if one.at > word.at:
            break
        if one.line["utterance"] == word.line["utterance"] and _holds(one.line, word.line):
            return one
    return word


def _holds(partial: dict[str, Any], word: dict[str, Any]) -> bool:
    return any(
        _plain(shown["text"]) == _plain(word["text"])
        and abs(shown["onset"] - word["onset"]) <= SAME_WORD_WITHIN
        for shown in partial["words"]
    )


def match_words(truth: Sequence[Spoken], heard: Sequence[str]) -> dict[int, int]:
    """Which word of the truth each word that was heard is, by their places; in order.

    Chinese is compared sign by sign, as the two may be cut into words differently: a word that was
    heard is the one in which its last sign lies.
    """
    left = [(sign, place) for place, word in enumerate(truth) for sign in _signs(word.text)]
    right = [(sign, place) for place, text in enumerate(heard) for sign in _signs(text)]
    matcher = SequenceMatcher(
        None, [sign for sign, _ in left], [sign for sign, _ in right], autojunk=False
    )
    found: dict[int, int] = {}
    for begin, other, size in matcher.get_matching_blocks():
        for step in range(size):
            found[right[other + step][1]] = left[begin + step][1]
    return found


def _signs(text: str) -> list[str]:
    plain = _plain(text)
    if any(_CJK[0] <= letter <= _CJK[1] for letter in plain):
        return list(plain)
    return [plain] if plain else []


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
