"""Speech whose word times are known, and the sound track that it is heard in."""

from replay.synth.speech.saying import RATE, Speech, Voice
from replay.synth.speech.track import Soundtrack, mix
from replay.synth.speech.voices import voices

__all__ = ["RATE", "Soundtrack", "Speech", "Voice", "mix", "voices"]
