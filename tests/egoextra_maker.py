"""A small Ego-EXTRA folder in the exact formats, and its parts one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from replay.egoextra import Question
from replay.egoextra.subrip import format_time
from tests.media_maker import write_clip

OPTIONS = ["the front wheel", "the rear wheel", "both wheels", "the chain", "none of them"]

BIKE = """\
1
00:00:00,500 --> 00:00:01,200
Hello, I am ready.

2
00:00:01,400 --> 00:00:02,000
Good, let us begin now.

3
00:00:02,500 --> 00:00:03,000
Which wheel should I remove?

4
00:00:03,600 --> 00:00:04,500
Take off the front wheel first of all.

5
00:00:05,200 --> 00:00:05,900
Then loosen the brake cable with the small key.
"""
"""Turns 2, 4 and 5 are the expert's; which of them a question says."""


def entry(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A question as it stands in a file."""
    made = {
        "id": number,
        "text": "Which wheel should I remove?",
        "question_involved_ids": "3",
        "options": list(OPTIONS),
        "correct_answer": OPTIONS[0],
        "answer_involved_ids": "4-5",
        "question_start_time": "00:00:02,500",
        "question_end_time": "00:00:03,000",
        "answer_start_time": "00:00:03,600",
    }
    return {name: value for name, value in (made | changes).items() if value is not ...}


def question(number: int = 1, **changes: Any) -> Question:
    made: dict[str, Any] = {
        "video": "bike_01",
        "id": str(number),
        "text": "Which wheel should I remove?",
        "options": tuple(OPTIONS),
        "correct": OPTIONS[0],
        "question_start": 2.5,
        "question_end": 3.0,
        "scenario": "bike workshop",
        "protocol": "OD",
    }
    return Question(**(made | changes))


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_film(path: Path, *, seconds: float = 7.0) -> Path:
    """A film of 15 frames a second with silent sound; it flashes at 2 s."""
    return write_clip(path, seconds=seconds, fps=15.0, rate=16_000, events=[2.0], size=(64, 48))


def egoextra_folder(root: Path, *, films: bool = True) -> Path:
    """Two recordings: one on demand with SubRip, one pro-active with a JSON transcript."""
    bike = root / "bike_workshop" / "on-demand"
    write_json(
        bike / "bike_01_questions.json",
        [
            entry(1),
            entry(
                2,
                text=...,
                question="What comes next?",
                question_involved_ids="2, 3",
                answer_involved_ids="5",
                correct_answer=OPTIONS[3],
                question_start_time="00:00:04,600",
                question_end_time="00:00:05,000",
            ),
        ],
    )
    (bike / "bike_01.srt").write_text(BIKE, encoding="utf-8")
    kitchen = root / "kitchen" / "PA"
    write_json(
        kitchen / "kitchen_02.json",
        {
            "questions": [
                entry(
                    1,
                    question_involved_ids="1",
                    answer_involved_ids="2",
                    question_start_time="00:00:05,000",
                    question_end_time="00:00:05,500",
                )
            ]
        },
    )
    turns = [
        (1, 1.0, 1.5, "trainee", "I add flour."),
        (2, 4.0, 5.0, "expert", "Not so much flour!"),
    ]
    write_json(
        kitchen / "kitchen_02_transcript.json",
        [
            {
                "id": number,
                "start_time": format_time(onset),
                "end_time": format_time(offset),
                "speaker": speaker,
                "text": text,
            }
            for number, onset, offset, speaker, text in turns
        ],
    )
    if films:
        write_film(bike / "bike_01.mp4")
        write_film(kitchen / "kitchen_02.mp4", seconds=6.0)
    return root
