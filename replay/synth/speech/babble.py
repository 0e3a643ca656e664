"""People who talk elsewhere: our own voices, several at once, not to be understood."""

from __future__ import annotations

import functools

import numpy as np
from scipy.signal import resample

from replay.synth.script import Script, ScriptWord
from replay.synth.speech.noise import dulled, even
from replay.synth.speech.voices import voices
from replay.synth.world import Floats

_SAID = (
    "well yesterday we found another table in the kitchen and put everything back together again",
    "please wash the plates first then wipe the counter and leave the towel near the window",
    "my friend said the meeting starts in twenty minutes so bring your notebook and some coffee",
)
_SEED = 20_260_101
"""What is said is the same in all clips; where it is cut, and how it is layered, is not."""


def babble(rng: np.random.Generator, length: int) -> Floats:
    """Three to six talkers at once, shape ``(length,)``, root mean square 1."""
    pool = _talk()
    total = np.zeros(length)
    for _ in range(int(rng.integers(3, 7))):
        higher = rng.uniform(0.85, 1.3)
        start = int(rng.integers(len(pool)))
        talker = np.resize(np.roll(pool, -start), int(length * higher) + 1)
        total += even(np.asarray(resample(talker, length))) * rng.uniform(0.4, 1.0)
    return dulled(rng, total)


@functools.cache
def _talk() -> Floats:
    """A few sentences in a row, said once a process."""
    rng = np.random.default_rng(_SEED)
    voice = voices("en")[0]
    return np.concatenate(
        [
            voice.say(_script(sentence), speed=1.1, rng=rng).samples.astype(np.float64)
            for sentence in _SAID
        ]
    )


def _script(sentence: str) -> Script:
    words = tuple(ScriptWord(text=word) for word in sentence.split())
    return Script(language="en", words=words, strokes=0, referents=())
