"""What the wearer says: instructions worded in many ways, with what each word does."""

from replay.synth.wording.compose import compose, vocabulary

__all__ = ["compose", "vocabulary"]
