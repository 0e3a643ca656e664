"""Serves a Matroska file with H.264 and Opus by RTSP: ``python3 rtsp_server.py FILE PORT``.

With a Python that has GStreamer's bindings, which is the system's, so nothing of this project is
imported. The address is ``rtsp://127.0.0.1:PORT/live``.
"""

from __future__ import annotations

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

PIPELINE = """( filesrc location={} ! matroskademux name=file
file. ! queue ! h264parse ! rtph264pay name=pay0 config-interval=-1 pt=96
file. ! queue ! opusparse ! rtpopuspay name=pay1 pt=97 )"""

if __name__ == "__main__":
    Gst.init(None)
    server = GstRtspServer.RTSPServer.new()
    server.set_address("127.0.0.1")
    server.set_service(sys.argv[2])
    factory = GstRtspServer.RTSPMediaFactory.new()
    factory.set_launch(PIPELINE.format(sys.argv[1]))
    server.get_mount_points().add_factory("/live", factory)
    server.attach(None)
    GLib.MainLoop().run()
