"""Commands as processes of their own."""

from __future__ import annotations

import pytest

from replay.measure.live_processes import LiveMeasureError, start
from streaming.version import VERSION

pytestmark = pytest.mark.threads


async def test_what_a_command_says_is_waited_for_and_its_end_is_told() -> None:
    child = await start(["--version"])
    assert await child.wait_for(r"(\d+\..+)", within=60) == VERSION
    assert await child.ended() == 0
    assert child.last_words() == VERSION
    with pytest.raises(LiveMeasureError, match=f"ended; it said: {VERSION}"):
        await child.wait_for("never", within=60)


async def test_one_that_is_killed_has_ended() -> None:
    child = await start(["--version"])
    child.kill()
    await child.ended()
    await child.stop()
    assert child.code is not None
