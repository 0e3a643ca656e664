"""Streams fetched from other people's servers: RTSP from GStreamer, RTMP and SRT from FFmpeg."""

from __future__ import annotations

import functools
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from server.pull import Pull, PullError, read_address
from server.pull_settings import PullSettings
from tests.ingest_taker import Taken
from tests.live_process import ROOT
from tests.media_maker import write_clip
from tests.whip_maker import IN_STEP

pytestmark = pytest.mark.realtime
PATIENT = PullSettings(open_within=10.0, read_within=2.0, first_wait=0.1, longest_wait=0.3)
EVENTS = tuple(0.8 + 0.8 * number for number in range(36))


@functools.cache
def python_with_rtsp() -> str:
    """A Python with GStreamer's RTSP server, or a skip."""
    script = (
        "import gi; gi.require_version('GstRtspServer', '1.0'); from gi.repository import Gst, "
        "GstRtspServer; Gst.init(None); "
        "raise SystemExit(Gst.ElementFactory.find('rtpopuspay') is None)"
    )
    for python in ("/usr/bin/python3", shutil.which("python3")):
        if python is None or not Path(python).exists():
            continue
        if subprocess.run([python, "-c", script], capture_output=True).returncode == 0:
            return python
    pytest.skip("no Python with GStreamer's RTSP server; apt install gir1.2-gst-rtsp-server-1.0")


@dataclass
class Sender:
    """A server of one kind that sends a clip at its pace, and can be frozen and begun anew."""

    kind: str
    folder: Path
    port: int = field(default_factory=lambda: _free_port())

    def __post_init__(self) -> None:
        if self.kind == "rtsp":
            self._clip = write_clip(
                self.folder / "clip.mkv",
                seconds=30.0,
                events=EVENTS,
                audio_codec="libopus",
                packet_samples=960,
            )
        else:
            self._clip = write_clip(self.folder / "clip.ts", seconds=30.0, events=EVENTS)
        self.begin()

    @property
    def address(self) -> str:
        path = {"rtsp": "/live", "rtmp": "/live/key", "srt": ""}[self.kind]
        return f"{self.kind}://127.0.0.1:{self.port}{path}"

    def begin(self) -> None:
        self._process = subprocess.Popen(
            self._command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _command(self) -> list[str]:
        if self.kind == "rtsp":
            script = ROOT / "tests/standins/rtsp_server.py"
            return [python_with_rtsp(), str(script), str(self._clip), str(self.port)]
        program = shutil.which("ffmpeg")
        if program is None:
            pytest.skip("no ffmpeg on this machine; apt install ffmpeg")
        send = [program, "-nostdin", "-loglevel", "quiet", "-re", "-i", str(self._clip)]
        send += ["-c", "copy"]
        if self.kind == "rtmp":
            return [*send, "-f", "flv", "-listen", "1", self.address]
        return [*send, "-f", "mpegts", f"{self.address}?mode=listener"]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def until(holds: Callable[[], bool], taken: Taken) -> None:
    late = time.monotonic() + 40
    while not holds():
        assert time.monotonic() < late, taken.notes
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["rtsp", "rtmp", "srt"])
def test_a_stream_that_freezes_is_left_and_its_next_connection_is_an_epoch(
    kind: str, tmp_path: Path
) -> None:
    sender, taken = Sender(kind, tmp_path), Taken()
    pull = Pull(read_address(sender.address), taken, PATIENT)
    pull.start()
    try:
        until(lambda: len(taken.clicks()) >= 2 and len(taken.flashes()) >= 2, taken)
        sender.freeze()
        gone = f"{kind}://127.0.0.1:{sender.port}: no answer in time; trying again"
        until(lambda: ("source_lost", gone) in taken.notes, taken)
        sender.kill()
        before, seen = taken.sounds[-1][0], len(taken.flashes())
        sender.begin()
        until(lambda: "new_epoch" in taken.kinds(), taken)
        until(lambda: len(taken.flashes()) >= seen + 2, taken)
    finally:
        pull.stop()
        sender.kill()
    for times in ([at for at, _, _ in taken.sounds], [frame.time for frame in taken.frames]):
        assert times == sorted(times)
    flashes, clicks = taken.flashes(), taken.clicks()
    assert any(flash > before for flash in flashes)
    for flash in flashes[:-1]:
        assert min(abs(click - flash) for click in clicks) < IN_STEP


def test_srt_without_the_program_that_fetches_it_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PullError, match="srt://host:9000: needs the program ffmpeg"):
        read_address("srt://host:9000?passphrase=geheim")


def test_srt_where_nobody_is_says_so_in_one_line_without_its_passphrase() -> None:
    if shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg on this machine; apt install ffmpeg")
    taken = Taken()
    port = _free_port()
    once = PullSettings(open_within=10.0, attempts=1)
    Pull(read_address(f"srt://127.0.0.1:{port}?passphrase=geheimgeheim"), taken, once)._run()
    assert taken.closed == [
        f"srt://127.0.0.1:{port}: no connection could be made, after 1 attempts"
    ]
    assert "geheim" not in str(taken.notes)
