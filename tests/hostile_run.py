"""Thousands of hostile messages against a real server process, by its real sockets.

``python -m tests.hostile_run --messages 20000 [--seed 1]`` starts :mod:`tests.pretend_server`,
misbehaves in every way of :mod:`tests.hostile_ways`, and exits with 1 unless the server answered
``/healthz`` all the while, ended in good order when it was told to, wrote no traceback and no token
into its log, and kept its memory, file descriptors and threads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psutil

from tests.hostile_sockets import Target
from tests.hostile_ways import WAYS

WARM_UP = 0.25
"""Share of the messages after which memory counts: until then pools and caches fill."""
MOST_GROWTH_MB = 40.0
MOST_MORE = {"descriptors": 12, "threads": 46}
"""Threads of pools stay for a while after a burst: up to 40 hand out files, 6 do all else."""
ANSWER_WITHIN = 5.0
_QUIET = 4.0
_SETTLED_WITHIN = 40.0
_PAUSE = 0.5


@dataclass(slots=True)
class Watch:
    """What the server was like while it was attacked.

    Attributes:
        slowest: Longest that ``/healthz`` took, seconds.
        silent: How often it did not answer in time.
    """

    process: psutil.Process
    slowest: float = 0.0
    asked: int = 0
    silent: int = 0
    rss_mb: list[float] = field(default_factory=list)

    def sizes(self) -> dict[str, float]:
        return {
            "rss_mb": self.process.memory_info().rss / 1e6,
            "descriptors": self.process.num_fds(),
            "threads": self.process.num_threads(),
        }

    async def look(self, target: Target) -> None:
        """Ask again and again how it is."""
        async with httpx2.AsyncClient(base_url=target.url, headers=target.bearer) as client:
            while True:
                begun = time.monotonic()
                try:
                    answer = await client.get("/healthz", timeout=ANSWER_WITHIN)
                    self.silent += answer.status_code != 200
                except httpx2.HTTPError:
                    self.silent += 1
                    self.process.send_signal(signal.SIGUSR1)
                self.asked += 1
                self.slowest = max(self.slowest, time.monotonic() - begun)
                self.rss_mb.append(self.sizes()["rss_mb"])
                await asyncio.sleep(_PAUSE)


@contextlib.asynccontextmanager
async def attacked(folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, Target, Path]]:
    """A server process, its address and its log."""
    token, log = secrets.token_urlsafe(24), folder / "log"
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.pretend_server", str(folder / "out"), "--open"),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "DEIXIS_TOKEN": token},
        )
    try:
        assert process.stdout is not None
        while not (line := (await process.stdout.readline()).decode()).startswith("open "):
            if not line:
                raise SystemExit(f"the server did not begin: {log.read_text('utf-8', 'replace')}")
        port = int(line.split()[1].rstrip("/").rsplit(":", 1)[1])
        yield process, Target(port=port, token=token), log
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def attack(target: Target, made: random.Random, messages: int, sent: Counter[str]) -> None:
    """Misbehave until ``messages`` were sent, several ways at once."""
    names = list(WAYS)
    while sum(sent.values()) < messages:
        chosen = made.sample(names, k=min(4, len(names)))
        counts = await asyncio.gather(
            *(WAYS[name](target, random.Random(made.random())) for name in chosen),
            return_exceptions=True,
        )
        for name, count in zip(chosen, counts, strict=True):
            if isinstance(count, int):
                sent[name] += count
            elif not isinstance(count, OSError):
                raise count


async def settled(target: Target) -> int:
    """Wait until no session runs, and return how many do all the same."""
    left = -1
    async with httpx2.AsyncClient(base_url=target.url, headers=target.bearer) as client:
        for _ in range(int(_SETTLED_WITHIN / _PAUSE)):
            with contextlib.suppress(httpx2.HTTPError):  # as the watch has seen
                answer = await client.get("/healthz", timeout=ANSWER_WITHIN)
                left = answer.json()["sessions"]
            if left == 0:
                break
            await asyncio.sleep(_PAUSE)
    await asyncio.sleep(_QUIET)
    return left


async def run(messages: int, seed: int) -> list[str]:
    """Attack, and return what went wrong."""
    wrong: list[str] = []
    made, sent = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        async with attacked(Path(name)) as (process, target, log):
            watch = Watch(process=psutil.Process(process.pid))
            watching = asyncio.create_task(watch.look(target))
            begun = time.monotonic()
            await attack(target, made, int(messages * WARM_UP), sent)
            await settled(target)
            before = watch.sizes()
            await attack(target, made, messages, sent)
            left = await settled(target)
            after = watch.sizes()
            seconds = time.monotonic() - begun
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), 30)
            except TimeoutError:
                wrong.append("the server did not end when it was told to")
            wrong += [f"{left} sessions did not end"] if left else []
            wrong += _judge(watch, before, after, process.returncode)
            wrong += _judge_log(log.read_text("utf-8", "replace"), target.token)
            wrong += _judge_files(Path(name, "out"))
    print(f"{sum(sent.values())} messages in {seconds:.0f} s, seed {seed}")
    print(", ".join(f"{name} {count}" for name, count in sorted(sent.items())))
    print(f"healthz: {watch.asked} times, slowest {watch.slowest:.2f} s, silent {watch.silent}")
    for name in before:
        print(f"{name}: {before[name]:.0f} after a quarter, {after[name]:.0f} at the end")
    return wrong


def _judge(
    watch: Watch, before: dict[str, float], after: dict[str, float], code: int | None
) -> list[str]:
    wrong = []
    if watch.silent:
        wrong.append(f"/healthz did not answer {watch.silent} times of {watch.asked}")
    if code != 0:
        wrong.append(f"the server ended with {code}")
    if after["rss_mb"] - before["rss_mb"] > MOST_GROWTH_MB:
        wrong.append(f"memory grew by {after['rss_mb'] - before['rss_mb']:.0f} MB")
    wrong += [
        f"{name} grew from {before[name]:.0f} to {after[name]:.0f}"
        for name, most in MOST_MORE.items()
        if after[name] - before[name] > most
    ]
    return wrong


def _judge_files(folder: Path) -> list[str]:
    return [f"a file appeared: {path.name}" for path in folder.glob("**/*")]


def _judge_log(log: str, token: str) -> list[str]:
    wrong = []
    if "Traceback" in log:
        at = log.index("Traceback")
        wrong.append(f"the log has a traceback: {log[max(0, at - 300) : at + 2500]}")
    if token in log:
        wrong.append("the token stands in the log")
    if "(most recent call first)" in log:
        at = log.index("Thread 0x")
        wrong.append(f"where it stood when it was silent: {log[at : at + 6000]}")
    if len(log) > 200_000:
        wrong.append(f"the log has {len(log)} letters")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    wrong = asyncio.run(run(chosen.messages, chosen.seed))
    for one in wrong:
        print(f"WRONG: {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
