"""Publishes clicks and flashes to a live server, each in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from replay.measure.live_processes import Child, LiveMeasureError, Served, publishing
from replay.measure.sync import Heard
from replay.measure.sync_clip import write_clip
from streaming.events import Seconds

SyncSender: TypeAlias = Literal["browser", "publish"]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
    # A page that nobody looks at is drawn once a second otherwise.
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
)
_ROOT = Path(__file__).resolve().parents[2]
_READY_WITHIN: Seconds = 30.0
_CONNECTED_WITHIN: Seconds = 60.0
_TELL_EVERY: Seconds = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTask:
    """What is to be measured.

    Attributes:
        sender: A real browser, or ``deixis publish``.
        seconds: How long it streams.
        jitter: Each packet is delayed by between 0 and this.
        loss: Share of the packets that is lost.
    """

    sender: SyncSender
    seconds: Seconds
    jitter: Seconds = 0.0
    loss: float = 0.0


async def run_sync(task: SyncTask, *, told: Callable[[Heard], None]) -> Heard:
    """Measure.

    Args:
        told: What has arrived so far, once a minute.

    Raises:
        LiveMeasureError: If there is no browser, or a process does not do what it should.
    """
    browser = _browser() if task.sender == "browser" else None
    with tempfile.TemporaryDirectory(prefix="deixis-sync-") as folder:
        out = Path(folder) / "onsets.jsonl"
        async with _listening(out, task) as served:
            telling = asyncio.create_task(_tell(out, told))
            try:
                if browser is not None:
                    await _browse(browser, served, Path(folder) / "profile", task.seconds)
                else:
                    await _publish(served, Path(folder), task.seconds)
            finally:
                telling.cancel()
        return read_heard(out)


def read_heard(path: Path) -> Heard:
    """What :mod:`replay.measure.sync_server` wrote down, the last line maybe not yet whole."""
    clicks, flashes, notes = [], [], []
    counters: dict[str, int] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if "click" in said:
            clicks.append(float(said["click"]))
        elif "flash" in said:
            flashes.append(float(said["flash"]))
        elif "note" in said:
            notes.append((str(said["note"][0]), str(said["note"][1])))
        counters |= said.get("counters", {})
    return Heard(clicks=sorted(clicks), flashes=sorted(flashes), notes=notes, counters=counters)


async def _tell(out: Path, told: Callable[[Heard], None]) -> None:
    while True:
        await asyncio.sleep(_TELL_EVERY)
        told(read_heard(out))


@asynccontextmanager
async def _listening(out: Path, task: SyncTask) -> AsyncIterator[Served]:
    server = await _start(
        "the server",
        *(sys.executable, "-m", "replay.measure.sync_server", str(out)),
        *("--jitter", str(task.jitter), "--loss", str(task.loss)),
    )
    try:
        host = await server.wait_for(r"open http://([^/ ]+)/", within=_READY_WITHIN)
        yield Served(host=host, child=server)
    finally:
        await server.stop()


async def _browse(browser: str, served: Served, profile: Path, seconds: Seconds) -> None:
    flags = [*_FLAGS, f"--user-data-dir={profile}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")  # which it cannot have as root
    address = f"http://{served.host}/?seconds={seconds:g}"
    child = await _start("the browser", browser, *flags, address)
    try:
        said = await served.child.wait_for(r"page: (.*)", within=seconds + _CONNECTED_WITHIN)
    finally:
        await child.stop()
    if said != "done":
        raise LiveMeasureError(f"the browser could not publish: {said}")


async def _publish(served: Served, folder: Path, seconds: Seconds) -> None:
    clip = await asyncio.to_thread(write_clip, folder / "clip.mkv")
    child = await publishing(clip, served, "whip", "--loop")
    try:
        await child.wait_for(r"(connected)", within=_CONNECTED_WITHIN)
        ended = asyncio.create_task(child.ended())
        if (await asyncio.wait({ended}, timeout=seconds))[0]:
            raise LiveMeasureError(f"deixis publish ended; it said: {child.last_words()}")
    finally:
        await child.stop()


async def _start(name: str, *command: str) -> Child:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=_ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    return Child(process, name)


def _browser() -> str:
    for name in _BROWSERS:
        if path := shutil.which(name):
            return path
    raise LiveMeasureError(f"no browser found; install one of {', '.join(_BROWSERS)}")
