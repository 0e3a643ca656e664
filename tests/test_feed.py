"""Readers of a session's events: late, slow, gone."""

from __future__ import annotations

import asyncio
import contextlib
import json

from server.feed import Feed
from server.settings import FeedLimits

WORD = {"type": "Word", "text": "this"}
HANDS = {"type": "HandsSeen", "time": 0.0}


async def test_a_late_reader_gets_the_state_and_then_what_comes() -> None:
    feed = Feed()
    feed.facts = {"session": "s"}
    feed.publish(WORD)
    feed.publish(HANDS)
    async with contextlib.aclosing(feed.subscribe()) as lines:
        state = json.loads(await anext(lines))
        assert state == {"type": "State", "session": "s", "lines": [WORD]}
        feed.publish(HANDS)
        assert json.loads(await anext(lines)) == HANDS
    assert feed.readers == 0


async def test_every_reader_gets_every_line() -> None:
    feed = Feed()

    async def read() -> list[str]:
        return [text async for text in feed.subscribe()]

    readers = [asyncio.create_task(read()) for _ in range(3)]
    await asyncio.sleep(0.01)
    for _ in range(5):
        feed.publish(WORD)
    feed.close()
    for lines in await asyncio.gather(*readers):
        assert len(lines) == 6


async def test_a_slow_reader_misses_dense_lines_first_and_is_then_dropped_with_a_reason() -> None:
    feed = Feed(FeedLimits(queue=10))
    async with contextlib.aclosing(feed.subscribe()) as lines:
        await anext(lines)
        for _ in range(20):
            feed.publish(HANDS)
        for _ in range(5):
            feed.publish(WORD)
        got = [json.loads(await anext(lines))["type"] for _ in range(10)]
        assert got == ["HandsSeen"] * 5 + ["Word"] * 5
        for _ in range(11):
            feed.publish(WORD)
        assert [json.loads(text)["type"] async for text in lines] == ["Dropped"]


async def test_what_is_kept_for_late_readers_is_bounded() -> None:
    feed = Feed(FeedLimits(kept=3))
    feed.publish({"type": "Header", "clip": "s"})
    for number in range(10):
        feed.publish({**WORD, "number": number})
    feed.close()
    (text,) = [text async for text in feed.subscribe()]
    kept = json.loads(text)["lines"]
    assert kept[0]["type"] == "Header"
    assert [line["number"] for line in kept[1:]] == [7, 8, 9]
