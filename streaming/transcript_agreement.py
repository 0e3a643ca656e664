"""What of a hypothesis can be believed: cut what is past the sound, cut loops, compare.

Short windows make Whisper go on after the sound has ended and say the same again. Three signs tell:
a segment boundary at the end of the sound with text behind it, a pattern of tokens that repeats
itself, and words that the alignment crams into no time at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from streaming.events import Seconds
from streaming.transcript_recognizer import Aligned, Decoded

NO_TIME: Seconds = 0.03
"""A token that takes less is crammed."""


def cut_past_end(decoded: Decoded, *, duration: Seconds) -> tuple[int, ...]:
    """The tokens up to the first segment boundary at the end of the sound.

    Args:
        decoded: The hypothesis.
        duration: Of the sound, without padding.
    """
    for position, time in decoded.marks:
        if position and time >= duration - 0.1:
            return decoded.tokens[:position]
    return decoded.tokens


def cut_loops(tokens: Sequence[int], *, times: int = 3, shortest: int = 3) -> int:
    """How many tokens to keep so that no pattern stands ``times`` times in a row at the end.

    One occurrence is kept. Patterns shorter than ``shortest`` tokens may stand twice as often,
    since people do say "no, no, no, no".

    Args:
        tokens: The hypothesis.
        times: Occurrences in a row that make a loop.
        shortest: Length of a pattern that nobody says so often.
    """
    size = len(tokens)
    for end in range(1, size + 1):
        for period in range(1, end // times + 1):
            needed = times if period >= shortest else 2 * times
            reach = period * needed
            if reach > end:
                continue
            pattern = tokens[end - period : end]
            if all(
                tokens[end - (turn + 1) * period : end - turn * period] == pattern
                for turn in range(1, needed)
            ):
                return end - reach + period
    return size


def cut_crammed(aligned: Sequence[Aligned], *, run: int = 4) -> int:
    """How many tokens to keep so that no ``run`` of them takes no time.

    Args:
        aligned: One entry a token.
        run: Tokens in a row that are too many.
    """
    crammed = 0
    for index, token in enumerate(aligned):
        crammed = crammed + 1 if token.offset - token.onset < NO_TIME else 0
        if crammed == run:
            return index + 1 - run
    return len(aligned)


def common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """How many entries two sequences share from the beginning."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared


def prefix_costs(one: Sequence[str], other: Sequence[str]) -> list[int]:
    """Edit distance of ``one`` to each prefix of ``other``, from the empty one on."""
    row = list(range(len(other) + 1))
    for left in one:
        diagonal, row[0] = row[0], row[0] + 1
        for place, right in enumerate(other, start=1):
            diagonal, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, diagonal + (left != right)),
            )
    return row
