"""From what a person names on the command line to clips to replay."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from replay.discover import find_clips
from replay.ecog import EcogClip, EcogError, EcogTree, load_ecog
from streaming.events import Seconds
from streaming.grounding import Task

LONGEST_NAME = 200
"""Bytes of a clip's folder name; file systems end at 255, and names get numbers."""
_TAKEN = frozenset({"run.json", "predictions.jsonl", "scores.json", "report.html"})
"""Names of the files that lie beside the clips' folders in a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One clip to replay.

    Attributes:
        name: Name of its folder in the run.
        path: The media file.
        task: What is asked about it.
        language: ``en``, ``zh`` or ``auto``.
        clip: Its benchmark entry, if it has one.
        until: Stop the stream here (for the audit).
    """

    name: str
    path: Path
    task: Task = field(default_factory=Task)
    language: str = "auto"
    clip: EcogClip | None = None
    until: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReplayed:
    """Something that was named but could not be replayed, and why, in one line."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """What there is to do.

    Attributes:
        jobs: In order; their names are unique.
        failed: What cannot be replayed.
        tree: The benchmark tree, when exactly one folder was named and it is one.
    """

    jobs: tuple[Job, ...]
    failed: tuple[NotReplayed, ...] = ()
    tree: EcogTree | None = None


def jobs_from(sources: Sequence[Path], *, language: str) -> Jobs:
    """Find the clips under files, folders and benchmark trees.

    A folder that holds an EcoG-Bench tree gives its clips with their options; any other folder
    gives the media files in it. What is named twice counts once.
    """
    jobs: list[Job] = []
    failed: list[NotReplayed] = []
    trees: list[EcogTree] = []
    plain: list[Path] = []
    for source in dict.fromkeys(sources):
        tree = _tree_at(source)
        if tree is None:
            plain.append(source)
        else:
            trees.append(tree)
            jobs += [ecog_job(clip, language=language) for clip in tree.clips]
            failed += [NotReplayed(source=o.video_name, reason=o.reason) for o in tree.left_out]
    found = find_clips(plain)
    jobs += [_plain_job(clip.name, clip.path, language) for clip in found.clips]
    failed += [NotReplayed(source=str(f.path), reason=f.reason) for f in found.failed]
    return Jobs(
        jobs=with_unique_names(jobs),
        failed=tuple(failed),
        tree=trees[0] if len(trees) == 1 and not plain else None,
    )


def _tree_at(source: Path) -> EcogTree | None:
    if not os.path.isdir(source):  # Path.is_dir raises for a name that is too long
        return None
    try:
        return load_ecog(source)
    except EcogError:
        return None


def _plain_job(name: str, path: Path, language: str) -> Job:
    return Job(name=name, path=path, task=Task(language=language), language=language)


def ecog_job(clip: EcogClip, *, language: str) -> Job:
    """The job of a benchmark clip: its options, and the language that its folder says."""
    spoken = clip.language if language == "auto" else language
    task = Task(
        object_choices=clip.object_choices,
        space_choices=clip.space_choices,
        referents=clip.k,
        instruction=clip.instruction,
        language=spoken,
        benchmark=True,
    )
    stem = clip.video_name.rsplit(".", 1)[0]
    return Job(name=stem, path=clip.video, task=task, language=spoken, clip=clip)


def folder_name(name: str) -> str:
    """A clip's name as that of a folder which stays inside the run's.

    Path separators, control characters and broken Unicode become ``_``; leading dots go; a name
    that is too long is cut and told apart by a digest.
    """
    safe = "".join(
        "_" if letter in "/\\" or unicodedata.category(letter) in ("Cc", "Cs") else letter
        for letter in name
    ).lstrip(".")
    encoded = os.fsencode(safe)
    if len(encoded) > LONGEST_NAME:
        digest = hashlib.sha256(encoded).hexdigest()[:8]
        safe = f"{encoded[:LONGEST_NAME].decode(errors='ignore')}-{digest}"
    if safe.casefold() in _TAKEN:
        safe += "_"
    return safe or "clip"


def with_unique_names(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """The same jobs, named as folders can be, later ones of one name numbered ``name-2`` ..."""
    taken: set[str] = set()
    unique = []
    for job in jobs:
        plain = name = folder_name(job.name)
        number = 1
        while name.casefold() in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name.casefold())
        unique.append(replace(job, name=name))
    return tuple(unique)
