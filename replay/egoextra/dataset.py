"""An Ego-EXTRA folder: recordings, transcripts and questions, found wherever they lie.

Files are known by what they are: a ``.json`` whose entries have ``options`` holds questions, a
``.srt`` or ``.txt`` in SubRip form or a ``.json`` whose entries have times holds a transcript, and
films are recordings. They belong together by the recording's name: a questions file of one
recording is called as it, with or without a suffix such as ``_questions``; so is its transcript.
A questions file may also be an object that maps recordings to their lists, or name the recording in
each question.

The scenario and the protocol come from the question, else from the nearest file or folder name that
holds a word for them.

What cannot be used is reported by name and left out, never silently: questions without a usable
answer, the second of two questions of one id, files that cannot be read. A question without its
recording stays: predictions of it can still be scored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.egoextra.dialogue import Dialogue, read_dialogue
from replay.egoextra.questions import (
    Protocol,
    Question,
    QuestionError,
    Scenario,
    protocol_in,
    read_question,
    scenario_in,
    without_suffix,
)
from replay.egoextra.subrip import SubRipError
from replay.loose_json import LONGEST_FILE, Fields, UnreadableJsonError, parse

FILM_SUFFIXES = frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi"})
TRANSCRIPT_SUFFIXES = frozenset({".srt", ".txt", ".json"})
_ENDINGS = re.compile(
    r"(questions?|qa|vqa|mcq|transcripts?|transcription|subtitles?|dialogues?|annotations?"
    r"|data|items|samples)$",
    re.IGNORECASE,
)


class EgoExtraError(ValueError):
    """A folder that holds no Ego-EXTRA questions; one line saying what, where, what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file or a question that is not used, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoExtra:
    """What was found.

    Attributes:
        root: The folder.
        questions: By recording, then by time.
        dialogues: Transcript of each recording that has one, with the speakers that are known.
        films: Film of each recording that has one.
        left_out: What is not used.
    """

    root: Path
    questions: tuple[Question, ...]
    dialogues: Mapping[str, Dialogue] = field(default_factory=dict)
    films: Mapping[str, Path] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()

    @property
    def videos(self) -> tuple[str, ...]:
        """The recordings that are asked about."""
        return tuple(dict.fromkeys(question.video for question in self.questions))

    def of(self, protocol: Protocol) -> tuple[Question, ...]:
        """The questions of one protocol."""
        return tuple(question for question in self.questions if question.protocol == protocol)

    def dialogue(self, video: str) -> Dialogue:
        """The transcript of a recording; empty where there is none."""
        return self.dialogues.get(video, Dialogue())


def load_egoextra(root: Path) -> EgoExtra:
    """Read an Ego-EXTRA folder, or one file of questions.

    Raises:
        EgoExtraError: If there are no questions.
    """
    finder = _Finder(root)
    if root.is_file():
        finder.read_json(root)
        for path in sorted(root.parent.iterdir()):
            if path != root and path.is_file():
                finder.take(path)
    elif root.is_dir():
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            finder.take(path)
    else:
        raise EgoExtraError(f"{root}: no such file or folder")
    return finder.found()


class _Finder:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._questions: dict[tuple[str, str], Question] = {}
        self._transcripts: dict[str, Dialogue] = {}
        self._films: dict[str, Path] = {}
        self._left_out: list[LeftOut] = []

    def take(self, path: Path) -> None:
        suffix = path.suffix.lower()
        if suffix in FILM_SUFFIXES:
            self._films.setdefault(path.stem, path)
        elif suffix == ".json":
            self.read_json(path)
        elif suffix in TRANSCRIPT_SUFFIXES:
            self._read_transcript(path)

    def read_json(self, path: Path) -> None:
        """Read questions, or a transcript, or neither."""
        try:
            if path.stat().st_size > LONGEST_FILE:
                raise UnreadableJsonError(f"over {LONGEST_FILE} bytes")
            value = parse(path.read_bytes())
        except (OSError, UnreadableJsonError) as error:
            self._leave(path, str(error))
            return
        groups = [(video, items) for video, items in _groups(value) if items]
        if any("options" in item for _, items in groups for item in items):
            for video, items in groups:
                self._read_questions(path, video or _recording(path), items)
        elif any("start_time" in item or "start" in item for _, items in groups for item in items):
            self._read_transcript(path)

    def _read_questions(self, path: Path, video: str, items: list[dict[str, Any]]) -> None:
        scenario, protocol = self._told_by(path, video)
        for position, item in enumerate(items):
            try:
                question = read_question(
                    Fields(item), video=video, scenario=scenario, protocol=protocol
                )
            except QuestionError as error:
                label = item.get("id", position)
                self._leave(path, f"question {str(label)[:60]!r}: {error}")
                continue
            if question.key in self._questions:
                self._leave(path, f"question {question.id!r}: another one has its id")
                continue
            self._questions[question.key] = question

    def _told_by(self, path: Path, video: str) -> tuple[Scenario | None, Protocol | None]:
        inside = path.relative_to(self._root) if path.is_relative_to(self._root) else path
        names = [video, path.stem, *reversed(inside.parts[:-1]), self._root.name]
        scenarios = (scenario_in(name) for name in names)
        protocols = (protocol_in(name) for name in names)
        return next(filter(None, scenarios), None), next(filter(None, protocols), None)

    def _read_transcript(self, path: Path) -> None:
        try:
            dialogue = read_dialogue(path)
        except (OSError, SubRipError, UnreadableJsonError) as error:
            if path.suffix.lower() != ".txt":  # such as a licence: no transcript, and no fault
                self._leave(path, str(error))
            return
        if dialogue.turns:
            self._transcripts.setdefault(_recording(path), dialogue)

    def _leave(self, path: Path, reason: str) -> None:
        inside = path.relative_to(self._root) if path.is_relative_to(self._root) else path
        name = path.name if inside == Path(".") else inside.as_posix()
        self._left_out.append(LeftOut(name=name, reason=reason))

    def found(self) -> EgoExtra:
        if not self._questions:
            why = (
                f" ({self._left_out[0].name}: {self._left_out[0].reason})" if self._left_out else ""
            )
            raise EgoExtraError(f"{self._root}: no questions with options were found{why}")
        order = sorted(self._questions.values(), key=lambda one: (one.video, one.question_start))
        videos = {question.video for question in order}
        dialogues = {
            video: _with_speakers(self._transcripts[video], order, video)
            for video in videos
            if video in self._transcripts
        }
        return EgoExtra(
            root=self._root,
            questions=tuple(order),
            dialogues=dialogues,
            films={video: self._films[video] for video in videos if video in self._films},
            left_out=tuple(self._left_out),
        )


def _with_speakers(dialogue: Dialogue, questions: Iterable[Question], video: str) -> Dialogue:
    own = [question for question in questions if question.video == video]
    return dialogue.with_speakers(
        asked=(number for question in own for number in question.question_turns),
        answered=(number for question in own for number in question.answer_turns),
    )


def _groups(value: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Lists of objects in a JSON value, each with the recording that its key names."""
    if isinstance(value, list):
        yield "", [item for item in value if isinstance(item, dict)]
    elif isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, list):
                named = "" if _is_heading(key) else without_suffix(key)
                yield named, [item for item in inner if isinstance(item, dict)]


def _is_heading(key: str) -> bool:
    return not _without_ending(key)


def _without_ending(name: str) -> str:
    """A name without a last word such as ``_questions``, and what parts the two."""
    ending = _ENDINGS.search(name)
    return name if ending is None else name[: ending.start()].rstrip(" _.-")


def _recording(path: Path) -> str:
    """Name of the recording that a file is about: its own without endings, else its folder's."""
    return _without_ending(path.stem) or path.parent.name
