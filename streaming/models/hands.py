"""Which hand detector runs, by its setting."""

from __future__ import annotations

from streaming.hand_search import HandSearch
from streaming.hands import HandDetector, HandSettings


class HandModelError(RuntimeError):
    """A hand model cannot run here; one line saying what to do."""


def open_hands(settings: HandSettings | None = None) -> HandDetector:
    """The detector that ``settings`` names, with its weights loaded. Close it after use.

    Raises:
        HandModelError: If the library that runs the models cannot be loaded.
        WeightsError: If the weights are missing or wrong.
    """
    settings = settings or HandSettings()
    if settings.detector == "mediapipe":
        from streaming.models.mediapipe_hands import MediaPipeHands

        return MediaPipeHands()
    from streaming.models.litert_hands import LiteRTHands

    return HandSearch(LiteRTHands(), settings.search)
