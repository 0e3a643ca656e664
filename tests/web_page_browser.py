"""Chromium for the tests of the page, and the page in it."""

from __future__ import annotations

import shutil
import wave
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.media_maker import tone_bursts
from tests.web_page_server import PageServer

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-device-for-media-stream",
)
FRAMES = 30
"""A second, of every film that is a camera: Chromium asks no file of pictures for its own."""
PATIENCE = 60_000.0
"""Milliseconds in which a busy machine does what an idle one does at once."""


@contextmanager
def chromium(flags: Sequence[str]) -> Iterator[Browser]:
    """The browser, with a camera and a microphone that ``flags`` say more about."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *flags])
        yield launched
        launched.close()


@contextmanager
def context_of(
    browser: Browser, *, script: str = "", allowed: bool = True, **options: Any
) -> Iterator[BrowserContext]:
    """A fresh profile, whose pages may use camera and microphone when ``allowed``."""
    size = {"width": 1280, "height": 800}
    context = browser.new_context(**{"viewport": size, "locale": "en-US", **options})
    if allowed:
        context.grant_permissions(["camera", "microphone"])
    if script:
        context.add_init_script(script)
    try:
        yield context
    finally:
        context.close()


class Opened:
    """The page, with every complaint and request that it makes."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)
        self.page.wait_for_selector("#start:has-text('Start')")

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def reaches(self, phase: str) -> None:
        self.page.wait_for_selector(f'body[data-state="{phase}"]', timeout=PATIENCE)

    def shows(self, selector: str, text: str) -> None:
        self.page.wait_for_selector(f"{selector}:has-text({text!r})", timeout=PATIENCE)

    def until(self, what: Callable[[], bool]) -> None:
        for _ in range(3000):
            if what():
                return
            self.page.wait_for_timeout(20)
        raise AssertionError("waited in vain")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def visible(self, selector: str) -> bool:
        return self.page.locator(selector).is_visible()

    def real_complaints(self) -> list[str]:
        # Not ours: the browser may not know every feature that the server forbids.
        return [one for one in self.complaints if "Permissions-Policy" not in one]


class OpenedHere(Opened):
    """The page of a server that stands in for the real one."""

    def __init__(self, context: BrowserContext, server: PageServer) -> None:
        super().__init__(context, server.url)
        self.server = server


@contextmanager
def opening(browser: Browser, server: PageServer, **options: Any) -> Iterator[OpenedHere]:
    """The server while it runs, and its page in a fresh profile."""
    with server.running(), context_of(browser, **options) as context:
        yield OpenedHere(context, server)


def red_on_the_left(path: Path) -> Path:
    picture = np.zeros((240, 320, 3), dtype=np.uint8)
    picture[:, :160, 0] = 220
    with av.open(str(path), "w", format="mjpeg") as container:
        stream = container.add_stream("mjpeg", rate=30)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuvj420p"
        for _ in range(30):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def clicking(path: Path) -> Path:
    sound = tone_bursts([0.25, 0.75], seconds=1.0, rate=48_000)[0]
    _write_sound(path, (sound * 32_767).astype("<i2"))
    return path


def _write_sound(path: Path, samples: np.ndarray) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(samples.tobytes())


def _jpeg(frame: av.VideoFrame) -> bytes:
    done, jpeg = cv2.imencode(
        ".jpg", frame.to_ndarray(format="bgr24"), [cv2.IMWRITE_JPEG_QUALITY, 92]
    )
    assert done
    return jpeg.tobytes()


def filmed(clip: Path, folder: Path, *, pause: float) -> tuple[str, str]:
    """Flags of a camera and a microphone that play a clip and then pause, again and again."""
    shown = folder / f"{clip.stem}.mjpeg"
    heard = folder / f"{clip.stem}.wav"
    with av.open(str(clip)) as container:
        pictures = [_jpeg(frame) for frame in container.decode(video=0)]
    shown.write_bytes(b"".join(pictures + [pictures[-1]] * round(pause * FRAMES)))
    resampler = av.AudioResampler(format="s16", layout="mono", rate=48_000)
    with av.open(str(clip)) as container:
        blocks = [resampler.resample(frame) for frame in container.decode(audio=0)]
    samples = np.concatenate([one.to_ndarray()[0] for block in blocks for one in block])
    whole = np.zeros(round((len(pictures) / FRAMES + pause) * 48_000), dtype="<i2")
    whole[: len(samples)] = samples[: len(whole)]
    _write_sound(heard, whole)
    return (
        f"--use-file-for-fake-video-capture={shown}",
        f"--use-file-for-fake-audio-capture={heard}",
    )
