"""``deixis measure media`` over good and bad files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from client.cli import run
from replay.measure.media import measure_file
from tests.media_maker import regular, write_clip


def test_facts_of_a_clip_are_measured(tmp_path: Path) -> None:
    kept = [time for index, time in enumerate(regular(4, 30)) if index % 3]
    path = write_clip(
        tmp_path / "a.mkv", events=[1.0], frame_times=kept, audio_from=0.5, audio_gap=(1.5, 2.5)
    )
    measured = measure_file(path)
    assert measured.error is None
    assert measured.video is not None
    assert measured.audio is not None
    assert measured.video.frames == len(kept)
    assert (measured.video.width, measured.video.height) == (64, 48)
    assert not measured.video.steady
    assert measured.video.longest == pytest.approx(2 / 30, abs=2e-3)
    assert measured.video.average_fps == pytest.approx(20, abs=0.3)
    assert measured.audio.first == pytest.approx(0.5 - kept[0], abs=0.03)
    assert measured.audio.last == pytest.approx(4.0 - kept[0], abs=0.01)
    assert measured.notes == {"audio_gap": 1, "audio_late": 1}
    assert measured.speed is not None


def test_steady_clip_without_sound(tmp_path: Path) -> None:
    measured = measure_file(write_clip(tmp_path / "a.mp4", silent=True))
    assert measured.audio is None
    assert measured.video is not None
    assert measured.video.steady
    assert measured.notes == {"no_audio": 1}


def test_folder_with_bad_files_finishes_and_lists_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        write_clip(tmp_path / f"{name}.mp4", seconds=1)
    whole = (tmp_path / "b.mp4").read_bytes()
    (tmp_path / "b.mp4").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "d.mp4").write_bytes(b"")
    (tmp_path / "e.mkv").write_text("not a video")
    assert run(["measure", "media", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    errors = {Path(each["path"]).name: each["error"] for each in answer["files"]}
    assert errors["a.mp4"] is None
    assert errors["c.mp4"] is None
    assert "moov" in errors["b.mp4"]
    assert "empty" in errors["d.mp4"]
    assert "text file" in errors["e.mkv"]
    assert answer["pace"] == "fast"

    assert run(["measure", "media", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "moov" in printed
    assert "Traceback" not in printed


def test_nothing_playable_is_a_failure(tmp_path: Path) -> None:
    assert run(["measure", "media", str(tmp_path / "missing.mp4")]) == 1
    assert run(["measure", "media"]) == 2
