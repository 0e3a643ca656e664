"""WebM in pieces: times are the container's, and broken pieces end in a note."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.webm import WebmReader
from tests.ingest_taker import Taken
from tests.media_maker import write_clip

EVENTS = (0.5, 1.5)


@pytest.fixture(scope="module")
def webm(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two seconds of VP8 and Opus."""
    path = tmp_path_factory.mktemp("webm") / "made.webm"
    return write_clip(path, seconds=2.0, events=EVENTS).read_bytes()


def read(pieces: list[bytes]) -> Taken:
    taken = Taken()
    reader = WebmReader(taken)
    for piece in pieces:
        reader.push(piece)
    reader.close()
    return taken


def cut(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


@pytest.mark.parametrize("size", [997, 20_000, 10_000_000])
def test_times_are_the_containers_however_it_is_cut(webm: bytes, size: int) -> None:
    taken = read(cut(webm, size))
    assert [frame.time for frame in taken.frames] == pytest.approx(
        [index / 30 for index in range(60)], abs=0.001
    )
    assert taken.flashes() == pytest.approx(EVENTS, abs=1 / 30)
    assert taken.clicks() == pytest.approx(EVENTS, abs=0.005)
    assert taken.notes == []
    assert taken.closed == []


def test_pictures_come_while_the_stream_goes_on(webm: bytes) -> None:
    taken = Taken()
    reader = WebmReader(taken)
    for piece in cut(webm[: len(webm) * 3 // 4], 4096):
        reader.push(piece)
    for _ in range(300):
        if len(taken.frames) >= 30:
            break
        time.sleep(0.01)
    assert len(taken.frames) >= 30
    reader.close()


def test_what_is_no_webm_is_noted_at_once() -> None:
    taken = read([b"hello", b"more"])
    assert taken.kinds() == ["broken_stream"]


def test_a_beginning_without_an_end_is_noted() -> None:
    assert read([b"\x1a\x45\xdf\xa3" + bytes(5000)]).kinds() == ["broken_stream"]


def test_nothing_at_all_is_nothing() -> None:
    assert read([]).notes == []
    assert read([b""]).notes == []


def test_a_stream_that_breaks_off_keeps_what_came(webm: bytes) -> None:
    taken = read([webm[: len(webm) // 2]])
    assert taken.frames
    assert taken.flashes()[0] == pytest.approx(0.5, abs=1 / 30)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), share=st.floats(0.0001, 0.05))
def test_damage_never_crashes_it(webm: bytes, seed: int, share: float) -> None:
    dice = random.Random(seed)
    damaged = bytearray(webm)
    for _ in range(max(1, int(len(damaged) * share))):
        damaged[dice.randrange(4, len(damaged))] = dice.randrange(256)
    taken = read(cut(bytes(damaged), 5000))
    assert all(frame.time >= 0 for frame in taken.frames)


def test_a_stream_without_a_decoder_is_noted(webm: bytes) -> None:
    unknown = webm.replace(b"V_VP8", b"V_XXX").replace(b"A_OPUS", b"A_XXXX")
    assert unknown != webm
    taken = read(cut(unknown, 5000))
    assert (taken.kinds(), taken.frames) == (["broken_stream"], [])


def test_a_stream_that_is_not_read_is_not_kept_in_memory() -> None:
    taken = Taken()
    reader = WebmReader(taken, most_waiting=10_000, patience=0.05)
    # A header and a void element so large that the reader waits for all of it.
    reader.push(b"\x1a\x45\xdf\xa3\x80")
    for _ in range(3):
        reader.push(bytes(20_000))
    reader.close()
    assert taken.kinds() == ["broken_stream"]
