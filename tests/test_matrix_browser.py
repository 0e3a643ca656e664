"""The page of a matrix in a real browser: quiet, no requests, measures, theme, phone width."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from replay.report.matrix_page import build_matrix_report
from replay.scoring.bootstrap import Resampling
from replay.scoring.cells import open_matrix
from tests.matrix_maker import make_matrix
from tests.test_report_browser import CHROMIUM, FLAGS, Opened

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
PAPER = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_matrix(tmp_path_factory.mktemp("matrix") / "night", clips=24)
    target = folder / "report.html"
    page = build_matrix_report(open_matrix(folder), how=Resampling(resamples=100))
    target.write_text(page, encoding="utf-8")
    return target


def test_page_is_quiet_and_its_measures_and_theme_change(browser: Browser, report: Path) -> None:
    context = browser.new_context(color_scheme="light", viewport={"width": 1440, "height": 900})
    opened = Opened(context.new_page(), report)
    page = opened.page
    for measure in ("seq", "t", "eco"):
        page.click(f'label[for="measure-{measure}"]')
        shown = page.locator(".plot-panel:visible")
        assert shown.count() == 1
        assert f"plot-of-{measure}" in (shown.get_attribute("class") or "")
    page.focus("#measure-eco")
    opened.press("ArrowRight")
    assert page.locator(".plot-of-seq").is_visible()
    light = page.evaluate(PAPER)
    opened.press("t")
    assert page.evaluate(PAPER) != light
    page.click("#theme")
    assert page.evaluate(PAPER) == light
    assert opened.complaints == []
    assert opened.outside() == []
    context.close()


@pytest.mark.parametrize("width", [360, 390, 768, 1440])
def test_nothing_is_wider_than_the_screen(browser: Browser, report: Path, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = Opened(context.new_page(), report).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    names = page.locator(".plot-of-eco .line-name")
    for place in range(names.count()):
        box = names.nth(place).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    context.close()


def test_dots_lie_inside_their_intervals(browser: Browser, report: Path) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = Opened(context.new_page(), report).page
    tracks = page.locator(".plot-of-eco .plot-row:has(.dot) .track")
    assert tracks.count() == 12
    for place in range(tracks.count()):
        dot = tracks.nth(place).locator(".dot").bounding_box()
        reach = tracks.nth(place).locator(".reach").bounding_box()
        assert dot is not None
        assert reach is not None
        middle = dot["x"] + dot["width"] / 2
        assert reach["x"] - 1 <= middle <= reach["x"] + reach["width"] + 1
    context.close()
