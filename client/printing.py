"""Printing text that came from elsewhere."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def printable(text: str) -> str:
    """``text`` on one line, with control and invisible characters written as escapes.

    File names and model output may hold sequences that would drive the terminal.
    """
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter
        for letter in text
    )


def plain_console(*, stderr: bool = False) -> Console:
    """A console that prints text as it is: no markup, no emoji codes, no colours by guess.

    Long lines are left to the terminal, and to whoever searches them.
    """
    from rich.console import Console  # late: errors are printed without it

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)
