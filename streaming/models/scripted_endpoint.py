"""An endpoint that answers from recorded responses, for replays without a key and for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from streaming.asking.endpoint import Completion, CoordOrder, Generation, Rejected, TextPiece
from streaming.asking.request import Request
from streaming.asking.responses import Response, read_responses
from streaming.grounding_query import ModelError


class ScriptedEndpoint:
    """Says what a recording says, request by request.

    Args:
        path: A file of responses, see :mod:`streaming.asking.responses`.
        model: Whose responses; None when the file holds those of one model, or when each request
            was answered by one of them only.
        coord_order: Order of a point's numbers; the recording's without.

    Raises:
        ModelError: If the file cannot be read, does not hold the model, or holds models that give
            points in different orders.
    """

    takes_films = True

    def __init__(
        self, path: Path, *, model: str | None = None, coord_order: CoordOrder | None = None
    ) -> None:
        self._path = path
        recorded = read_responses(path)
        self._models = sorted({response.model for response in recorded})
        if model is not None and model not in self._models:
            raise ModelError(
                f"recording {path} has no responses of {model}; it holds those of "
                f"{', '.join(self._models)}"
            )
        chosen = [one for one in recorded if model in (None, one.model)]
        orders = {one.coord_order for one in chosen}
        if coord_order is None and len(orders) > 1:
            raise ModelError(
                f"recording {path} holds models that differ in the order of a point's numbers "
                f"({', '.join(self._models)}); name one: scripted:{path}#MODEL"
            )
        self.name = f"scripted:{path}" + (f"#{model}" if model is not None else "")
        self.coord_order: CoordOrder = coord_order or chosen[0].coord_order
        self.identity = {"provider": "scripted", "model": model or ", ".join(self._models)}
        self._by_request: dict[str, list[Response]] = {}
        for response in chosen:
            self._by_request.setdefault(response.request, []).append(response)

    async def stream(
        self, request: Request, generation: Generation
    ) -> AsyncIterator[TextPiece | Completion]:
        """The recorded response.

        Raises:
            Rejected: If there is none, or several that differ.
        """
        completion = self._find(request, generation)
        yield TextPiece(text=completion.text)
        yield completion

    async def check(self) -> str:
        """What the recording holds."""
        return (
            f"{self._path}: responses to {len(self._by_request)} requests, of "
            f"{', '.join(self._models)}"
        )

    async def aclose(self) -> None:
        """Nothing is open."""

    def _find(self, request: Request, generation: Generation) -> Completion:
        digest = request.digest()
        found = self._by_request.get(digest, [])
        alike = [one for one in found if one.generation == generation.as_key()]
        # Of texts that would not come again the same model's last one stands for all.
        last = {(one.model, one.key): one for one in alike or found}.values()
        texts = {one.completion.text: one.completion for one in last}
        if len(texts) == 1:
            return next(iter(texts.values()))
        if texts:
            raise Rejected(
                f"{self._path} holds {len(texts)} different responses to request {digest[:12]}, "
                f"of {', '.join(sorted({one.model for one in found}))}; name a model: "
                f"scripted:{self._path}#MODEL"
            )
        interfaces = sorted({one.interface for many in self._by_request.values() for one in many})
        raise Rejected(
            f"{self._path} has no response to request {digest[:12]} (interface "
            f"{request.interface}, prompt {request.prompt}); it holds {len(self._by_request)} "
            f"requests of interface {', '.join(interfaces)}, of {', '.join(self._models)}"
        )
