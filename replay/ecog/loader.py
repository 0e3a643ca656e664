"""Reading an EcoG-Bench tree.

The rules, as in the benchmark's own loader unless said otherwise:

1. Every folder named ``指令1`` ... ``指令6``, at any depth, is read; the name is the instruction's
   type, whatever ``task_template`` says. ``Inst3`` and ``Instruction 3`` are accepted too, in any
   case (the documentation shows them, the code does not take them).
2. The nearest folder at or above a clip named ``data_zn...`` or ``data_en...`` decides its
   language, else English; the root may be that folder or lie below it. (The code looks at the root
   only.)
3. Entries without their video file beside them go first, then entries whose ``id`` an earlier one
   had; an absent ``id`` is never a duplicate. Then entries without a value in ``eval_gt.json``, and
   those without an answer.
4. An answer without a label is passed over and noted.
5. What the code drops in silence, or stops at, is named with its reason; the rest goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replay.ecog.clips import EcogClip, EcogTree, LeftOut
from replay.ecog.files import (
    Annotation,
    UnreadableError,
    check_annotation,
    check_truth,
    read_annotations,
    read_truths,
)

VIDEO_ENDINGS = (".mp4", ".MOV", ".mov")
ANNOTATIONS, TRUTHS = "annotations.json", "eval_gt.json"
_INSTRUCTION = re.compile(r"(?:指令|inst(?:ruction)?)[ _-]?([1-6])", re.IGNORECASE)
_LANGUAGES = {"data_zn": "zh", "data_en": "en"}


class EcogError(ValueError):
    """A root that holds no EcoG-Bench tree; one line saying what was expected."""


def load_ecog(root: Path) -> EcogTree:
    """All clips under ``root``, and those that had to be left out.

    Raises:
        EcogError: If ``root`` is no folder or holds no instruction folder at all.
    """
    if not root.is_dir():
        raise EcogError(f"{root}: no such folder; give the root of an EcoG-Bench tree")
    clips: list[EcogClip] = []
    left_out: list[LeftOut] = []
    notes: list[LeftOut] = []
    folders = sorted(_instruction_folders(root))
    if not folders:
        raise EcogError(
            f"{root}: no folder 指令1 ... 指令6 or Inst1 ... Inst6 with an {ANNOTATIONS} in it"
        )
    for folder in folders:
        reading = _FolderReading(root, folder)
        clips += reading.clips()
        left_out += reading.left_out
        notes += reading.notes
    return EcogTree(root=root, clips=tuple(clips), left_out=tuple(left_out), notes=tuple(notes))


def instruction_of(name: str) -> int | None:
    """The instruction's type that a folder name such as ``指令3`` or ``Inst3`` stands for."""
    found = _INSTRUCTION.fullmatch(name)
    return None if found is None else int(found[1])


def language_of(folder: Path) -> str:
    """``zh`` or ``en``, by the nearest folder at or above that is named ``data_zn``/``data_en``."""
    path = Path(os.path.abspath(folder))
    for name in (path.name, *(parent.name for parent in path.parents)):
        for beginning, language in _LANGUAGES.items():
            if name.startswith(beginning):
                return language
    return "en"


def _instruction_folders(root: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(root):
        # macOS archives carry a shadow tree of resource forks.
        folders[:] = [name for name in folders if name != "__MACOSX" and not name.startswith(".")]
        folder = Path(place)
        name = folder.name or folder.absolute().name
        if instruction_of(name) is not None and (
            ANNOTATIONS in files or TRUTHS in files or any(map(_is_video, files))
        ):
            yield folder


def _is_video(name: str) -> bool:
    return name.endswith(VIDEO_ENDINGS) and not name.startswith("._")


class _FolderReading:
    """One pass over one instruction folder; what is left out gathers on the way."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._path = folder
        self._folder = folder.relative_to(root).as_posix()
        self._instruction = instruction_of(folder.absolute().name) or 0
        self._language = language_of(folder)
        self._videos = {
            entry.name for entry in folder.iterdir() if _is_video(entry.name) and entry.is_file()
        }
        self.left_out: list[LeftOut] = []
        self.notes: list[LeftOut] = []

    def clips(self) -> list[EcogClip]:
        try:
            entries = read_annotations(self._path / ANNOTATIONS)
        except UnreadableError as error:
            for name in sorted(self._videos) or [f"{self._folder}/{ANNOTATIONS}"]:
                self._leave_out(name, str(error))
            return []
        kept = self._without_duplicates(self._with_video(entries))
        try:
            truths = read_truths(self._path / TRUTHS)
        except UnreadableError as error:
            for annotation in kept:
                self._leave_out(annotation.video_name, str(error))
            return []
        clips = [self._clip(annotation, truths) for annotation in kept]
        return [clip for clip in clips if clip is not None]

    def _leave_out(self, name: str, reason: str) -> None:
        self.left_out.append(LeftOut(video_name=name, folder=self._folder, reason=reason))

    def _note(self, name: str, reason: str) -> None:
        self.notes.append(LeftOut(video_name=name, folder=self._folder, reason=reason))

    def _with_video(self, entries: list[Any]) -> list[Annotation]:
        kept: list[Annotation] = []
        named: set[str] = set()
        for number, entry in enumerate(entries):
            name = entry.get("video_name") if isinstance(entry, dict) else None
            try:
                annotation = check_annotation(entry)
            except UnreadableError as error:
                known = isinstance(name, str)
                self._leave_out(str(name) if known else f"{ANNOTATIONS}[{number}]", str(error))
                named |= {str(name)} if known else set()
                continue
            named.add(annotation.video_name)
            if annotation.video_name in self._videos:
                kept.append(annotation)
            else:
                self._leave_out(annotation.video_name, "no video file of that name in the folder")
        for stray in sorted(self._videos - named):
            self._leave_out(stray, f"no entry in {ANNOTATIONS}")
        return kept

    def _without_duplicates(self, annotations: list[Annotation]) -> list[Annotation]:
        first: dict[object, str] = {}
        kept: list[Annotation] = []
        for annotation in annotations:
            if annotation.id is not None and annotation.id in first:
                reason = f"id {annotation.id!r} is already that of {first[annotation.id]!r}"
                self._leave_out(annotation.video_name, reason)
                continue
            first[annotation.id] = annotation.video_name
            kept.append(annotation)
        return kept

    def _clip(self, annotation: Annotation, truths: Mapping[str, Any]) -> EcogClip | None:
        name = annotation.video_name
        if name not in truths:
            self._leave_out(name, f"no entry in {TRUTHS}")
            return None
        try:
            truth = check_truth(truths[name])
        except UnreadableError as error:
            self._leave_out(name, str(error))
            return None
        if not truth.answers:
            reason = "no answer has a label" if truth.dropped else "empty answer list"
            self._leave_out(name, f"{reason} in {TRUTHS}")
            return None
        if truth.dropped:
            self._note(name, f"{truth.dropped} answers without a label passed over")
        for fault in annotation.faults:
            self._note(name, fault)
        return EcogClip(
            video=self._path / name,
            folder=self._folder,
            instruction=self._instruction,
            language=self._language,
            scene=annotation.scene,
            object_choices=truth.object_choices,
            space_choices=truth.space_choices,
            answers=truth.answers,
            transcript=annotation.transcript,
            words=annotation.words,
        )
