"""From what a person names to jobs with names that are safe as folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.jobs import LONGEST_NAME, Job, folder_name, jobs_from, with_unique_names


def job(name: str) -> Job:
    return Job(name=name, path=Path("x.mp4"))


def sound(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"not really")
    return path


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("clip", "clip"),
        ("红色 clip", "红色 clip"),
        ("-x", "-x"),
        ("", "clip"),
        (".", "clip"),
        ("..", "clip"),
        ("../../etc", "_.._etc"),
        ("/etc/passwd", "_etc_passwd"),
        ("a\\b", "a_b"),
        ("new\nline\x1b[31m\x00", "new_line_[31m_"),
        ("half \udcff", "half _"),
        ("run.json", "run.json_"),
        ("Scores.JSON", "Scores.JSON_"),
    ],
)
def test_name_becomes_a_folder_that_stays_inside(name: str, folder: str) -> None:
    assert folder_name(name) == folder


@given(names=st.lists(st.text(max_size=300), max_size=6))
def test_names_are_unique_short_and_lead_nowhere_else(names: list[str]) -> None:
    made = [one.name for one in with_unique_names(map(job, names))]
    assert len({name.casefold() for name in made}) == len(names)
    root = Path("/run")
    for name in made:
        assert (root / name).parent == root
        assert Path(os.path.normpath(root / name)).parent == root
        assert len(os.fsencode(name)) <= LONGEST_NAME + 20


def test_names_too_long_stay_apart() -> None:
    first, second = (folder_name("长" * 200 + end) for end in "ab")
    assert first != second


def test_what_is_named_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = sound(tmp_path / "a.wav")
    monkeypatch.chdir(tmp_path)
    found = jobs_from([clip, Path("a.wav"), tmp_path, Path("./a.wav")], language="en")
    assert [one.name for one in found.jobs] == ["a"]


def test_two_clips_of_one_name_stay_apart(tmp_path: Path) -> None:
    sound(tmp_path / "one" / "a.wav")
    sound(tmp_path / "two" / "a.wav")
    found = jobs_from([tmp_path / "one", tmp_path / "two"], language="en")
    assert len({one.name for one in found.jobs}) == 2


def test_what_cannot_be_played_is_listed_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "loop.wav").symlink_to(tmp_path / "loop.wav")
    os.mkfifo(tmp_path / "pipe.wav")
    (tmp_path / "empty.wav").touch()
    long = tmp_path / ("x" * 300 + ".wav")
    found = jobs_from([tmp_path, tmp_path / "pipe.wav", long, Path("/dev/null")], language="en")
    assert not found.jobs
    reasons = {Path(one.source).name[:8]: one.reason for one in found.failed}
    assert set(reasons) == {"loop.wav", "pipe.wav", "empty.wa", "xxxxxxxx", "null"}
    assert len(found.failed) == 5
    assert all(reasons.values())
