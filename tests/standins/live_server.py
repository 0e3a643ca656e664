"""``deixis serve`` as a process of its own, with a pretended pipeline that says what reaches it.

``python -m tests.standins.live_server [SOURCE …]`` prints what ``deixis serve`` prints, and JSON
lines: ``{"session": 0, "kind": "click", "time": 1.25}``. A ``click`` is where sound gets loud, a
``flash`` where pictures get bright; at a session's end comes ``end`` with the ``seconds`` of sound
and the number of ``pictures`` that it had. ``LIVE_SETTINGS`` may name a file for ``--settings``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import client.commands.serve as command
from streaming.build import Pipeline
from streaming.events import SAMPLE_RATE, AudioBlock, HandsSeen, VideoFrame, Word
from streaming.grounding import Task
from streaming.grounding_prefix import Film
from tests.pretend_pipeline import PretendEngines

_LOUD = 0.1
_BRIGHT = 160.0
_APART = 0.2
_saying = threading.Lock()


class _Watch:
    """Tells when one session's sound gets loud and its pictures get bright."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._number: int | None = None
        self._loud_until = -1.0
        self._bright = False
        self._samples = self._pictures = 0

    def hear(self, block: AudioBlock) -> list[Word]:
        self._samples += len(block.samples)
        self._begin()
        loud = np.flatnonzero(np.abs(block.samples) > _LOUD)
        if loud.size:
            onset = block.onset + float(loud[0]) / SAMPLE_RATE
            if onset - self._loud_until > _APART:
                self.say("click", time=onset)
            self._loud_until = block.onset + float(loud[-1]) / SAMPLE_RATE
        return []

    def see(self, frame: VideoFrame) -> list[HandsSeen]:
        self._pictures += 1
        self._begin()
        bright = float(frame.image.mean()) > _BRIGHT
        if bright and not self._bright:
            self.say("flash", time=frame.time)
        self._bright = bright
        return [HandsSeen(time=frame.time, hands=())]

    def _begin(self) -> None:
        if self._number is None:
            self._number = next(self._numbers)

    def end(self) -> None:
        if self._number is not None:  # else the server only looked whether its models run
            self.say("end", seconds=self._samples / SAMPLE_RATE, pictures=self._pictures)

    def say(self, kind: str, **more: float) -> None:
        with _saying:  # two threads do
            print(json.dumps({"session": self._number, "kind": kind, **more}), flush=True)


class _Engines(PretendEngines):
    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count()

    @contextlib.contextmanager
    def pipeline(
        self, *, task: Task, language: str, film: Film | None = None
    ) -> Iterator[Pipeline]:
        watch = _Watch(self._numbers)
        engines = PretendEngines(hear=watch.hear, see=watch.see)
        with engines.pipeline(task=task, language=language, film=film) as pipeline:
            yield pipeline
        watch.end()


def main() -> None:
    command.Engines = lambda settings: _Engines()  # type: ignore[misc,assignment]
    own = os.environ.get("LIVE_SETTINGS")
    command.serve(port=0, source=tuple(sys.argv[1:]), settings=Path(own) if own else None)


if __name__ == "__main__":
    main()
