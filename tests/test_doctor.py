"""What ``deixis doctor`` says of a machine that lacks something."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

from client import health
from client.cli import run
from client.health import Check, MediaLibrary
from server.cameras import Camera, list_cameras, read_capability
from streaming.weights import SILERO_VAD, WeightFile, Weights

V4L2 = MediaLibrary(formats=frozenset({"video4linux2,v4l2"}))


@pytest.fixture(autouse=True)
def _no_provider_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keys the environment of the tests holds."""
    monkeypatch.setattr("client.commands.doctor.configured", lambda _: [])


def test_this_environment_is_ready() -> None:
    lacking = [check for check in health.look_over() if check.state == "missing"]
    assert lacking == []


@pytest.mark.parametrize(
    ("version", "specifier", "fit"),
    [
        ("17.1.0", "==17.1.0", True),
        ("17.1.1", "==17.1.0", False),
        ("1.0", "==1.0.0", True),
        ("2.4.6", ">=2.0", True),
        ("2.4.6", "<3", True),
        ("3.0rc1", "<3", False),
        ("1.9", ">=1.15", False),
        ("1.0", "~=9", True),
    ],
)
def test_versions_are_compared_as_numbers(version: str, specifier: str, fit: bool) -> None:
    assert health.fits(version, specifier) is fit


def test_missing_and_wrong_packages_come_with_the_command() -> None:
    found = health.check_packages(
        ["av==0.0.1", "no-such-package==1.0", "rich", "ray==2 ; extra == 'cluster'"]
    )
    assert [(check.name, check.state) for check in found] == [
        ("av", "missing"),
        ("no-such-package", "missing"),
        ("rich", "ok"),
    ]
    assert found[1].mend == "uv pip install 'no-such-package==1.0'"


def test_wrong_hash_is_missing_weights() -> None:
    part = SILERO_VAD.parts[0]
    wrong = WeightFile(package=part.package, path=part.path, sha256="0" * 64)
    (check,) = health.check_weights([Weights(name="vad", licence="MIT", parts=(wrong,))])
    assert check.state == "missing"
    assert "SHA-256" in check.detail
    assert check.mend == f"uv pip install --reinstall {part.package}"


def test_module_that_does_not_load_is_missing() -> None:
    (check,) = health.check_modules(["no_such_module.inner"])
    assert check.state == "missing"
    assert "no_such_module" in check.detail
    assert check.mend == "uv pip install --reinstall no-such-module"


def test_unknown_codec_is_only_optional_unless_every_phone_uses_it() -> None:
    library = MediaLibrary(codecs=frozenset({"aac", "h264"}))
    assert health.check_decoders(["aac", "h264"], library).state == "ok"
    assert health.check_decoders(["aac", "h264", "av1"], library).state == "optional"
    assert health.check_decoders(["hevc", "h264"], MediaLibrary()).state == "missing"


def test_keys_are_told_but_never_shown() -> None:
    found = health.check_keys({"GOOGLE_API_KEY": "secret", "OPENAI_API_KEY": " "})
    assert [(check.name, check.state) for check in found] == [
        ("gemini", "ok"),
        ("openai", "optional"),
    ]
    assert "secret" not in str(found)


def test_cache_that_cannot_be_written_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert health.check_cache(tmp_path / "new").state == "ok"
    check = health.check_cache(tmp_path / "file")
    assert check.state == "missing"
    assert "DEIXIS_CACHE" in check.mend


def test_processor_features_are_read() -> None:
    assert health.cpu_features("model name: x\nflags\t\t: fpu avx avx2 fma\n") == [
        "avx",
        "avx2",
        "fma",
    ]
    assert health.cpu_features("Features : fp asimd") is None


def test_no_camera_is_no_fault() -> None:
    (check,) = health.check_cameras([], V4L2)
    assert check.state == "optional"


def test_camera_that_cannot_be_opened_comes_with_the_command() -> None:
    found = health.check_cameras(
        [
            Camera(device="/dev/video0", name="Webcam"),
            Camera(device="/dev/video2", name="Glasses", problem="is busy; run: close it"),
        ],
        V4L2,
    )
    assert [(check.state, check.mend) for check in found] == [("ok", ""), ("optional", "close it")]
    assert health.check_cameras([Camera(device="/dev/video0", name="x")], MediaLibrary())[0].mend


def capability(*, flags: int, node: int = 0) -> bytes:
    return struct.pack("16s32s32sIII12x", b"uvc", b"Web cam\0", b"usb", 1, flags, node)


@pytest.mark.parametrize(
    ("answer", "capture"),
    [
        (capability(flags=0x1), True),
        (capability(flags=0x80000001, node=0x1), True),
        (capability(flags=0x80000001, node=0x00800000), False),
        (capability(flags=0x2), False),
    ],
)
def test_node_tells_whether_it_captures(answer: bytes, capture: bool) -> None:
    assert read_capability(answer) == (capture, "Web cam")


def test_nodes_are_listed_by_number_with_their_names(tmp_path: Path) -> None:
    devices, system = tmp_path / "dev", tmp_path / "sys"
    devices.mkdir()
    for name in ("video10", "video2", "video-x", "audio0"):
        (devices / name).write_text("")
    (system / "video2").mkdir(parents=True)
    (system / "video2" / "name").write_text("Front camera\n")
    found = list_cameras(devices=devices, system=system)
    assert [(Path(camera.device).name, camera.name) for camera in found] == [
        ("video2", "Front camera"),
        ("video10", "video10"),
    ]
    assert all(camera.problem is not None for camera in found)  # plain files are no cameras


def one_check(state: str) -> list[Check]:
    return [Check(section="weights", name="a", state=state, detail="b", mend="make c")]  # type: ignore[arg-type]


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("optional", 0), ("missing", 1)])
def test_exit_code_tells_whether_the_main_job_can_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: str, code: int
) -> None:
    monkeypatch.setattr("client.commands.doctor.look_over", lambda: one_check(state))
    assert run(["doctor"]) == code
    assert "make c" in capsys.readouterr().out


def test_json_is_one_object_without_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setattr(
        "client.commands.doctor.look_over",
        lambda: [*one_check("missing"), *health.check_keys(os.environ)],
    )
    assert run(["doctor", "--json"]) == 1
    printed = capsys.readouterr().out
    assert "very-secret" not in printed
    answer = json.loads(printed)
    assert answer["ok"] is False
    assert set(answer["checks"][0]) == {"section", "name", "state", "detail", "mend"}
