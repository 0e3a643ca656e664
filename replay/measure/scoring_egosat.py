"""How long it takes to score many predictions on EgoSAT, from made files such as a person has.

Query sets of 50 samples go round the tasks and flavours of the main table; answers are right,
wrong, wordy or missing by a seeded generator, with probabilities of letters or tokens where the
table has a confidence. What is timed is all that ``deixis score egosat`` does: reading both files
of each, scoring, calibration, and the tables with their intervals.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from replay.egosat.main_table import PLACES
from replay.egosat.names import GROUPS, LETTERS, PAIR_ROLES, STEPS
from replay.egosat.scored import score_files
from replay.egosat.tables import egosat_tables
from streaming.clock import Stopwatch

_EACH = 50


def measure_egosat(folder: Path, *, predictions: int, seed: int = 0) -> dict[str, Any]:
    """Time the scoring of made predictions.

    Args:
        folder: Where the files are written.
        predictions: How many.
        seed: Of the made answers.

    Returns:
        ``predictions``, ``files``, ``seconds`` by step and in all (wall clock and CPU), and the
        ``columns`` of the main table that have a number.
    """
    rng = random.Random(seed)
    numbers = range(0, predictions, _EACH)
    for number, first in enumerate(numbers):
        _write(folder, number, min(_EACH, predictions - first), rng)
    whole, watch = Stopwatch(), Stopwatch()
    scores = score_files(folder / "predictions", [folder / "queries"], bins=10)
    steps = {"read and score": watch.wall()}
    watch = Stopwatch()
    egosat_tables(scores)
    scores.as_json()
    steps["tables"] = watch.wall()
    return {
        "predictions": predictions,
        "files": len(numbers),
        "seconds": {name: round(seconds, 2) for name, seconds in steps.items()},
        "wall_seconds": round(whole.wall(), 2),
        "cpu_seconds": round(whole.cpu(), 2),
        "columns": sum(value is not None for value in scores.row.values()),
    }


def _write(folder: Path, number: int, count: int, rng: random.Random) -> None:
    place = PLACES[number % len(PLACES)]
    name = f"clip{number:05d}.json"
    queries = [_query(place, idx) for idx in range(count)]
    answers = [_answer(place, query, rng) for query in queries if rng.random() < 0.98]
    content = {"task": place.split("/")[0], "video_uid": f"v{number // 12}", "samples": queries}
    for target, value in (
        (folder / "queries" / name, content),
        (folder / "predictions" / place / name, {"source_queryset": name, "samples": answers}),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(value), encoding="utf-8")


def _query(place: str, idx: int) -> dict[str, Any]:
    query: dict[str, Any] = {"idx": idx, "t_eval": 8.0 * idx, "prompt": "What is done?" * 20}
    if "cand_state" in place:
        kinds = list(PAIR_ROLES)
        kind = kinds[idx // 2 % 2]
        return query | {
            "region": kind.split("_to_")[idx % 2],
            "state_switch_pair_type": kind,
            "state_switch_role": PAIR_ROLES[kind][idx % 2],
            "state_switch_pair_id": f"pair{idx // 2}",
        }
    options = ["take cup", "open drawer", "cut bread", "paint wall"]
    return query | {
        "state": list(GROUPS)[idx % len(GROUPS)],
        "step_idx": idx % len(STEPS),
        "lead_sec": STEPS[idx % len(STEPS)],
        "lag_sec": STEPS[idx % len(STEPS)],
        "mcq": {"answer": LETTERS[idx % 4], "answer_idx": idx % 4, "options": options},
    }


def _answer(place: str, query: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    if "cand_state" in place:
        word = rng.choice(("INTERACTION", "NO_INTERACTION", "NO_INTERACTION", "perhaps"))
        return {
            "idx": query["idx"],
            "response_text": f"<NOW><STATE>{word}</STATE><CONF>0.80</CONF></NOW>",
            "gen_tokens": ["<NOW>", "<STATE>", word, "</STATE>"],
            "gen_token_probs": [0.99, 0.99, round(rng.random(), 3), 0.99],
        }
    right = query["mcq"]["answer"]
    letter = right if rng.random() < 0.5 else rng.choice(LETTERS)
    text = rng.choice((f"<PAST><ANS>{letter}</ANS><CONF>0.70</CONF></PAST>", f"It is {letter}."))
    answer: dict[str, Any] = {"idx": query["idx"], "response_text": text}
    if place.endswith("cand_conf"):
        weights = [rng.random() + 3 * (one == letter) for one in LETTERS]
        shares = {one: w / sum(weights) for one, w in zip(LETTERS, weights, strict=True)}
        probe = {"cand_conf_probe": {"ok": True, "p_cond": shares}}
        answer["diagnostics"] = {"prompt_and_encoding_debug": probe}
    return answer
