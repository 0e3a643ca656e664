"""What a machine needs to run Deixis, looked at piece by piece, and how each lack is mended."""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from replay.synth.speech.voice_weights import JOE, KOKORO
from server.cameras import Camera, list_cameras
from streaming.machine import describe_machine
from streaming.weights import BUNDLED, Weights, WeightsError, cache_folder, checked

State: TypeAlias = Literal["ok", "missing", "optional"]

DISTRIBUTION = "deixis"
MAIN_JOB_MODULES = (
    "ai_edge_litert.interpreter",
    "av",
    "ctranslate2",
    "cv2",
    "faster_whisper",
    "onnxruntime",
)
"""Native modules, whose loading can fail although they are installed."""
KEYS: dict[str, tuple[str, ...]] = {
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openai": ("OPENAI_API_KEY",),
}
DECODERS = ("h264", "hevc", "vp8", "vp9", "av1", "mpeg4", "mjpeg", "aac", "opus", "mp3", "flac")
_GRAPHICS = {"libEGL.so.1": "libegl1", "libGLESv2.so.2": "libgles2"}
_LOAD_SECONDS = 120
_MIN_MEMORY = 2 << 30
_MIN_CORES = 2
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([^;]*)(;.*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at.

    Attributes:
        section: ``packages``, ``weights``, ``libraries``, ``keys``, ``models``, ``cameras`` or
            ``machine``.
        name: What.
        state: ``ok``; ``missing`` when the main job (``deixis replay`` with the local model), or
            what was asked for by name, cannot run without; ``optional`` when only something beside
            it lacks it.
        detail: What was found.
        mend: The command that mends it, or what to do; empty when there is nothing to mend.
    """

    section: str
    name: str
    state: State
    detail: str
    mend: str = ""


def look_over() -> list[Check]:
    """All checks, in the order in which a person would mend them."""
    return [
        *check_packages(importlib.metadata.requires(DISTRIBUTION) or []),
        *check_weights((*BUNDLED, JOE, KOKORO)),
        *check_modules(MAIN_JOB_MODULES),
        *check_mediapipe(),
        check_decoders(DECODERS, media_library()),
        check_cache(cache_folder()),
        *check_machine(),
        *check_keys(os.environ),
        *check_cameras(list_cameras(), media_library()),
    ]


def check_packages(requirements: Iterable[str]) -> list[Check]:
    """Installed versions against the pins; requirements of extras are left out."""
    checks = []
    for requirement in requirements:
        parts = _REQUIREMENT.match(requirement)
        if parts is None or (parts[3] and "extra" in parts[3]):
            continue
        name, wanted = parts[1], parts[2].strip()
        mend = f"uv pip install '{name}{wanted}'"
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            checks.append(_lack("packages", name, f"not installed, wanted {wanted}", mend))
            continue
        if all(fits(found, each) for each in wanted.split(",") if each.strip()):
            checks.append(Check(section="packages", name=name, state="ok", detail=found))
        else:
            checks.append(_lack("packages", name, f"{found}, wanted {wanted}", mend))
    return checks


def fits(version: str, specifier: str) -> bool:
    """Whether ``version`` is what one ``==``, ``>=`` or ``<`` asks for; other operators pass."""
    parts = re.fullmatch(r"\s*(==|>=|<)\s*([0-9][0-9.]*)\s*", specifier)
    if parts is None:
        return True
    found, wanted = _numbers(version), _numbers(parts[2])
    if parts[1] == "==":
        return found == wanted
    return found >= wanted if parts[1] == ">=" else found < wanted


def _numbers(version: str) -> tuple[int, ...]:
    release = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    numbers = [int(part) for part in release[0].split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def check_weights(bundled: Sequence[Weights]) -> list[Check]:
    """Where each model's weights are, with their SHA-256 compared."""
    checks = []
    for weights in bundled:
        try:
            paths = [checked(part) for part in weights.parts]
        except (WeightsError, OSError) as error:
            reason, _, mend = str(error).partition("; run: ")
            checks.append(_lack("weights", weights.name, reason, mend or "make setup"))
            continue
        digests = ", ".join(part.sha256[:8] for part in weights.parts)
        detail = f"{', '.join(map(str, paths))} (SHA-256 {digests}, {weights.licence})"
        checks.append(Check(section="weights", name=weights.name, state="ok", detail=detail))
    return checks


def check_modules(names: Sequence[str]) -> list[Check]:
    """Whether native modules load, each in a process of its own: a wrong one may crash."""
    return [_loaded(name, needed=True) for name in names]


def _loaded(name: str, *, needed: bool) -> Check:
    package = name.split(".")[0].replace("_", "-")
    mend = f"uv pip install --reinstall {'opencv-python-headless' if package == 'cv2' else package}"
    try:
        done = _python(f"import {name}")
    except subprocess.TimeoutExpired:
        return _lack("libraries", name, f"does not load in {_LOAD_SECONDS} s", mend, needed=needed)
    if done.returncode == 0:
        return Check(section="libraries", name=name, state="ok", detail="loads")
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return _lack("libraries", name, said[-1], mend, needed=needed)


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_LOAD_SECONDS,
        check=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLibrary:
    """What the FFmpeg inside PyAV can do; empty when it does not load."""

    codecs: frozenset[str] = frozenset()
    formats: frozenset[str] = frozenset()


@functools.cache
def media_library() -> MediaLibrary:
    """Asked in a process of its own, for PyAV may not load."""
    listed = "list(av.codecs_available), list(av.formats_available)"
    try:
        codecs, formats = json.loads(
            _python(f"import av, json; print(json.dumps([{listed}]))").stdout
        )
    except (subprocess.TimeoutExpired, ValueError):
        return MediaLibrary()
    return MediaLibrary(codecs=frozenset(codecs), formats=frozenset(formats))


def check_mediapipe() -> list[Check]:
    """MediaPipe and the libraries that it links; only the ``mediapipe`` hand detector uses them."""
    checks = []
    for library, package in _GRAPHICS.items():
        if sys.platform != "linux":
            break
        try:
            ctypes.CDLL(library)
        except OSError:
            mend = f"sudo apt-get install {package}"
            text = "cannot be loaded; the mediapipe hand detector links it"
            checks.append(_lack("libraries", library, text, mend, needed=False))
        else:
            checks.append(Check(section="libraries", name=library, state="ok", detail="loads"))
    return [*checks, _loaded("mediapipe", needed=False)]


def check_decoders(wanted: Sequence[str], library: MediaLibrary) -> Check:
    """Whether what cameras and phones record can be decoded."""
    missing = [name for name in wanted if name not in library.codecs]
    if not missing:
        detail = f"PyAV decodes {', '.join(wanted)}"
        return Check(section="libraries", name="decoders", state="ok", detail=detail)
    text = f"PyAV does not decode {', '.join(missing)}"
    mend = "uv pip install --reinstall --only-binary av av"
    return _lack("libraries", "decoders", text, mend, needed=bool({"h264", "aac"} & {*missing}))


def check_cache(folder: Path) -> Check:
    """Whether weights that come in parts can be joined in the cache folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        mend = "export DEIXIS_CACHE=/a/writable/folder"
        return _lack("machine", "cache", f"{folder}: {error.strerror}", mend)
    free = shutil.disk_usage(folder).free
    detail = f"{folder} is writable, {free / 1e9:.1f} GB free"
    return Check(section="machine", name="cache", state="ok", detail=detail)


def check_machine() -> list[Check]:
    """Python, processor, cores and memory."""
    machine = describe_machine()
    cores, features, memory = int(machine["cores"]), cpu_features(_cpuinfo()), _free_memory()
    fast = features is None or "avx2" in features
    return [
        Check(section="machine", name="python", state="ok", detail=str(machine["python"])),
        _enough(
            "processor",
            f"{machine['cpu']}, {', '.join(features or ()) or 'features unknown'}",
            "" if fast else "without AVX2 recognition does not keep up: use --pace fast",
        ),
        _enough(
            "cores",
            str(cores),
            "" if cores >= _MIN_CORES else "one core does not keep up: use --pace fast",
        ),
        _enough(
            "memory",
            "unknown" if memory is None else f"{memory / 1e9:.1f} GB free",
            "" if memory is None or memory >= _MIN_MEMORY else "close other programs",
        ),
    ]


def _enough(name: str, detail: str, mend: str) -> Check:
    state: State = "optional" if mend else "ok"
    return Check(section="machine", name=name, state=state, detail=detail, mend=mend)


def _free_memory() -> int | None:
    try:
        import psutil
    except ImportError:
        return None
    return int(psutil.virtual_memory().available)


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def cpu_features(cpuinfo: str) -> list[str] | None:
    """Vector extensions that the recogniser can use; None when the system does not tell."""
    flags = re.search(r"^flags\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    if flags is None:
        return None
    there = set(flags[1].split())
    return [
        name for name in ("avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni") if name in there
    ]


def check_keys(environment: Mapping[str, str]) -> list[Check]:
    """Which models behind an API have a key. The keys themselves are never shown."""
    checks = []
    for model, names in KEYS.items():
        there = [name for name in names if environment.get(name, "").strip()]
        checks.append(
            Check(
                section="keys",
                name=model,
                state="ok" if there else "optional",
                detail=f"{there[0]} is set" if there else f"{' and '.join(names)} not set",
                mend="" if there else f"export {names[0]}=...",
            )
        )
    return checks


def check_cameras(cameras: Sequence[Camera], library: MediaLibrary) -> list[Check]:
    """The cameras, and whether PyAV can open such devices at all."""
    if not cameras:
        text = "none found"
        return [_lack("cameras", "cameras", text, "plug one in, or use a phone", needed=False)]
    checks = []
    for camera in cameras:
        problem = camera.problem
        if problem is None and "video4linux2,v4l2" not in library.formats:
            problem = "PyAV was built without V4L2; run: uv pip install --reinstall av"
        reason, _, mend = (problem or "").partition("; ")
        detail = camera.name if problem is None else f"{camera.name}: {reason}"
        checks.append(
            Check(
                section="cameras",
                name=camera.device,
                state="ok" if problem is None else "optional",
                detail=detail,
                mend=mend.removeprefix("run: "),
            )
        )
    return checks


def _lack(section: str, name: str, detail: str, mend: str, *, needed: bool = True) -> Check:
    state: State = "missing" if needed else "optional"
    return Check(section=section, name=name, state=state, detail=detail, mend=mend)
