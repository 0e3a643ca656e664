"""The Gemini API as its real client sees it: REST, event streams, and the upload of files.

Written from what google-genai sends and reads. ``with GeminiStandIn(answer) as gemini`` serves at
``gemini.url``; ``answer`` gets each request for content as the JSON object that was sent, with
``model`` and ``digest`` added, and gives a text, a :class:`Reply`, a
:class:`~tests.standins.faults.Fault`, or a whole ``Told`` of its own.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.standins.faults import Fault
from tests.standins.http_server import Asked, Cut, HttpStandIn, Pause, Reset, Step, Told

KEY = "AIza-stand-in-0123456789"
GOOD = '{"selected_options": [], "point_list": []}'
_VERSION = "/v1beta/"
_UPLOAD = "/upload/v1beta/files"
_FAR_TOO_LONG = 5 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer piece by piece.

    Attributes:
        pieces: Of the text, one event each.
        thoughts: Shown before the text.
        finish: The finish reason; None leaves it out.
        block: Why the prompt is blocked; there are no candidates then.
        usage: Counts beside those that are made up.
        logprobs: Tokens of the text with their log-probabilities.
        pause: Seconds between two events.
    """

    pieces: Sequence[str] = ()
    thoughts: str = ""
    finish: str | None = "STOP"
    block: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    logprobs: Sequence[tuple[str, float]] = ()
    pause: float = 0.0


Answering: TypeAlias = Callable[[dict[str, Any]], "str | Reply | Fault | Told"]


@dataclass(slots=True)
class StoredFile:
    """An uploaded file; ``polls`` is how often it was asked for since it came."""

    name: str
    mime: str
    size: int
    content: bytes = b""
    polls: int = 0


def said(request: dict[str, Any]) -> str:
    """All texts of a request's message, joined by lines."""
    return "\n".join(
        part["text"]
        for content in request["contents"]
        for part in content["parts"]
        if "text" in part
    )


def refusal(
    status: int,
    message: str,
    *,
    name: str = "",
    details: Sequence[dict[str, Any]] = (),
    headers: dict[str, str] | None = None,
) -> Told:
    """An error as the provider writes it."""
    error = {"code": status, "message": message, "status": name, "details": list(details)}
    return _json({"error": error}, status=status, headers=headers)


class GeminiStandIn:
    """The server; a context manager.

    Args:
        answer: What is answered to a request for content.
        key: The only one that is accepted.
        models: The names that it knows.
        polls_until_active: How often an uploaded file is still being processed when asked for.
        film_fault: Reason with which every uploaded file fails.
        retry_after: What is said with ``TOO_MANY_RETRY_AFTER``.

    Attributes:
        http: The server beneath, with all requests.
        requests: Requests for content, as ``answer`` got them.
        files: Those that are stored now, by name.
        uploads: Contents of all files that were ever uploaded whole.
        deleted: Names of the files that were deleted.
    """

    def __init__(
        self,
        answer: Answering = lambda _: GOOD,
        *,
        key: str = KEY,
        models: Sequence[str] = ("gemini-3-flash", "gemini-3-pro", "gemini-2.5-flash"),
        polls_until_active: int = 1,
        film_fault: str | None = None,
        retry_after: str = "17s",
    ) -> None:
        self._answer = answer
        self._key = key
        self._models = models
        self._polls_until_active = polls_until_active
        self._film_fault = film_fault
        self._retry_after = retry_after
        self._lock = threading.Lock()
        self._payable: dict[int, str] = {}
        self._starting: dict[str, StoredFile] = {}
        self.requests: list[dict[str, Any]] = []
        self.files: dict[str, StoredFile] = {}
        self.uploads: list[bytes] = []
        self.deleted: list[str] = []
        self.http = HttpStandIn(self._told)

    @property
    def url(self) -> str:
        """Where it is, without a slash at the end."""
        return self.http.url

    @property
    def paid(self) -> Counter[str]:
        """Answers that were delivered whole, by the request's digest."""
        return Counter(self._payable[n] for n in self.http.answered if n in self._payable)

    def __enter__(self) -> GeminiStandIn:
        self.http.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self.http.__exit__(*raised)

    def _told(self, asked: Asked) -> Told:
        path = asked.path
        if path == _UPLOAD and "upload_id" in asked.query:
            return self._upload_piece(asked)  # its address is its permission
        if asked.headers.get("x-goog-api-key") != self._key:
            return refusal(
                400,
                "API key not valid. Please pass a valid API key.",
                name="INVALID_ARGUMENT",
                details=[{"@type": "type.googleapis.com/google.rpc.ErrorInfo"} | _BAD_KEY],
            )
        if path == _UPLOAD:
            return self._begin_upload(asked)
        if path.startswith(_VERSION + "files/"):
            return self._file(asked)
        if path.startswith(_VERSION + "models/"):
            return self._model(asked)
        return refusal(404, f"no such path {path}", name="NOT_FOUND")

    def _model(self, asked: Asked) -> Told:
        model, _, method = asked.path.removeprefix(_VERSION + "models/").partition(":")
        if model not in self._models:
            said = f"models/{model} is not found for API version v1beta"
            return refusal(404, said, name="NOT_FOUND")
        if asked.method == "GET":
            return _json(
                {
                    "name": f"models/{model}",
                    "version": "001",
                    "displayName": model.replace("-", " ").title(),
                    "inputTokenLimit": 1_048_576,
                    "outputTokenLimit": 65_536,
                    "supportedGenerationMethods": ["generateContent", "countTokens"],
                }
            )
        if method not in ("generateContent", "streamGenerateContent"):
            return refusal(404, f"no such method {method}", name="NOT_FOUND")
        request = json.loads(asked.body)
        request |= {"model": model, "digest": self._digest(request)}
        with self._lock:
            self.requests.append(request)
        answered = self._answer(request)
        if answered is Fault.TOO_MANY_RETRY_AFTER:
            return self._too_many()
        told = _shown(answered, model=model, streamed=method == "streamGenerateContent")
        if isinstance(answered, str | Reply) or answered in (Fault.NORMAL, Fault.TRUNCATED):
            with self._lock:
                self._payable[asked.number] = request["digest"]
        return told

    def _too_many(self) -> Told:
        """As the provider says it: in the body, not in a header."""
        said = f"You exceeded your current quota. Please retry in {self._retry_after}."
        details = [{"@type": _RETRY_INFO, "retryDelay": self._retry_after}]
        return refusal(429, said, name="RESOURCE_EXHAUSTED", details=details)

    def _digest(self, request: dict[str, Any]) -> str:
        """The same for the same request, wherever a film of it was uploaded to."""
        text = json.dumps(request, sort_keys=True)
        for name, file in list(self.files.items()):
            text = text.replace(self._address(name), hashlib.sha256(file.content).hexdigest())
        return hashlib.sha256(text.encode()).hexdigest()

    def _address(self, name: str) -> str:
        return f"{self.url}{_VERSION}{name}"

    def _begin_upload(self, asked: Asked) -> Told:
        headers = asked.headers
        right = (
            headers.get("x-goog-upload-protocol") == "resumable"
            and headers.get("x-goog-upload-command") == "start"
        )
        if not right:
            return refusal(400, "expected the start of a resumable upload")
        told = json.loads(asked.body)["file"]
        name = told.get("name") or f"files/file-{asked.number}"
        with self._lock:
            if name in self.files:
                return refusal(409, f"{name} already exists", name="ALREADY_EXISTS")
            self._starting[str(asked.number)] = StoredFile(
                name=name,
                mime=headers["x-goog-upload-header-content-type"],
                size=int(headers["x-goog-upload-header-content-length"]),
            )
        address = f"{self.url}{_UPLOAD}?upload_id={asked.number}&upload_protocol=resumable"
        return Told(
            headers={
                "Content-Type": "text/plain; charset=utf-8",
                "X-Goog-Upload-Status": "active",
                "X-Goog-Upload-URL": address,
            }
        )

    def _upload_piece(self, asked: Asked) -> Told:
        number = asked.query["upload_id"][0]
        with self._lock:
            file = self._starting.get(number)
            if file is None:
                return refusal(404, "no such upload")
            if int(asked.headers["x-goog-upload-offset"]) != len(file.content):
                return refusal(400, f"expected offset {len(file.content)}")
            file.content += asked.body
            if "finalize" not in asked.headers["x-goog-upload-command"]:
                return Told(headers={"X-Goog-Upload-Status": "active"})
            if len(file.content) != file.size:
                return refusal(400, f"{len(file.content)} bytes, announced {file.size}")
            del self._starting[number]
            self.files[file.name] = file
            self.uploads.append(file.content)
            return _json(
                {"file": self._shown_file(file)}, headers={"X-Goog-Upload-Status": "final"}
            )

    def _file(self, asked: Asked) -> Told:
        name = asked.path.removeprefix(_VERSION)
        with self._lock:
            file = self.files.get(name)
            if file is None:
                said = f"You do not have permission to access the File {name} or it may not exist."
                return refusal(403, said, name="PERMISSION_DENIED")
            if asked.method == "DELETE":
                del self.files[name]
                self.deleted.append(name)
                return _json({})
            file.polls += 1
            return _json(self._shown_file(file))

    def _shown_file(self, file: StoredFile) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "name": file.name,
            "mimeType": file.mime,
            "sizeBytes": str(file.size),
            "uri": self._address(file.name),
            "state": "PROCESSING",
            "source": "UPLOADED",
        }
        if file.polls >= self._polls_until_active:
            shown["state"] = "FAILED" if self._film_fault else "ACTIVE"
            if self._film_fault:
                shown["error"] = {"code": 3, "message": self._film_fault}
        return shown


_BAD_KEY = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


def _json(told: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Told:
    kind = {"Content-Type": "application/json; charset=UTF-8"}
    return Told(
        status=status, headers=kind | (headers or {}), steps=[json.dumps(told, indent=2).encode()]
    )


def _shown(answered: str | Reply | Fault | Told, *, model: str, streamed: bool) -> Told:
    match answered:
        case Told():
            return answered
        case str():
            half = len(answered) // 2
            return _replied(Reply(pieces=(answered[:half], answered[half:])), model, streamed)
        case Reply():
            return _replied(answered, model, streamed)
        case Fault():
            return _faulty(answered, model, streamed)


def _faulty(fault: Fault, model: str, streamed: bool) -> Told:
    well = _replied(Reply(pieces=(GOOD[:9], GOOD[9:])), model, streamed)
    begun: list[Step] = list(well.steps)[:1]
    match fault:
        case Fault.NORMAL:
            return well
        case Fault.SLOW:
            steps: list[Step] = [*begun, Pause(600.0)]
        case Fault.CUT:
            steps = [*begun, Cut()]
        case Fault.RESET:
            steps = [*begun, Reset()]
        case Fault.MALFORMED:
            steps = [b'data: {"candidates": [{"content": {"parts": [{"text": \r\n\r\n']
        case Fault.TOO_MANY | Fault.TOO_MANY_RETRY_AFTER:
            return refusal(429, "Resource has been exhausted.", name="RESOURCE_EXHAUSTED")
        case Fault.SERVER_ERROR:
            return refusal(500, "An internal error has occurred.", name="INTERNAL")
        case Fault.BLOCKED:
            return _replied(Reply(pieces=(GOOD[:9],), finish="SAFETY"), model, streamed)
        case Fault.EMPTY:
            return _events([{"usageMetadata": {"promptTokenCount": 7}}], streamed)
        case Fault.WRONG_TYPE:
            page = b"<!doctype html><title>Sign in to the hotel's network</title>"
            return Told(headers={"Content-Type": "text/html"}, steps=[page])
        case Fault.HUGE:
            piece = "x" * (_FAR_TOO_LONG // 10)
            return _replied(Reply(pieces=(piece,) * 10), model, streamed)
        case Fault.TRUNCATED:
            return _replied(Reply(pieces=(GOOD[:9],), finish="MAX_TOKENS"), model, streamed)
    return Told(headers=dict(well.headers), steps=steps, chunked=True)


def _replied(reply: Reply, model: str, streamed: bool) -> Told:
    return _events(list(_responses(reply, model)), streamed, pause=reply.pause)


def _responses(reply: Reply, model: str) -> Iterator[dict[str, Any]]:
    """What the stream's events hold; thoughts, pieces, and the finish with the last of them."""
    written = sum(len(piece) for piece in reply.pieces) // 4
    common: dict[str, Any] = {"modelVersion": f"{model}-001", "responseId": "stand-in"}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": written} | reply.usage
    if reply.block is not None:
        yield common | {"promptFeedback": {"blockReason": reply.block}, "usageMetadata": usage}
        return
    if reply.thoughts:
        yield common | {"candidates": [_candidate(reply.thoughts, thought=True)]}
    for piece in reply.pieces[:-1]:
        yield common | {"candidates": [_candidate(piece)]}
    last: dict[str, Any] = _candidate(reply.pieces[-1]) if reply.pieces else {"index": 0}
    if reply.finish is not None:
        last["finishReason"] = reply.finish
    if reply.logprobs:
        chosen = [{"token": token, "logProbability": chance} for token, chance in reply.logprobs]
        last["logprobsResult"] = {"chosenCandidates": chosen}
    yield common | {"candidates": [last], "usageMetadata": usage}


def _candidate(text: str, *, thought: bool = False) -> dict[str, Any]:
    part: dict[str, Any] = {"text": text} | ({"thought": True} if thought else {})
    return {"content": {"parts": [part], "role": "model"}, "index": 0}


def _events(responses: Sequence[dict[str, Any]], streamed: bool, *, pause: float = 0.0) -> Told:
    if not streamed:
        return _json(_merged(responses))
    steps: list[Step] = []
    for response in responses:
        steps += [Pause(pause)] if steps and pause else []
        steps.append(b"data: " + json.dumps(response).encode() + b"\r\n\r\n")
    return Told(headers={"Content-Type": "text/event-stream"}, steps=steps, chunked=True)


def _merged(responses: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One response in place of a stream."""
    merged: dict[str, Any] = {
        name: value for response in responses for name, value in response.items()
    }
    candidates = [one for response in responses for one in response.get("candidates", [])]
    if candidates:
        parts = [part for one in candidates for part in one.get("content", {}).get("parts", [])]
        merged["candidates"] = [candidates[-1] | {"content": {"parts": parts, "role": "model"}}]
    return merged
