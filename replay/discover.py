"""Which media files lie under the paths that a person names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from replay.media.opening import SourceError, check_file

_VIDEO = "3gp asf avi flv m2ts m4v mkv mov mp4 mpeg mpg mts mxf ogv ts vrs webm wmv"
_SOUND = "aac aif aiff amr flac g722 m4a mka mp3 oga ogg opus wav wma"
VIDEO_SUFFIXES = frozenset(f".{name}" for name in _VIDEO.split())
SOUND_SUFFIXES = frozenset(f".{name}" for name in _SOUND.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A media file to play.

    Attributes:
        name: Unique among the clips found together; usable as a folder's name.
        path: The file.
    """

    name: str
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class NoClip:
    """A path that was named or found and cannot be played, and why, in one line."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What lies under the named paths, in order.

    Attributes:
        clips: Files that look like media; opening them may still fail.
        failed: What cannot even be tried.
    """

    clips: tuple[Clip, ...]
    failed: tuple[NoClip, ...] = ()


def find_clips(paths: Sequence[Path | str]) -> Found:
    """The media files under ``paths``.

    A file that is named is taken whatever its name. A folder is walked with its subfolders (links
    followed once), in order of name; hidden files and those without the suffix of a video or sound
    are passed over, and so are pictures. A file that is found twice counts once.
    """
    files: dict[Path, Path] = {}
    failed: list[NoClip] = []
    for named in map(Path, paths):
        under = sorted(_walk(named)) if os.path.isdir(named) else [named]
        if not under:
            failed.append(NoClip(path=named, reason="no video or sound file in this folder"))
        for path in under:
            try:
                check_file(path)
            except SourceError as error:
                reason = str(error).removeprefix(f"{path}: ")
                failed.append(NoClip(path=path, reason=reason))
            else:
                files.setdefault(path.resolve(), path)
    found = list(files.values())
    names = unique_names(found)
    clips = (Clip(name=name, path=path) for name, path in zip(names, found, strict=True))
    return Found(clips=tuple(clips), failed=tuple(dict.fromkeys(failed)))


def _walk(folder: Path) -> Iterator[Path]:
    seen: set[Path] = set()
    for here, folders, files in os.walk(folder, followlinks=True):
        real = Path(here).resolve()
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            suffix = Path(name).suffix.lower()
            if not name.startswith(".") and suffix in VIDEO_SUFFIXES | SOUND_SUFFIXES:
                yield Path(here) / name


def unique_names(paths: Sequence[Path]) -> list[str]:
    """A short name for each path, different also where upper and lower case are one.

    The stem; where stems meet, the file's name; where these meet, with as many parent folders as it
    takes (``a__clip.mp4``).
    """
    names = [path.stem for path in paths]
    for depth in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        met = _met_twice(names)
        if not met:
            return names
        names = [
            _with_parents(path, depth) if name.casefold() in met else name
            for name, path in zip(names, paths, strict=True)
        ]
    return _numbered(names)


def _with_parents(path: Path, depth: int) -> str:
    parts = path.parts[-depth:]
    return "__".join(part.replace(os.sep, "") for part in parts if part not in ("", os.sep, ".."))


def _met_twice(names: Sequence[str]) -> set[str]:
    counts = Counter(name.casefold() for name in names)
    return {name for name, count in counts.items() if count > 1}


def _numbered(names: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    numbered = []
    for name in names:
        unique, count = name, 1
        while unique.casefold() in taken:
            count += 1
            unique = f"{name}-{count}"
        taken.add(unique.casefold())
        numbered.append(unique)
    return numbered
