"""A run's folder: one writer, nothing of anybody else's lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.out_folder import (
    OutFolderError,
    check_clip_folder,
    claimed,
    first_difference,
    forget_run,
    read_run,
)


def write_run(out: Path, **facts: Any) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "run.json").write_text(json.dumps({"clips": [], **facts}))


def test_second_run_is_refused_until_the_first_is_over(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    with (
        claimed(out),
        pytest.raises(OutFolderError, match="another run is writing into"),
        claimed(out),
    ):
        pass
    with claimed(out):
        assert list(out.iterdir()) == []


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutFolderError, match="is a file"), claimed(tmp_path / "file"):
        pass


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '{"clips": 7}', '{"a": 1}', "[" * 100_000])
def test_damaged_run_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(OutFolderError, match=r"run\.json is damaged"):
        read_run(tmp_path)


def test_difference_is_found_as_json_sees_it() -> None:
    run = {"pace": "fast", "config": {"sizes": [1, 2]}}
    assert first_difference(run, {"pace": "fast", "config": {"sizes": (1, 2)}}, ["config"]) is None
    assert first_difference(run, {"pace": "realtime"}, ["pace"]) == "pace"


def test_folder_with_other_files_is_no_clips_folder(tmp_path: Path) -> None:
    folder = tmp_path / "clip"
    check_clip_folder(folder)
    folder.mkdir()
    check_clip_folder(folder)
    (folder / "last.jpg").write_text("mine")
    with pytest.raises(OutFolderError, match="give another --out"):
        check_clip_folder(folder)
    (folder / "trace.jsonl").touch()
    check_clip_folder(folder)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(folder)
    for name in ("file", "link"):
        with pytest.raises(OutFolderError, match="in the way"):
            check_clip_folder(tmp_path / name)


def test_only_what_a_run_left_is_forgotten(tmp_path: Path) -> None:
    out = tmp_path / "run"
    for name in ("clip", "stranger", "photos"):
        (out / name).mkdir(parents=True)
    for path in (out / "clip", out / "stranger", tmp_path, out):
        (path / "trace.jsonl").touch()
    (out / "link").symlink_to(out / "stranger")
    write_run(out, clips=["clip", "photos", "link", "..", ".", "", "../run/stranger", 7])
    run = read_run(out)
    assert run is not None
    forget_run(out, run)
    assert sorted(path.name for path in out.iterdir()) == [
        "link",
        "photos",
        "stranger",
        "trace.jsonl",
    ]
    assert (tmp_path / "trace.jsonl").exists()
