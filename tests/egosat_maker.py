"""Makes EgoSAT's files: query sets and predictions in the formats of the published ones."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np

from streaming.grounding_frames import decoded

OPTIONS = ["take cup", "open drawer", "cut bread", "paint wall"]


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def query(idx: int, answer: str | None = None, **fields: Any) -> dict[str, Any]:
    """A query, of four options when it has a right one."""
    choice = {}
    if answer is not None:
        choice = {"mcq": {"answer": answer, "answer_idx": "ABCD".index(answer), "options": OPTIONS}}
    return {"idx": idx, **fields, **choice}


def said(idx: int, letter: str, p_cond: Sequence[float] = (), **fields: Any) -> dict[str, Any]:
    """A predicted letter, with the shares of A, B, C and D where they are given."""
    sample: dict[str, Any] = {
        "idx": idx,
        "response_text": letter,
        "clean_response": letter,
        "parsed": {"ans": letter},
        **fields,
    }
    if p_cond:
        shares = dict(zip("ABCD", p_cond, strict=True))
        probe = {"cand_conf_probe": {"ok": True, "p_cond": shares}}
        sample["diagnostics"] = {"prompt_and_encoding_debug": probe}
    return sample


def state(idx: int, word: str, chance: float | None = None) -> dict[str, Any]:
    """A predicted state, with its token's probability where it is given."""
    text = f"<NOW><STATE>{word}</STATE></NOW>"
    sample: dict[str, Any] = {"idx": idx, "response_text": text, "clean_response": text}
    if chance is not None:
        sample["gen_tokens"] = ["<STATE>", word, "</STATE>"]
        sample["gen_token_probs"] = [0.99, chance, 0.98]
    return sample


class Root:
    """A folder with ``queries`` and ``predictions``."""

    def __init__(self, folder: Path) -> None:
        self.queries = folder / "queries"
        self.predictions = folder / "predictions"

    def add(
        self,
        place: str,
        queries: Sequence[Mapping[str, Any]],
        predictions: Sequence[Mapping[str, Any]],
        *,
        name: str = "clip",
        **fields: Any,
    ) -> None:
        """Write one query set and its predictions, those below ``predictions/<place>``."""
        task = place.split("/")[0]
        stem = f"{place.replace('/', '__')}__{name}"
        path = write(
            self.queries / task / f"{stem}.json", {"task": task, "samples": list(queries), **fields}
        )
        named = f"/elsewhere/{path.name}"
        content = {"source_queryset": named, "samples": list(predictions)}
        write(self.predictions / place / f"{stem}__pred.json", content)


def small_root(folder: Path) -> Root:
    """A few samples of everything that the main table tells of."""
    root = Root(folder)
    root.add(
        "now_narration/cand_state",
        [query(0, region="segment"), query(1, region="gap"), query(2, region="segment")],
        [state(0, "INTERACTION"), state(1, "INTERACTION")],
    )
    root.add(
        "now_narration/cand_mcq",
        [query(0, "A"), query(1, "B"), query(2)],
        [said(0, "A"), said(1, "C"), said(2, "A")],
    )
    for position, chance in (("t_1_0", 0.7), ("t_2_0", 0.8), ("t_4_0", 0.9)):
        root.add(f"now_state_switch/cand_state/sspos_{position}", *switch_samples(chance))
    groups = ("NN", "PN", "NP", "PP")
    queries = [
        query(idx, letter, state=group)
        for idx, (letter, group) in enumerate(zip("ABCD", groups, strict=True))
    ]
    root.add("sh_pred/cand_full", queries, [said(0, "A"), said(1, "A"), said(3, "D")])
    root.add(
        "sh_pred/cand_conf",
        queries,
        [
            said(0, "A", (0.8, 0.1, 0.1, 0.0)),
            said(1, "A", (0.4, 0.3, 0.2, 0.1)),
            said(3, "D", (0.05, 0.05, 0.0, 0.9)),
        ],
    )
    for task, distance in (("ms_pred", "lead_sec"), ("ms_rtrv", "lag_sec")):
        steps = [query(0, "A", step_idx=0), query(1, "B", **{distance: 16.0})]
        steps += [query(2, "C", **{distance: 24})]
        root.add(f"{task}/cand", steps, [said(0, "A"), said(1, "D")])
        root.add(
            f"{task}/cand_conf",
            steps,
            [
                said(0, "A", (0.75, 0.15, 0.05, 0.05)),
                said(1, "D", (0.1, 0.2, 0.1, 0.6)),
                said(2, "C", (0.3, 0.3, 0.2, 0.2)),
            ],
        )
    root.add("sh_rtrv/cand", [query(0, "C"), query(1, "D")], [said(0, "C"), said(1, "C")])
    return root


def switch_samples(chance: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A switch each way: the first one seen, the second one missed after it."""

    def probe(idx: int, region: str, kind: str, role: str) -> dict[str, Any]:
        return query(
            idx,
            region=region,
            state_switch_pair_type=kind,
            state_switch_role=role,
            state_switch_pair_id=kind,
        )

    queries = [
        probe(0, "segment", "segment_to_gap", "fixed_segment_mid"),
        probe(1, "gap", "segment_to_gap", "scan_gap"),
        probe(2, "gap", "gap_to_segment", "fixed_gap_mid"),
        probe(3, "segment", "gap_to_segment", "scan_segment"),
    ]
    answers = [
        state(0, "INTERACTION", 0.6),
        state(1, "NO_INTERACTION", chance),
        state(2, "NO_INTERACTION", 0.6),
        state(3, "NO_INTERACTION", 0.5),
    ]
    return queries, answers


STRIPES, WIDE, TALL, FPS = 10, 16, 32, 5


def write_film(path: Path, seconds: float) -> Path:
    """A film whose every picture says its own number, in stripes that are dark or light."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = STRIPES * WIDE, TALL, "yuv420p"
        stream.options = {"preset": "ultrafast", "g": "25"}
        for number in range(round(seconds * FPS)):
            bits = [255 * (number >> bit & 1) for bit in range(STRIPES)]
            row = np.repeat(np.array(bits, dtype=np.uint8), WIDE)
            picture = np.repeat(np.tile(row, (TALL, 1))[..., None], 3, axis=2)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)
    return path


def time_of(jpeg: bytes) -> float:
    """When a picture of such a film is shown, read off its stripes."""
    grey = decoded(jpeg).mean(axis=(0, 2))
    wide = len(grey) / STRIPES
    lit = [grey[int((bit + 0.5) * wide)] > 128 for bit in range(STRIPES)]
    return sum(1 << bit for bit in range(STRIPES) if lit[bit]) / FPS


VERBS = ("take", "put", "open", "close", "cut", "wash", "pour", "stir", "wipe", "move")
NOUNS = ("cup", "knife", "bread", "drawer", "pan", "plate", "towel", "onion", "spoon", "bottle")


def hands_and_objects(videos: int = 2, *, start: float = 10.0, seed: int = 3) -> dict[str, Any]:
    """Ego4D's ``fho_main``, with two minutes of each video annotated."""
    rng = random.Random(seed)
    listed = []
    for video in range(videos):
        actions: list[dict[str, Any]] = []
        time = start + 2
        while time < start + 100:
            length = rng.uniform(2, 6)
            verb, noun = rng.choice(VERBS), rng.choice(NOUNS)
            action = {
                "start_sec": time,
                "end_sec": time + length,
                "narration_text": f"#C C {verb}s the {noun} with the right hand",
                "structured_verb": f"{verb}_(do,_so)",
                "is_rejected": False,
                "is_invalid_annotation": False,
            }
            actions.append(action)
            time += length + rng.choice([0.1, 0.3, 4, 6, 12])
        stretch = {
            "clip_uid": f"clip-{video}",
            "start_sec": start,
            "end_sec": start + 110,
            "narrated_actions": actions,
        }
        listed.append({"video_uid": f"video-{video}", "annotated_intervals": [stretch]})
    return {"videos": listed}


def published_example(folder: Path) -> Root:
    """The same cases as in the authors' ``examples/evaluation_fixtures``, whose row is public."""
    root = Root(folder)
    root.add(
        "now_narration/cand_state",
        [query(0, region="segment"), query(1, region="gap"), query(2, region="segment")],
        [state(0, "INTERACTION"), state(1, "INTERACTION")],
    )
    two = [query(0, "A"), query(1, "B")]
    root.add("now_narration/cand_mcq", two, [said(0, "A"), said(1, "C")])
    root.add("sh_rtrv/cand", two, [said(0, "A"), said(1, "C")])
    for position, chance in (("t_1_0", 0.71), ("t_2_0", 0.72), ("t_4_0", 0.73)):
        root.add(f"now_state_switch/cand_state/sspos_{position}", *switch_samples(chance))
    groups = ("NN", "PN", "NP", "PP")
    queries = [query(i, "ABCD"[i], state=group) for i, group in enumerate(groups)]
    root.add("sh_pred/cand_full", queries, [said(0, "A"), said(1, "C"), said(3, "D")])
    sure = [(0, "A", (0.8, 0.1, 0.05, 0.05)), (1, "C", (0.2, 0.3, 0.4, 0.1))]
    sure += [(3, "D", (0.02, 0.03, 0.05, 0.9))]
    root.add("sh_pred/cand_conf", queries, [said(*one) for one in sure])
    steps = [query(step, "ABC"[step], step_idx=step) for step in range(3)]
    root.add("ms_pred/cand", steps, [said(0, "A"), said(1, "D")])
    sure = [(0, "A", (0.75, 0.1, 0.1, 0.05)), (1, "D", (0.1, 0.2, 0.1, 0.6))]
    sure += [(2, "C", (0.3, 0.3, 0.2, 0.2))]
    root.add("ms_pred/cand_conf", steps, [said(*one) for one in sure])
    root.add("ms_rtrv/cand", steps, [said(0, "D"), said(1, "B"), said(2, "C")])
    sure = [(0, "D", (0.2, 0.1, 0.1, 0.6)), (1, "B", (0.1, 0.7, 0.1, 0.1))]
    sure += [(2, "C", (0.1, 0.1, 0.65, 0.15))]
    root.add("ms_rtrv/cand_conf", steps, [said(*one) for one in sure])
    return root
