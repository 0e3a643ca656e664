"""Makes run folders as ``deixis bench`` leaves them, from a short script of words and strokes.

All content is invented. Delays are plausible and fixed by the seed, so that a test can say what the
numbers must be.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2

from replay.ecog import EcogClip, EcogTree
from replay.ecog.files import check_truth
from replay.predictions import Prediction
from replay.scoring.ecog import score_ecog
from replay.scoring.ecog_json import as_json
from streaming.events import (
    Answer,
    Binding,
    CameraMotion,
    Deictic,
    Hand,
    HandsSeen,
    Partial,
    Point,
    Referent,
    Seconds,
    SpeechEnd,
    SpeechStart,
    Stroke,
    StrokeEnd,
    Utterance,
    Word,
)
from streaming.trace import dump_line, encode_event
from tests.run_pictures import HEIGHT, WIDTH, scene, true_referent
from tests.run_scripts import SCRIPTS, Said, Script

FPS = 30
HOP = 0.4
REST: Point = (1.12, 0.86)


class ClipMaker:
    """Pretends to run one script and collects the trace's lines."""

    def __init__(self, script: Script, *, pace: str = "realtime", seed: int = 0) -> None:
        self.script = script
        self.pace = pace
        self._random = random.Random(f"{seed}/{script.name}")
        self._lines: list[tuple[float, int, dict[str, Any]]] = []
        self._said_order = 0

    def _emit(
        self, event: Any, known_at: Seconds, stage: str, work: Seconds, finish: bool = False
    ) -> None:
        lag = 0.0 if self.pace == "fast" else work * self._random.uniform(0.7, 1.6)
        line = encode_event(
            event, known_at=known_at, emitted_at=known_at + lag, stage=stage, finish=finish
        )
        self._lines.append((known_at, len(self._lines), line))

    def lines(self) -> list[dict[str, Any]]:
        """The whole trace."""
        self._hear()
        self._see()
        self._understand()
        events = [line for _, _, line in sorted(self._lines, key=lambda item: item[:2])]
        return [self._header(), *events, self._end()]

    def _header(self) -> dict[str, Any]:
        script = self.script
        return {
            "type": "Header",
            "format": 1,
            "version": "0.1.0",
            "clip": script.name,
            "source": {
                "name": f"{script.name}.mp4",
                "duration": script.duration,
                "width": WIDTH,
                "height": HEIGHT,
                "video": True,
                "audio": True,
                "fps": FPS,
            },
            "pace": self.pace,
            "language": script.language,
            "model": "local",
            "config": {"binding": {"deadline": 1.6}},
            "weights": {"hand_landmarker": "fbc2a30080c3c557"},
            "machine": {
                "cpu": "Imaginary CPU @ 2.5 GHz",
                "cores": 2,
                "os": "Linux 6.1",
                "python": "3.11.11",
            },
        }

    def _end(self) -> dict[str, Any]:
        duration = self.script.duration
        noise = self._random
        frames, blocks = int(duration * FPS), int(duration * 10)
        busy = {"vad": 0.02, "transcript": 0.31, "hands": 0.22, "ego_motion": 0.06,
                "strokes": 0.01, "binding": 0.002}  # fmt: skip
        return {
            "type": "End",
            "complete": True,
            "duration": duration,
            "counters": {"frames": frames, "frames_skipped": 2, "audio_gap": 0},
            "wall": {
                "started": "2026-03-02T10:15:00+00:00",
                "wall_seconds": duration + 0.4,
                "cpu_seconds": round(duration * 0.93, 3),
                "cpu_by_stage": {"hearing": round(duration * 0.4, 3), "other": 1.0},
                "rss_mb": 612.0,
                "loop_lag_ms": [round(noise.expovariate(1 / 2.0), 2) for _ in range(blocks)],
                "frame_age_ms": [round(28 + noise.expovariate(1 / 22), 2) for _ in range(frames)],
                "block_age_ms": [round(2 + noise.expovariate(1 / 6), 2) for _ in range(blocks)],
                "components": {
                    name: {
                        "busy": round(share * duration, 4),
                        "cpu": round(share * duration * 0.9, 4),
                        "longest": round(share * 0.8, 4),
                        "steps": frames if name in ("hands", "ego_motion") else blocks,
                    }
                    for name, share in busy.items()
                },
            },
        }

    # --- hearing ---

    def _word(self, index: int, *, nudge: float = 0.0) -> Word:
        said = self.script.words[index]
        text = self.script.false_words.get(index, said.text)
        return Word(
            text=text,
            onset=round(said.onset + nudge, 3),
            offset=round(said.offset + nudge, 3),
            language=self.script.language,
            probability=round(self._random.uniform(0.7, 0.99), 3),
        )

    def _hear(self) -> None:
        words = self.script.words
        if not words:
            return
        onset, offset = words[0].onset, words[-1].offset
        self._emit(SpeechStart(utterance=0, onset=onset), onset + 0.16, "hearing", 0.01)
        closed = offset + 0.5
        committed, hop, deictic = 0, onset + HOP, 0
        while committed < len(words):
            at = min(hop, closed)
            stable = [i for i, said in enumerate(words) if said.offset + 0.45 <= at]
            upto = len(words) if at >= closed else (stable[-1] + 1 if stable else 0)
            for index in range(committed, upto):
                self._emit(self._word(index, nudge=0.02), at, "hearing", 0.14)
                for start, said in enumerate(words[: index + 1]):
                    if said.kind is not None and start + said.spans - 1 == index:
                        self._deictic(deictic, words[start : index + 1], at)
                        deictic += 1
            committed = max(committed, upto)
            guess = tuple(
                self._word(i) for i in range(committed, len(words)) if words[i].onset + 0.15 <= at
            )
            self._emit(Partial(utterance=0, words=guess), at, "hearing", 0.14)
            hop += HOP
        self._emit(SpeechEnd(utterance=0, offset=offset), closed, "hearing", 0.01)
        final = Utterance(
            index=0,
            onset=onset,
            offset=offset,
            language=self.script.language,
            words=tuple(self._word(i) for i in range(len(words))),
        )
        self._emit(final, closed, "hearing", 0.3)

    def _deictic(self, index: int, said: Sequence[Said], at: Seconds) -> None:
        assert said[0].kind is not None
        event = Deictic(
            index=index,
            text=" ".join(one.text.strip(".,") for one in said),
            onset=said[0].onset + 0.02,
            offset=said[-1].offset + 0.02,
            kind=said[0].kind,
            probability=0.93,
            language=self.script.language,
        )
        self._emit(event, at, "hearing", 0.15)

    # --- seeing ---

    def _tip(self, time: Seconds) -> Point:
        """Minimum-jerk from rest to each target, a hold, and back or on to the next."""
        place, since = REST, 0.0
        for stroke in self.script.strokes:
            if time < stroke.onset:
                return _between(place, REST, (time - since) / 0.7)
            if time < stroke.apex:
                start = _between(place, REST, (stroke.onset - since) / 0.7)
                return _between(
                    start, stroke.tip, (time - stroke.onset) / (stroke.apex - stroke.onset)
                )
            if time < stroke.offset:
                return stroke.tip
            place, since = stroke.tip, stroke.offset
        return _between(place, REST, (time - since) / 0.7)

    def _see(self) -> None:
        for frame in range(int(self.script.duration * FPS)):
            time = frame / FPS
            shift = 0.02 * math.sin(time * 1.1)
            to_stable = ((1.0, 0.0, -shift), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
            tip = self._tip(time)
            hands: tuple[Hand, ...] = ()
            if tip[0] < 1.05:
                jitter = 0.0008
                tip = (
                    tip[0] + shift + self._random.gauss(0, jitter),
                    tip[1] + self._random.gauss(0, jitter),
                )
                landmarks = tuple(
                    (round(tip[0] + (8 - i) * 0.006, 6), round(tip[1] + abs(8 - i) * 0.008, 6))
                    for i in range(21)
                )
                hands = (Hand(track=0, side="right", score=0.9, landmarks=landmarks),)
            self._emit(
                HandsSeen(time=time, hands=hands, aspect=WIDTH / HEIGHT), time, "seeing", 0.04
            )
            self._emit(CameraMotion(time=time, to_stable=to_stable), time, "seeing", 0.04)
        for index, stroke in enumerate(self.script.strokes):
            knuckle = (stroke.tip[0] + 0.06, stroke.tip[1] + 0.07)
            self._emit(
                Stroke(
                    index=index,
                    onset=stroke.onset,
                    apex=stroke.apex,
                    tip=stroke.tip,
                    knuckle=knuckle,
                    quality=0.9,
                ),
                stroke.apex + 0.10,
                "seeing",
                0.05,
            )
            self._emit(
                StrokeEnd(index=index, offset=stroke.offset), stroke.offset + 0.1, "seeing", 0.05
            )

    # --- understanding ---

    def _understand(self) -> None:
        script = self.script
        deictics = [said for said in script.words if said.kind is not None]
        last = 0.0
        known = {
            line["index"]: line["known_at"]
            for _, _, line in self._lines
            if line["type"] == "Deictic"
        }
        for index, said in enumerate(deictics):
            if said.stroke is None:
                at = said.onset + 1.3
            else:
                at = max(known[index], script.strokes[said.stroke].apex + 0.1) + 0.12
            last = at = max(last, at)
            binding = Binding(
                deictic=index,
                stroke=said.stroke,
                probability=0.88 if said.stroke is not None else 0.7,
                reason="margin" if said.stroke is not None else "window",
            )
            self._emit(binding, at, "understanding", 0.01)
        if not deictics:
            for index, stroke in enumerate(script.strokes):
                last = stroke.apex + 0.6
                alone = Binding(deictic=None, stroke=index, probability=0.9, reason="deadline")
                self._emit(alone, last, "understanding", 0.01)
        answered = min(max(last, *(s.offset for s in script.strokes)) + 0.5, script.duration)
        for final in (False, True):
            self._emit(self._answer(final), answered, "answering", 0.3 if final else 0.1)

    def _answer(self, final: bool) -> Answer:
        script = self.script
        referents = tuple(
            Referent(
                kind="object" if meant.kind == "object" else "space",
                point=meant.point,
                time=meant.time,
                label=meant.label,
                description=_described(script, meant.label),
                confidence=meant.confidence,
                stroke=meant.stroke,
            )
            for meant in script.meant[: None if final else 1]
        )
        return Answer(
            turn=0,
            referents=referents,
            frame_time=script.duration - 1 / FPS,
            final=final,
            text="; ".join(referent.description for referent in referents),
        )

    # --- the benchmark's files ---

    def truth(self) -> dict[str, Any]:
        """What the benchmark says is right."""
        script = self.script
        return {
            "video_name": f"{script.name}.mp4",
            "instruction": script.instruction,
            "level": script.level,
            "language": script.language,
            "scene": script.scene,
            "object_choices": list(script.objects),
            "space_choices": list(script.spaces),
            "width": WIDTH,
            "height": HEIGHT,
            "answer": [true_referent(meant) for meant in script.meant],
            "words": [
                {
                    "text": said.text,
                    "begin_time": int(said.onset * 1000),
                    "end_time": int(said.offset * 1000),
                }
                for said in script.words
            ],
        }

    def output(self) -> dict[str, Any]:
        """The answer in the benchmark's format."""
        return {
            "reasoning": "Each deictic word was bound to a stroke.",
            "explicit_command": " ".join(said.text for said in self.script.words),
            "selected_options": [meant.label or "" for meant in self.script.meant],
            "point_list": [
                {
                    "type": "target_object" if meant.kind == "object" else "spatial_affordance",
                    "description": _described(self.script, meant.label),
                    "point": [round(value * 1000) for value in meant.point or (0.0, 0.0)],
                    "timestamp": round((meant.time or 0.0) * 1000),
                }
                for meant in self.script.meant
            ],
        }


def _between(start: Point, goal: Point, share: float) -> Point:
    s = min(max(share, 0.0), 1.0)
    eased = s**3 * (10 - 15 * s + 6 * s * s)
    return (start[0] + (goal[0] - start[0]) * eased, start[1] + (goal[1] - start[1]) * eased)


def _described(script: Script, label: str | None) -> str:
    for option in (*script.objects, *script.spaces):
        if label is not None and option.startswith(f"{label}. "):
            return option[3:]
    return ""


def make_clip(
    folder: Path, script: Script, *, pace: str = "realtime", seed: int = 0, pictures: bool = True
) -> None:
    """Write one clip's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    maker = ClipMaker(script, pace=pace, seed=seed)
    write_trace(folder / "trace.jsonl", maker.lines())
    _dump(folder / "truth.json", maker.truth())
    _dump(folder / "answer.json", maker.output())
    if not pictures:
        return
    cv2.imwrite(str(folder / "last.jpg"), scene(script, tip=None))
    for index, stroke in enumerate(script.strokes):
        cv2.imwrite(str(folder / f"apex_{index}.jpg"), scene(script, tip=stroke.tip))


def scores_of(scripts: Sequence[Script] = SCRIPTS) -> dict[str, Any]:
    """``scores.json`` of the pretended answers, by the benchmark's own rules."""
    clips, said = [], []
    for script in scripts:
        maker = ClipMaker(script)
        truth = maker.truth()
        clips.append(
            EcogClip(
                video=Path(truth["video_name"]),
                folder=f"data_{script.language}/Inst{script.instruction}",
                instruction=script.instruction,
                language=script.language,
                scene=script.scene,
                answers=check_truth(truth).answers,
            )
        )
        said.append(
            Prediction(
                video_name=truth["video_name"],
                instruction=script.instruction,
                output=json.dumps(maker.output(), ensure_ascii=False),
            )
        )
    tree = EcogTree(root=Path("pretended"), clips=tuple(clips))
    return as_json(score_ecog(tree, said, size_of=lambda _: (WIDTH, HEIGHT)))


def write_trace(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Write a trace's lines."""
    path.write_text("".join(dump_line(line) + "\n" for line in lines), encoding="utf-8")


def make_run(
    folder: Path,
    scripts: Sequence[Script] = SCRIPTS,
    *,
    pace: str = "realtime",
    seed: int = 0,
    pictures: bool = True,
    scores: dict[str, Any] | None = None,
) -> Path:
    """Write a whole run folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for script in scripts:
        make_clip(folder / script.name, script, pace=pace, seed=seed, pictures=pictures)
    header = ClipMaker(scripts[0], pace=pace)._header() if scripts else {}
    _dump(
        folder / "run.json",
        {
            "format": 1,
            "version": "0.1.0",
            "pace": pace,
            "language": "auto",
            "model": "local",
            "benchmark": {"name": "ecog", "root": "bench/pretended"},
            "clips": [script.name for script in scripts],
            "failed": [{"source": "broken.mp4", "reason": "no moov atom: the file is cut off"}],
            "machine": header.get("machine", {}),
        },
    )
    if scores is not None:
        _dump(folder / "scores.json", scores)
    return folder


def _dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
