"""How long it takes to score many predictions, from made files such as a person has.

The items go round dimensions, levels and types; answers are right, wrong, wordy or missing by a
seeded generator. What is timed is all that ``deixis score`` does: reading both files, scoring, and
the tables with their intervals.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replay.egopoint.benchmark import read_egopoint_answers
from replay.egopoint.dataset import CLOSED, DIMENSIONS, LEVELS, load_egopoint
from replay.egopoint.scoring import score_egopoint
from replay.egopoint.tables import egopoint_tables
from streaming.clock import Stopwatch

_FORMS = ("{}", "Answer: {}", "<think>\n\n</think>\n\n{}", "I would say that it is {}.")


def measure_egopoint(folder: Path, *, predictions: int, seed: int = 0) -> dict[str, Any]:
    """Time the scoring of made predictions.

    Args:
        folder: Where the two files are written.
        predictions: How many.
        seed: Of the made answers.

    Returns:
        ``predictions``, ``seconds`` by step and in all (wall clock and CPU), and ``accuracy``.
    """
    dataset, answers = folder / "items.json", folder / "predictions.jsonl"
    items = list(_items(predictions))
    dataset.write_text(json.dumps(items), encoding="utf-8")
    with answers.open("w", encoding="utf-8") as stream:
        stream.writelines(_lines(items, random.Random(seed)))
    whole = Stopwatch()
    steps: dict[str, float] = {}
    watch = Stopwatch()
    data = load_egopoint(dataset)
    read = read_egopoint_answers(answers, data)
    steps["read"], watch = watch.wall(), Stopwatch()
    scores = score_egopoint(data.items, read.answers)
    steps["score"], watch = watch.wall(), Stopwatch()
    egopoint_tables(scores)
    scores.as_json()
    steps["tables"] = watch.wall()
    return {
        "predictions": len(read.answers),
        "seconds": {name: round(seconds, 2) for name, seconds in steps.items()},
        "wall_seconds": round(whole.wall(), 2),
        "cpu_seconds": round(whole.cpu(), 2),
        "accuracy": scores.overall.accuracy,
    }


def _items(number: int) -> Iterator[dict[str, Any]]:
    dimensions = list(DIMENSIONS)
    for place in range(number):
        kind = CLOSED[place % 3 == 0]
        multiple = kind == "Multiple_Choice"
        yield {
            "image_id": f"{place // 2}",
            "image_path": f"test_img/{place // 2}.jpg",
            "question": "What is the thing I am pointing at?",
            "options": [f"{letter}. Thing" for letter in "ABCD"] if multiple else None,
            "answer": f"{'ABCD'[place % 4]}. Thing" if multiple else str(place % 5 == 0),
            "dimension": dimensions[place % len(dimensions)],
            "deixis_level": LEVELS[place // 7 % len(LEVELS)],
            "type": kind,
        }


def _lines(items: list[dict[str, Any]], rng: random.Random) -> Iterator[str]:
    for place, item in enumerate(items):
        multiple = item["type"] == "Multiple_Choice"
        right = item["answer"][0] if multiple else item["answer"]
        guess = rng.choice("ABCD") if multiple else rng.choice(("True", "False"))
        said = rng.choice(_FORMS).format(right if rng.random() < 0.5 else guess)
        name = item["image_id"] if place % 2 == 0 else f"{item['image_id']}#2"
        yield json.dumps({"id": name, "output": said}) + "\n"
