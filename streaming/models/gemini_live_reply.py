"""From what a live model wrote or said to an answer.

A model that writes answers with the JSON object of every other model. One that only speaks names
things in a sentence: of that, labels are read where options were given, and *when* is what our own
bindings say; *where* is not in it.
"""

from __future__ import annotations

import re

from streaming.asking.asked import answer_of, linked
from streaming.asking.endpoint import CoordOrder
from streaming.asking.json_so_far import JsonSoFar
from streaming.asking.reply import Reply, read_reply
from streaming.events import Answer, Counters, Referent
from streaming.grounding_query import Query

COORD_ORDER: CoordOrder = "yx"
_OPTION = re.compile(r"(?:\boption|选项)\s*[“\"'(]?([A-Za-z])(?![A-Za-z])", re.IGNORECASE)


class LiveReply:
    """The answer to one question, while its text grows.

    Args:
        query: The question.
        model: Name of the model.
        spoken: The text is the transcription of speech.
        counters: Told of departures from the format, as in :mod:`streaming.asking.reply`, by
            ``reply_<departure>``.
    """

    def __init__(self, query: Query, *, model: str, spoken: bool, counters: Counters) -> None:
        self._query = query
        self._model = model
        self._spoken = spoken
        self._counters = counters
        self._reader = JsonSoFar()
        self._read = 0

    def so_far(self, text: str) -> list[Answer]:
        """Partial answers that the text so far gives, if it gives new ones."""
        if self._spoken:
            return [self._answer(self._heard(text), text, final=False)]
        closed = self._reader.feed(text[self._read :])
        self._read = len(text)
        return [self._answer(self._written(one), "", final=False) for one in closed]

    def whole(self, text: str) -> Answer:
        """The final answer."""
        reply = self._written(text)
        if self._spoken and not reply.readable:
            reply = self._heard(text)
        for name, count in reply.counters.items():
            self._counters.add(f"reply_{name}", count)
        return self._answer(reply, text, final=True)

    def _written(self, text: str) -> Reply:
        return read_reply(text, task=self._query.task, coord_order=COORD_ORDER)

    def _heard(self, text: str) -> Reply:
        """A sentence read for labels; the rest is what the query knows by itself."""
        task, pointed = self._query.task, self._query.pointed
        known = {choice.split(".")[0].strip() for choice in _choices(self._query)}
        # Speech has no capitals: a letter is an object or a place by whose turn it is.
        said = [
            letter for letter in _OPTION.findall(text) if {letter.upper(), letter.lower()} & known
        ]
        labels = said if len(said) == len(pointed) else []
        referents = tuple(
            Referent(
                kind=one.kind,
                point=None,
                time=one.time,
                label=_as_kind(labels[k], one.kind, known) if labels else None,
            )
            for k, one in enumerate(pointed)
        )
        missing = bool(pointed) and not labels and bool(task.object_choices or task.space_choices)
        return Reply(
            raw=text,
            referents=referents,
            command=" ".join(text.split()),
            readable=False,
            counters={"spoken": 1} | ({"spoken_labels_missing": 1} if missing else {}),
        )

    def _answer(self, reply: Reply, raw: str, *, final: bool) -> Answer:
        referents = linked(reply.referents, self._query)
        return answer_of(self._query, reply, referents, model=self._model, raw=raw, final=final)


def _choices(query: Query) -> tuple[str, ...]:
    return (*query.task.object_choices, *query.task.space_choices)


def _as_kind(letter: str, kind: str, known: set[str]) -> str | None:
    label = letter.upper() if kind == "object" else letter.lower()
    return label if label in known else None
