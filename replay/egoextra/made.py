"""Many made questions and answers of Ego-EXTRA, to time the scoring with."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from replay.egoextra.dataset import load_egoextra
from replay.egoextra.questions import OPTIONS, SCENARIOS
from replay.egoextra.runs import read_run
from replay.egoextra.subrip import format_time
from replay.egoextra.tables import paper_tables, protocol_table
from streaming.clock import Stopwatch

_FORMS = ("{}", "{}.", "Answer: {}", "<think>\n\n</think>\n\n{}", "I would say that it is {}.")
_IN_RECORDING = 250


def measure_egoextra(folder: Path, *, predictions: int, seed: int = 0) -> dict[str, Any]:
    """Time the scoring of made predictions, as ``deixis score egoextra`` does it.

    Args:
        folder: Where the files are written.
        predictions: How many.
        seed: Of the made answers.

    Returns:
        ``predictions``, ``seconds`` by step and in all (wall clock and CPU), and ``accuracy``.
    """
    rng = random.Random(seed)
    answers = folder / "predictions.jsonl"
    with answers.open("w", encoding="utf-8") as stream:
        for number, video in enumerate(_write_questions(folder / "data", predictions)):
            said = rng.choice(_FORMS).format(rng.randint(1, OPTIONS))
            stream.write(json.dumps({"id": f"{video}/{number}", "output": said}) + "\n")
    whole, watch = Stopwatch(), Stopwatch()
    steps: dict[str, float] = {}
    data = load_egoextra(folder / "data")
    steps["read"], watch = watch.wall(), Stopwatch()
    run = read_run(answers, data.questions)
    steps["score"], watch = watch.wall(), Stopwatch()
    paper_tables([run])
    protocol_table([run])
    steps["tables"] = watch.wall()
    return {
        "predictions": run.scores.overall.total,
        "seconds": {name: round(seconds, 2) for name, seconds in steps.items()},
        "wall_seconds": round(whole.wall(), 2),
        "cpu_seconds": round(whole.cpu(), 2),
        "accuracy": run.scores.overall.accuracy,
    }


def _write_questions(folder: Path, count: int) -> list[str]:
    """Write files of questions, one a recording; the recording of each question."""
    videos: list[str] = []
    for begin in range(0, count, _IN_RECORDING):
        number = begin // _IN_RECORDING
        scenario = SCENARIOS[number % len(SCENARIOS)].replace(" ", "_")
        video = f"{scenario}_{number}"
        inside = folder / scenario / ("PA" if number % 2 else "OD")
        inside.mkdir(parents=True, exist_ok=True)
        listed = [_question(place) for place in range(begin, min(count, begin + _IN_RECORDING))]
        (inside / f"{video}.json").write_text(json.dumps(listed), encoding="utf-8")
        videos += [video] * len(listed)
    return videos


def _question(place: int) -> dict[str, Any]:
    options = [f"thing {place % 17 + shift}" for shift in range(OPTIONS)]
    time = float(5 + 7 * (place % _IN_RECORDING))
    return {
        "id": place,
        "text": "What do I need next?",
        "question_involved_ids": f"{2 * place}-{2 * place + 1}",
        "options": options,
        "correct_answer": options[place % OPTIONS],
        "answer_involved_ids": str(2 * place + 2),
        "question_start_time": format_time(time),
        "question_end_time": format_time(time + 2),
        "answer_start_time": format_time(time + 3),
    }
