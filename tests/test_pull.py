"""Streams that the server fetches: files, and what a local FFmpeg muxer sends."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from replay.media.opening import SourceError
from server.pull import Pull, PullError, read_address
from server.pull_settings import PullSettings
from tests.ingest_taker import Taken
from tests.media_maker import write_clip
from tests.tcp_sender import Sender

QUICK = PullSettings(
    open_within=3.0, read_within=1.0, first_wait=0.02, longest_wait=0.1, attempts=4
)
EVENTS = (0.3, 0.7)


def pulled(source: str, taken: Taken, *, within: float = 20.0) -> Pull:
    pull = Pull(read_address(source), taken, QUICK)
    pull.start()
    assert taken.ended.wait(within)
    pull.stop()
    return pull


def clip(path: Path, **how: Any) -> Path:
    return write_clip(path, seconds=1.0, events=EVENTS, **how)


def test_a_file_comes_with_its_times_at_its_pace(tmp_path: Path) -> None:
    taken, before = Taken(), time.monotonic()
    pulled(str(clip(tmp_path / "made.mkv")), taken)
    assert time.monotonic() - before > 0.9
    assert [frame.time for frame in taken.frames] == pytest.approx(
        [index / 30 for index in range(30)], abs=0.002
    )
    assert taken.clicks() == pytest.approx(EVENTS, abs=0.002)
    assert taken.closed == ["the file has ended"]
    assert taken.notes == []


def test_a_stream_keeps_sound_and_picture_in_step_and_each_connection_is_an_epoch(
    tmp_path: Path,
) -> None:
    content = clip(tmp_path / "made.ts", start=100.0, audio_codec="mp2").read_bytes()
    sender, taken = Sender(content, 2), Taken()
    pull = pulled(sender.address, taken)
    sender.join()
    assert pull.connections == 2
    flashes, clicks = taken.flashes(), taken.clicks()
    assert len(flashes) == len(clicks) == 4
    for flash, click in zip(flashes, clicks, strict=True):
        assert flash == pytest.approx(click, abs=1 / 30 + 0.005)
    assert "new_epoch" in taken.kinds()
    times = [frame.time for frame in taken.frames]
    assert times == sorted(times)
    assert "after 4 attempts" in taken.closed[0]


def test_a_stream_that_stands_still_is_given_up_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        taken = Taken()
        settings = PullSettings(open_within=0.3, read_within=0.3, first_wait=0.01, attempts=2)
        pull = Pull(read_address(f"tcp://127.0.0.1:{port}"), taken, settings)
        pull.start()
        assert taken.ended.wait(10)
    assert taken.kinds() == ["source_lost", "source_lost"]
    assert "no answer in time" in taken.closed[0]


def test_passwords_are_never_told() -> None:
    taken = Taken()
    address = read_address("http://me:geheim@127.0.0.1:9/path?key=geheim")
    assert "geheim" not in repr(address)
    Pull(address, taken, PullSettings(attempts=1, open_within=2.0))._run()
    assert "geheim" not in str(taken.notes) + str(taken.closed)
    assert "127.0.0.1:9" in taken.closed[0]


def test_stop_ends_a_file_at_once(tmp_path: Path) -> None:
    taken = Taken()
    pull = Pull(read_address(str(write_clip(tmp_path / "a.mkv", seconds=4.0))), taken, QUICK)
    pull.start()
    time.sleep(0.2)
    pull.stop()
    assert taken.closed == ["stopped"]


def test_noise_is_told_and_never_a_crash(tmp_path: Path) -> None:
    noise = bytes((index * 7919) % 251 for index in range(200_000))
    sender, taken = Sender(noise, 4), Taken()
    pulled(sender.address, taken)
    assert taken.frames == []
    assert set(taken.kinds()) == {"source_lost"}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("ftp://host/x", "is not read"),
        ("file:///etc/passwd", "is not read"),
        ("concat://x", "is not read"),
        ("rtsp://[x", "no address"),
        ("camera:99", "no such camera"),
    ],
)
def test_what_cannot_be_pulled_is_refused(source: str, why: str) -> None:
    with pytest.raises(PullError, match=why):
        read_address(source)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        read_address(str(tmp_path / "none.mp4"))
