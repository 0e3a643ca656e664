"""Recording of live sessions: what is written replays as it was pushed."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import numpy as np
import pytest

from replay.source import open_source
from server.recording import RecordingSettings, RecordingState, RecordingSwitch
from server.recording_file import choose_codec
from streaming.config import config_path, load
from streaming.events import AudioBlock, SourceNote, VideoFrame
from streaming.trace import encode_event
from tests.ingest_taker import Taken
from tests.media_maker import Played, clicks, flashes, sorted_out, write_clip

FRAME = 1 / 30
EVENTS = (0.5, 1.5, 2.5)


def made_clip(folder: Path, **how: object) -> Played:
    path = write_clip(folder / "made.mkv", seconds=3.0, events=EVENTS, **how)  # type: ignore[arg-type]
    return sorted_out(open_source(path).events())


def switch(folder: Path, inner: Taken | None = None, **limits: object) -> RecordingSwitch:
    settings = RecordingSettings(waiting_pictures=10_000, **limits)  # type: ignore[arg-type]
    return RecordingSwitch(inner or Taken(), folder=folder, name="abc", settings=settings)


def _available(piece: AudioBlock | VideoFrame) -> float:
    return piece.offset if isinstance(piece, AudioBlock) else piece.time


def push(switched: RecordingSwitch, played: Played, *, later: float = 0.0) -> None:
    pieces = [*played.blocks, *played.frames]
    for piece in sorted(pieces, key=_available):
        if isinstance(piece, AudioBlock):
            switched.sound(piece.samples[None, :], rate=16_000, time=piece.onset + later)
        else:
            switched.picture(piece.image, time=piece.time + later)


def replayed(state: RecordingState) -> Played:
    (path,) = state.files
    return sorted_out(open_source(path).events())


def trace_of(path: Path) -> list[dict[str, object]]:
    lines = path.with_name(path.stem + ".trace.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_recording_replays_with_the_times_that_were_pushed(tmp_path: Path) -> None:
    made = made_clip(tmp_path)
    switched = switch(tmp_path / "out")
    switched.start()
    push(switched, made)
    again = replayed(switched.stop())
    assert [frame.time for frame in again.frames] == pytest.approx(
        [frame.time for frame in made.frames], abs=0.001
    )
    assert flashes(again.frames) == pytest.approx(EVENTS, abs=FRAME)
    assert clicks(again.blocks) == pytest.approx(clicks(made.blocks), abs=1e-9)
    assert np.array_equal(again.sound[: len(made.sound)], made.sound)
    assert again.notes == []


def test_pictures_survive_nearly_unchanged(tmp_path: Path) -> None:
    image = np.zeros((48, 64, 3), dtype=np.uint8)
    image[:, 32:] = (200, 120, 40)
    switched = switch(tmp_path)
    switched.start()
    for index in range(5):
        switched.picture(image, time=index / 10, pixel_aspect=1.5)
    (*_, last) = replayed(switched.stop()).frames
    assert np.abs(last.image.astype(int) - image)[:, np.r_[0:28, 36:64]].max() < 12
    assert last.pixel_aspect == pytest.approx(1.5)


@pytest.mark.parametrize("budget", [0.0, 1.0])
def test_slow_machines_write_jpegs_with_the_same_times(tmp_path: Path, budget: float) -> None:
    made = made_clip(tmp_path)
    switched = switch(tmp_path / "out", picture_budget=budget, exact=False)
    switched.start()
    push(switched, made)
    state = switched.stop()
    assert open_source(state.files[0]).info.video_codec == ("h264" if budget else "mjpeg")
    assert flashes(replayed(state).frames) == pytest.approx(EVENTS, abs=FRAME)


def test_pictures_are_recorded_without_loss(tmp_path: Path) -> None:
    made = np.random.default_rng(1)
    images = [made.integers(0, 256, (48, 64, 3), dtype=np.uint8) for _ in range(4)]
    switched = switch(tmp_path, picture_budget=1.0)
    switched.start()
    for index, image in enumerate(images):
        switched.picture(image, time=index / 10)
    again = replayed(switched.stop()).frames
    assert [np.array_equal(one.image, image) for one, image in zip(again, images, strict=True)] == [
        *[True] * 4
    ]


def test_codec_is_chosen_by_the_time_it_takes() -> None:
    image = np.zeros((49, 65, 3), dtype=np.uint8)
    assert choose_codec(image, budget=1.0) == "libx264rgb"
    assert choose_codec(image, budget=1.0, exact=False) == "libx264"
    assert choose_codec(image, budget=0.0) == "mjpeg"


def test_late_sound_keeps_its_distance_to_the_pictures(tmp_path: Path) -> None:
    made = made_clip(tmp_path, audio_from=1.2)
    switched = switch(tmp_path / "out")
    switched.start()
    for frame in made.frames:
        switched.picture(frame.image, time=frame.time + 0.4)
    for block in made.blocks:
        if block.onset >= 1.2:
            switched.sound(block.samples[None, :], rate=16_000, time=block.onset + 0.4)
    again = replayed(switched.stop())
    assert flashes(again.frames)[1:] == pytest.approx([1.9, 2.9], abs=FRAME)
    assert clicks(again.blocks) == pytest.approx([1.9, 2.9], abs=0.005)


def test_nothing_is_written_until_it_is_switched_on(tmp_path: Path) -> None:
    inner = Taken()
    switched = switch(tmp_path / "out", inner)
    push(switched, made_clip(tmp_path))
    switched.note("lost", "a line")
    switched.close("over")
    assert not switched.state().active
    assert switched.stop() == RecordingState()
    assert not (tmp_path / "out").exists()
    assert inner.frames
    assert inner.sounds
    assert inner.closed == ["over"]
    assert inner.kinds() == ["lost"]


def test_a_recording_switched_on_later_keeps_the_sessions_times(tmp_path: Path) -> None:
    made = made_clip(tmp_path)
    switched = switch(tmp_path / "out")
    switched.line({"type": "Header", "format": 1, "clip": "live"})
    push(switched, made)
    switched.start()
    push(switched, made, later=10.0)
    state = switched.stop()
    info = open_source(state.files[0]).info
    header, end = trace_of(state.files[0])
    assert header["clip"] == "live"
    recorded_from = header["recorded_from"]
    assert isinstance(recorded_from, float)
    assert info.start == pytest.approx(recorded_from, abs=0.001)
    again = replayed(state)
    assert [at + info.start for at in flashes(again.frames)] == pytest.approx(
        [at + 10.0 for at in EVENTS], abs=FRAME
    )
    assert [at + info.start for at in clicks(again.blocks)] == pytest.approx(
        [at + 10.0 for at in clicks(made.blocks)], abs=0.001
    )
    assert end["complete"] is True


def test_each_switch_on_makes_files_of_its_own(tmp_path: Path) -> None:
    made = made_clip(tmp_path)
    switched = switch(tmp_path / "out")
    states = []
    for later in (0.0, 5.0):
        assert switched.start().active
        assert switched.start().active
        push(switched, made, later=later)
        states.append(switched.stop())
    assert len({path for state in states for path in state.files}) == 2
    for path in (tmp_path / "out").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "_abc." in path.name
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


def test_the_trace_lies_beside_it(tmp_path: Path) -> None:
    switched = switch(tmp_path)
    switched.start()
    push(switched, made_clip(tmp_path))
    note = SourceNote(kind="lost", onset=1.0, offset=1.0, text="a line")
    line = encode_event(note, known_at=1.0, emitted_at=1.2, stage="source")
    end = {"type": "End", "complete": True, "duration": 3.0, "counters": {}, "wall": {}}
    switched.line(line)
    switched.line(end)
    state = switched.stop()
    header, *rest = trace_of(state.files[0])
    assert header["type"] == "Header"
    assert rest == [line, end]


def test_sound_alone_is_a_file_and_a_late_camera_begins_another(tmp_path: Path) -> None:
    made = made_clip(tmp_path)
    switched = switch(tmp_path / "out", video_within=1.0)
    switched.start()
    for later in (0.0, 3.0):
        for block in made.blocks:
            switched.sound(block.samples[None, :], rate=16_000, time=block.onset + later)
    for frame in made.frames:
        switched.picture(frame.image, time=6.0 + frame.time)
    state = switched.stop()
    first, second = state.files
    assert second.name == first.stem + "_2.mkv"
    assert clicks(sorted_out(open_source(first).events()).blocks) == pytest.approx(
        [at + later for later in (0.0, 3.0) for at in clicks(made.blocks)], abs=0.001
    )
    assert open_source(second).info.start == pytest.approx(6.0, abs=0.05)
    assert state.pictures == len(made.frames)


def test_pictures_that_come_late_twice_or_too_fast_are_counted(tmp_path: Path) -> None:
    made = made_clip(tmp_path)
    switched = switch(tmp_path / "out")
    switched.start()
    frames = made.frames[:10]
    for frame in [*frames, frames[-1], frames[3]]:
        switched.picture(frame.image, time=frame.time)
    switched.picture(frames[0].image, time=float("nan"))
    switched.picture(frames[0].image, time=1e300)
    state = switched.stop()
    assert (state.pictures, state.late, state.dropped) == (10, 2, 0)

    small = RecordingSwitch(
        Taken(), folder=tmp_path / "few", name="x", settings=RecordingSettings(waiting_bytes=0)
    )
    small.start()
    for frame in frames:
        small.picture(frame.image, time=frame.time)
    assert small.stop().dropped == len(frames)


def test_pictures_that_change_their_size_keep_the_first_one(tmp_path: Path) -> None:
    switched = switch(tmp_path)
    switched.start()
    for index, size in enumerate([(48, 64), (64, 48), (1, 1), (49, 65)]):
        switched.picture(np.full((*size, 3), 90, np.uint8), time=index / 10)
    frames = replayed(switched.stop()).frames
    assert [frame.image.shape for frame in frames] == [(48, 64, 3)] * 4


def test_a_long_silence_is_not_written_but_told_by_the_times(tmp_path: Path) -> None:
    made = made_clip(tmp_path)
    switched = switch(tmp_path / "out")
    switched.start()
    push(switched, made)
    push(switched, made, later=60.0)
    state = switched.stop()
    again = replayed(state)
    assert clicks(again.blocks)[3:] == pytest.approx(
        [at + 60.0 for at in clicks(made.blocks)], abs=0.002
    )
    assert state.files[0].stat().st_size < 2_000_000


def test_a_full_disk_ends_the_recording_and_not_the_session(tmp_path: Path) -> None:
    inner = Taken()
    switched = switch(tmp_path / "out", inner, most_bytes=10)
    made = made_clip(tmp_path)
    switched.start()
    push(switched, made)
    push(switched, made, later=3.0)
    for _ in range(500):
        if not switched.state().active:
            break
        time.sleep(0.01)
    push(switched, made, later=6.0)
    state = switched.stop()
    assert "largest size" in str(state.problem)
    assert inner.kinds() == ["recording_failed"]
    assert len(inner.frames) == 3 * len(made.frames)
    assert trace_of(state.files[0])[-1]["complete"] is False
    assert replayed(state).frames


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        switch(tmp_path / "file" / "out").start()


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "x" * 65])
def test_names_that_could_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name of a recording"):
        RecordingSwitch(Taken(), folder=tmp_path, name=name)


def test_an_empty_recording_leaves_only_its_trace(tmp_path: Path) -> None:
    switched = switch(tmp_path)
    switched.start()
    assert switched.stop().files == ()
    assert [path.suffix for path in tmp_path.iterdir()] == [".jsonl"]


def test_settings_file_says_the_defaults() -> None:
    assert load(RecordingSettings, config_path("recording.toml")) == RecordingSettings()
