"""Printing text that came from elsewhere."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """``text`` on one line, with control and invisible characters written as escapes.

    File names and model output may hold sequences that would drive the terminal.
    """
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter
        for letter in text
    )
