"""The live page in a real browser, against a server that tells a prepared session."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from playwright.sync_api import Browser

from tests.media_maker import write_clip
from tests.run_maker import ClipMaker
from tests.run_scripts import MUG
from tests.web_page_browser import (
    CHROMIUM,
    Opened,
    OpenedHere,
    chromium,
    clicking,
    opening,
    red_on_the_left,
)
from tests.web_page_server import PageServer, Taken

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
LINES = ClipMaker(MUG).lines()
SOUND, PICTURE, WEBM = 1, 2, 3
BLOCK = 640 / 16_000
Opens = Callable[..., AbstractContextManager[OpenedHere]]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium whose camera is red on the left, and whose microphone hears clicks."""
    folder = tmp_path_factory.mktemp("devices")
    flags = (
        f"--use-file-for-fake-video-capture={red_on_the_left(folder / 'camera.mjpeg')}",
        f"--use-file-for-fake-audio-capture={clicking(folder / 'microphone.wav')}",
    )
    with chromium(flags) as launched:
        yield launched


@pytest.fixture
def opens(browser: Browser) -> Opens:
    return partial(opening, browser)


def sound_of(taken: Taken) -> np.ndarray:
    return np.concatenate([np.frombuffer(media, "<i2") for _, _, media in taken.of(SOUND)])


def timed(taken: Taken, kind: int) -> list[tuple[float, bytes]]:
    return [(time / 1e6, media) for _, time, media in taken.of(kind)]


def onsets(times: Iterable[float]) -> list[float]:
    """The first of each group."""
    found: list[float] = []
    last = -1.0
    for time in times:
        if time - last > 0.3:
            found.append(time)
        last = time
    return found


def loudest(pcm: bytes) -> int:
    return int(np.abs(np.frombuffer(pcm, "<i2").astype(int)).max())


def picture_of(media: bytes) -> np.ndarray:
    with av.open(io.BytesIO(media)) as container:
        return next(container.decode(video=0)).to_ndarray(format="rgb24")


def test_session_by_keys_from_camera_to_spoken_answer(opens: Opens) -> None:
    spoken = "window.spoken = []; speechSynthesis.speak = (one) => window.spoken.push(one.text);"
    with opens(PageServer(LINES), script=spoken) as opened:
        opened.press("Space")
        opened.reaches("live")
        assert opened.server.last.hello == {
            "type": "hello",
            "version": 1,
            "format": "pcm+jpeg",
            "language": "auto",
            "resume": True,
        }
        opened.press("r")
        opened.page.wait_for_selector("#recording-mark", state="visible")
        assert opened.server.recording is True
        opened.shows("#words mark", "this")
        answer = next(line for line in LINES if line["type"] == "Answer" and line["final"])
        opened.shows("#answer-text", answer["text"])
        assert opened.page.locator("#words mark sup").all_inner_texts() == ["1", "2"]
        assert opened.page.locator("#referents li").count() == len(answer["referents"])
        assert opened.page.evaluate("window.spoken") == [answer["text"]]
        for kind in ("word", "stroke", "binding", "answer", "network"):
            opened.shows(f"#latency [data-kind={kind}] dd", "s")
        opened.press("Space")
        opened.reaches("ended")
        taken = opened.server.last
        assert taken.ended
        assert not opened.visible("#recording-mark")
        assert opened.real_complaints() == []
        assert all(url.startswith((opened.server.url, "blob:")) for url in opened.requests)
    check_media(taken)


def check_media(taken: Taken) -> None:
    """Sound without holes, and small pictures that are not mirrored, on one clock that rises."""
    sounds, pictures = taken.of(SOUND), taken.of(PICTURE)
    times = np.array([time for _, time, _ in sounds]) / 1e6
    assert {len(media) for _, _, media in sounds} == {1280}
    assert np.abs(np.diff(times) - BLOCK).max() < 0.02
    assert np.abs(sound_of(taken)).max() > 8000
    shot = np.array([time for _, time, _ in pictures]) / 1e6
    assert np.all(np.diff(shot) > 0)
    assert abs(shot[-1] - times[-1]) < 0.5
    picture = picture_of(pictures[-1][2])
    assert picture.shape == (240, 320, 3)
    assert picture[:, :140, 0].mean() > 150 > 60 > picture[:, 180:, 0].mean()


def test_preview_is_mirrored_and_so_is_what_is_drawn_over_it(opens: Opens) -> None:
    landmarks = [[0.1 + 0.005 * n, 0.5] for n in range(21)]
    hand = {"track": 0, "side": "left", "score": 1, "landmarks": landmarks, "pointing": 0.0}
    seen = {
        "type": "HandsSeen",
        "known_at": 0.3,
        "emitted_at": 0.3,
        "time": 60.0,
        "hands": [hand],
    }
    lit = """() => {
      const canvas = document.getElementById('overlay');
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      let [left, right] = [0, 0];
      for (let n = 0; n < pixels.length; n += 4)
        if (pixels[n + 3]) (n / 4) % canvas.width < canvas.width / 2 ? left++ : right++;
      return [left, right];
    }"""
    with opens(PageServer([seen])) as opened:
        opened.page.click("#start")
        opened.reaches("live")
        assert opened.page.get_attribute("#mirror", "aria-pressed") == "true"
        opened.until(lambda: opened.page.evaluate(lit)[1] > 50)
        assert opened.page.evaluate(lit)[0] == 0
        opened.press("m")
        opened.until(lambda: opened.page.evaluate(lit)[0] > 50)
        assert opened.page.evaluate(lit)[1] == 0


def test_what_is_drawn_lies_exactly_on_the_picture(opens: Opens) -> None:
    """A point where the red half of the picture ends, a quarter down, in any letterbox."""
    hand = {
        "track": 0,
        "side": "left",
        "score": 1,
        "landmarks": [[0.5, 0.25]] * 21,
        "pointing": 0.0,
    }
    seen = {"type": "HandsSeen", "known_at": 0.3, "emitted_at": 0.3, "time": 60.0, "hands": [hand]}
    lit = """() => {
      const canvas = document.getElementById('overlay');
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      let [sum, across, down] = [0, 0, 0];
      for (let n = 0; n < pixels.length; n += 4) {
        sum += pixels[n + 3];
        across += pixels[n + 3] * ((n / 4) % canvas.width + 0.5);
        down += pixels[n + 3] * (Math.floor(n / 4 / canvas.width) + 0.5);
      }
      const { left, top, width } = canvas.getBoundingClientRect();
      const scale = width / canvas.width;
      return sum ? [left + (across / sum) * scale, top + (down / sum) * scale] : null;
    }"""
    with opens(PageServer([seen])) as opened:
        opened.press("Space")
        opened.reaches("live")
        opened.until(lambda: opened.page.evaluate(lit) is not None)
        for width, height, mirrored in ((1280, 800, True), (1500, 720, False), (390, 844, True)):
            opened.page.set_viewport_size({"width": width, "height": height})
            if (opened.page.get_attribute("#mirror", "aria-pressed") == "true") != mirrored:
                opened.press("m")
            opened.until(lambda mirrored=mirrored: apart(opened, lit, mirrored) < 2)


def apart(opened: Opened, lit: str, mirrored: bool) -> float:
    """Pixels between the middle of what is drawn and where it belongs."""
    x, y = opened.page.evaluate(lit)
    screen = cv2.imdecode(np.frombuffer(opened.page.screenshot(), np.uint8), 1).astype(int)
    red = (screen[..., 2] > 150) & (screen[..., 0] < 60) & (screen[..., 1] < 60)
    rows, columns = np.flatnonzero(red.mean(1) > 0.1), np.flatnonzero(red.mean(0) > 0.1)
    across = x - (columns[0] if mirrored else columns[-1] + 1)
    return max(abs(across), abs(y - (rows[0] + 0.25 * len(rows))))


def test_page_comes_back_after_a_cut_and_after_a_reload(opens: Opens) -> None:
    with opens(PageServer(LINES, speed=4.0)) as opened:
        opened.press("Space")
        opened.shows("#words mark", "this")
        opened.server.cut()
        opened.reaches("retrying")
        opened.reaches("live")
        assert len(opened.server.taken) == 2
        opened.until(lambda: len(opened.server.last.of(SOUND)) > 5)
        assert opened.server.last.of(SOUND)[0][1] < 500_000
        opened.shows("#words mark", "this")
        opened.page.reload()
        opened.reaches("live")
        opened.shows("#words mark", "this")
        assert len(opened.server.taken) == 3


def test_another_page_looks_on_and_is_told_the_past(opens: Opens) -> None:
    with opens(PageServer(LINES, speed=4.0)) as opened:
        opened.press("Space")
        opened.shows("#words mark", "this")
        onlooker = opened.context.new_page()
        onlooker.goto(f"{opened.server.url}#session=session0")
        onlooker.wait_for_selector("#referents li")
        assert onlooker.locator("#words mark sup").count() == 2
        assert onlooker.get_attribute("body", "data-state") == "watching"
        assert len(opened.server.taken) == 1


def test_token_is_asked_for_and_stays_in_the_tab(opens: Opens) -> None:
    server = PageServer()
    server.token = "a-token-of-enough-letters"
    with opens(server) as opened:
        opened.press("Space")
        opened.page.wait_for_selector("#token[open]")
        opened.page.fill("#token-value", "wrong")
        opened.press("Enter")
        opened.page.wait_for_selector("#token:not([open])", state="attached")
        opened.page.wait_for_selector("#token[open]")
        opened.page.fill("#token-value", server.token)
        opened.press("Enter")
        opened.reaches("live")
        kept = "[JSON.stringify(localStorage), document.cookie, location.href].join()"
        assert server.token not in opened.page.evaluate(kept)
        assert not any(server.token in url for url in opened.requests)
        assert server.token in opened.page.evaluate("JSON.stringify(sessionStorage)")


def fails_with(name: str) -> str:
    return (
        "navigator.mediaDevices.getUserMedia = "
        f"() => Promise.reject(new DOMException('as asked', '{name}')); 0"
    )


def test_what_stops_the_camera_is_explained(opens: Opens) -> None:
    insecure = "Object.defineProperty(window, 'isSecureContext', {value: false})"
    with opens(PageServer()) as opened:
        for script, title in (
            (fails_with("NotAllowedError"), "not allowed"),
            (fails_with("NotFoundError"), "No camera and no microphone"),
            (fails_with("NotReadableError"), "in use"),
            (insecure, "no camera to this"),
        ):
            opened.page.evaluate(script)
            opened.page.click("#start")
            opened.shows("#problem-title", title)
            assert len(opened.page.inner_text("#problem-text")) > 30
        opened.press("l")
        assert "摄像头" in opened.page.inner_text("#problem")
        assert opened.page.inner_text("#start") == "开始"


def test_refusals_are_explained(opens: Opens) -> None:
    server = PageServer()
    server.refusal = "the server already has 4 sessions, and takes 4 at once; try again later"
    with opens(server) as opened:
        opened.page.click("#start")
        opened.shows("#problem-title", "full")
        assert "4 sessions" in opened.page.inner_text("#problem-text")
        server.refusal = "something that no page knows <b>of</b>"
        opened.page.click("#problem-act")
        opened.shows("#problem-text", server.refusal)
        server.refusal = ""
        opened.page.click("#problem-act")
        opened.reaches("live")


def test_dropped_file_is_streamed_in_step_and_ends_by_itself(opens: Opens, tmp_path: Path) -> None:
    events = (0.8, 1.6)
    clip = write_clip(tmp_path / "clip.webm", seconds=2.2, events=events, fps=10)
    drop = """(bytes) => {
      const carried = new DataTransfer();
      carried.items.add(new File([new Uint8Array(bytes)], "clip.webm", { type: "video/webm" }));
      for (const kind of ["dragover", "drop"])
        document.body.dispatchEvent(
          new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
    }"""
    with opens(PageServer(), allowed=False) as opened:
        opened.page.evaluate(drop, list(clip.read_bytes()))
        opened.reaches("ended")
        taken = opened.server.last
        assert taken.ended
    heard = onsets(time for time, pcm in timed(taken, SOUND) if loudest(pcm) > 9000)
    seen = onsets(time for time, jpeg in timed(taken, PICTURE) if picture_of(jpeg).mean() > 150)
    assert len(heard) == len(events)
    assert seen  # a busy machine may miss one
    for flash in seen:
        assert min(abs(flash - click) for click in heard) < 0.15


def test_webm_is_sent_when_chosen(opens: Opens) -> None:
    with opens(PageServer()) as opened:
        opened.page.click("#settings-open")
        opened.page.select_option("#transport", "webm")
        opened.page.select_option("#language", "zh")
        opened.page.click("#settings button.main")
        opened.page.click("#start")
        opened.until(lambda: bool(opened.server.taken) and len(opened.server.last.of(WEBM)) > 2)
        taken = opened.server.last
        assert (taken.hello["format"], taken.hello["language"]) == ("webm", "zh")
        sent = b"".join(media for _, _, media in taken.of(WEBM))
        assert sent.startswith(b"\x1a\x45\xdf\xa3")
        assert taken.of(SOUND) == taken.of(PICTURE) == []


FARTHEST = """() => Math.max(...[...document.querySelectorAll("button, .button, dt, dd, p, h2")]
  .filter((one) => one.checkVisibility() && getComputedStyle(one).position !== "absolute")
  .map((one) => one.getBoundingClientRect().right))"""
"""The right edge of what reaches farthest."""


def test_nothing_is_wider_than_a_phone(opens: Opens) -> None:
    size = {"width": 390, "height": 800}
    with opens(PageServer(LINES, speed=6.0), viewport=size, reduced_motion="reduce") as opened:
        opened.page.click("#start")
        opened.page.wait_for_selector("#referents li")
        for width in (390, 360):
            opened.page.set_viewport_size({"width": width, "height": 800})
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
            assert opened.page.evaluate(FARTHEST) <= width
            opened.press("l")
        start = opened.page.locator("#start").bounding_box()
        assert start is not None
        assert start["height"] >= 48


def test_sound_of_any_rate_becomes_16_khz(opens: Opens) -> None:
    """A low tone keeps its strength and its times, one above 8 kHz is gone."""
    convert = """async ([rate, tone]) => {
      const context = new OfflineAudioContext(1, rate, rate);
      await context.audioWorklet.addModule("/static/pcm_worklet.js");
      const node = new AudioWorkletNode(context, "pcm-tap", { numberOfOutputs: 0 });
      const blocks = [];
      node.port.onmessage = ({ data }) => blocks.push([data.time, [...new Int16Array(data.pcm)]]);
      const source = new OscillatorNode(context, { frequency: tone });
      source.connect(node);
      source.start();
      await context.startRendering();
      await new Promise((done) => setTimeout(done, 150));
      return blocks;
    }"""
    with opens(PageServer()) as opened:
        for rate, tone in ((48_000, 1000), (44_100, 1000), (48_000, 10_000)):
            blocks = opened.page.evaluate(convert, [rate, tone])
            assert len(blocks) >= 23
            times = np.array([time for time, _ in blocks])
            assert np.allclose(times, 40.0 * np.arange(len(blocks)), atol=0.1)
            sound = np.concatenate([block for _, block in blocks])[800:] / 32767
            if tone > 8000:
                assert np.abs(sound).max() < 0.02
                continue
            wanted = np.sin(2 * np.pi * tone * (800 + np.arange(len(sound))) / 16_000)
            assert np.abs(sound - wanted).max() < 0.03
