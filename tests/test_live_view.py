"""The live view says what happened, on a terminal and in a log."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest
from rich.console import Console

from client.live_view import LogView, PanelView, SessionState, view_for

LINES: list[dict[str, Any]] = [
    {"type": "Header", "clip": "clip", "source": {"duration": 5.0}},
    {
        "type": "Partial",
        "emitted_at": 1.0,
        "utterance": 0,
        "words": [{"text": "take", "onset": 0.8, "offset": 1.0, "language": "en"}],
    },
    {
        "type": "Word",
        "emitted_at": 2.0,
        "text": "this",
        "onset": 1.0,
        "offset": 1.3,
        "language": "en",
    },
    {
        "type": "Deictic",
        "emitted_at": 2.1,
        "index": 0,
        "text": "this",
        "onset": 1.0,
        "offset": 1.3,
        "kind": "object",
    },
    {"type": "Stroke", "emitted_at": 1.4, "index": 0, "onset": 0.9, "apex": 1.2},
    {"type": "StrokeEnd", "emitted_at": 1.9, "index": 0, "offset": 1.8},
    {"type": "Binding", "emitted_at": 2.2, "deictic": 0, "stroke": 0, "probability": 0.9},
    {"type": "Binding", "emitted_at": 2.3, "deictic": None, "stroke": 0, "probability": 0.5},
    {"type": "Asked", "emitted_at": 2.4, "turn": 0},
    {"type": "Answer", "emitted_at": 2.5, "text": "You", "final": False},
    {"type": "AnswerStopped", "emitted_at": 2.6, "turn": 0, "reason": "interrupted"},
    {"type": "Asked", "emitted_at": 2.8, "turn": 1},
    {"type": "Answer", "emitted_at": 3.0, "text": "You mean: mug.", "final": True},
    {"type": "Skipped", "emitted_at": 3.1, "count": 4},
    {"type": "End", "duration": 5.0},
]


def shown(*, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100, legacy_windows=False)
    view = view_for(console)
    assert isinstance(view, PanelView if terminal else LogView)
    for line in LINES:
        view.update(line)
    view.close()
    return out.getvalue()


def test_log_has_one_line_a_decision() -> None:
    lines = shown(terminal=False).splitlines()
    assert [line.split()[2] for line in lines] == [
        "hears",
        "word",
        "deictic",
        "stroke",
        "binding",
        "binding",
        "asked",
        "answer",
        "asked",
        "answer",
    ]
    assert "“this” 1.00 s → stroke 0 at 1.20 s  p = 0.90" in lines[4]
    assert "stroke 0 at 1.20 s, without a word" in lines[5]
    assert "stopped: interrupted" in lines[7]
    assert "You mean: mug." in lines[9]


@pytest.mark.parametrize("part", ["clip", "5.0 s", "this", "▲", "→ stroke 0", "4 frames skipped"])
def test_panel_shows_words_strokes_and_bindings(part: str) -> None:
    assert part in shown(terminal=True)


@pytest.mark.parametrize("terminal", [True, False])
def test_text_that_looks_like_markup_or_drives_the_terminal_is_shown_as_text(
    terminal: bool,
) -> None:
    lines = [
        {"type": "Header", "clip": "[/red]\x1b[31m", "source": {"duration": 5.0}},
        {**LINES[2], "text": "[bold]\x1b]0;mine\x07"},
        {**LINES[8], "text": "[/]\x1b[2J"},
    ]
    out = io.StringIO()
    view = view_for(Console(file=out, force_terminal=terminal, width=100, legacy_windows=False))
    for line in lines:
        view.update(line)
    view.close()
    assert "[bold]\\x1b]0;mine\\x07" in out.getvalue()
    assert "\x1b[31m" not in out.getvalue()
    assert "\x1b[2J" not in out.getvalue()
    assert ("[/red]\\x1b[31m" in out.getvalue()) is terminal


@pytest.mark.parametrize("width", [1, 2, 10, 20])
def test_panel_fits_a_narrow_terminal(width: int) -> None:
    out = io.StringIO()
    view = PanelView(Console(file=out, force_terminal=True, width=width, legacy_windows=False))
    for line in LINES:
        view.update(line)
    view.close()
    assert out.getvalue()


def test_panel_is_drawn_while_lines_come() -> None:
    view = PanelView(Console(file=io.StringIO(), force_terminal=True, width=80))
    failed: list[BaseException] = []

    def draw() -> None:
        try:
            for _ in range(100):
                view._draw()
        except RuntimeError as error:
            failed.append(error)

    drawing = threading.Thread(target=draw)
    drawing.start()
    index = 0
    while drawing.is_alive():
        view.update({**LINES[3], "index": index})
        view.update({**LINES[4], "index": index})
        index += 1
    drawing.join()
    view.close()
    assert not failed


def drawn(lines: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, legacy_windows=False)
    view = PanelView(console, status=lambda: "1.0 s, 30 pictures")
    for line in lines:
        view.update(line)
    view.close()
    return out.getvalue()


def test_panel_tells_an_answer_that_comes_from_one_that_is_stopped() -> None:
    at = next(index for index, line in enumerate(LINES) if line["type"] == "Asked")
    assert "You …" in drawn(LINES[: at + 2])
    assert "You …" not in drawn(LINES[: at + 3])
    assert "You" in drawn(LINES[: at + 3])
    assert "You" not in drawn(LINES[: at + 4])


def test_panel_of_a_stream_tells_how_it_goes_and_how_long_decisions_took() -> None:
    text = drawn(LINES)
    assert "1.0 s, 30 pictures" in text
    assert "word 0.70 s, binding 0.90 s (median)" in text


def test_state_does_not_grow_with_the_session() -> None:
    state = SessionState()
    for index in range(10_000):
        for line in (LINES[2], {**LINES[3], "index": index}, {**LINES[4], "index": index}):
            state.take(line)
        state.take({**LINES[5], "index": index})
        state.take({**LINES[6], "deictic": index, "stroke": index})
    assert len(state.words) + len(state.deictics) + len(state.strokes) + len(state.holds) < 1000
    assert state.told(state.bindings[-1]).startswith("“this” 1.00 s → stroke 9999")
