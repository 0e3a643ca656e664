"""Programs that push WHIP without this project's client: FFmpeg, GStreamer, and OBS's library."""

from __future__ import annotations

import base64
import datetime
import functools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from streaming.weights import cache_folder
from tests.live_process import ROOT, TOKEN, LiveProcess
from tests.whip_maker import IN_STEP, needs_network

pytestmark = pytest.mark.realtime
SECONDS, FPS, RATE = 4.0, 30, 48_000
EVENTS = (0.8, 1.6, 2.4, 3.2)
FRAME = 960
"""Samples of an Opus frame: 20 ms."""
STANDINS = ROOT / "tests/standins"
NODE_PACKAGE = "node-datachannel@0.33.4"


@pytest.fixture(scope="module")
def server() -> Iterator[LiveProcess]:
    needs_network()
    with LiveProcess() as running:
        yield running


# --- FFmpeg ---------------------------------------------------------------------------------


@pytest.mark.skipif("whip" not in av.formats_available, reason="this FFmpeg has no WHIP")
def test_ffmpegs_own_muxer_is_in_step(server: LiveProcess, tmp_path: Path) -> None:
    before = len(server.sessions)
    push(f"{server.url}/whip", authorization=TOKEN, **certificate(tmp_path))
    seen = server.ended(before)
    # It sends before its handshake has ended here, so the first flash may be lost.
    assert len(seen.clicks) >= 3
    assert np.diff(seen.clicks) == pytest.approx([0.8] * (len(seen.clicks) - 1), abs=0.02)
    assert seen.pictures > 30
    assert max(map(abs, seen.apart()[1:])) < IN_STEP, seen


@pytest.mark.skipif("whip" not in av.formats_available, reason="this FFmpeg has no WHIP")
def test_ffmpeg_is_told_that_its_token_is_wrong(server: LiveProcess, tmp_path: Path) -> None:
    with pytest.raises(av.error.HTTPUnauthorizedError):
        push(f"{server.url}/whip", authorization="another-token-of-enough", **certificate(tmp_path))


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


# --- GStreamer ------------------------------------------------------------------------------


@functools.cache
def python_with_gstreamer() -> str | None:
    """A Python with GStreamer's bindings, where its parts for WebRTC are installed, too."""
    script = (
        "import gi; gi.require_version('GstWebRTC', '1.0'); from gi.repository import Gst, "
        "GstWebRTC; Gst.init(None); names = 'webrtcbin nicesrc x264enc opusenc rtph264pay'; "
        "raise SystemExit(any(Gst.ElementFactory.find(name) is None for name in names.split()))"
    )
    for python in ("/usr/bin/python3", shutil.which("python3")):
        if python is None or not Path(python).exists():
            continue
        if subprocess.run([python, "-c", script], capture_output=True).returncode == 0:
            return python
    return None


def test_gstreamer_is_in_step_once_it_has_reported(server: LiveProcess) -> None:
    python = python_with_gstreamer()
    if python is None:
        pytest.skip("no GStreamer with webrtcbin and Python bindings on this machine")
    before = len(server.sessions)
    script = STANDINS / "gstreamer_whip.py"
    sent = subprocess.run(
        [python, script, f"{server.url}/whip", TOKEN, "5"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert sent.returncode == 0, sent.stderr
    seen = server.ended(before)
    # What it made before it was connected comes at once, so at first its times say little.
    assert np.diff(seen.clicks[-3:]) == pytest.approx([0.8, 0.8], abs=0.02)
    assert max(map(abs, seen.apart()[-2:])) < IN_STEP, seen


# --- OBS ------------------------------------------------------------------------------------


def test_the_library_of_obs_is_in_step(server: LiveProcess, tmp_path: Path) -> None:
    folder = cache_folder() / "npm"
    node = shutil.which("node")
    if node is None or not (folder / "node_modules/node-datachannel").is_dir():
        pytest.skip(f"needs Node.js and: npm install --prefix {folder} {NODE_PACKAGE}")
    before = len(server.sessions)
    media = tmp_path / "media.jsonl"
    media.write_text("".join(json.dumps(packet) + "\n" for packet in packets()))
    sent = subprocess.run(
        [node, STANDINS / "libdatachannel_whip.mjs", folder, f"{server.url}/whip", TOKEN, media],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"NO_COLOR": "1"},
    )
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout.split() == ["200"]
    seen = server.ended(before)
    assert seen.clicks == pytest.approx(EVENTS, abs=0.05)
    assert len(seen.flashes) == len(EVENTS)
    assert max(map(abs, seen.apart()[1:])) < IN_STEP, seen


def packets() -> list[tuple[float, str, str]]:
    """What OBS's encoders give, in order of time."""
    video = av.CodecContext.create("libx264", "w")
    video.width, video.height, video.pix_fmt = 160, 120, "yuv420p"
    video.time_base, video.framerate = Fraction(1, FPS), Fraction(FPS)
    video.options = {"profile": "high", "preset": "veryfast", "tune": "zerolatency"}
    video.gop_size, video.max_b_frames = 15, 0
    audio = av.CodecContext.create("libopus", "w")
    audio.sample_rate, audio.layout, audio.format = RATE, "stereo", "flt"
    audio.bit_rate, audio.time_base = 160_000, Fraction(1, RATE)
    interleaved = av.AudioResampler(format="flt", layout="stereo", rate=RATE)
    made = [
        (float(packet.pts * video.time_base), "video", bytes(packet))
        for index in range(round(SECONDS * FPS))
        for packet in video.encode(picture(index))
    ]
    made += [
        (float(packet.pts * audio.time_base), "audio", bytes(packet))
        for number in range(round(SECONDS * RATE) // FRAME)
        for frame in interleaved.resample(sound(number * FRAME))
        for packet in audio.encode(frame)
    ]
    return [(at, kind, base64.b64encode(packet).decode()) for at, kind, packet in sorted(made)]
