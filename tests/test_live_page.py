"""The page in a real browser against ``deixis serve`` with the real pipeline."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import av
import pytest
from playwright.sync_api import Browser
from websockets.sync.client import ClientConnection, connect

from tests.web_page_browser import CHROMIUM, Opened, chromium, context_of, filmed

pytestmark = [
    pytest.mark.browser,
    pytest.mark.realtime,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
ROOT = Path(__file__).parents[1]
CLIP = next((ROOT / "replay/clips/easy/data_en/指令3").glob("*.mp4"))
ATTEMPTS = 4
"""Pictures and steps of hearing without which a busy machine may decide otherwise."""
SAID = """() => [...document.querySelectorAll("#words > :is(span, mark)")].map((word) => {
  const stroke = word.querySelector("sup")?.textContent;
  return [word.firstChild.textContent.toLowerCase().replace(/\\W/g, ""), stroke ? +stroke : null];
})"""
LISTENING = """window.lines = [];
window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(url);
    if (!url.includes("/feed/")) return;
    this.addEventListener("message", ({ data }) => {
      const line = JSON.parse(data);
      if (line.type === "State") window.lines = [];
      window.lines.push(line);
    });
  }
};
window.spoken = []; speechSynthesis.speak = (one) => window.spoken.push([one.text, one.lang]);"""
"""Keeps what the page is told of its session, and what it says aloud."""


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "client.cli", *map(str, words)]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """``deixis serve``, on any free port."""
    process = subprocess.Popen(
        command("serve", "--port", "0", "--language", "en"),
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if opened := re.search(r"open (http://\S+)", line):
                yield opened[1]
                break
        else:
            raise AssertionError("the server did not start")
    finally:
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.stdout.close()
        assert process.wait() == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium whose camera and microphone are the clip, and then a pause."""
    with chromium(filmed(CLIP, tmp_path_factory.mktemp("devices"), pause=25.0)) as launched:
        yield launched


@pytest.fixture
def opened(server: str, browser: Browser) -> Iterator[Opened]:
    small = {"width": 800, "height": 720}  # leaves the machine to the pipeline
    with context_of(browser, script=LISTENING, viewport=small, reduced_motion="reduce") as context:
        page = Opened(context, server)
        page.page.evaluate("localStorage.setItem('deixis-choices', '{\"language\": \"en\"}')")
        page.page.reload()
        yield page
        assert page.real_complaints() == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Decisions, as far as the page shows them.

    Attributes:
        words: Each with the number of the stroke that it was bound to.
        referents: Of the answer.
    """

    words: list[list[Any]]
    referents: int


def decided(lines: list[dict[str, Any]]) -> Decided:
    """What the lines of a trace or of a feed say."""
    deictics = [one for one in lines if one["type"] == "Deictic"]
    bound = {one["deictic"]: one["stroke"] for one in lines if one["type"] == "Binding"}
    words: list[list[Any]] = []
    for word in (one for one in lines if one["type"] == "Word"):
        over = [one for one in deictics if one["onset"] <= word["onset"] < one["offset"]]
        stroke = bound.get(over[0]["index"]) if over else None
        text = re.sub(r"\W", "", word["text"].lower())
        words.append([text, None if stroke is None else stroke + 1])
    answers = [one for one in lines if one["type"] == "Answer"]
    return Decided(words=words, referents=len(answers[-1]["referents"]) if answers else 0)


def offline(folder: Path) -> Decided:
    subprocess.run(
        command("replay", CLIP, "--language", "en", "--out", folder),
        check=True,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    trace = next(folder.rglob("trace.jsonl")).read_text("utf-8")
    return decided([json.loads(text) for text in trace.splitlines()])


def test_the_page_shows_what_a_replay_of_the_clip_decides_and_recovers(
    opened: Opened, tmp_path: Path
) -> None:
    wanted = offline(tmp_path)
    assert [stroke for _, stroke in wanted.words if stroke] == [1, 2]
    for _ in range(ATTEMPTS):
        opened.press("Space")
        opened.reaches("live")
        opened.page.wait_for_selector("#referents li", timeout=60_000)
        told = decided(opened.page.evaluate("window.lines"))
        opened.until(partial(shows_words, opened, told))
        assert opened.page.locator("#referents li").count() == told.referents
        answer = opened.text("#answer-text")
        assert opened.page.evaluate("window.spoken.at(-1)") == [answer, "en-US"]
        if told == wanted:
            break
        opened.press("Space")
        opened.reaches("ended")
        counters = opened.page.evaluate("window.lines.at(-1).counters")
        left_out = counters.get("frames_skipped", 0) + counters.get("hops_skipped", 0)
        # Each picture that there was no time for may be the one that a stroke hangs on.
        assert left_out, f"{told} is not {wanted}"
    check_recovery(opened)


def shows_words(opened: Opened, told: Decided) -> bool:
    return bool(opened.page.evaluate(SAID) == told.words)


def check_recovery(opened: Opened) -> None:
    """After a cut, and when the page is loaded again, it goes on with the session."""
    if opened.page.get_attribute("body", "data-state") == "ended":
        opened.press("Space")
        opened.shows("#words :is(span, mark)", "")
    opened.context.set_offline(True)
    opened.reaches("retrying")
    back(opened, lambda: opened.context.set_offline(False))
    back(opened, opened.page.reload)
    opened.press("Space")
    opened.reaches("ended")
    opened.complaints = [one for one in opened.complaints if "DISCONNECTED" not in one]


def back(opened: Opened, act: Callable[[], Any]) -> None:
    before, said = session_of(opened), opened.text("#words")
    opened.page.evaluate("window.lines = []")
    act()
    opened.reaches("live")
    opened.until(lambda: session_of(opened) is not None)
    # The server waits ten seconds for a page; one that takes longer finds a new session.
    if session_of(opened) == before:
        opened.until(lambda: opened.text("#words").startswith(said))


def session_of(opened: Opened) -> str | None:
    name: str | None = opened.page.evaluate("window.lines[0]?.session ?? null")
    return name


def test_a_fifth_session_is_told_why_it_is_refused(opened: Opened, server: str) -> None:
    with ExitStack() as others:
        guests = [others.enter_context(guest(server)) for _ in range(4)]
        opened.page.click("#start")
        opened.shows("#problem-title", "full")
        assert "4 sessions" in opened.text("#problem-text")
        opened.press("l")
        assert "4 个会话" in opened.text("#problem-text")
        guests[0].send('{"type": "end"}')
        opened.page.click("#problem-act")
        opened.reaches("live")
        opened.page.click("#start")


@contextmanager
def guest(server: str) -> Iterator[ClientConnection]:
    with connect(server.replace("http", "ws") + "ingest") as socket:
        hello = {"type": "hello", "version": 1, "format": "pcm+jpeg", "language": "en"}
        socket.send(json.dumps(hello))
        assert json.loads(socket.recv())["type"] == "welcome"
        yield socket


def test_a_file_is_streamed_as_a_recording_and_heard(opened: Opened) -> None:
    opened.page.click("#settings-open")
    opened.page.select_option("#transport", "webm")
    opened.page.click("#settings button.main")
    opened.page.set_input_files("#file", CLIP)
    opened.reaches("live")
    opened.page.wait_for_selector('body[data-state="ended"]', timeout=90_000)
    assert "this" in {word for word, _ in opened.page.evaluate(SAID)}
    with av.open(str(CLIP)) as container:
        whole = (container.duration or 0) / av.time_base
    assert opened.page.evaluate("window.lines.at(-1).duration") == pytest.approx(whole, abs=0.5)
    assert "could not be read" not in str(opened.page.text_content("#noticed"))
