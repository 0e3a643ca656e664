"""How clicks and flashes are found, paired and summed up, and the network that they pass."""

from __future__ import annotations

import asyncio
import contextlib
import math
from pathlib import Path

import aioice
import numpy as np
import pytest

from client.cli import run
from replay.measure.rough_network import RoughNetwork
from replay.measure.sync import EVERY, LONG, Heard, Onsets, by_minute, in_step
from replay.measure.sync_clip import LOOP, write_clip
from replay.measure.sync_run import read_heard
from replay.source import open_source
from streaming.events import SAMPLE_RATE, AudioBlock, VideoFrame


def test_the_clip_clicks_and_flashes_at_once(tmp_path: Path) -> None:
    onsets = Onsets()
    clicks, flashes = [], []
    for number, event in enumerate(open_source(write_clip(tmp_path / "made.mkv")).events()):
        if isinstance(event, AudioBlock):
            at = onsets.click(event.samples[np.newaxis], rate=SAMPLE_RATE, time=event.onset)
            clicks += [] if at is None else [at]
        elif isinstance(event, VideoFrame) and number % 3:  # as a network that loses pictures
            at = onsets.flash(event.image, time=event.time)
            flashes += [] if at is None else [at]
    assert len(clicks) == len(flashes) == round(LOOP / EVERY)
    assert np.diff(clicks) == pytest.approx([EVERY] * (len(clicks) - 1), abs=1e-3)
    assert np.subtract(flashes, clicks) == pytest.approx([0.0] * len(clicks), abs=0.003)


def test_each_click_is_compared_with_the_nearest_flash() -> None:
    heard = Heard(clicks=[1.0, 1.8, 2.6, 61.0, 61.8], flashes=[1.01, 1.75, 61.05])
    errors = heard.errors()
    assert [error for _, error in errors] == pytest.approx([0.01, -0.05, None, 0.05])
    first, second = by_minute(errors)
    assert (len(first.errors), first.alone, first.within) == (2, 1, 0.5)
    assert second.median == pytest.approx(0.05)
    both = in_step(errors)
    assert both.median == pytest.approx(0.01)
    assert both.most == both.p95 == pytest.approx(0.05)
    assert both.within == pytest.approx(1 / 3)


def test_nothing_heard_is_no_number() -> None:
    nothing = in_step(Heard(clicks=[], flashes=[1.0]).errors())
    assert all(math.isnan(one) for one in (nothing.median, nothing.p95, nothing.most))
    assert math.isnan(nothing.within)
    assert by_minute([]) == []


def test_a_click_that_goes_on_in_the_next_block_is_one() -> None:
    onsets = Onsets()
    loud = np.ones((1, 320), dtype=np.float32)
    assert onsets.click(loud * 0.0, rate=16_000, time=0.0) is None
    assert onsets.click(loud, rate=16_000, time=0.02) == pytest.approx(0.02)
    assert onsets.click(loud, rate=16_000, time=0.04) is None
    assert onsets.click(loud, rate=16_000, time=0.04 + EVERY) == pytest.approx(0.84)


def test_a_flash_that_is_on_from_the_start_is_none() -> None:
    onsets = Onsets()
    white = np.full((4, 8, 3), 255, dtype=np.uint8)
    assert onsets.flash(white, time=0.0) is None
    assert onsets.flash(white * 0, time=0.1) is None
    fading = white.copy()
    fading[:, 4:] = 51
    assert onsets.flash(fading, time=1.0) == pytest.approx(1.0 - LONG * 0.8)


def test_lines_are_read_as_far_as_they_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "onsets.jsonl"
    path.write_text(
        '{"click": 2.0}\n{"flash": 1.0}\n{"click": 1.5}\n{"note": ["muted", "silent"]}\n'
        '{"counters": {"network_lost": 3}}\n{"cli'
    )
    heard = read_heard(path)
    assert heard.clicks == [1.5, 2.0]
    assert heard.flashes == [1.0]
    assert heard.notes == [("muted", "silent")]
    assert heard.counters == {"network_lost": 3}


async def test_a_rough_network_delays_and_loses_media_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arriving: asyncio.Queue[bytes | None] = asyncio.Queue()
    sent: list[bytes] = []

    async def recv(self: aioice.Connection) -> bytes:
        packet = await arriving.get()
        if packet is None:
            raise ConnectionError("gone")
        return packet

    async def send(self: aioice.Connection, data: bytes) -> None:
        sent.append(data)

    monkeypatch.setattr(aioice.Connection, "recv", recv)
    monkeypatch.setattr(aioice.Connection, "send", send)
    network = RoughNetwork(jitter=0.1, loss=0.3)
    network.install()
    connection = aioice.Connection(ice_controlling=True)
    media = [bytes([128, number]) for number in range(100)]
    for packet in [b"\x16dtls", *media]:
        arriving.put_nowait(packet)
        await connection.send(packet)
    assert sent == [b"\x16dtls"]
    assert await connection.recv() == b"\x16dtls"
    await asyncio.sleep(0.2)
    arriving.put_nowait(None)
    got = []
    with contextlib.suppress(ConnectionError):
        while True:
            got.append(await connection.recv())
    assert got != sorted(got)
    assert set(got) < set(media)
    assert len(got) + len(sent) - 1 + network.lost == 2 * len(media)
    with pytest.raises(ConnectionError, match="gone"):
        await connection.recv()


def test_wrong_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "sync", "--sender", "pigeon"]) == 2
    assert "pigeon" in capsys.readouterr().err


def test_without_a_browser_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert run(["measure", "sync"]) == 1
    assert "no browser found; install one of chromium" in capsys.readouterr().err
