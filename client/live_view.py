"""The terminal's live view of a session: words, strokes and bindings as they happen.

A view is fed trace lines (encoded by :mod:`streaming.trace`). On a terminal it redraws a panel;
elsewhere it prints one line per decision, so that a log of it reads like a story.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal, Protocol, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from client.printing import printable
from streaming.events import Seconds

WINDOW: Seconds = 12.0
"""Span of the timeline when the clip is longer, or its length is not known."""
_WORDS_KEPT = 200
_STROKES_KEPT = 50
_WAITS_KEPT = 50
T = TypeVar("T")
_PHASE = {"prepared": "·", "stroke": "▁", "apex": "▲", "hold": "▬"}


class View(Protocol):
    """Something that shows trace lines while a session runs."""

    def update(self, line: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class SessionState:
    """What the lines seen so far say. It keeps the newest of each kind only, however long it runs.

    Attributes:
        partial: Texts of the words that are not committed yet.
        answer: What is answered so far; None before anything was asked.
        answering: How the answer stands.
        waited: How long words and bindings came after what they are about, the newest ones.
    """

    name: str = ""
    duration: Seconds | None = None
    now: Seconds = 0.0
    words: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_WORDS_KEPT))
    partial: list[dict[str, Any]] = field(default_factory=list)
    deictics: dict[int, dict[str, Any]] = field(default_factory=dict)
    strokes: dict[int, dict[str, Any]] = field(default_factory=dict)
    holds: dict[int, Seconds] = field(default_factory=dict)
    bindings: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=5))
    answer: str | None = None
    answering: Literal["asked", "said", "stopped"] = "said"
    waited: dict[str, deque[Seconds]] = field(default_factory=dict)
    skipped: int = 0

    def take(self, line: dict[str, Any]) -> None:
        """Bring the state up to date with one line."""
        self.now = max(self.now, line.get("emitted_at", 0.0))
        match line["type"]:
            case "Header":
                self.name = printable(str(line.get("clip", "")))
                self.duration = (line.get("source") or {}).get("duration")
            case "Word":
                self.words.append(line)
                self.partial = []
                self._wait("word", line, line["offset"])
            case "Partial":
                self.partial = line["words"]
            case "Utterance":
                self.partial = []
            case "Deictic":
                _keep(self.deictics, line["index"], line, most=_WORDS_KEPT)
            case "Stroke":
                _keep(self.strokes, line["index"], line, most=_STROKES_KEPT)
            case "StrokeEnd":
                _keep(self.holds, line["index"], line["offset"], most=_STROKES_KEPT)
            case "Binding":
                self.bindings.append(line)
                self._bound(line)
            case "Asked":
                self.answer, self.answering = "", "asked"
            case "Answer":
                self.answer = printable(line["text"])
                self.answering = "said" if line["final"] else "asked"
            case "AnswerStopped":
                self.answering = "stopped"
            case "Skipped" if line.get("what", "frame") == "frame":
                self.skipped += line["count"]

    def _bound(self, line: dict[str, Any]) -> None:
        word, stroke = self.deictics.get(line["deictic"]), self.strokes.get(line["stroke"])
        if word is not None and stroke is not None:
            self._wait("binding", line, max(word["offset"], stroke["apex"]))

    def _wait(self, kind: str, line: dict[str, Any], about: Seconds) -> None:
        kept = self.waited.setdefault(kind, deque(maxlen=_WAITS_KEPT))
        kept.append(max(0.0, line["emitted_at"] - about))

    def told_waits(self) -> str:
        """How long decisions took, half of them less; empty before there was one."""
        return ", ".join(
            f"{kind} {median(waits):.2f} s" for kind, waits in self.waited.items() if waits
        )

    def is_deictic(self, word: dict[str, Any]) -> bool:
        """True when an expression that points covers the word."""
        return any(
            deictic["onset"] - 1e-6 <= word["onset"] and word["offset"] <= deictic["offset"] + 1e-6
            for deictic in self.deictics.values()
        )

    def told(self, binding: dict[str, Any]) -> str:
        """A binding in words."""
        deictic = self.deictics.get(binding["deictic"])
        stroke = self.strokes.get(binding["stroke"])
        pointed = None if stroke is None else f"stroke {stroke['index']} at {stroke['apex']:.2f} s"
        if deictic is None:
            return f"{pointed}, without a word"
        at = f"“{printable(deictic['text'])}” {deictic['onset']:.2f} s"
        return f"{at} → {pointed}" if pointed else f"{at} points nowhere"


def _keep(kept: dict[int, T], index: int, thing: T, *, most: int) -> None:
    """Add ``thing``, and let the oldest go when there are more than ``most``."""
    kept[index] = thing
    if len(kept) > most:
        del kept[next(iter(kept))]


class PanelView:
    """Redraws one panel on a terminal.

    Args:
        console: Where to.
        status: What stands below all, or None.
    """

    def __init__(self, console: Console, *, status: Callable[[], str] | None = None) -> None:
        self._console = console
        self._status = status
        self._state = SessionState()
        self._turn = threading.Lock()  # the panel is drawn by a thread of its own
        self._live = Live(console=console, refresh_per_second=8, get_renderable=self._draw)
        self._live.start()

    def update(self, line: dict[str, Any]) -> None:
        with self._turn:
            self._state.take(line)

    def close(self) -> None:
        self._live.stop()

    def _draw(self) -> RenderableType:
        with self._turn:
            return self._panel()

    def _panel(self) -> Panel:
        state = self._state
        rows = Table.grid(padding=(0, 1))
        rows.add_column(style="dim", justify="right", no_wrap=True, width=9)
        rows.add_column(ratio=1)
        rows.add_row("words", self._sentence())
        for label, track in self._timeline():
            rows.add_row(label, track)
        for binding in state.bindings:
            rows.add_row("binding", _bound(state, binding))
        if state.answer is not None:
            rows.add_row("answer", _answered(state))
        if self._status is not None:
            if waits := state.told_waits():
                rows.add_row("after", Text(f"{waits} (median)", style="dim"))
            rows.add_row("sent", Text(printable(self._status()), style="dim"))
        clock = f"{state.now:5.1f} s" + (f" of {state.duration:.1f} s" if state.duration else "")
        lost = f" · {state.skipped} frames skipped" if state.skipped else ""
        # Text, not a string: the name may look like markup.
        title = Text(f"{state.name} · {clock}{lost}")
        return Panel(Group(rows), title=title, title_align="left")

    def _sentence(self) -> Text:
        text = Text()
        for word in list(self._state.words)[-24:]:
            deictic = self._state.is_deictic(word)
            text.append(printable(word["text"]), "bold black on yellow" if deictic else "bold")
            text.append("" if word["language"] == "zh" else " ")
        for word in self._state.partial:
            text.append(printable(word["text"]), style="italic dim")
            text.append("" if word["language"] == "zh" else " ")
        return text or Text("(listening)", style="dim")

    def _timeline(self) -> list[tuple[str, Text]]:
        state = self._state
        width = max(1, self._console.width - 16)
        span = min(state.duration or WINDOW, WINDOW)
        begin = max(0.0, state.now - span)

        def column(time: Seconds) -> int:
            return int((time - begin) / span * (width - 1))

        speech, hands = [" "] * width, [" "] * width

        def fill(track: list[str], onset: Seconds, offset: Seconds, mark: str) -> None:
            for at in range(max(0, column(onset)), min(width - 1, column(offset)) + 1):
                track[at] = mark

        for word in state.words:
            fill(speech, word["onset"], word["offset"], "█" if state.is_deictic(word) else "▒")
        for index, stroke in state.strokes.items():
            fill(hands, stroke["apex"], state.holds.get(index, state.now), _PHASE["hold"])
            fill(hands, stroke["onset"], stroke["apex"], _PHASE["stroke"])
            fill(hands, stroke["apex"], stroke["apex"], _PHASE["apex"])
        cursor = min(width - 1, max(0, column(state.now)))
        tracks = []
        for label, track, style in (("speech", speech, "yellow"), ("strokes", hands, "cyan")):
            line = Text("".join(track), style=style, no_wrap=True)
            line.stylize("reverse", cursor, cursor + 1)
            tracks.append((label, line))
        return tracks


class LogView:
    """Prints one line a decision."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._state = SessionState()
        self._shown = ""

    def update(self, line: dict[str, Any]) -> None:
        self._state.take(line)
        told = self._told(line)
        if told is not None:
            kind, text = told
            when = f"{line.get('emitted_at', 0.0):7.2f} s"
            self._console.print(Text.assemble((when, "dim"), f"  {kind:<8} ", text))

    def close(self) -> None:
        """Nothing is left open."""

    def _told(self, line: dict[str, Any]) -> tuple[str, Text] | None:
        match line["type"]:
            case "Partial" if line["words"]:
                text = printable(" ".join(word["text"] for word in line["words"]))
                if text == self._shown:
                    return None
                self._shown = text
                return "hears", Text(f"… {text}", style="italic dim")
            case "Word":
                span = f"{printable(line['text'])}  [{line['onset']:.2f}–{line['offset']:.2f}]"
                return "word", Text(span, style="bold")
            case "Deictic":
                return "deictic", Text(
                    f"{printable(line['text'])} ({line['kind']})", style="yellow"
                )
            case "Stroke":
                return "stroke", Text(f"{line['index']} apex {line['apex']:.2f} s", style="cyan")
            case "Binding":
                return "binding", _bound(self._state, line)
            case "Asked":
                return "asked", Text(f"turn {line['turn']}", style="dim")
            case "Answer" if line["final"]:
                return "answer", Text(printable(line["text"]), style="bold green")
            case "AnswerStopped":
                return "answer", Text(f"stopped: {printable(line['reason'])}", style="dim")
            case "SourceNote" | "ModelFailed":
                return "note", Text(printable(line["text"]), style="red")
        return None


def _answered(state: SessionState) -> Text:
    text = state.answer or ""
    match state.answering:
        case "asked":
            return Text(f"{text} …".strip(), style="green")
        case "stopped":
            return Text(text or "(stopped)", style="dim strike" if text else "dim")
        case _:
            return Text(text or "…", style="bold green")


def _bound(state: SessionState, binding: dict[str, Any]) -> Text:
    return Text.assemble(
        (state.told(binding), "magenta"), (f"  p = {binding['probability']:.2f}", "dim")
    )


def view_for(console: Console) -> View:
    """A panel on a terminal, a log elsewhere."""
    return PanelView(console) if console.is_terminal else LogView(console)
