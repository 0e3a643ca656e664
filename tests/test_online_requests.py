"""What a model is sent at a moment holds nothing later than that moment, by any interface.

A session runs over a film file with components that hear and see by the clock: words, gestures and
bindings that become known a little after they happen. It is run over the whole film and over parts
of it, and what was sent is compared.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import av
import numpy as np
import pytest

from replay.media.cutting import FileFilm
from replay.source import open_source
from streaming.asking.interfaces import INTERFACES, compose
from streaming.asking.prompts import load_prompts
from streaming.asking.request import FilmPart, Request
from streaming.clock import FastClock
from streaming.component import Chain
from streaming.events import (
    Answer,
    AudioBlock,
    Binding,
    CameraMotion,
    Counters,
    Deictic,
    DeicticsSeen,
    HandsSeen,
    Seconds,
    SpeechEnd,
    SpeechSeen,
    SpeechStart,
    Stroke,
    StrokeEnd,
    Utterance,
    VideoFrame,
    Word,
)
from streaming.grounding import Grounder, Query, Task
from streaming.prefix import PrefixSettings
from streaming.recorder import Recorder
from streaming.session import Session

SECONDS = 4.0
PROMPTS = load_prompts()
PLACED = Task(
    object_choices=("A. Cup",),
    space_choices=("a. Here",),
    referents=2,
    instruction=3,
    benchmark=True,
)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds at ten frames a second; every picture differs from every other."""
    path = tmp_path_factory.mktemp("film") / "clip.mp4"
    rng = np.random.default_rng(7)
    texture = rng.integers(0, 255, (96, 256, 3), dtype=np.uint8)
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=10)
        video.width, video.height, video.pix_fmt = 128, 96, "yuv420p"
        audio = container.add_stream("aac", rate=16_000, layout="mono")
        for k in range(round(SECONDS * 10)):
            picture = np.ascontiguousarray(texture[:, 2 * k : 2 * k + 128])
            container.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            sound = rng.normal(0, 0.1, (1, 1600)).astype(np.float32)
            block = av.AudioFrame.from_ndarray(sound, format="fltp", layout="mono")
            block.sample_rate, block.pts, block.time_base = 16_000, k * 1600, Fraction(1, 16_000)
            container.mux(audio.encode(block))
        for stream in (video, audio):
            container.mux(stream.encode(None))
    return path


def turn(k: int, onset: float) -> tuple[list[Any], list[Any]]:
    """What is heard and what is seen of one "this" with a gesture, with when it is known."""
    word = Word(text="this", onset=onset, offset=onset + 0.3, utterance=k)
    deictic = Deictic(index=k, text="this", onset=onset, offset=onset + 0.3, kind="object")
    made = Stroke(index=k, onset=onset - 0.2, apex=onset + 0.1, tip=(0.4, 0.5), knuckle=(0.3, 0.6))
    heard = [
        (onset + 0.1, SpeechStart(utterance=k, onset=onset)),
        (onset + 0.5, SpeechEnd(utterance=k, offset=onset + 0.3)),
        (onset + 0.5, word),
        (
            onset + 0.5,
            Utterance(index=k, onset=onset, offset=onset + 0.3, language="en", words=(word,)),
        ),
        (onset + 0.5, deictic),
        (onset + 0.5, DeicticsSeen(until=onset + 0.5)),
    ]
    seen = [
        (onset + 0.3, made),
        (onset + 0.6, StrokeEnd(index=k, offset=onset + 0.5)),
        (onset + 0.7, Binding(deictic=k, stroke=k, probability=0.9, reason="window")),
    ]
    return heard, seen


HEARD = [*turn(0, 0.8)[0], *turn(1, 2.3)[0]]
SEEN = [*turn(0, 0.8)[1], *turn(1, 2.3)[1]]


class ByTheClock:
    """Says what is known by the time of each event, and what goes with it."""

    def __init__(
        self, kind: type, script: Iterable[tuple[float, Any]], also: Callable[[Any], list[Any]]
    ) -> None:
        self.accepts: tuple[type, ...] = (kind,)
        self.counters = Counters()
        self._script = list(script)
        self._also = also

    def push(self, event: Any) -> list[Any]:
        now = event.time if isinstance(event, VideoFrame) else event.offset
        due = [one for known, one in self._script if known <= now]
        self._script = [(known, one) for known, one in self._script if known > now]
        return [*self._also(event), *due]

    def finish(self) -> list[Any]:
        return []


@dataclass(frozen=True, slots=True)
class Sent:
    """A request and whether it was asked before the stream ended."""

    request: Request
    final: bool


class Recording:
    """A model that composes a request by every interface, and keeps them."""

    name = "recording"
    coord_order: Literal["xy", "yx"] = "yx"

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        for interface in INTERFACES:
            request = compose(query, interface=interface, prompts=PROMPTS, coord_order="yx")
            self.sent.append(Sent(request, query.final))
        yield Answer(turn=query.turn, referents=(), frame_time=query.asked_at)


async def run(film: Path, task: Task, *, until: Seconds | None = None) -> list[Sent]:
    """The requests of a session over the film's first ``until`` seconds."""
    model = Recording()
    grounder = Grounder(task=task, prefix=PrefixSettings(side=64), film=FileFilm(film))
    session = Session(
        hearing=Chain(
            [("hear", ByTheClock(AudioBlock, HEARD, lambda b: [SpeechSeen(until=b.offset)]))]
        ),
        seeing=Chain(
            [
                (
                    "see",
                    ByTheClock(
                        VideoFrame,
                        SEEN,
                        lambda f: [HandsSeen(time=f.time, hands=()), CameraMotion(time=f.time)],
                    ),
                )
            ]
        ),
        understanding=Chain([("grounding", grounder)]),
        model=model,
        clock=FastClock(),
        pace="fast",
        recorder=Recorder(lambda line: None, clock=FastClock(), pace="fast"),
    )
    with contextlib.closing(open_source(film, until=until).events()) as events:
        await session.run(events)
    return model.sent


def last_picture(content: bytes) -> float:
    """Time of the last picture of a film."""
    with av.open(io.BytesIO(content)) as container:
        base = container.streams.video[0].time_base or Fraction(1)
        return max(float((frame.pts or 0) * base) for frame in container.decode(video=0))


def told(sent: Iterable[Sent]) -> list[dict[str, Any]]:
    return [one.request.described() for one in sent if not one.final]


@pytest.mark.threads
@pytest.mark.parametrize("task", [Task(), PLACED], ids=["live", "benchmark"])
async def test_what_is_sent_does_not_depend_on_what_follows(film: Path, task: Task) -> None:
    whole = await run(film, task)
    asked = sorted({one.request.asked_at for one in whole if not one.final})
    assert len(asked) == 2
    for until in (asked[0] + 0.05, asked[1] + 0.05):
        part = await run(film, task, until=until)
        wanted = [one for one in whole if not one.final and one.request.asked_at <= until]
        assert len(wanted) % len(INTERFACES) == 0
        assert told(part)[: len(wanted)] == told(wanted)
        assert all(one.request.asked_at <= until for one in part)


@pytest.mark.threads
@pytest.mark.parametrize("until", [1.37, 2.65, None])
async def test_nothing_sent_is_later_than_the_question(film: Path, until: float | None) -> None:
    sent = await run(film, PLACED, until=until)
    assert [one.final for one in sent[-len(INTERFACES) :]] == [True] * len(INTERFACES)
    for one in sent:
        asked_at = one.request.asked_at
        assert until is None or asked_at <= until
        for part in one.request.parts:
            assert part.until is None or part.until <= asked_at
            if isinstance(part, FilmPart):
                assert last_picture(part.content) <= asked_at


@pytest.mark.threads
async def test_every_interface_was_tried(film: Path) -> None:
    sent = await run(film, PLACED, until=2.0)
    assert {one.request.interface for one in sent} == set(INTERFACES)


@pytest.mark.threads
async def test_question_about_the_whole_film_sends_the_file_unchanged(film: Path) -> None:
    sent = await run(film, PLACED)
    (last,) = [
        part
        for one in sent
        if one.final and one.request.interface == "video"
        for part in one.request.parts
        if isinstance(part, FilmPart)
    ]
    assert last.content == FileFilm(film).until(SECONDS + 1)


@pytest.mark.threads
async def test_sampled_frames_of_a_question_are_the_newest_of_their_moments(film: Path) -> None:
    sent = await run(film, Task())
    frames = [
        [part.until for part in one.request.parts if type(part).__name__ == "PicturePart"]
        for one in sent
        if one.request.interface == "frames"
    ]
    for one, times in zip(
        (s for s in sent if s.request.interface == "frames"), frames, strict=True
    ):
        moments = np.arange(0, one.request.asked_at + 1e-9, 0.5)
        assert times[: len(moments)] == pytest.approx(list(moments))
        assert times[-1] <= one.request.asked_at
