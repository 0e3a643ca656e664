"""Clips published to a live server, each process as people run it, and its feed read like a page's.

One session at a time, each clip once, and the camera stays on for a while after its end; or several
sessions at once for a while, each with a clip that begins again and again, and one more sender than
the server takes.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from replay.measure.live_feed import Watched, watch
from replay.measure.live_figures import Samples, Spoken
from replay.measure.live_processes import (
    Child,
    LiveMeasureError,
    Sender,
    Served,
    publishing,
    serving,
)
from replay.measure.live_soak import read_gauges
from streaming.clock import RealtimeClock
from streaming.events import Seconds

HOLD: Seconds = 5.0
"""Seconds that the camera stays on after a clip, so that its end brings nothing out."""
_CONNECTED = "connected: session (.+)"
_WITHIN: Seconds = 90.0
_REFUSAL = "deixis: (.+)"
_PUBLISHED: Seconds = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """What is published.

    Attributes:
        words: Its truth, or empty.
    """

    path: Path
    language: str
    words: tuple[Spoken, ...] = ()


@dataclass(slots=True, kw_only=True)
class Share:
    """What one of several sessions got.

    Attributes:
        pictures: Looked at, a second of the session.
        skipped: Pictures left out for want of time, a second; those thinned out on purpose are not
            among them.
        levels: What the session was told about its share, in order.
        hearing_behind: Median seconds from the end of a block of sound until hearing took it.
        word: Median seconds from a word's end to its being committed; None without words.
    """

    pictures: float
    skipped: float
    levels: list[str]
    hearing_behind: float | None
    word: float | None


@dataclass(slots=True, kw_only=True)
class LiveRun:
    """What came of it.

    Attributes:
        sender: ``ws`` or ``whip``.
        clips: How many were measured.
        media_seconds: Of all of them, the time that the camera stayed on included.
        cpu_seconds: Of the server, meanwhile.
        shares: Of several sessions at once; else empty.
        refused: What the sender was told that came too much; else empty.
    """

    sender: Sender
    samples: Samples = field(default_factory=Samples)
    clips: int = 0
    media_seconds: Seconds = 0.0
    cpu_seconds: Seconds = 0.0
    shares: list[Share] = field(default_factory=list)
    refused: str = ""

    @property
    def cpu_per_second(self) -> float | None:
        return self.cpu_seconds / self.media_seconds if self.media_seconds > 0.0 else None


async def run_one_by_one(
    clips: Sequence[Clip], sender: Sender, *, told: Callable[[str], None] = lambda text: None
) -> LiveRun:
    """Each clip in a session of its own, one after the other.

    Raises:
        LiveMeasureError: If the server or a sender does not do what it should.
    """
    run = LiveRun(sender=sender)
    async with serving() as served:
        for clip in clips:
            options = ("--language", clip.language, "--hold", f"{HOLD:g}")
            before = await _gauges(served)
            child = await publishing(clip.path, served, sender, *options)
            watched = await _watched(child, served)
            _add(run, watched, clip.words)
            run.media_seconds += float(watched.last("End")["duration"])
            run.cpu_seconds += (await _gauges(served))["cpu_seconds"] - before["cpu_seconds"]
            told(f"{clip.path.name}: {len(watched.of('Word'))} words")
    return run


async def run_at_once(
    clips: Sequence[Clip],
    sender: Sender,
    *,
    sessions: int,
    seconds: Seconds,
    told: Callable[[str], None] = lambda text: None,
) -> LiveRun:
    """Several sessions for ``seconds``, and one more sender than the server takes.

    Raises:
        LiveMeasureError: If the server or a sender does not do what it should.
    """
    run = LiveRun(sender=sender)
    async with serving() as served:
        children: list[Child] = []
        watching: list[asyncio.Task[Watched]] = []
        try:
            for number in range(sessions):
                clip = clips[number % len(clips)]
                options = ("--language", clip.language, "--loop")
                children.append(await publishing(clip.path, served, sender, *options))
                name = await children[-1].wait_for(_CONNECTED, within=_WITHIN)
                watching.append(asyncio.create_task(watch(served.host, name)))
                told(f"session {number + 1} runs")
            before, clock = await _gauges(served), RealtimeClock()
            run.refused = await _one_more(clips[0], served, sender)
            await clock.wait_until(seconds)
            run.cpu_seconds = (await _gauges(served))["cpu_seconds"] - before["cpu_seconds"]
            run.media_seconds = sessions * clock.now()
        finally:
            await asyncio.gather(*(child.stop() for child in children))
        for watched in await asyncio.gather(*watching):
            _add(run, watched, ())
            run.shares.append(_share(watched))
    return run


async def _watched(child: Child, served: Served) -> Watched:
    try:
        name = await child.wait_for(_CONNECTED, within=_WITHIN)
        async with asyncio.timeout(_PUBLISHED):
            watched = await watch(served.host, name)
            if await child.ended() != 0:
                raise LiveMeasureError(f"deixis publish: {child.last_words()}")
    except TimeoutError:
        raise LiveMeasureError(f"a session did not end within {_PUBLISHED:g} s") from None
    finally:
        child.kill()
        await child.ended()
    return watched


async def _one_more(clip: Clip, served: Served, sender: Sender) -> str:
    """What a sender is told for which there is no room; empty if it was let in."""
    child = await publishing(clip.path, served, sender)
    try:
        return await child.wait_for(_REFUSAL, within=_WITHIN)
    except LiveMeasureError:
        return ""
    finally:
        child.kill()
        await child.ended()


def _add(run: LiveRun, watched: Watched, words: Sequence[Spoken]) -> None:
    run.samples.add(watched, words)
    run.clips += 1


def _share(watched: Watched) -> Share:
    end = watched.last("End")
    wall: dict[str, Any] = end["wall"]
    duration = max(1e-3, float(end["duration"]))
    alone = Samples()
    alone.add(watched, ())
    ages = wall["block_age_ms"]
    return Share(
        pictures=wall["components"]["hands"]["steps"] / duration,
        skipped=end["counters"].get("frames_skipped", 0) / duration,
        levels=[one.line["text"] for one in watched.of("Status")],
        hearing_behind=statistics.median(ages) / 1000 if ages else None,
        word=alone.summaries()["word"].p50,
    )


async def _gauges(served: Served) -> dict[str, float]:
    async with httpx2.AsyncClient(timeout=10.0) as client:
        return read_gauges((await client.get(f"http://{served.host}/metrics")).text)
