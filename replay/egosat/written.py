"""A run's answers as the authors' prediction files, which their scorer and ours read alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from replay.answers import Answer
from replay.egosat.files import Fields, Predicted, QuerySet, sample_key
from replay.egosat.forecast import Forecast, forecast_of
from replay.egosat.queries import Query
from replay.egosat.reading import guessed_letter, tagged
from streaming.asking.endpoint import TokenChance

_TAGS = ("STATE", "ANS", "VERB", "NOUN", "DESC", "CONF")


def predicted_sample(query: Query, answer: Answer) -> dict[str, Any]:
    """One sample of a prediction file."""
    chances = token_chances(answer)
    sample: dict[str, Any] = {
        "idx": sample_key(query.fields, query.number),
        "response_text": answer.output,
        "clean_response": answer.output.strip(),
        "parsed": said_in(answer.output),
        "gen_tokens": [chance.token for chance in chances],
        "gen_token_probs": [math.exp(min(0.0, chance.logprob)) for chance in chances],
    }
    if query.flavour == "cand_conf":
        sample["diagnostics"] = {"prompt_and_encoding_debug": _notes(answer, forecast_of(chances))}
    return sample


def _notes(answer: Answer, forecast: Forecast | None) -> dict[str, Any]:
    letter = guessed_letter(answer.output)
    if letter is None and forecast is not None:
        letter = forecast.chosen
    probe = {"ok": False} if forecast is None else forecast.as_probe()
    return {"cand_conf_final_letter": letter, "cand_conf_probe": probe}


def token_chances(answer: Answer) -> list[TokenChance]:
    """The tokens of an answer with the likeliest ones of each place."""
    places = answer.alternatives or ((),) * len(answer.chances)
    return [
        TokenChance(
            token=token,
            logprob=min(0.0, logprob),
            alternatives=tuple(
                TokenChance(token=one, logprob=min(0.0, share)) for one, share in place
            ),
        )
        for (token, logprob), place in zip(answer.chances, places, strict=True)
    ]


def said_in(text: str) -> dict[str, str]:
    """What an answer says between the benchmark's tags, by tag in small letters."""
    found = {tag.lower(): tagged(text, tag) for tag in _TAGS}
    return {tag: value for tag, value in found.items() if value is not None}


def prediction_path(place: str, queries: QuerySet) -> str:
    """Where the predictions for a query set lie, below the folder of all."""
    flavour = place.split("/")[1]
    return f"{place}/{queries.path.stem}__pred__{flavour}.json"


def prediction_files_of(
    queries: Iterable[Query], answers: Mapping[str, Answer], *, model: str = ""
) -> dict[str, Any]:
    """The prediction files of a run by path; what failed has no sample."""
    files: dict[str, Any] = {}
    for query in queries:
        answer = answers.get(query.key)
        if answer is None:
            continue
        path = prediction_path(query.place, query.queries)
        content = files.setdefault(path, _empty(query, model))
        if answer.error is None:
            content["samples"].append(predicted_sample(query, answer))
    return files


def _empty(query: Query, model: str) -> dict[str, Any]:
    fields: Fields = query.queries.fields
    return {
        "dataset": fields.get("dataset", "Ego4D"),
        "task": query.task,
        "video_uid": fields.get("video_uid"),
        "model_name": model,
        "source_queryset": str(query.queries.path),
        "params": fields.get("params", {}),
        "samples": [],
    }


def predicted_sets(
    queries: Sequence[Query], answers: Mapping[str, Answer], *, errors_as_wrong: bool
) -> list[tuple[str, Predicted]]:
    """A run as the scorer takes it: by place, what was asked of each query set and answered.

    A query without an answer is left out, unless ``errors_as_wrong`` and its model failed.
    """
    grouped: dict[tuple[str, Path], list[Query]] = {}
    for query in queries:
        answer = answers.get(query.key)
        if answer is not None and (answer.error is None or errors_as_wrong):
            grouped.setdefault((query.place, query.queries.path), []).append(query)
    found = []
    for (place, path), asked in grouped.items():
        samples = {
            sample_key(query.fields, query.number): predicted_sample(query, answers[query.key])
            for query in asked
            if answers[query.key].error is None
        }
        # The place of a sample is its name where it says no other: keep it.
        kept = tuple(
            {**query.fields, "idx": sample_key(query.fields, query.number)} for query in asked
        )
        queries_asked = QuerySet(path=path, fields=asked[0].queries.fields, samples=kept)
        found.append((place, Predicted(path=path, queries=queries_asked, answers=samples)))
    return found
