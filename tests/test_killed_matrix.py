"""A matrix run that goes wrong in every way and is killed twice ends as one that nothing disturbed.

Real processes, real client libraries, real sockets; only the models are stand-ins.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.standins.faults import Fault
from tests.standins.gemini import KEY, GeminiStandIn
from tests.standins.http_server import Reset, Told
from tests.standins.openai_chat import MODEL, OpenAiStandIn, request_digest

CLIPS = int(os.environ.get("DEIXIS_MATRIX_CLIPS", "1"))
"""How many clips of the tree are run; all eight take a minute or two."""
WITHIN = 120.0 + 60.0 * CLIPS
FAULTS = (
    Fault.SERVER_ERROR,
    Fault.TOO_MANY,
    Fault.TOO_MANY_RETRY_AFTER,
    Fault.RESET,
    Fault.CUT,
    Fault.MALFORMED,
    Fault.WRONG_TYPE,
)
NOT_COMPARED = {"errors", "latency", "usage"}
"""Tables of what a run went through, not of what came of it."""


def said(digest: str) -> str:
    """An answer that follows from the request alone; some are no JSON, some are out of form."""
    drawn = int(digest[:12], 16)
    if drawn % 11 == 0:
        return "I am not sure which object is meant."
    answer = {
        "reasoning": "as seen",
        "explicit_command": "take it",
        "selected_options": ["ABC"[drawn % 3], "abc"[drawn % 3]],
        "point_list": [
            {
                "type": kind,
                "description": "it",
                "point": [drawn // 7 % 1000, drawn // 11 % 1000],
                "timestamp": 1500 + 2000 * place + drawn % 900,
            }
            for place, kind in enumerate(("target_object", "spatial_affordance"))
        ],
    }
    text = json.dumps(answer)
    return f"```json\n{text}\n```" if drawn % 3 == 0 else text


@dataclass
class Script:
    """What both providers answer, and when they hold their breath.

    Attributes:
        faulty: Let each request fail once before it is answered, in one way or another.
        hold_after: Answers after which everything waits, so that a kill finds nothing in the air.
    """

    faulty: bool
    hold_after: int | None = None
    given: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    opened: threading.Event = field(default_factory=threading.Event)

    def answer(self, digest: str) -> str | Fault | Told:
        with self.lock:
            self.tried[digest] += 1
            held = self.hold_after is not None and self.given >= self.hold_after
            if not held and self.faulty and self.tried[digest] == 1:
                return FAULTS[int(digest[:8], 16) % len(FAULTS)]
            if not held:
                self.given += 1
                return said(digest)
        self.opened.wait(WITHIN)
        return Told(steps=[Reset()])  # whoever asked was killed meanwhile

    def hold(self, after: int) -> None:
        with self.lock:
            self.opened = threading.Event()
            self.hold_after = after

    def release(self) -> None:
        with self.lock:
            self.hold_after = None
        self.opened.set()


@dataclass
class Servers:
    script: Script
    gemini: GeminiStandIn
    openai: OpenAiStandIn

    @property
    def paid(self) -> Counter[str]:
        return self.gemini.paid + self.openai.paid


@contextmanager
def servers(*, faulty: bool) -> Iterator[Servers]:
    script = Script(faulty=faulty)
    with ExitStack() as stack:
        gemini = GeminiStandIn(lambda asked: script.answer(asked["digest"]), retry_after="0.2s")
        openai = OpenAiStandIn(lambda body: script.answer(request_digest(body)), retry_after="0.2")
        stack.enter_context(gemini)
        stack.enter_context(openai)
        yield Servers(script, gemini, openai)
        script.release()


def start(root: Path, out: Path, there: Servers, matrix: Path) -> subprocess.Popen[str]:
    matrix.write_text(
        f"""
        [[run]]
        model = "gemini:gemini-3-flash"
        interface = [
            "video", "frames", "frames+asr", "no_frame_timestamps", "no_word_timing", "bound",
        ]
        [[run]]
        model = "openai:{MODEL}"
        base_url = "{there.openai.url}"
        interface = ["frames", "bound"]
        when = "binder"
        """
    )
    command = [sys.executable, "-m", "client.cli", "bench", "ecog", str(root)]
    command += ["--matrix", str(matrix), "--out", str(out), "--limit", str(CLIPS)]
    command += ["--at-once", "3"]
    return subprocess.Popen(
        command,
        env={**os.environ, "GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": there.gemini.url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(running: subprocess.Popen[str]) -> None:
    try:
        said_all, _ = running.communicate(timeout=WITHIN)
    except subprocess.TimeoutExpired:
        running.kill()
        running.communicate()
        raise
    assert running.returncode == 0, said_all


def kill_after(running: subprocess.Popen[str], out: Path, there: Servers, answers: int) -> None:
    """Kill a run (SIGKILL) once so many answers were paid and entered."""
    until = time.monotonic() + WITHIN
    kept = out / "responses.jsonl"
    while time.monotonic() < until:
        entered = kept.read_bytes().count(b"\n") if kept.exists() else 0
        if entered == sum(there.paid.values()) >= answers:
            break
        assert running.poll() is None, running.communicate()[0]
        time.sleep(0.05)
    else:
        pytest.fail(f"{sum(there.paid.values())} answers, expected {answers}")
    running.kill()
    running.communicate()


def counted(there: Servers) -> int:
    """Answers that were paid; a server counts one a moment after its last byte has left."""
    before, now = -1, sum(there.paid.values())
    while now != before:
        time.sleep(0.3)
        before, now = now, sum(there.paid.values())
    return now


def tables(out: Path) -> dict[str, list[list[str]]]:
    return {
        path.stem: list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        for path in sorted((out / "tables").glob("*.csv"))
        if path.stem not in NOT_COMPARED
    }


def scores(out: Path) -> dict[str, Any]:
    return {
        f"{path.parent.name}/{path.name}": json.loads(path.read_text())
        for path in sorted(out.glob("*/scores*.json"))
    }


@pytest.mark.media
def test_killed_twice_among_faults_it_ends_as_if_nothing_had_happened(
    shared_media: Path, tmp_path: Path
) -> None:
    root = shared_media / "ecog-mini"
    calm_out, torn_out = tmp_path / "calm", tmp_path / "torn"
    with servers(faulty=False) as calm:
        finish(start(root, calm_out, calm, tmp_path / "calm.toml"))
        wanted = counted(calm)
    # What our own eyes and ears make of the clips is no part of this.
    torn_out.mkdir()
    shutil.copytree(calm_out / "seen", torn_out / "seen")
    with servers(faulty=True) as torn:
        for answers in (wanted // 4, wanted * 2 // 3):
            torn.script.hold(answers)
            running = start(root, torn_out, torn, tmp_path / "torn.toml")
            kill_after(running, torn_out, torn, answers)
            torn.script.release()
        finish(start(root, torn_out, torn, tmp_path / "torn.toml"))
        assert counted(torn) == wanted
        assert set(torn.paid.values()) == {1}
    assert scores(torn_out) == scores(calm_out)
    assert tables(torn_out) == tables(calm_out)
    assert len(tables(calm_out)) >= 8
    secrets = [KEY.encode(), b"Bearer", b"x-goog-api-key"]
    for path in torn_out.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(secret in content for secret in secrets), path


def test_the_answers_of_the_stand_ins_follow_from_the_request() -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    assert said(digest) == said(digest)
