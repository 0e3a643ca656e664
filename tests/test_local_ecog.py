"""The local model on real clips, given the true strokes, bindings and words."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from replay.ecog.clips import EcogClip, EcogTree
from replay.ecog.loader import load_ecog
from replay.predictions import Prediction
from replay.scoring.ecog import score_ecog
from streaming import geometry
from streaming.events import IDENTITY, Binding, Deictic, Hand, Homography, Stroke, Word
from streaming.grounding import Keyframe, Query, Task, View
from streaming.grounding_choice import choose
from streaming.grounding_frames import crop_along, encoded, ray_of
from streaming.models.local import LocalModel
from streaming.models.mediapipe_hands import MediaPipeHands

pytestmark = pytest.mark.media
PLACES = {"here", "there", "这里", "那里"}
ANAPHORS = {"it", "它"}


@pytest.fixture(scope="module")
def clips(shared_media: Path) -> list[tuple[EcogClip, dict[str, Any], list[NDArray[np.uint8]]]]:
    """Clip, truth, and its pictures at the apexes and at the end."""
    root = shared_media / "ecog-mini"
    truths = json.loads((root / "truth.json").read_text(encoding="utf-8"))["clips"]
    by_name = {truth["video_name"]: truth for truth in truths}
    return [
        (clip, by_name[clip.video_name], list(_pictures(clip.video, by_name[clip.video_name])))
        for clip in load_ecog(root).clips
    ]


@pytest.fixture(scope="module")
def queries(clips: list[tuple[EcogClip, dict[str, Any], list[NDArray[np.uint8]]]]) -> list[Query]:
    return [_query(*clip) for clip in clips]


@pytest.mark.parametrize(("light", "noise"), [((1.0, 1.0, 1.0), 0.0), ((0.6, 0.55, 0.46), 6.0)])
def test_objects_and_places_are_found(
    clips: list[tuple[EcogClip, dict[str, Any], list[NDArray[np.uint8]]]],
    queries: list[Query],
    light: tuple[float, float, float],
    noise: float,
) -> None:
    model = LocalModel()
    rng = np.random.default_rng(4)
    predictions = []
    for (clip, _, _), query in zip(clips, queries, strict=True):
        assert query.last is not None
        lit = query.last.image * np.array(light) + rng.normal(0.0, noise, query.last.image.shape)
        last = View(time=query.last.time, image=np.clip(lit, 0, 255).astype(np.uint8))
        answer = model.answer(_with(query, last))
        predictions.append(
            Prediction(
                video_name=clip.video_name,
                instruction=clip.instruction,
                output=answer.raw,
                folder=clip.folder,
            )
        )
    tree = EcogTree(root=Path(), clips=tuple(clip for clip, _, _ in clips))
    scores = score_ecog(tree, predictions).overall.scores
    assert scores.cls >= 0.9
    assert scores.s >= 0.9
    assert scores.t == 1.0


def _with(query: Query, last: View) -> Query:
    return dataclasses.replace(query, last=last)


def _pictures(video: Path, truth: dict[str, Any]) -> Iterator[NDArray[np.uint8]]:
    with av.open(str(video)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    for stroke in truth["strokes"]:
        yield frames[min(len(frames) - 1, round(stroke["apex_ms"] / 1000 * truth["fps"]))]
    yield frames[-1]


def _query(clip: EcogClip, truth: dict[str, Any], pictures: list[NDArray[np.uint8]]) -> Query:
    words = tuple(
        Word(
            text=word["text"],
            onset=word["begin_ms"] / 1000,
            offset=word["end_ms"] / 1000,
            language=clip.language,
        )
        for word in truth["words"]
    )
    marked = [k for k, word in enumerate(truth["words"]) if word["deictic"]]
    deictics = tuple(_deictic(index, words[k]) for index, k in enumerate(marked))
    bindings = [
        Binding(deictic=index, stroke=truth["words"][k]["stroke"], probability=0.9, reason="window")
        for index, k in enumerate(marked)
    ]
    with closing(MediaPipeHands(confidence=0.2)) as detector:
        frames = tuple(
            _keyframe(detector, truth, stroke, picture)
            for stroke, picture in zip(truth["strokes"], pictures[:-1], strict=True)
        )
    bindings += [
        Binding(deictic=None, stroke=stroke["index"], probability=0.9, reason="window")
        for stroke in truth["strokes"]
        if stroke["word_index"] is None
    ]
    task = Task(
        object_choices=clip.object_choices,
        space_choices=clip.space_choices,
        referents=clip.k,
        instruction=clip.instruction,
        language=clip.language,
        benchmark=True,
    )
    end = truth["duration_ms"] / 1000
    return Query(
        turn=0,
        asked_at=end,
        task=task,
        pointed=choose(
            task.kinds,
            deictics=deictics,
            bindings=bindings,
            strokes=[frame.stroke for frame in frames],
            hold_ends={frame.stroke.index: frame.hold_end or end for frame in frames},
            inset=0.08,
        ),
        keyframes=frames,
        last=View(time=end, image=pictures[-1], to_last=IDENTITY),
        words=words,
        deictics=deictics,
        bindings=tuple(bindings),
        language=clip.language,
        final=True,
    )


def _deictic(index: int, word: Word) -> Deictic:
    text = word.text.lower()
    return Deictic(
        index=index,
        text=word.text,
        onset=word.onset,
        offset=word.offset,
        kind="place" if text in PLACES else "anaphor" if text in ANAPHORS else "object",
        language=word.language,
    )


def _keyframe(
    detector: MediaPipeHands,
    truth: dict[str, Any],
    stroke: dict[str, Any],
    picture: NDArray[np.uint8],
) -> Keyframe:
    aspect = truth["width"] / truth["height"]
    # The detector follows the hand from picture to picture; after a jump it looks again.
    looks = (
        detector.detect(picture, milliseconds=stroke["apex_ms"] + k, aspect=aspect)
        for k in range(4)
    )
    found = next(hands for hands in looks if hands)[0]
    hand = Hand(
        track=0,
        side="right",
        score=0.9,
        landmarks=tuple((float(x), float(y)) for x, y in found.landmarks),
    )
    made = Stroke(
        index=stroke["index"],
        onset=stroke["onset_ms"] / 1000,
        apex=stroke["apex_ms"] / 1000,
        tip=hand.tip,
        knuckle=hand.knuckle,
    )
    ray = ray_of(made, (hand,))
    return Keyframe(
        stroke=made,
        time=made.apex,
        jpeg=encoded(picture),
        hands=(hand,),
        ray=ray,
        crop=crop_along(ray, share=0.3, aspect=aspect),
        hold_end=stroke["hold_end_ms"] / 1000,
        to_last=_in_fractions(stroke["table_homography_apex_to_last"], truth),
    )


def _in_fractions(matrix: list[list[float]], truth: dict[str, Any]) -> Homography:
    scale = np.diag([1 / truth["width"], 1 / truth["height"], 1.0])
    return geometry.from_matrix(scale @ np.array(matrix) @ np.linalg.inv(scale))
