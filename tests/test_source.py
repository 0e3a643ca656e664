"""The source on generated clips: offsets, gaps, drift, jumps, prefixes, damage."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.media import packets as packets_module
from replay.source import SourceError, SourceEvent, open_source
from streaming.events import AudioBlock, SourceNote, VideoFrame
from tests.media_maker import (
    Played,
    clicks,
    flashes,
    regular,
    sorted_out,
    tone_bursts,
    write_clip,
    write_picture,
)

EVENTS = [1.0, 2.5, 3.5]
WITH_GAPS = (".mp4", ".mkv", ".ts", ".webm")


def play(path: Path) -> Played:
    return sorted_out(open_source(path).events())


def assert_together(played: Played, *, expected: int, apart: float = 0.2) -> None:
    """Every click lies within 20 ms of its flash."""
    heard, seen = clicks(played.blocks, apart=apart), flashes(played.frames, apart=apart)
    assert len(heard) == len(seen) == expected
    assert np.abs(np.subtract(heard, seen)).max() < 0.02


@pytest.mark.parametrize("suffix", [*WITH_GAPS, ".mov", ".avi"])
def test_click_and_flash_stay_together(tmp_path: Path, suffix: str) -> None:
    played = play(write_clip(tmp_path / f"clip{suffix}", events=EVENTS))
    assert_together(played, expected=3)
    assert played.kinds() == []


@pytest.mark.parametrize("suffix", [*WITH_GAPS, ".mov"])
def test_late_sound_keeps_its_offset(tmp_path: Path, suffix: str) -> None:
    played = play(write_clip(tmp_path / f"clip{suffix}", events=EVENTS, audio_from=0.8))
    assert_together(played, expected=3)
    (late,) = played.notes
    assert late.kind == "audio_late"
    assert late.offset == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("suffix", WITH_GAPS)
def test_sound_after_a_gap_keeps_its_time(tmp_path: Path, suffix: str) -> None:
    events = [1.0, 4.5, 5.5]
    path = write_clip(tmp_path / f"clip{suffix}", seconds=6, events=events, audio_gap=(2.0, 4.0))
    played = play(path)
    assert_together(played, expected=3)
    (gap,) = played.notes
    assert gap.kind == "audio_gap"
    assert gap.offset - gap.onset == pytest.approx(2.0, abs=0.045)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts", ".mov"])
def test_44100_hz_stays_together(tmp_path: Path, suffix: str) -> None:
    played = play(write_clip(tmp_path / f"clip{suffix}", events=EVENTS, rate=44_100))
    assert_together(played, expected=3)


@pytest.mark.parametrize("suffix", WITH_GAPS)
def test_variable_frame_rate_takes_its_times_from_pts(tmp_path: Path, suffix: str) -> None:
    kept = [time for index, time in enumerate(regular(4, 30)) if index % 15 == 0 or index % 7 > 2]
    played = play(write_clip(tmp_path / f"clip{suffix}", events=EVENTS, frame_times=kept))
    assert len(played.frames) == len(kept)
    times = np.array([frame.time for frame in played.frames])
    assert np.abs(times - times[0] - kept).max() < 2e-3
    assert_together(played, expected=3)


@pytest.mark.parametrize("suffix", WITH_GAPS)
def test_start_that_is_not_zero_is_taken_off_once(tmp_path: Path, suffix: str) -> None:
    source = open_source(write_clip(tmp_path / f"clip{suffix}", events=EVENTS, start=3600.0))
    assert source.info.start == pytest.approx(3600.0, abs=0.03)
    played = sorted_out(source.events())
    assert played.frames[0].time < 0.03
    assert_together(played, expected=3)


@pytest.mark.parametrize("clock_error", [0.0, 2e-4])
def test_ten_minutes_do_not_drift(tmp_path: Path, clock_error: float) -> None:
    events = [float(time) for time in range(10, 600, 65)]
    path = write_clip(
        tmp_path / "long.mkv",
        seconds=600,
        fps=10,
        events=events,
        rate=44_100,
        clock_error=clock_error,
        video_codec="mpeg4",
        size=(32, 32),
        packet_samples=4096,
    )
    played = play(path)
    assert_together(played, expected=len(events), apart=1.0)
    assert played.kinds() == []


def test_sound_without_drift_is_not_stretched(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    sound = rng.normal(0, 0.1, (1, 32_000)).astype(np.float32)
    path = write_clip(tmp_path / "a.mkv", seconds=2, rate=16_000, sound=sound, packet_samples=333)
    assert np.abs(play(path).sound[:32_000] - sound[0]).max() < 1e-4


@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_blocks_do_not_depend_on_packet_sizes(tmp_path: Path, rate: int) -> None:
    rng = np.random.default_rng(2)
    sound = rng.normal(0, 0.1, (2, 2 * rate)).astype(np.float32)
    heard = []
    for length in (256, 1000, 4096):
        path = tmp_path / f"{length}.mov"
        write_clip(path, seconds=2, rate=rate, sound=sound, packet_samples=length)
        heard.append(play(path))
    for other in heard[1:]:
        assert np.array_equal(other.sound, heard[0].sound)
        assert [b.onset for b in other.blocks] == [b.onset for b in heard[0].blocks]


def test_stereo_is_mixed(tmp_path: Path) -> None:
    sound = np.stack([tone_bursts([0.5], seconds=2, rate=16_000)[0]] * 2)
    sound[1] = tone_bursts([1.5], seconds=2, rate=16_000)[0]
    played = play(write_clip(tmp_path / "a.mov", seconds=2, rate=16_000, sound=sound))
    assert clicks(played.blocks) == pytest.approx([0.5, 1.5], abs=0.002)


def test_channels_that_cancel_out_leave_the_louder_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    left = rng.normal(0, 0.1, 32_000).astype(np.float32)
    sound = np.stack([left, -0.9 * left])
    played = play(write_clip(tmp_path / "a.mov", seconds=2, rate=16_000, sound=sound))
    assert np.sqrt(np.square(played.sound).mean()) == pytest.approx(0.1, rel=0.1)


def test_sound_that_ends_early_goes_on_as_silence(tmp_path: Path) -> None:
    sound = tone_bursts([0.5], seconds=1, rate=48_000)
    played = play(write_clip(tmp_path / "a.mkv", seconds=4, sound=sound))
    assert played.blocks[-1].offset == pytest.approx(4.0, abs=0.01)
    assert played.kinds() == ["audio_ended"]
    assert played.notes[0].onset == pytest.approx(1.0, abs=0.01)


def test_sound_alone_plays(tmp_path: Path) -> None:
    played = play(write_clip(tmp_path / "a.webm", events=EVENTS, blind=True))
    assert clicks(played.blocks) == pytest.approx(EVENTS, abs=0.003)
    assert played.kinds() == ["no_video"]


def test_pictures_alone_play_over_silence(tmp_path: Path) -> None:
    played = play(write_clip(tmp_path / "a.mp4", events=EVENTS, silent=True))
    assert flashes(played.frames) == pytest.approx(EVENTS, abs=0.001)
    assert played.kinds() == ["no_audio"]
    assert played.blocks[-1].offset == pytest.approx(4.0, abs=1e-3)


def test_spliced_transport_stream_only_rises_and_stays_together(tmp_path: Path) -> None:
    first = write_clip(tmp_path / "1.ts", events=[1.0, 2.5])
    again = write_clip(tmp_path / "2.ts", events=[1.0, 2.5])
    ahead = write_clip(tmp_path / "3.ts", events=[1.0, 2.5], start=5000.0)
    spliced = tmp_path / "all.ts"
    spliced.write_bytes(b"".join(path.read_bytes() for path in (first, again, ahead)))
    played = play(spliced)
    assert_together(played, expected=6)
    assert played.kinds().count("time_jump") == 2
    assert played.frames[-1].time == pytest.approx(12.0, abs=0.3)


@pytest.mark.parametrize("until", [0.0, 0.704, 1.5, 2.0, 3.333, 99.0])
def test_prefix_of_the_events_is_the_events_of_the_prefix(tmp_path: Path, until: float) -> None:
    path = write_clip(tmp_path / "a.mkv", events=EVENTS, audio_from=0.3, audio_gap=(1.2, 1.9))
    whole = list(open_source(path).events())
    expected = [event for event in whole if available(event) <= until]
    assert_same(list(open_source(path, until=until).events()), expected)


def test_second_run_is_the_same(tmp_path: Path) -> None:
    source = open_source(write_clip(tmp_path / "a.mp4", events=EVENTS))
    assert_same(list(source.events()), list(source.events()))


def available(event: SourceEvent) -> float:
    return event.time if isinstance(event, VideoFrame) else event.offset


def assert_same(found: list[SourceEvent], expected: list[SourceEvent]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        match one, other:
            case SourceNote(), SourceNote():
                assert one == other
            case AudioBlock(), AudioBlock():
                assert one.onset == other.onset
                assert np.array_equal(one.samples, other.samples)
            case VideoFrame(), VideoFrame():
                assert one.time == other.time
                assert np.array_equal(one.image, other.image)
            case _:
                pytest.fail(f"{type(one).__name__} in place of {type(other).__name__}")


def test_waiting_packets_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_clip(tmp_path / "a.mkv", seconds=6, events=EVENTS, video_first=True)
    expected = list(open_source(path).events())
    waiting: list[int] = []
    reader = packets_module.PacketReader
    next_packet = reader.next_packet

    def watched(self: packets_module.PacketReader, kind: packets_module.Kind) -> object:
        packet = next_packet(self, kind)
        waiting.append(max(self._bytes.values()))
        return packet

    monkeypatch.setattr(reader, "next_packet", watched)
    monkeypatch.setattr(reader.__init__, "__kwdefaults__", {"waiting_bytes": 10_000})
    assert_same(list(open_source(path).events()), expected)
    assert max(waiting) < 20_000


ORIENTATIONS = {
    "as stored": ((1, 0, 0, 1), lambda image: image),
    "quarter turn": ((0, 1, -1, 0), lambda image: np.rot90(image, 3)),
    "half turn": ((-1, 0, 0, -1), lambda image: np.rot90(image, 2)),
    "three quarters": ((0, -1, 1, 0), lambda image: np.rot90(image, 1)),
    "left is right": ((-1, 0, 0, 1), lambda image: image[:, ::-1]),
    "upside down": ((1, 0, 0, -1), lambda image: image[::-1]),
    "transposed": ((0, 1, 1, 0), lambda image: image.swapaxes(0, 1)),
    "other diagonal": ((0, -1, -1, 0), lambda image: np.rot90(image, 2).swapaxes(0, 1)),
}


@pytest.mark.parametrize("name", ORIENTATIONS)
def test_display_matrix_is_applied(tmp_path: Path, name: str) -> None:
    (a, b, c, d), turn = ORIENTATIONS[name]
    image = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    path = write_picture(tmp_path / "a.mov", image)
    content = bytearray(path.read_bytes())
    at = content.index(b"tkhd") + 44  # the matrix in the track header (ISO 14496-12, 8.3.2)
    matrix = [a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30]
    content[at : at + 36] = struct.pack(">9i", *matrix)
    path.write_bytes(content)
    source = open_source(path)
    (frame,) = sorted_out(source.events()).frames
    assert np.array_equal(frame.image, turn(image))
    assert (source.info.height, source.info.width) == frame.image.shape[:2]


def test_pictures_are_scaled_down_on_request(tmp_path: Path) -> None:
    source = open_source(write_clip(tmp_path / "a.mp4", seconds=1), max_side=32)
    assert (source.info.width, source.info.height) == (32, 24)
    assert sorted_out(source.events()).frames[0].image.shape == (24, 32, 3)


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write_clip(tmp_path / "a.mp4", events=EVENTS)
    damaged = bytearray(path.read_bytes())
    damaged[3000:3400] = os.urandom(400)
    path.write_bytes(damaged)
    try_to_play(path)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


# --- what cannot be played -------------------------------------------------------------------


def refused(path: Path, match: str) -> None:
    with pytest.raises(SourceError, match=match) as caught:
        open_source(path)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "missing.mp4", "no such file")
    refused(tmp_path, "is a folder")
    os.mkfifo(tmp_path / "pipe.mp4")
    refused(tmp_path / "pipe.mp4", "no regular file")
    refused(Path("/dev/zero"), "no regular file")
    (tmp_path / "loop.mp4").symlink_to(tmp_path / "loop.mp4")
    refused(tmp_path / "loop.mp4", "symbolic link")


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("empty.mp4", b"", "empty"),
        ("notes.mp4", b"shopping list: milk, eggs\n" * 50, "text file"),
        ("zeros.mp4", bytes(100_000), "no media file"),
        ("noise.mkv", random.Random(0).randbytes(100_000), "no media file"),
        (
            "list.m3u8",
            b"#EXTM3U\n#EXTINF:1,\nhttp://example.org/a.ts\n#EXT-X-ENDLIST\n",
            "list.m3u8",
        ),
        ("notes.txt", b"hello\n" * 100, "text file"),
        ("photo.jpg", b"\xff\xd8\xff\xe0 not really", "no picture"),
        ("none.png", b"", "empty"),
    ],
)
def test_what_holds_no_media_is_refused(
    tmp_path: Path, name: str, content: bytes, match: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    refused(path, match)


def test_huge_sparse_file_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "huge.mp4"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    refused(path, "huge.mp4")


def test_file_name_is_never_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = write_clip(tmp_path / "a.mp4", seconds=1)
    monkeypatch.chdir(tmp_path)
    for name in ("http:x.mp4", "concat:a.mp4|a.mp4", "100%d.mp4", "视频 1.mp4", "-i.mp4"):
        os.link(clip, name)
        assert len(play(Path(name)).frames) == 30
    os.link(clip, os.fsdecode(b"\xff\xfe.mp4"))
    try_to_play(Path(os.fsdecode(b"\xff\xfe.mp4")))


# --- damage ----------------------------------------------------------------------------------


def try_to_play(path: Path) -> None:
    """Plays, or says in one line why not."""
    try:
        source = open_source(path)
        sorted_out(source.events())
    except SourceError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("intact")
    for suffix in (".mp4", ".mkv", ".ts", ".webm", ".avi", ".mov"):
        write_clip(folder / f"a{suffix}", seconds=1.5, events=[0.5, 1.0])
    return folder


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts", ".webm", ".avi", ".mov"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), cut=st.floats(0.0, 1.0), strength=st.integers(0, 60))
def test_damaged_file_plays_or_is_refused(
    intact: Path, tmp_path: Path, suffix: str, seed: int, cut: float, strength: int
) -> None:
    rng = random.Random(seed)
    content = bytearray((intact / f"a{suffix}").read_bytes())
    for _ in range(strength):
        content[rng.randrange(len(content))] = rng.randrange(256)
    if seed % 2:
        del content[max(1, int(cut * len(content))) :]
    path = tmp_path / f"damaged{suffix}"
    path.write_bytes(content)
    try_to_play(path)


def test_memory_is_flat_over_a_long_clip(tmp_path: Path) -> None:
    script = (
        "import sys, resource; from pathlib import Path; from replay.source import open_source\n"
        "for _ in open_source(Path(sys.argv[1])).events(): pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    used = []
    for seconds in (20, 400):
        path = write_clip(
            tmp_path / f"{seconds}.mkv",
            seconds=seconds,
            fps=5,
            rate=16_000,
            sound=np.zeros((1, 16_000), dtype=np.float32),
            video_codec="mpeg4",
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
        )
        used.append(int(done.stdout))
    assert used[1] < used[0] + 20_000
