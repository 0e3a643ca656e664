"""Pushes flashes and clicks with GStreamer's ``webrtcbin`` by WHIP, as its ``whipsink`` does.

``python3 gstreamer_whip.py URL TOKEN SECONDS`` with a Python that has GStreamer's bindings, which
is the system's, so nothing of this project is imported. There is a flash and a click every 0.8 s.
One POST with all candidates, no trickle, one DELETE.
"""

from __future__ import annotations

import math
import sys
import urllib.request
from array import array
from urllib.parse import urljoin

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstWebRTC", "1.0")
gi.require_version("GstSdp", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402

EVERY, LONG = 0.8, 0.16
FPS, RATE, SAMPLES = 25, 48_000, 480
WIDTH, HEIGHT = 160, 120
PIPELINE = f"""
webrtcbin name=peer bundle-policy=max-bundle
appsrc name=pictures is-live=true format=time
  caps=video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT},framerate={FPS}/1
  ! videoconvert ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max={FPS}
  ! video/x-h264,profile=constrained-baseline ! rtph264pay config-interval=-1
  ! application/x-rtp,media=video,encoding-name=H264,payload=96 ! peer.
appsrc name=sound is-live=true format=time
  caps=audio/x-raw,format=S16LE,layout=interleaved,channels=1,rate={RATE}
  ! opusenc ! rtpopuspay ! application/x-rtp,media=audio,encoding-name=OPUS,payload=97 ! peer.
"""


class Sender:
    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._pipeline = Gst.parse_launch(PIPELINE)
        self._peer = self._pipeline.get_by_name("peer")
        self._sources = [self._pipeline.get_by_name(name) for name in ("pictures", "sound")]
        self._sent = [0, 0]
        self._offered = False
        self._session: str | None = None
        self._loop = GLib.MainLoop()
        self._connected_at: int | None = None

    def run(self, seconds: float) -> None:
        bus = self._pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message::error", self._failed)
        self._peer.connect("notify::ice-gathering-state", self._gathered)
        self._pipeline.set_state(Gst.State.PLAYING)
        GLib.timeout_add(5, self._feed, round(seconds * Gst.SECOND))
        self._loop.run()
        if self._session is not None:
            self._ask("DELETE", self._session).close()
        self._pipeline.set_state(Gst.State.NULL)

    def _feed(self, until: int) -> bool:
        clock = self._pipeline.get_clock()
        if clock is None:
            return True
        now = clock.get_time() - self._pipeline.get_base_time()
        for kind, each in enumerate((FPS, RATE / SAMPLES)):
            source = self._sources[kind]
            while (at := self._sent[kind] / each) * Gst.SECOND <= now:
                buffer = Gst.Buffer.new_wrapped(sound(at) if kind else picture(at))
                buffer.pts, buffer.duration = round(at * Gst.SECOND), round(Gst.SECOND / each)
                source.emit("push-buffer", buffer)
                self._sent[kind] += 1
        self._offer()
        state = self._peer.get_property("connection-state")
        if self._connected_at is None and state == GstWebRTC.WebRTCPeerConnectionState.CONNECTED:
            self._connected_at = now
        if self._connected_at is not None and now - self._connected_at > until:
            self._loop.quit()
        return True

    def _offer(self) -> None:
        """Once both tracks are known."""
        known = [pad for pad in self._peer.sinkpads if pad.get_current_caps() is not None]
        if self._offered or len(known) < len(self._sources):
            return
        self._offered = True
        for index in range(len(known)):
            transceiver = self._peer.emit("get-transceiver", index)
            transceiver.set_property("direction", GstWebRTC.WebRTCRTPTransceiverDirection.SENDONLY)
        self._peer.emit("create-offer", None, Gst.Promise.new_with_change_func(self._made, None))

    def _made(self, promise: Gst.Promise, _: object) -> None:
        reply = promise.get_reply()  # owns the offer
        self._peer.emit("set-local-description", reply.get_value("offer"), Gst.Promise.new())

    def _gathered(self, *_: object) -> None:
        complete = GstWebRTC.WebRTCICEGatheringState.COMPLETE
        if self._peer.get_property("ice-gathering-state") == complete and self._session is None:
            GLib.idle_add(self._post)

    def _post(self) -> bool:
        offer = self._peer.get_property("local-description").sdp.as_text()
        with self._ask("POST", self._url, offer.encode()) as answer:
            self._session = urljoin(self._url, answer.headers["Location"])
            _, sdp = GstSdp.SDPMessage.new_from_text(answer.read().decode())
        told = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, sdp)
        self._peer.emit("set-remote-description", told, Gst.Promise.new())
        return False

    def _ask(self, method: str, address: str, body: bytes | None = None):  # type: ignore[no-untyped-def]
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/sdp"}
        return urllib.request.urlopen(
            urllib.request.Request(address, body, headers, method=method), timeout=20
        )

    def _failed(self, bus: Gst.Bus, message: Gst.Message) -> None:
        print(message.parse_error(), file=sys.stderr)
        self._loop.quit()


def lit(at: float) -> bool:
    return at > 0.5 and at % EVERY < LONG


def picture(at: float) -> bytes:
    return bytes([235 if lit(at + 1e-6) else 40]) * (WIDTH * HEIGHT)


def sound(first: float) -> bytes:
    times = (first + index / RATE for index in range(SAMPLES))
    wave = (16_000 * math.sin(2 * math.pi * 1000 * at) if lit(at) else 0.0 for at in times)
    return array("h", map(int, wave)).tobytes()


if __name__ == "__main__":
    Gst.init(None)
    print(Gst.version_string())
    Sender(sys.argv[1], sys.argv[2]).run(float(sys.argv[3]))
