"""EgoSAT's query sets as questions: when each is asked, what it may see, and how it is worded.

Times in a query set are those of the clip, or of the whole video where ``params.time_offset_sec``
is the clip's start (``time_mode`` ``full``). Here every time is one of the **film** that is played:
the whole video ``<video_uid>.mp4``, in which the clip begins at ``interval_start_sec``, or the clip
alone, ``<clip_uid>.mp4``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from replay.egosat.files import EgosatError, Fields, QuerySet, is_file, read_query_set, sample_key
from replay.egosat.names import (
    LETTERS,
    POSITIONS,
    TASKS,
    Flavour,
    Task,
    position_folder,
)
from replay.egosat.reading import as_float, as_int
from replay.egosat.settings import WindowSettings
from replay.jobs import NotReplayed
from streaming.events import Seconds

FlavourChoice: TypeAlias = Literal["scored", "open", "all"]
_LATE: Seconds = 1e-6
_LONGEST: Seconds = 3_600_000
"""A time beyond a thousand hours is damage."""
_LONGEST_NAME = 200
"""Characters of a video's name; no file is called by more."""
_CHOICES = ("cand", "cand_full", "cand_mcq", "cand_conf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question.

    Attributes:
        key: Unique: place, query set and number, as outcomes are called.
        place: Folder of its predictions, ``<task>/<flavour>[/sspos_…]``.
        task, flavour: What is asked, and how.
        queries: Its query set.
        number: Of the sample in its query set.
        fields: The sample as it stands there.
        film: The film that it is about.
        asked_at: Media time of the question in the film.
        start: Begin of what it may see.
        offset: Media time of the film at the clip's start.
        span: Seconds that it is about, see :func:`replay.egosat.prompts.question_text`.
        options: Four where there is a choice.
    """

    key: str
    place: str
    task: Task
    flavour: Flavour
    queries: QuerySet
    number: int
    fields: Fields
    film: Path
    asked_at: Seconds
    start: Seconds
    offset: Seconds
    span: Seconds
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """What a folder of query sets asks.

    Attributes:
        root: The folder.
        asked: The questions, by query set.
        left_out: Query sets and samples that cannot be asked, and why.
    """

    root: Path
    asked: tuple[Query, ...]
    left_out: tuple[NotReplayed, ...]


def load_queries(
    root: Path,
    films: Path,
    windows: WindowSettings,
    *,
    flavours: FlavourChoice = "scored",
    tasks: Sequence[Task] = TASKS,
    confidence: bool = True,
) -> Queries:
    """Read the query sets below a folder (or one file).

    Args:
        root: The folder.
        films: Folder of ``<video_uid>.mp4`` or ``<clip_uid>.mp4``.
        windows: Where a query does not say what it may see.
        flavours: ``scored``: those of the main table; ``open``: descriptions; ``all``: both.
        tasks: The tasks that are asked.
        confidence: Ask for letters alone as well (``cand_conf``), whose probabilities are read.

    Raises:
        EgosatError: If there is no query set, or nothing that can be asked.
    """
    paths = sorted(root.rglob("*.json*"), key=lambda one: one.as_posix()) if root.is_dir() else []
    paths = [root] if root.is_file() else [path for path in paths if path.is_file()]
    reading = _Reading(root, films, windows, flavours, tasks, confidence)
    for path in paths:
        reading.take(path)
    if not reading.sets:
        raise EgosatError(f"{root}: holds no query set of EgoSAT; name their folder")
    if not reading.asked:
        left = reading.left_out[:1]
        why = [f"{one.source}: {one.reason}" for one in left] or ["no sample of the tasks chosen"]
        raise EgosatError(f"{root}: holds no question that can be asked ({why[0]})")
    return Queries(root=root, asked=tuple(reading.asked), left_out=tuple(reading.left_out))


class _Reading:
    def __init__(
        self,
        root: Path,
        films: Path,
        windows: WindowSettings,
        flavours: FlavourChoice,
        tasks: Sequence[Task],
        confidence: bool,
    ) -> None:
        self.asked: list[Query] = []
        self.left_out: list[NotReplayed] = []
        self.sets = 0
        self._root = root
        self._films = films
        self._windows = windows
        self._flavours = flavours
        self._tasks = tasks
        self._confidence = confidence
        self._keys: set[str] = set()
        self._stems: dict[tuple[str, str], Path] = {}

    def take(self, path: Path) -> None:
        """Add the questions of one file; a file of something else is no query set."""
        name = path.name if path == self._root else path.relative_to(self._root).as_posix()
        try:
            queries = read_query_set(path)
        except EgosatError as error:
            self.left_out.append(NotReplayed(source=name, reason=str(error)))
            return
        task = task_of(queries)
        if task is None or "source_queryset" in queries.fields:
            return  # predictions and summaries may lie beside the sets
        self.sets += 1
        if task not in self._tasks:
            return
        for flavour in self._wanted(queries, task):
            place = _place(queries, task, flavour)
            if place is None:
                why = "its switch position is none of " + ", ".join(POSITIONS.values())
                self.left_out.append(NotReplayed(source=name, reason=why))
                continue
            for number, fields in enumerate(queries.samples):
                key = self._key(place, path, name, str(sample_key(fields, number)))
                try:
                    if key in self._keys:
                        raise ValueError("another sample of its query set has the same idx")
                    self.asked.append(self._query(queries, task, flavour, place, number, key))
                    self._keys.add(key)
                except ValueError as error:
                    self.left_out.append(NotReplayed(source=key, reason=str(error)))

    def _key(self, place: str, path: Path, name: str, sample: str) -> str:
        """A question's name: by the file's stem, or its path where another has that stem."""
        first = self._stems.setdefault((place, path.stem), path)
        return f"{place}/{path.stem if first == path else name}#{sample}"

    def _wanted(self, queries: QuerySet, task: Task) -> Iterator[Flavour]:
        own = flavour_of(queries, task)
        if self._flavours != "open" and own != "open":
            yield own
            if self._confidence and own in ("cand", "cand_full") and task != "sh_rtrv":
                yield "cand_conf"
        # A question without options is the same, whichever query set asks it.
        if self._flavours != "scored" and own != "cand_mcq":
            yield "open"

    def _query(
        self, queries: QuerySet, task: Task, flavour: Flavour, place: str, number: int, key: str
    ) -> Query:
        fields = queries.samples[number]
        film, offset = film_of(queries, self._films)
        base = self._clock_base(queries)
        asked = as_float(fields.get("t_eval_rel"))
        if asked is None:
            at = as_float(fields.get("t_eval"))
            asked = None if at is None else at - base
        if asked is None or not (0 <= asked <= _LONGEST):
            raise ValueError("it says no time at which it is asked")
        end = as_float(fields.get("window_end_sec"))
        if end is not None and end - base > asked + _LATE:
            raise ValueError(
                f"its window ends at {end - base:.3f} s, after it is asked at {asked:.3f} s"
            )
        start = as_float(fields.get("window_start_sec"))
        start = asked - self._look_back(queries, task) if start is None else start - base
        if not math.isfinite(start) or start > asked + _LATE:
            raise ValueError(f"its window begins at {start:.3f} s, after it is asked")
        return Query(
            key=key,
            place=place,
            task=task,
            flavour=flavour,
            queries=queries,
            number=number,
            fields=fields,
            film=film,
            asked_at=offset + asked,
            start=offset + max(0.0, start),
            offset=offset,
            span=self._span(task, fields),
            options=_options(fields) if flavour in _CHOICES else (),
        )

    def _clock_base(self, queries: QuerySet) -> Seconds:
        params = queries.fields.get("params")
        base = as_float(params.get("time_offset_sec")) if isinstance(params, dict) else None
        return base or 0.0

    def _look_back(self, queries: QuerySet, task: Task) -> Seconds:
        """How far back a query sees that does not say so itself."""
        params = queries.fields.get("params")
        stated = as_float(params.get("lookback_sec")) if isinstance(params, dict) else None
        if stated is not None and 0 < stated < math.inf:
            return stated
        return self._windows.context if task.endswith("pred") else self._windows.lookback

    def _span(self, task: Task, fields: Fields) -> Seconds:
        windows = self._windows
        known: tuple[str, ...]
        match task:
            case "sh_rtrv":
                known, default = ("lookback_sec",), windows.lookback
            case "sh_pred":
                known, default = ("horizon_sec", "lookahead_sec", "pred_sec"), windows.horizon
            case "ms_pred":
                known = ("lead_sec", "horizon_sec", "lookahead_sec", "pred_sec")
                default = _of_step(fields, windows.leads)
            case "ms_rtrv":
                known, default = ("lag_sec", "lookback_sec"), _of_step(fields, windows.lags)
            case _:
                return 0.0
        values = (as_float(fields.get(name)) for name in known)
        return next((value for value in values if value is not None and value > 0), default)


def _of_step(fields: Fields, distances: Sequence[Seconds]) -> Seconds:
    step = as_int(fields.get("step_idx"))
    return distances[step] if step is not None and 0 <= step < len(distances) else distances[0]


def task_of(queries: QuerySet) -> Task | None:
    """Which task a query set is of; None when it is none."""
    named = str(queries.fields.get("task") or queries.fields.get("task_name") or "").lower()
    named = "sh_pred" if named == "sh_pred_full" else named
    return named if named in TASKS else None


def flavour_of(queries: QuerySet, task: Task) -> Flavour:
    """How a query set is meant to be asked: as it says, else by what its samples hold."""
    said = ""
    for table in ("params", "helper"):
        place = queries.fields.get(table)
        if isinstance(place, dict) and isinstance(place.get("pred_flavor"), str):
            said = said or place["pred_flavor"]
    chooses = any(isinstance(one.get("mcq"), dict) for one in queries.samples)
    if said == "open" and not chooses:
        return "open"
    if task == "now_state_switch":
        return "cand_state"
    if task == "now_narration":
        return "cand_mcq" if chooses else "cand_state"
    if not chooses:
        return "open"
    if task == "sh_pred":
        # Without the option for all states the authors' sets hold predictable moments alone.
        states = {str(one.get("state") or "").upper() for one in queries.samples}
        full = "full" in str(queries.fields.get("task")) or said == "cand_full"
        return "cand_full" if full or states - {"NN"} else "cand"
    return "cand"


def _place(queries: QuerySet, task: Task, flavour: Flavour) -> str | None:
    if task != "now_state_switch":
        return f"{task}/{flavour}"
    position = position_of(queries)
    if position not in POSITIONS.values():
        return None
    return f"{task}/{flavour}/{position_folder(position)}"


def position_of(queries: QuerySet) -> str:
    """The switch position of a query set, such as ``t:1.0``; empty when it says none."""
    said = _said_position(queries)
    seconds = as_float(said.removeprefix("t:"))
    return said if seconds is None or not math.isfinite(seconds) else f"t:{seconds:.1f}"


def _said_position(queries: QuerySet) -> str:
    for table, key in (("params", "state_switch_param"), ("helper", "state_switch_ss_pos_raw")):
        place = queries.fields.get(table)
        if isinstance(place, dict) and isinstance(place.get(key), str):
            return str(place[key])
    for sample in queries.samples:
        param = sample.get("state_switch_param")
        raw: Any = param.get("raw") if isinstance(param, dict) else param
        if isinstance(raw, str):
            return raw
    return ""


def film_of(queries: QuerySet, films: Path) -> tuple[Path, Seconds]:
    """The film of a query set, and the media time of the clip's start in it.

    Raises:
        ValueError: If it names no video, or its clip begins at no time.
    """
    about = queries.fields.get("video_metadata")
    about = about if isinstance(about, dict) else {}
    video = queries.fields.get("video_uid") or about.get("video_uid")
    clip = about.get("clip_uid")
    if (
        not isinstance(video, str)
        or not 0 < len(video) <= _LONGEST_NAME
        or Path(video).name != video
    ):
        raise ValueError("it names no video_uid")
    start = max(0.0, as_float(about.get("interval_start_sec")) or 0.0)
    if not start <= _LONGEST:
        raise ValueError(f"its clip begins at {start:g} s, which is no time")
    whole = films / f"{video}.mp4"
    if not is_file(whole) and isinstance(clip, str) and clip and Path(clip).name == clip:
        part = films / f"{clip}.mp4"
        if is_file(part):
            return part, 0.0
    return whole, start


def _options(fields: Fields) -> tuple[str, ...]:
    choice = fields.get("mcq")
    options = choice.get("options") if isinstance(choice, dict) else None
    if not isinstance(options, list) or len(options) != len(LETTERS):
        raise ValueError(f"it has not {len(LETTERS)} options")
    return tuple(str(option) for option in options)
