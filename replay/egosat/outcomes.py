"""Single samples of EgoSAT with what they came out as: for intervals, calibration and comparisons.

Measures have the names of the table's columns. The mean over a column's samples is its value, but
for the averages over steps, which are means of means.
"""

from __future__ import annotations

from collections.abc import Iterator

from replay.benchmark import Outcome
from replay.egosat.calibration import Judged
from replay.egosat.counts import States, group_of, pairs_of, step_of
from replay.egosat.files import Fields, Predicted, sample_key
from replay.egosat.main_table import DISTANCES
from replay.egosat.names import LETTERS, PAIR_ROLES, POSITIONS, STEPS, position_folder
from replay.egosat.reading import (
    as_float,
    confidence,
    letter_probabilities,
    predicted_letter,
    predicted_state,
    state_chance,
    tagged,
    true_letter,
    true_state,
)

_WAYS = {"segment_to_gap": "fg2bg", "gap_to_segment": "bg2fg"}


def group_name(predicted: Predicted) -> str:
    """What the samples of a query set share: their video, else their file."""
    about = predicted.queries.fields.get("video_metadata")
    named = predicted.queries.fields.get("video_uid")
    if not named and isinstance(about, dict):
        named = about.get("video_uid")
    return str(named or predicted.queries.path.stem)


def outcomes_of(place: str, predicted: Predicted) -> Iterator[Outcome]:
    """What each sample of a query set came out as, by the columns that it counts in."""
    task, flavour, *position = place.split("/")
    if position:
        yield from _switch_outcomes(position[0], predicted)
        return
    for number, query in enumerate(predicted.queries.samples):
        key = sample_key(query, number)
        sample = predicted.answers.get(key)
        if flavour == "cand_state":
            values = _state_values(query, sample)
        elif flavour == "cand_conf":
            values = _confidence_values(task, query, sample)
        else:
            values = _answer_values(task, query, sample)
        if values:
            yield Outcome(
                key=f"{place}/{predicted.queries.path.stem}#{key}",
                group=group_name(predicted),
                values=values,
                answered=sample is not None,
            )


def column_of(task: str, query: Fields) -> str | None:
    """Beginning of the columns that a choice counts in; None when in none."""
    match task:
        case "now_narration":
            return "now_mcq"
        case "sh_rtrv":
            return "sh_rtrv"
        case "sh_pred":
            group = group_of(query)
            return None if group == "unknown" else f"sh_pred_{group}"
    step = step_of(query, DISTANCES[task])
    return None if step == "unknown" else f"{task}_{step.replace('_', '')}"


def _answer_values(task: str, query: Fields, sample: Fields | None) -> dict[str, float]:
    truth, column = true_letter(query), column_of(task, query)
    if truth is None or column is None:
        return {}
    return {f"{column}_acc": float(predicted_letter(sample) == truth)}


def _confidence_values(task: str, query: Fields, sample: Fields | None) -> dict[str, float]:
    value, _ = confidence(sample)
    column = column_of(task, query)
    return {} if value is None or column is None else {f"{column}_conf": value}


def _state_values(query: Fields, sample: Fields | None) -> dict[str, float]:
    truth, answer = true_state(query), predicted_state(sample)
    values: dict[str, float] = {}
    if truth == "INTERACTION":
        values["now_rec"] = float(answer == truth)
    if truth is not None and answer == "INTERACTION":
        values["now_prec"] = float(answer == truth)
    if truth is not None:
        values["now_state"] = float(answer == truth)
    return values


def _switch_outcomes(folder: str, predicted: Predicted) -> Iterator[Outcome]:
    names = [position_folder(position) for position in POSITIONS.values()]
    number = names.index(folder) + 1
    for place, pair in enumerate(pairs_of(predicted, States())):
        if pair.pair_type not in PAIR_ROLES:
            continue
        before, after = (pair.probes.get(role) for role in PAIR_ROLES[pair.pair_type])
        if before is None or after is None or before.answer is None or after.answer is None:
            continue
        column = f"ss{number}_{_WAYS[pair.pair_type]}"
        success = before.answer == before.truth and after.answer == after.truth
        values = {f"{column}_acc": float(success)}
        if success and after.chance is not None and 0 <= after.chance <= 1:
            values[f"{column}_conf"] = after.chance
        yield Outcome(
            key=f"{folder}/{predicted.queries.path.stem}#pair{place}",
            group=group_name(predicted),
            values=values,
        )


def judged_of(place: str, predicted: Predicted) -> Iterator[tuple[str, Judged]]:
    """Answers with how sure they were, by what they are called in tables of calibration.

    ``<task>``: letters with letter probabilities (``cand_conf``); ``<task> state``: states with
    their token's probability; ``<task> stated``: choices with the number that the model wrote
    between ``<CONF>`` tags.
    """
    task, flavour, *_ = place.split("/")
    for number, query in enumerate(predicted.queries.samples):
        sample = predicted.answers.get(sample_key(query, number))
        if sample is None:
            continue
        if flavour == "cand_state":
            found = _judged_state(query, sample)
            if found is not None:
                yield f"{task} state", found
            continue
        sure = confidence(sample)[0] if flavour == "cand_conf" else _stated(sample)
        judged = None if sure is None else _judged_letter(task, query, sample, sure)
        if judged is not None:
            yield task if flavour == "cand_conf" else f"{task} stated", judged


def _judged_state(query: Fields, sample: Fields) -> Judged | None:
    truth, answer, chance = true_state(query), predicted_state(sample), state_chance(sample)
    if truth is None or answer is None or chance is None or not 0 <= chance <= 1:
        return None
    return Judged(confidence=chance, right=answer == truth, truth=truth)


def _judged_letter(task: str, query: Fields, sample: Fields, sure: float) -> Judged | None:
    truth, answer = true_letter(query), predicted_letter(sample)
    if truth is None or answer is None:
        return None
    shares = letter_probabilities(sample)
    return Judged(
        confidence=sure,
        right=answer == truth,
        truth=truth,
        forecast=shares if all(letter in shares for letter in LETTERS) else None,
        distance=_distance(task, query),
        bucket=_bucket(task, query),
    )


def _bucket(task: str, query: Fields) -> str:
    if task == "sh_pred":
        return group_of(query)
    return step_of(query, DISTANCES[task]) if task in DISTANCES else "all"


def _distance(task: str, query: Fields) -> float | None:
    if task not in DISTANCES:
        return None
    seconds = as_float(query.get(DISTANCES[task]))
    if seconds is not None and 0 < seconds < float("inf"):
        return seconds
    step = step_of(query, DISTANCES[task])
    return None if step == "unknown" else STEPS[int(step.removeprefix("step_"))]


def _stated(sample: Fields) -> float | None:
    """The share that the model wrote itself, held to 0...1; None when it wrote none."""
    text = sample.get("response_text")
    written = tagged(text, "CONF") if isinstance(text, str) else None
    value = None if written is None else as_float(written)
    return value if value is not None and 0 <= value <= 1 else None
