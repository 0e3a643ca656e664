"""Ego-EXTRA (arXiv 2512.13238): five-option questions about expert and trainee dialogues."""

from replay.egoextra.dataset import EgoExtra, EgoExtraError, LeftOut, load_egoextra
from replay.egoextra.dialogue import Dialogue, Turn
from replay.egoextra.questions import SCENARIOS, Question

__all__ = [
    "SCENARIOS",
    "Dialogue",
    "EgoExtra",
    "EgoExtraError",
    "LeftOut",
    "Question",
    "Turn",
    "load_egoextra",
]
