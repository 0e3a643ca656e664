"""FFmpeg's own WHIP muxer, which is inside PyAV, pushes to a real server."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from statistics import median

import av
import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.live_process import TOKEN, LiveProcess
from tests.whip_maker import IN_STEP, needs_network

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif("whip" not in av.formats_available, reason="this FFmpeg has no WHIP"),
]
SECONDS, FPS, RATE = 4.0, 30, 48_000
EVENTS = (0.8, 1.6, 2.4, 3.2)
FRAME = 960
"""Samples of an Opus frame: 20 ms."""


@pytest.fixture(scope="module")
def server() -> Iterator[LiveProcess]:
    needs_network()
    with LiveProcess() as running:
        yield running


def test_ffmpeg_pushes_sound_and_pictures_in_step(server: LiveProcess, tmp_path: Path) -> None:
    push(f"{server.url}/whip", authorization=TOKEN, **certificate(tmp_path))
    seen = server.ended(0)
    # FFmpeg begins to send while its handshake still ends, and its first key frame may be lost.
    assert len(seen.clicks) >= 3
    assert np.diff(seen.clicks) == pytest.approx([0.8] * (len(seen.clicks) - 1), abs=0.02)
    assert seen.seconds is not None
    assert seen.seconds > 3.0
    assert seen.pictures > 60
    assert abs(median(seen.apart())) < IN_STEP, seen


def test_a_wrong_token_is_refused(server: LiveProcess, tmp_path: Path) -> None:
    with pytest.raises(av.error.HTTPUnauthorizedError):
        push(
            f"{server.url}/whip", authorization="another-token-long-enough", **certificate(tmp_path)
        )


def certificate(folder: Path) -> dict[str, str]:
    """Options that give the muxer a certificate on P-256.

    With GnuTLS, as in PyAV's wheels, FFmpeg makes itself one on P-224, which OpenSSL refuses.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sender")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return {"cert_file": str(folder / "cert.pem"), "key_file": str(folder / "key.pem")}


def push(url: str, **options: str) -> None:
    """Push flashes and clicks at :data:`EVENTS`, at their pace."""
    with av.open(url, "w", format="whip", options=options) as container:
        video = container.add_stream("libx264", rate=FPS)
        video.width, video.height, video.pix_fmt = 160, 120, "yuv420p"
        video.options = {"profile": "baseline", "preset": "ultrafast", "tune": "zerolatency"}
        video.codec_context.gop_size, video.codec_context.max_b_frames = 15, 0
        audio = container.add_stream("libopus", rate=RATE, layout="stereo")
        audio.bit_rate = 96_000
        container.start_encoding()
        began = time.monotonic()
        sent = 0
        for index in range(round(SECONDS * FPS)):
            at = index / FPS
            time.sleep(max(0.0, began + at - time.monotonic()))
            container.mux(video.encode(picture(index)))
            while sent / RATE <= at:
                container.mux(audio.encode(sound(sent)))
                sent += FRAME


def picture(index: int) -> av.VideoFrame:
    lit = any(0 <= index - round(event * FPS) < 4 for event in EVENTS)
    frame = av.VideoFrame.from_ndarray(
        np.full((120, 160, 3), 250 if lit else 60, dtype=np.uint8), format="rgb24"
    )
    frame.pts, frame.time_base = index, Fraction(1, FPS)
    return frame


def sound(first: int) -> av.AudioFrame:
    times = (first + np.arange(FRAME)) / RATE
    loud = np.any([(times >= event) & (times < event + 0.13) for event in EVENTS], axis=0)
    wave = (0.5 * loud * np.sin(2 * np.pi * 1000 * times)).astype(np.float32)
    frame = av.AudioFrame.from_ndarray(np.stack([wave, wave]), format="fltp", layout="stereo")
    frame.sample_rate, frame.pts, frame.time_base = RATE, first, Fraction(1, RATE)
    return frame
