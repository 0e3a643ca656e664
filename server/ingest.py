"""What every way into a live session delivers: sound and pictures on the session's timeline.

WebRTC, WebSocket and pulled streams each bring their own clocks; whoever receives them puts both
kinds on one timeline first (:mod:`server.alignment`), in seconds from the session's start. What
comes late, twice or never is the source's business (:mod:`server.live_source`).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from streaming.events import Seconds


class Ingest(Protocol):
    """Where a session's sound and pictures go. Every method may be called from any thread.

    None of them blocks: what a slow session cannot take is dropped by its policy and counted.
    """

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None:
        """Take sound.

        Args:
            samples: Shape ``(channels, n)``, in -1...1.
            rate: Samples a second.
            time: Media time of the first sample.
        """
        ...

    def picture(
        self, image: NDArray[np.uint8], *, time: Seconds, pixel_aspect: float = 1.0
    ) -> None:
        """Take an upright RGB picture, shape ``(height, width, 3)``."""
        ...

    def note(self, kind: str, text: str) -> None:
        """Take something that must not be lost silently, such as a lost connection."""
        ...

    def close(self, reason: str) -> None:
        """Nothing comes any more: the session ends when it has worked off what it has."""
        ...


@runtime_checkable
class Thinning(Protocol):
    """An ingest that knows which pictures it would leave out, so that nobody need make them."""

    def spares(self, time: Seconds) -> bool:
        """Whether a picture of ``time`` would be left out; it is then counted as one that came."""
        ...
