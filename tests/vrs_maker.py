"""Recordings of Aria glasses made from nothing: VRS files with an RGB camera and microphones.

Only the glasses write such files, so this does it after VRS's own description of the format
(facebookresearch/vrs, ``FileFormat.h`` and ``DescriptionRecord.cpp``): a header, a record that
describes the streams, and each stream's records, uncompressed and without an index.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_FILE = struct.Struct("<4s4sQIIqqqQQQ4s4s")
_RECORD = struct.Struct("<IIiIdHBBI")
_DESCRIPTION = 2
_CONFIGURATION, _DATA = 2, 3
_TYPES = {_CONFIGURATION: "Configuration", _DATA: "Data"}
_LAST = 1.7976931348623157e308
RGB, MICROPHONES = (214, 1), (231, 1)
_VERSION = 2
_FORMATS = {"uint8_t": "B", "uint32_t": "I", "int64_t": "q", "uint64_t": "Q", "double": "d"}

IMAGE_SETTINGS = {
    "device_type": "string",
    "device_version": "string",
    "device_serial": "string",
    "camera_id": "uint32_t",
    "sensor_model": "string",
    "sensor_serial": "string",
    "nominal_rate": "double",
    "image_width": "uint32_t",
    "image_height": "uint32_t",
    "image_stride": "uint32_t",
    "image_pixel_format": "uint32_t",
    "exposure_duration.min": "double",
    "exposure_duration.max": "double",
    "gain.min": "double",
    "gain.max": "double",
    "gamma_factor": "double",
    "factory_calibration": "string",
    "online_calibration": "string",
    "description": "string",
}
IMAGE = {
    "group_id": "uint64_t",
    "group_mask": "uint64_t",
    "frame_number": "uint64_t",
    "exposure_duration_s": "double",
    "gain": "double",
    "capture_timestamp_ns": "int64_t",
    "arrival_timestamp_ns": "int64_t",
    "temperature_deg_c": "double",
}
SOUND_SETTINGS = {
    "stream_id": "uint32_t",
    "audio_channel_count": "uint8_t",
    "audio_sample_rate": "uint32_t",
    "audio_sample_format": "uint8_t",
}
SOUND = {"capture_timestamps_ns": "int64_t[]", "audio_muted": "uint8_t"}
_RGB8, _S32 = 4, 13


@dataclass
class VrsWriter:
    """Collects records, and writes them in order of time."""

    tags: dict[str, str] = field(default_factory=dict)
    _streams: dict[tuple[int, int], dict[str, str]] = field(default_factory=dict)
    _records: list[tuple[float, int, tuple[int, int], bytes]] = field(default_factory=list)

    def stream(
        self, stream: tuple[int, int], name: str, **kinds: tuple[str, dict[str, str]]
    ) -> None:
        """Declare a stream: of each kind of record, its format and its layout."""
        tags = {"VRS_Original_Recordable_Name": name}
        for kind, (form, layout) in kinds.items():
            tags[f"RF:{kind}:{_VERSION}"] = form
            tags[f"DL:{kind}:{_VERSION}:0"] = json.dumps({"data_layout": _described(layout)})
        self._streams[stream] = tags

    def record(self, stream: tuple[int, int], kind: int, time: float, content: bytes) -> None:
        self._records.append((time, kind, stream, content))

    def write(self, path: Path) -> Path:
        content = struct.pack("<I", len(self._streams))
        for (kind, instance), tags in sorted(self._streams.items()):
            content += struct.pack("<iH", kind, instance) + _strings({}) + _strings(tags)
        content += _strings(self.tags)
        written = [_record(_DESCRIPTION, 0, _DATA, _LAST, content, before=0)]
        for time, kind, (stream, instance), body in sorted(self._records, key=lambda one: one[:2]):
            before = len(written[-1])
            written.append(_record(stream, instance, kind, time, body, before=before))
        header = _FILE.pack(
            b"Visi",
            b"onRe",
            1,
            _FILE.size,
            _RECORD.size,
            0,
            _FILE.size,
            0,
            0,
            0,
            0,
            b"cord",
            b"VRS1",
        )
        path.write_bytes(header + b"".join(written))
        return path


def _record(
    stream: int, instance: int, kind: int, time: float, content: bytes, *, before: int
) -> bytes:
    size = _RECORD.size + len(content)
    return _RECORD.pack(size, before, stream, _VERSION, time, instance, kind, 0, 0) + content


def _strings(texts: Mapping[str, str]) -> bytes:
    made = struct.pack("<I", len(texts))
    for text in (text for pair in sorted(texts.items()) for text in pair):
        made += struct.pack("<I", len(text.encode())) + text.encode()
    return made


def _described(layout: Mapping[str, str]) -> list[dict[str, object]]:
    described: list[dict[str, object]] = []
    offset = index = 0
    for name, kind in layout.items():
        if kind == "string" or kind.endswith("[]"):
            piece = "DataPieceString" if kind == "string" else f"DataPieceVector<{kind[:-2]}>"
            described.append({"name": name, "type": piece, "index": index})
            index += 1
        else:
            described.append({"name": name, "type": f"DataPieceValue<{kind}>", "offset": offset})
            offset += struct.calcsize("<" + _FORMATS[kind])
    return described


def packed(layout: Mapping[str, str], **values: object) -> bytes:
    """A record's metadata: fixed pieces, then where the others lie, then those."""
    fixed, index, rest = b"", b"", b""
    for name, kind in layout.items():
        value = values.get(name.replace(".", "_"), "" if kind == "string" else 0)
        if kind == "string" or kind.endswith("[]"):
            body = (
                str(value).encode()
                if kind == "string"
                else np.asarray(value, dtype="<i8").tobytes()
            )
            index += struct.pack("<II", len(rest), len(body))
            rest += body
        else:
            fixed += struct.pack("<" + _FORMATS[kind], value)
    return fixed + index + rest


def write_recording(
    path: Path,
    *,
    pictures: Sequence[tuple[int, NDArray[np.uint8]]] = (),
    sounds: Sequence[tuple[int, NDArray[np.int32]]] = (),
    rate: int = 48_000,
) -> Path:
    """Write a recording of Aria glasses of the first generation.

    Args:
        pictures: Capture time in nanoseconds, and RGB as the camera stores it, lying on its side.
        sounds: Capture time of the first sample, and samples, ``(n, channels)``.
        rate: Samples a second.
    """
    writer = VrsWriter(tags={"device_type": "Aria", "device_version": "1"})
    if pictures:
        height, width = pictures[0][1].shape[:2]
        forms = {
            "Configuration": ("data_layout", IMAGE_SETTINGS),
            "Data": ("data_layout+image/raw", IMAGE),
        }
        writer.stream(RGB, "RGB Camera Class", **forms)
        settings = packed(
            IMAGE_SETTINGS,
            device_type="Aria",
            sensor_model="made",
            nominal_rate=20.0,
            image_width=width,
            image_height=height,
            image_stride=3 * width,
            image_pixel_format=_RGB8,
        )
        writer.record(RGB, _CONFIGURATION, 0.0, settings)
        for number, (time, image) in enumerate(pictures):
            said = packed(IMAGE, frame_number=number, capture_timestamp_ns=time, gain=1.0)
            writer.record(RGB, _DATA, time * 1e-9, said + image.tobytes())
    if sounds:
        forms = {
            "Configuration": ("data_layout", SOUND_SETTINGS),
            "Data": ("data_layout+audio/pcm", SOUND),
        }
        writer.stream(MICROPHONES, "Stereo Audio Class", **forms)
        settings = packed(
            SOUND_SETTINGS,
            stream_id=1,
            audio_channel_count=sounds[0][1].shape[1],
            audio_sample_rate=rate,
            audio_sample_format=_S32,
        )
        writer.record(MICROPHONES, _CONFIGURATION, 0.0, settings)
        for time, samples in sounds:
            times = time + (np.arange(len(samples)) * 1e9 / rate).astype(np.int64)
            said = packed(SOUND, capture_timestamps_ns=times)
            writer.record(MICROPHONES, _DATA, time * 1e-9, said + samples.astype("<i4").tobytes())
    return writer.write(path)
