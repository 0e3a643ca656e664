"""What the live page says in words, in both languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.web_page_browser import CHROMIUM, OpenedHere, chromium, opening
from tests.web_page_server import PageServer

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
Opens = Callable[..., AbstractContextManager[OpenedHere]]
NAMES = {
    "EN",
    "WebM",
    "WebRTC",
    "WHIP",
    "https",
    "localhost",
    "Chrome",
    "Edge",
    "Firefox",
    "Safari",
}
COMMANDS = {"deixis", "publish", "doctor", "FFmpeg"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium(()) as launched:
        yield launched


@pytest.fixture
def opens(browser: Browser) -> Opens:
    return partial(opening, browser)


def english(text: str) -> set[str]:
    return set(re.findall("[A-Za-z]{2,}", re.sub(r"\{\w+\}", "", text))) - NAMES - COMMANDS


def test_every_text_exists_in_both_languages(opens: Opens) -> None:
    used = """async () => {
      const { TEXTS } = await import("/static/i18n.js");
      const keys = ["t", "tLabel", "tTitle"].flatMap((name) =>
        [...document.querySelectorAll("*")].flatMap(({ dataset }) => dataset[name] ?? []));
      return [TEXTS.en, TEXTS.zh, keys];
    }"""
    with opens(PageServer()) as opened:
        en, zh, keys = opened.page.evaluate(used)
        opened.press("l")
        assert english(opened.page.inner_text("body")) == {"Deixis"}
        opened.press("?")
        assert english(opened.page.inner_text("#help")) <= {"Esc"}
        opened.press("Escape")
        opened.page.click("#settings-open")
        words = opened.page.inner_text("#settings label:not(:has(select)), #settings label > span")
        assert not english(words)
    assert list(en) == list(zh)
    assert set(keys) <= set(en)
    for key, text in en.items():
        holes = re.findall(r"\{\w+\}", text)
        assert key == "note_other" or sorted(holes) == sorted(re.findall(r"\{\w+\}", zh[key])), key
        assert not english(zh[key]), key


def note(kind: str, text: str) -> dict[str, Any]:
    return {"type": "SourceNote", "kind": kind, "onset": 1.0, "offset": 1.0, "text": text}


def test_what_is_noticed_stands_there_in_plain_sentences(opens: Opens) -> None:
    level = {
        "type": "Status",
        "pictures_a_second": 10.0,
        "hop_stride": 2,
        "text": "4 on 2 cores: …",
    }
    skipped = {"type": "Skipped", "what": "frame", "onset": 1.0, "offset": 1.0, "count": 3}
    with opens(PageServer()) as opened:
        opened.press("Space")
        opened.reaches("live")
        opened.server.say(
            note("muted", "the microphone is silent for 5 s"),
            note("track_stopped", "the pictures stopped"),
            {"type": "Status", **level},
            skipped,
            note("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        )
        for said in ("microphone is silent", "No pictures", "4 sessions", "One in 2", "keep up: 3"):
            opened.shows("#notes", said)
        opened.press("n")
        opened.shows("#noticed-then", "<img src=x")
        assert opened.page.locator("#noticed img").count() == 0
        opened.press("Escape")
        opened.press("l")
        opened.shows("#notes", "4 个会话")
        assert not english(opened.page.inner_text("#notes"))
        opened.server.say(note("unmuted", ""), note("track_back", "the pictures came back"))
        opened.until(lambda: "麦克风" not in opened.page.inner_text("#notes"))
        opened.press("u")
        opened.shows("#notes", "麦克风已静音")


def test_recording_mark_says_what_the_server_says(opens: Opens) -> None:
    def told(on: bool) -> dict[str, Any]:
        return {"type": "Recording", "on": on, "name": "5e55" if on else None}

    with opens(PageServer([{"type": "HandsSeen", "known_at": 0.0, "emitted_at": 0.0}])) as opened:
        opened.press("Space")
        opened.reaches("live")
        opened.press("r")
        opened.shows("#recording-mark", "5e55")
        opened.server.say(told(False))
        opened.page.wait_for_selector("#recording-mark", state="hidden")
        assert opened.page.get_attribute("#record", "aria-checked") == "false"
        opened.server.say(told(True))
        opened.page.wait_for_selector("#recording-mark", state="visible")
        opened.server.cut()
        opened.page.wait_for_selector("#recording-mark", state="hidden")
        opened.reaches("live")
        opened.until(lambda: opened.server.recording is True)


def test_speaking_again_stops_the_voice_and_what_was_stopped_is_marked(opens: Opens) -> None:
    spoken = """window.calls = [];
      speechSynthesis.speak = (one) => window.calls.push(one.lang);
      speechSynthesis.cancel = () => window.calls.push("stop");"""

    def answered(turn: int, text: str, *, final: bool = True) -> dict[str, Any]:
        about = {"turn": turn, "frame_time": 1.0, "model": "local", "known_at": 1.0}
        return {"type": "Answer", "text": text, "final": final, "referents": [], **about}

    with opens(PageServer(), script=spoken) as opened:
        opened.press("Space")
        opened.reaches("live")
        opened.server.say({"type": "Asked", "turn": 0, "asked_at": 1.0})
        opened.shows("#answer-text.open", "Working out")
        opened.server.say(answered(0, "You me", final=False))
        opened.shows("#answer-text.open", "You me")
        opened.server.say({"type": "AnswerStopped", "turn": 0, "reason": "interrupted"})
        opened.shows("#answer-tag", "you spoke again")
        opened.server.say(answered(1, "你指的是红色的杯子。"))
        opened.shows("#answer-text:not(.open)", "红色的杯子")
        opened.shows("#answers-before s", "You me")
        assert not opened.visible("#answer-tag")
        opened.until(lambda: opened.page.evaluate("window.calls.at(-1)") == "zh-CN")
        opened.server.say({"type": "SpeechStart", "utterance": 1, "onset": 2.0, "known_at": 2.1})
        opened.until(lambda: opened.page.evaluate("window.calls.at(-1)") == "stop")
