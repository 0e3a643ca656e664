"""Small EgoPoint-Bench files with known truth, as the authors write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from replay.egopoint.dataset import EgoPointItem, EgoPointSet, load_egopoint

OPTIONS = ("A. Strawberry", "B. Chocolate", "C. Matcha", "D. Milk")
LEAKED: dict[str, Any] = {
    "dataset": "leaked-dataset",
    "rank": 1,
    "relevance_score": 9,
    "rationale": "leaked-rationale",
    "model_output": "leaked-output D",
    "extracted_answer": "leaked-extracted",
    "parsed_ground_truth": "leaked-truth",
    "is_correct": True,
    "eval_score": 5,
    "eval_reason": "leaked-reason",
    "a_field_of_tomorrow": "leaked-tomorrow",
}


def entry(image_id: str = "1144", **fields: Any) -> dict[str, Any]:
    """A multiple choice about one picture, leaked fields included."""
    made = {
        "image_id": image_id,
        "image_path": f"test_img/{image_id}.jpg",
        "question": "What flavour is contained in the package I am pointing at?",
        "options": list(OPTIONS),
        "answer": "D. Milk",
        "dimension": "Basic Perception",
        "deixis_level": "L1",
        "type": "Multiple_Choice",
        **LEAKED,
    }
    return {key: value for key, value in (made | fields).items() if value is not ...}


def judged(image_id: str, answer: str = "False", **fields: Any) -> dict[str, Any]:
    """A yes-or-no question."""
    return entry(
        image_id,
        question="Is this a mug?",
        options=None,
        answer=answer,
        type="True_False",
        **fields,
    )


def opened(image_id: str, **fields: Any) -> dict[str, Any]:
    """A question to be answered in one's own words."""
    made = {"question": "What is this for?", "answer": "To clean hands.", "options": None}
    return entry(image_id, **(made | {"type": "Open_Ended"} | fields))


def write_set(folder: Path, *entries: dict[str, Any], pictures: bool = True) -> EgoPointSet:
    """Write the file and its pictures, and read it."""
    path = folder / "pure_real_test.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries), encoding="utf-8")
    for number, one in enumerate(entries):
        name = one.get("image_path") or f"{one.get('image_id')}.jpg"
        if pictures:
            picture(folder / name, level=40 + number)
    return load_egopoint(path)


def picture(path: Path, *, level: int = 90, width: int = 64, height: int = 48) -> None:
    """A grey picture with a red spot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = np.full((height, width, 3), level, dtype=np.uint8)
    cv2.circle(image, (width // 2, height // 2), height // 6, (20, 20, 220), -1)
    cv2.imwrite(str(path), image)


def item(**fields: Any) -> EgoPointItem:
    """An item without a file."""
    made: dict[str, Any] = {
        "id": "1", "image_id": "1", "image": Path("1.jpg"), "question": "What is this?",
        "options": OPTIONS, "answer": "D. Milk", "dimension": "Basic Perception", "level": "L1",
        "kind": "Multiple_Choice",
    }  # fmt: skip
    return EgoPointItem(**(made | fields))
