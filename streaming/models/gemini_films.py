"""Films that are too large for a request: uploaded once, lent to those who ask, taken back."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from google.genai import types
from google.genai.files import AsyncFiles

from streaming.asking.endpoint import AttemptFailed, Rejected, TooSlow, Unreachable
from streaming.asking.request import FilmPart
from streaming.events import Seconds
from streaming.models.gemini_http import LIBRARY_FAILURES, NoAnswer, Wording

READY_WITHIN: Seconds = 240.0
"""How long the provider may take to make an uploaded film ready."""
_FIRST_PAUSE: Seconds = 0.1
_LONGEST_PAUSE: Seconds = 5.0
_DELETED_WITHIN: Seconds = 10.0


@dataclass(slots=True, eq=False)
class _Upload:
    """A film at the provider.

    Attributes:
        name: Ours to choose, so that it can be deleted whatever becomes of the upload.
        ready: Ends with the address to ask with.
        users: How many ask with it.
    """

    name: str
    ready: asyncio.Task[str] = field(init=False)
    users: int = 0

    @property
    def failed(self) -> bool:
        ready = self.ready
        return ready.done() and (ready.cancelled() or ready.exception() is not None)


class FilmShelf:
    """Films at the provider.

    Whoever asks with a film while somebody else does shares its upload. When the last one is done,
    has failed or was cancelled, it is deleted there.

    Attributes:
        left_behind: Names of films that could not be deleted; the provider drops them in two days.
    """

    def __init__(self, files: AsyncFiles, wording: Wording) -> None:
        self._files = files
        self._wording = wording
        self._uploads: dict[tuple[str, str], _Upload] = {}
        self._deleting: set[asyncio.Task[None]] = set()
        self.left_behind: list[str] = []

    @contextlib.asynccontextmanager
    async def lent(self, film: FilmPart) -> AsyncIterator[str]:
        """The address of ``film`` at the provider, ready to be asked with.

        Raises:
            AttemptFailed: If it does not get ready.
        """
        key = hashlib.sha256(film.content).hexdigest(), film.mime
        upload = self._uploads.get(key)
        if upload is None or upload.failed:
            upload = _Upload(name=f"files/deixis-{uuid.uuid4().hex}")
            upload.ready = asyncio.create_task(self._uploaded(upload.name, film))
            self._uploads[key] = upload
        upload.users += 1
        try:
            yield await self._ready(upload)
        finally:
            upload.users -= 1
            if upload.users == 0:
                if self._uploads.get(key) is upload:
                    del self._uploads[key]
                self._take_back(upload)

    async def _ready(self, upload: _Upload) -> str:
        try:
            # One that goes away must not end the upload of the others.
            return await asyncio.shield(upload.ready)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling() or not upload.ready.cancelled():
                raise
        raise Unreachable(f"{self._wording.name}: closed while a film was being uploaded")

    async def aclose(self) -> None:
        """Delete what is left, and wait until all is deleted."""
        for upload in self._uploads.values():
            self._take_back(upload)
        self._uploads.clear()
        while self._deleting:
            await asyncio.wait(set(self._deleting))

    async def _uploaded(self, name: str, film: FilmPart) -> str:
        failed: AttemptFailed
        try:
            async with asyncio.timeout(READY_WITHIN):
                return await self._made_ready(name, film)
        except TimeoutError:
            failed = TooSlow(
                f"{self._wording.name}: a film was not ready after {READY_WITHIN:g} s; "
                "send a shorter one"
            )
        except LIBRARY_FAILURES as error:
            failed = self._wording.failure(error)
        raise failed

    async def _made_ready(self, name: str, film: FilmPart) -> str:
        config = types.UploadFileConfig(name=name, mime_type=film.mime)
        file = await self._files.upload(file=io.BytesIO(film.content), config=config)
        pause = _FIRST_PAUSE
        while file.state not in (types.FileState.ACTIVE, types.FileState.FAILED):
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)
            file = await self._files.get(name=name)
        if file.state is types.FileState.FAILED:
            reason = (file.error.message if file.error is not None else None) or "no reason given"
            raise Rejected(
                f"{self._wording.name}: the film is not accepted: {self._wording.line(reason)}"
            )
        if not file.uri:
            raise NoAnswer("an uploaded film has no address")
        return file.uri

    def _take_back(self, upload: _Upload) -> None:
        """Delete it, without keeping those waiting who have their answer."""
        task = asyncio.create_task(self._deleted(upload))
        self._deleting.add(task)
        task.add_done_callback(self._deleting.discard)

    async def _deleted(self, upload: _Upload) -> None:
        upload.ready.cancel()
        # How it ended was told to those who asked, if any still did.
        await asyncio.gather(upload.ready, return_exceptions=True)
        try:
            async with asyncio.timeout(_DELETED_WITHIN):
                await self._files.delete(name=upload.name)
        except TimeoutError:
            self.left_behind.append(upload.name)
        except LIBRARY_FAILURES as error:
            # Where it is refused there is none: 403 is said of any unknown film.
            if self._wording.failure(error).retryable:
                self.left_behind.append(upload.name)
