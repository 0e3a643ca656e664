"""The report in a real browser: quiet console, no requests, keys, theme, phone width, print."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from replay.report.page import build_report
from replay.run_folder import open_run
from tests.run_maker import ClipMaker, make_run, scores_of, write_trace
from tests.run_scripts import CHINESE, FOUR, MUG, SCRIPTS
from tests.test_report import hostile_run

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(make_run(tmp_path_factory.mktemp("runs") / "night", scores=scores_of()))


def written(folder: Path) -> Path:
    target = folder / "report.html"
    target.write_text(build_report(open_run(folder)), encoding="utf-8")
    return target


class Opened:
    """A page that remembers every complaint and every request that it makes."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def clip(self) -> str:
        return self.page.inner_text(".clip-head h2")

    @property
    def readout(self) -> str:
        return self.page.inner_text("#readout")

    def outside(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    yield Opened(context.new_page(), report)
    context.close()


def test_page_is_quiet_and_asks_for_nothing(opened: Opened) -> None:
    opened.press("j", "j", "j", ".", ".", "+", "0", "t", "?", "Escape")
    assert opened.complaints == []
    assert opened.outside() == []


def test_keys_go_through_the_clips(opened: Opened) -> None:
    names = [script.name for script in SCRIPTS]
    assert opened.clip == names[0]
    opened.press("j", "ArrowRight")
    assert opened.clip == names[2]
    opened.press("k", "ArrowLeft", "ArrowLeft")
    assert opened.clip == names[0]
    opened.press(*["j"] * 9)
    assert opened.clip == names[-1]


def test_stepping_shows_each_decision_and_veils_what_comes_later(opened: Opened) -> None:
    opened.press("j")
    assert "decisions" in opened.readout
    opened.press("Space")
    first = opened.readout
    assert "known at" in first
    assert opened.page.locator(".timeline .word.unknown").count() > 0
    opened.press(".")
    assert opened.readout != first
    opened.press(",")
    assert opened.readout == first
    opened.press("Escape")
    assert opened.page.locator(".unknown").count() == 0


def test_last_decision_is_the_answer_and_then_everything_is_known(opened: Opened) -> None:
    opened.press("j")
    opened.press(",")
    assert "answer" in opened.readout
    assert opened.page.locator(".referent.unknown").count() == 0
    opened.press("Space")
    assert "decisions" in opened.readout


def test_answer_stays_hidden_until_it_was_given(opened: Opened) -> None:
    opened.press("j", "Space")
    assert opened.page.locator(".referent.unknown").count() == len(MUG.meant)


def test_marks_of_the_decisions_can_be_clicked_and_focused(opened: Opened) -> None:
    opened.press("j")
    mark = opened.page.locator(".mark.bindings").first
    label = mark.get_attribute("aria-label") or ""
    assert "“this” → stroke 1" in label
    mark.click()
    assert "“this” → stroke 1" in opened.readout
    opened.press(".")
    assert opened.page.evaluate("document.activeElement.classList.contains('mark')")


def test_cursor_follows_the_pointer_and_the_slider(opened: Opened) -> None:
    box = opened.page.locator("#timeline svg").bounding_box()
    assert box is not None
    opened.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 8)
    shown = opened.page.inner_text("#time")
    assert 1.5 < float(shown.split()[0]) < 3.0
    opened.page.locator("#scrub").focus()
    opened.press("ArrowRight")
    assert opened.clip == SCRIPTS[0].name
    assert opened.page.inner_text("#time") != ""


def test_theme_toggles_and_is_remembered(opened: Opened) -> None:
    def paper() -> str:
        return str(opened.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = paper()
    opened.press("t")
    dark = paper()
    assert dark != light
    opened.page.reload()
    assert paper() == dark
    opened.page.click("#theme")
    assert paper() == light


def test_system_theme_is_followed_at_first(browser: Browser, report: Path) -> None:
    papers = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = Opened(context.new_page(), report).page
        papers.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert papers[0] != papers[1]


def test_help_opens_by_key_and_closes_by_escape(opened: Opened) -> None:
    opened.press("?")
    assert opened.page.locator("#help").is_visible()
    opened.press("j")
    assert opened.clip == SCRIPTS[0].name
    opened.press("Escape")
    assert not opened.page.locator("#help").is_visible()
    opened.press("?")
    opened.page.click("#help button")
    assert not opened.page.locator("#help").is_visible()


def test_next_mistake_goes_round(opened: Opened) -> None:
    wrong = [CHINESE.name, FOUR.name]
    opened.press("n")
    assert opened.clip == wrong[0]
    opened.press("n")
    assert opened.clip == wrong[1]
    opened.press("n")
    assert opened.clip == wrong[0]


def test_clip_of_damaged_length_is_drawn(browser: Browser, tmp_path: Path) -> None:
    folder = make_run(tmp_path, (MUG,), pictures=False)
    lines = ClipMaker(MUG).lines()
    lines[-1]["duration"] = 9e8
    write_trace(folder / MUG.name / "trace.jsonl", lines)
    context = browser.new_context()
    opened = Opened(context.new_page(), written(folder))
    opened.press("0", ".", "-", "+", "p", "Escape")
    assert opened.complaints == []
    context.close()


def test_stage_view_shows_the_clip_alone(opened: Opened) -> None:
    opened.press("f")
    assert not opened.page.locator("header.top").is_visible()
    assert opened.page.locator(".timeline-panel").is_visible()
    opened.press("f")
    assert opened.page.locator("header.top").is_visible()


def test_space_on_a_button_presses_the_button(opened: Opened) -> None:
    opened.page.focus("#clip-after")
    opened.press("Space")
    assert opened.clip == SCRIPTS[1].name
    assert "decisions" in opened.readout


@pytest.mark.parametrize("width", [360, 390, 768, 1440])
def test_nothing_is_wider_than_the_screen(browser: Browser, report: Path, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = Opened(context.new_page(), report)
    for _ in SCRIPTS:
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width
        page.press("j")
    context.close()


def test_labels_of_words_do_not_cover_each_other(opened: Opened) -> None:
    opened.press("j", "j", "j")
    assert opened.clip == FOUR.name
    boxes = opened.page.evaluate(
        "[...document.querySelectorAll('.timeline .word text')].map(t => {"
        "const b = t.getBBox(); return [b.x, b.y + 3, b.x + b.width, b.y + b.height - 3]})"
    )
    assert len(boxes) >= len(FOUR.words) - 2
    for n, one in enumerate(boxes):
        for other in boxes[n + 1 :]:
            apart = (
                one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            )
            assert apart


def test_named_clip_opens_first(browser: Browser, report: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{report.as_uri()}#{FOUR.name}")
    assert page.inner_text(".clip-head h2") == FOUR.name
    context.close()


def test_print_holds_every_clip(opened: Opened) -> None:
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator(".print-clip").count() == len(SCRIPTS)
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator(".print-clip").count() == 0
    assert opened.complaints == []


def test_hostile_run_stays_quiet(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context()
    opened = Opened(context.new_page(), written(hostile_run(tmp_path / "run")))
    opened.press(".", ".", "+", "j", "?", "Escape")
    opened.page.hover(".timeline .word")
    assert opened.complaints == []
    assert opened.outside() == []
    assert opened.clip == "<img src=x onerror=alert(3)>"
    context.close()


def test_page_without_clips_is_quiet(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context()
    opened = Opened(context.new_page(), written(make_run(tmp_path, ())))
    opened.press("j", ".", "t", "?")
    assert opened.complaints == []
    context.close()
