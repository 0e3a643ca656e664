"""A dialogue replayed: what the system has seen and heard at each moment at which it is asked.

The recording plays once, from its start. Its sound goes through the project's own ears
(:mod:`streaming.transcript`), its pictures into the store of :mod:`streaming.prefix`; when the
stream has reached a moment, what is known then is written down, before anything later is looked at.
A word is known from when it was committed, not from when it was spoken.

On disk::

    <recording>/heard.json      words, each with when it became known
    <recording>/<ms>/           the frames of one moment, and seen.json

What is there is not made again, so that a run that was stopped goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from replay.egoextra.requests import Shown
from replay.egoextra.sampling import Sampling, choose_frames
from replay.loose_json import Fields, UnreadableJsonError, read_object
from replay.run import write_json
from streaming.events import AudioBlock, Seconds, VideoFrame, Word
from streaming.picture_jpeg import jpeg_of, square_pixels
from streaming.prefix import PrefixSettings, SampledFrames, reach

HEARD, SEEN = "heard.json", "seen.json"


class Hearing(Protocol):
    """Turns sound into words: the hearing chain of a pipeline."""

    def push(self, event: Any) -> Sequence[Any]: ...

    def finish(self) -> Sequence[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardWord:
    """A committed word, and the media time at which it was known."""

    word: Word
    known_at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What of the pictures is kept for a moment.

    Attributes:
        sampling, length, count: As :func:`replay.egoextra.sampling.choose_frames`.
        prefix: How the stream's frames are remembered.
        quality: Of the newest frame's JPEG.
    """

    sampling: Sampling
    length: Seconds
    count: int
    prefix: PrefixSettings
    quality: int


def replay_dialogue(
    events: Iterable[Any],
    moments: Sequence[Seconds],
    folder: Path,
    *,
    watching: Watching,
    hearing: Hearing | None,
) -> None:
    """Play a recording once and write down what is known at each moment.

    Args:
        events: Of the recording, in order of availability.
        moments: Seconds of the recording.
        folder: Of this recording.
        watching: What of the pictures is kept.
        hearing: Turns its sound into words; None leaves the sound out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = sorted(set(moments))
    store = SampledFrames(watching.prefix)
    heard: list[HeardWord] = []
    for event in events:
        available = max(reach(event), 0.0)
        while left and left[0] < available:
            _write_moment(folder, left.pop(0), store, watching)
        match event:
            case VideoFrame():
                store.add(event)
            case AudioBlock() if hearing is not None:
                heard += _words(hearing.push(event), known_at=event.offset)
    for moment in left:
        _write_moment(folder, moment, store, watching)
    if hearing is not None:
        # What only the end brings out is known to nobody who asked before it.
        heard += _words(hearing.finish(), known_at=math.inf)
    write_json(folder / HEARD, {"words": [_word_json(one) for one in heard]})


def is_replayed(folder: Path, moments: Iterable[Seconds]) -> bool:
    """Whether all of it is there."""
    made = (folder / moment_name(moment) / SEEN for moment in moments)
    return (folder / HEARD).is_file() and all(path.is_file() for path in made)


def read_frames(folder: Path, moment: Seconds) -> list[Shown]:
    """The frames that were kept for a moment.

    Raises:
        UnreadableJsonError, OSError: If they are not there or damaged.
    """
    at = folder / moment_name(moment)
    listed = read_object(at / SEEN).tables("frames")
    return [
        Shown(time=frame.number("time") or 0.0, jpeg=(at / f"{number}.jpg").read_bytes())
        for number, frame in enumerate(listed)
    ]


def read_heard(folder: Path, *, by: Seconds) -> list[Word]:
    """The words that were known at ``by``.

    Raises:
        UnreadableJsonError: If they are not there or damaged.
    """
    return [heard.word for heard in all_heard(folder) if heard.known_at <= by]


def all_heard(folder: Path) -> list[HeardWord]:
    """All words that were known before the recording's end, and when.

    Raises:
        UnreadableJsonError: If they are not there or damaged.
    """
    return [
        HeardWord(word=_word_of(item), known_at=known_at)
        for item in read_object(folder / HEARD).tables("words")
        if (known_at := item.number("known_at")) is not None
    ]


def moment_name(moment: Seconds) -> str:
    """Name of the folder of a moment: its milliseconds."""
    return f"{round(moment * 1000):09d}"


def _words(said: Iterable[Any], *, known_at: Seconds) -> list[HeardWord]:
    return [HeardWord(word=one, known_at=known_at) for one in said if isinstance(one, Word)]


def _write_moment(folder: Path, moment: Seconds, store: SampledFrames, watching: Watching) -> None:
    at = folder / moment_name(moment)
    at.mkdir(exist_ok=True)
    kept = [(frame.time, frame.jpeg) for frame in store.between(moment - watching.length, moment)]
    newest = store.newest
    if newest is not None and (not kept or kept[-1][0] < newest.time):
        shown = square_pixels(
            newest.image, pixel_aspect=newest.pixel_aspect, side=watching.prefix.side
        )
        kept.append((newest.time, jpeg_of(shown, quality=watching.quality)))
    chosen = choose_frames(
        [time for time, _ in kept],
        asked_at=moment,
        length=watching.length,
        sampling=watching.sampling,
        count=watching.count,
    )
    for number, position in enumerate(chosen):
        (at / f"{number}.jpg").write_bytes(kept[position][1])
    frames = [{"time": kept[position][0]} for position in chosen]
    # Last: it says that the frames are all there.
    write_json(
        at / SEEN, {"moment": moment, "frames": frames, "kept": len(store), "bytes": store.bytes}
    )


def _word_json(heard: HeardWord) -> dict[str, Any]:
    word = heard.word
    return {
        "text": word.text,
        "onset": round(word.onset, 4),
        "offset": round(word.offset, 4),
        "utterance": word.utterance,
        "known_at": round(heard.known_at, 4) if math.isfinite(heard.known_at) else None,
    }


def _word_of(item: Fields) -> Word:
    onset, offset = item.number("onset"), item.number("offset")
    if onset is None or offset is None or offset < onset:
        raise UnreadableJsonError(f"{HEARD}: a word without times")
    return Word(
        text=item.text("text"),
        onset=onset,
        offset=offset,
        utterance=item.count("utterance") or 0,
    )
