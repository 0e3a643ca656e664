"""Query sets made of Ego4D's annotations, by EgoSAT's recipe; byte for byte the same by seed.

Every so often (8 s) there is a moment, of the region ``segment`` (the wearer interacts) or ``gap``.

* ``now_narration`` asks at each moment: its state, and in a segment also the action.
* ``now_state_switch`` asks at two probes of every pair of neighbouring moments of unlike regions:
  in the middle of the first region, and 1, 2 or 4 s into the second.
* ``sh_rtrv`` asks for the newest interaction that began within the last 20 s.
* ``sh_pred`` asks for the next one within 8 s; its answerability (:mod:`replay.egosat.
  answerability`) is in ``state``.
* ``ms_rtrv`` and ``ms_pred`` ask what is done 8, 16 and 24 s before and after a moment, for moments
  that all three steps have an interaction for.

A query's window ends where the query is asked. Times are those of the clip, which begins at
``video_metadata.interval_start_sec`` of its video. Departures from the published sets, whose
construction code is not public: thresholds of answerability are quantiles
(``configs/egosat.toml``), and nothing was looked over by a person.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.egosat.answerability import Answerability, Moment, answerability, successors
from replay.egosat.embedding import Embedder, PictureEmbedder, Remembered
from replay.egosat.grid import Place, grid, newest_before, next_after, segment_at, switches
from replay.egosat.names import STEPS, Flavour, Task, position_folder
from replay.egosat.narrations import Annotations, Interval, Segment
from replay.egosat.options import OptionSampler
from replay.egosat.prompts import EgosatTexts, question_text
from replay.egosat.settings import EgosatSettings
from streaming.events import Seconds

Sample = dict[str, Any]
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was built.

    Attributes:
        files: Query sets by path below the folder that they are for.
        counts: Queries by folder.
        left_out: Queries that could not be made, counted by reason.
    """

    files: Mapping[str, dict[str, Any]]
    counts: Mapping[str, int]
    left_out: Mapping[str, int] = field(default_factory=dict)


def build_query_sets(
    annotations: Annotations,
    embedder: Embedder,
    *,
    settings: EgosatSettings,
    texts: EgosatTexts,
    seed: int,
    split: str = "val",
    pictures: PictureEmbedder | None = None,
) -> Built:
    """All query sets of some annotations.

    Args:
        annotations: Of Ego4D.
        embedder: For absurd options and for answerability.
        settings: Windows, distances, thresholds.
        texts: The wording of the prompts that are written into the sets.
        seed: Of the options.
        split: Written into the sets.
        pictures: For the visual half of Surprise; text alone without.
    """
    remembered = Remembered(embedder)
    segments = [one for interval in annotations.intervals for one in interval.segments]
    # All texts at once: a few at a time take ten times as long.
    remembered.embed([text for one in segments for text in (one.text, one.action)])
    building = _Building(annotations, remembered, settings, texts, seed, split, pictures)
    for interval in annotations.intervals:
        building.add(interval)
    counts: Counter[str] = Counter()
    for path, content in building.files.items():
        counts[path.rsplit("/", 1)[0]] += len(content["samples"])
    return Built(
        files=building.files,
        counts=dict(sorted(counts.items())),
        left_out=dict(sorted(building.left_out.items())),
    )


def write_query_sets(built: Built, folder: Path) -> list[Path]:
    """Write them below a folder.

    Raises:
        OSError: If that cannot be done.
    """
    written = []
    for name, content in sorted(built.files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8", newline="\n")
        written.append(path)
    return written


class _Building:
    def __init__(
        self,
        annotations: Annotations,
        embedder: Embedder,
        settings: EgosatSettings,
        texts: EgosatTexts,
        seed: int,
        split: str,
        pictures: PictureEmbedder | None,
    ) -> None:
        self.files: dict[str, dict[str, Any]] = {}
        self.left_out: Counter[str] = Counter()
        self._settings = settings
        self._texts = texts
        self._seed = seed
        self._split = split
        self._embedder = embedder.name
        self._options = OptionSampler(annotations.intervals, embedder, settings.building, seed=seed)
        self._known = self._answerable(annotations.intervals, embedder, pictures)

    def _answerable(
        self, intervals: Sequence[Interval], embedder: Embedder, pictures: PictureEmbedder | None
    ) -> dict[tuple[str, str, Seconds], Answerability]:
        """Answerability of every moment that a prediction is asked at, all compared at once."""
        moments = [
            Moment(interval=one, time=one.start + place.time, observed=newest_before(one, place))
            for one in intervals
            for place in grid(one, self._settings.building.every)
            if next_after(one, place, self._settings.windows.horizon) is not None
        ]
        found = answerability(
            moments,
            successors(intervals),
            embedder,
            before=self._settings.windows.context,
            after=self._settings.windows.horizon,
            branch_quantile=self._settings.building.branch_quantile,
            surprise_quantile=self._settings.building.surprise_quantile,
            pictures=pictures,
        )
        return {
            (one.interval.video, one.interval.clip, one.time): known
            for one, known in zip(moments, found, strict=True)
        }

    def add(self, interval: Interval) -> None:
        """Make the query sets of one interval."""
        places = grid(interval, self._settings.building.every)
        self._write(interval, "now_narration", "cand_state", self._states(places))
        self._write(interval, "now_narration", "cand_mcq", self._actions(interval, places))
        for position in self._settings.windows.positions:
            probes = self._probes(places, position)
            self._write(interval, "now_state_switch", "cand_state", probes, position=position)
        self._write(interval, "sh_rtrv", "cand", self._newest(interval, places))
        self._write(interval, "sh_pred", "cand_full", self._next(interval, places))
        for task in ("ms_rtrv", "ms_pred"):
            self._write(interval, task, "cand", self._steps(interval, task, places))

    def _states(self, places: Sequence[Place]) -> Iterator[Sample]:
        for number, place in enumerate(places):
            yield self._present(number, place, "cand_state")

    def _present(self, number: int, place: Place, flavour: Flavour) -> Sample:
        sample = _sample(number, place.time, self._settings.windows.lookback)
        sample |= {"region": place.region} | _bounds(place)
        return sample | self._asked("now_narration", flavour, place.time, 0.0, None)

    def _actions(self, interval: Interval, places: Sequence[Place]) -> Iterator[Sample]:
        for number, place in enumerate(places):
            if place.segment is None:
                continue
            choice = self._choice(interval, place.segment, "now_narration", number)
            if choice is None:
                continue
            sample = _sample(number, place.time, self._settings.windows.lookback)
            sample |= {"region": place.region} | _bounds(place) | _action(place.segment)
            yield sample | self._asked("now_narration", "cand_mcq", place.time, 0.0, choice)

    def _probes(self, places: Sequence[Place], position: Seconds) -> Iterator[Sample]:
        number = 0
        for switch in switches(places):
            name = (
                f"{switch.kind}|a_idx={switch.first}|b_idx={switch.first + 1}|"
                f"dt={self._settings.building.every:.3f}"
            )
            for role, place, time in switch.probes(position):
                sample = _sample(number, time, self._settings.windows.lookback)
                sample |= {
                    "region": place.region,
                    "state_switch_pair_type": switch.kind,
                    "state_switch_role": role,
                    "state_switch_pair_id": name,
                    "state_switch_param": {
                        "raw": f"t:{position:.1f}",
                        "mode": "time",
                        "value": position,
                    },
                }
                number += 1
                yield sample | self._asked("now_state_switch", "cand_state", time, 0.0, None)

    def _newest(self, interval: Interval, places: Sequence[Place]) -> Iterator[Sample]:
        lookback = self._settings.windows.lookback
        for number, place in enumerate(places):
            segment = newest_before(interval, place)
            if segment is None or segment.start - interval.start < place.time - lookback:
                self.left_out["sh_rtrv: nothing began within the window"] += 1
                continue
            choice = self._choice(interval, segment, "sh_rtrv", number)
            if choice is not None:
                sample = _sample(number, place.time, lookback) | _action(segment)
                yield sample | self._asked("sh_rtrv", "cand", place.time, lookback, choice)

    def _next(self, interval: Interval, places: Sequence[Place]) -> Iterator[Sample]:
        windows = self._settings.windows
        for number, place in enumerate(places):
            segment = next_after(interval, place, windows.horizon)
            if segment is None:
                self.left_out["sh_pred: nothing begins within the horizon"] += 1
                continue
            choice = self._choice(interval, segment, "sh_pred", number)
            if choice is None:
                continue
            known = self._known[interval.video, interval.clip, interval.start + place.time]
            sample = _sample(number, place.time, max(windows.context, windows.horizon))
            sample |= {
                "horizon_sec": windows.horizon,
                "t_target_sec": _rounded(place.time + windows.horizon),
                "state": known.state,
                "branchiness": _rounded(known.branchiness),
                "surprise": None if math.isnan(known.surprise) else _rounded(known.surprise),
            }
            sample |= _action(segment)
            yield sample | self._asked("sh_pred", "cand_full", place.time, windows.horizon, choice)

    def _steps(self, interval: Interval, task: Task, places: Sequence[Place]) -> Iterator[Sample]:
        windows = self._settings.windows
        past = task == "ms_rtrv"
        distances = windows.lags if past else windows.leads
        number = 0
        for anchor, place in enumerate(places):
            group = []
            for step, distance in enumerate(distances):
                target = place.time - distance if past else place.time + distance
                segment = segment_at(interval, target)
                choice = None
                if segment is not None:
                    choice = self._choice(interval, segment, task, len(STEPS) * anchor + step)
                if segment is None or choice is None:
                    break
                group.append((step, distance, target, segment, choice))
            if len(group) < len(distances):
                self.left_out[f"{task}: a step without an interaction"] += 1
                continue
            for step, distance, target, segment, choice in group:
                back = place.time - (segment.start - interval.start) if past else windows.context
                sample = _sample(number, place.time, back) | {
                    "anchor_idx": anchor,
                    "step_idx": step,
                    "group_size": len(distances),
                    "lag_sec" if past else "lead_sec": distance,
                    "t_target_sec": _rounded(target),
                }
                sample["lookback_sec"] = distance if past else windows.context
                if not past:
                    sample |= {"horizon_sec": distance, "context_sec": windows.context}
                number += 1
                sample |= _action(segment) | {
                    "gt_segment_start": _rounded(segment.start - interval.start),
                    "gt_segment_end": _rounded(segment.end - interval.start),
                }
                yield sample | self._asked(task, "cand", place.time, distance, choice)

    def _choice(
        self, interval: Interval, right: Segment, task: Task, number: int
    ) -> dict[str, Any] | None:
        name = f"{task}/{interval.video}/{interval.clip}/{number}"
        choice = self._options.choice(interval, right, name)
        if choice is None:
            self.left_out[f"{task}: fewer than four different actions"] += 1
        return choice

    def _asked(
        self,
        task: Task,
        flavour: Flavour,
        time: Seconds,
        span: Seconds,
        choice: dict[str, Any] | None,
    ) -> Sample:
        options = choice["options"] if choice is not None else ()
        prompt = question_text(self._texts, task, flavour, time=time, span=span, options=options)
        return {"prompt": prompt} | ({} if choice is None else {"mcq": choice})

    def _write(
        self,
        interval: Interval,
        task: Task,
        flavour: Flavour,
        samples: Iterator[Sample],
        *,
        position: Seconds | None = None,
    ) -> None:
        asked = list(samples)
        if not asked:
            return
        length = _rounded(interval.end - interval.start)
        folder, name = f"{task}/{flavour}", f"{task}__{flavour}"
        params: dict[str, Any] = {
            "pred_flavor": flavour,
            "time_mode": "clip",
            "time_offset_sec": 0.0,
            "interval_len_sec": length,
            "query_freq": self._settings.building.every,
        }
        if position is not None:
            place = position_folder(f"t:{position:.1f}")
            folder, name = f"{folder}/{place}", f"{name}__{place}"
            params["state_switch_param"] = f"t:{position:.1f}"
        if flavour == "cand_full":
            params["sh_pred_all_states"] = True
        full = "sh_pred_full" if flavour == "cand_full" else task
        self.files[f"{folder}/{interval.video}__{interval.clip}__{name}.json"] = {
            "dataset": "Ego4D",
            "task": full,
            "task_name": full,
            "video_uid": interval.video,
            "video_metadata": {
                "video_uid": interval.video,
                "clip_uid": interval.clip,
                "interval_start_sec": _rounded(interval.start),
                "interval_end_sec": _rounded(interval.end),
                "interval_len_sec": length,
                "split": self._split,
            },
            "params": params,
            "helper": {
                "made_by": "deixis",
                "seed": self._seed,
                "embedder": self._embedder,
                "prompt": self._texts.name,
            },
            "num_samples": len(asked),
            "samples": asked,
        }


def _sample(number: int, time: Seconds, back: Seconds) -> Sample:
    """The fields that every query has; its window ends where it is asked."""
    return {
        "idx": number,
        "t_eval": _rounded(time),
        "t_eval_rel": _rounded(time),
        "window_start_sec": _rounded(max(0.0, time - back)),
        "window_end_sec": _rounded(time),
        "lookback_sec": _rounded(back),
    }


def _bounds(place: Place) -> Sample:
    names = ("gt_segment_start", "gt_segment_end")
    if place.segment is None:
        names = ("gap_block_start", "gap_block_end")
    return {names[0]: _rounded(place.start), names[1]: _rounded(place.end)}


def _action(segment: Segment) -> Sample:
    return {"verb": segment.verb, "noun": segment.noun, "narration": segment.text}


def _rounded(value: float) -> float:
    return round(value, _DIGITS)
