"""Which files are found under a path, and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.discover import find_clips, unique_names


def put(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_folder_is_walked_in_order(tmp_path: Path) -> None:
    for name in ("b.mp4", "a/2.MOV", "a/1.wav", ".hidden.mp4", ".git/x.mp4", "notes.txt", "p.jpg"):
        put(tmp_path / name)
    found = find_clips([tmp_path])
    assert [clip.path.relative_to(tmp_path).as_posix() for clip in found.clips] == [
        "a/1.wav",
        "a/2.MOV",
        "b.mp4",
    ]
    assert [clip.name for clip in found.clips] == ["1", "2", "b"]
    assert not found.failed


def test_bad_files_are_listed_and_the_others_found(tmp_path: Path) -> None:
    put(tmp_path / "good.mp4")
    put(tmp_path / "empty.mp4", b"")
    (tmp_path / "dangling.mp4").symlink_to(tmp_path / "gone.mp4")
    found = find_clips([tmp_path, tmp_path / "missing.mp4"])
    assert [clip.name for clip in found.clips] == ["good"]
    assert {(bad.path.name, bad.reason.split(";")[0]) for bad in found.failed} == {
        ("empty.mp4", "is empty (0 bytes)"),
        ("dangling.mp4", "no such file"),
        ("missing.mp4", "no such file"),
    }


def test_folder_without_media_is_listed(tmp_path: Path) -> None:
    (failed,) = find_clips([tmp_path]).failed
    assert failed.reason == "no video or sound file in this folder"


def test_named_file_is_taken_whatever_its_name(tmp_path: Path) -> None:
    assert len(find_clips([put(tmp_path / "photo.jpg"), put(tmp_path / "clip")]).clips) == 2


def test_file_found_twice_counts_once(tmp_path: Path) -> None:
    path = put(tmp_path / "a.mp4")
    assert len(find_clips([tmp_path, path, str(path)]).clips) == 1


def test_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    put(tmp_path / "a/b.mp4")
    (tmp_path / "a/again").symlink_to(tmp_path)
    assert len(find_clips([tmp_path]).clips) == 1


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["x/a.mp4", "x/b.mp4"], ["a", "b"]),
        (["x/a.mp4", "x/a.mov"], ["a.mp4", "a.mov"]),
        (["x/a.mp4", "y/a.mp4", "y/b.mp4"], ["x__a.mp4", "y__a.mp4", "b"]),
        (["x/A.mp4", "x/a.mp4"], ["A.mp4", "a.mp4-2"]),
        (["指令1/c.mp4", "指令2/c.mp4"], ["指令1__c.mp4", "指令2__c.mp4"]),
    ],
)
def test_names_grow_until_they_differ(paths: list[str], names: list[str]) -> None:
    assert [name.removeprefix("x__") for name in unique_names([Path(p) for p in paths])] == [
        name.removeprefix("x__") for name in names
    ]


@given(st.lists(st.lists(st.sampled_from("aAb."), min_size=1, max_size=3), max_size=8))
def test_names_differ_and_are_one_folder_deep(parts: list[list[str]]) -> None:
    paths = [Path(*(part + "x" for part in each)) for each in parts]
    names = unique_names(paths)
    assert len({name.casefold() for name in names}) == len(paths)
    assert not any("/" in name or name in ("", ".", "..") for name in names)
