"""What a question to a model leaves in a clip's folder.

``trace.jsonl`` (what was seen, if anything was watched, and the answer), ``answer.json`` (what is
scored), ``asked.json`` (the request by its parts' digests, the model's text untouched, what it
took), ``truth.json``, ``last.jpg`` and ``apex_<stroke>.jpg``. Neither keys nor headers are in any.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from replay.asking.saved_query import SavedQueryError
from replay.ecog import video_size, write_truth
from replay.jobs import Job
from replay.out_folder import TRACE, check_clip_folder
from replay.run import write_json, write_text
from replay.trace_reader import DENSE
from streaming.asking.asked import Exchange
from streaming.asking.asker import Asked
from streaming.asking.endpoint import Endpoint, Generation
from streaming.asking.request import Request
from streaming.grounding_frames import encoded
from streaming.machine import describe_machine
from streaming.trace import FORMAT_VERSION, dump_line, encode_event
from streaming.version import VERSION

ASKED = "asked.json"
_DENSE = frozenset(kind.__name__ for kind in DENSE)
"""Lines by the hundred, which stay where the clip was watched."""


def write_clip_record(
    folder: Path,
    job: Job,
    exchange: Exchange,
    *,
    endpoint: Endpoint,
    generation: Generation,
    facts: dict[str, Any],
    seen: Path | None,
) -> None:
    """Write a clip's folder; its trace last, which shows that the rest is there.

    Args:
        folder: The clip's.
        job: The clip.
        exchange: What was asked and answered.
        endpoint: Who answered.
        generation: How.
        facts: Of the run, for the trace's header.
        seen: The clip's folder among what was watched, or None.

    Raises:
        OutFolderError: If the folder holds somebody else's files.
        OSError: If it cannot be written.
    """
    check_clip_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TRACE).touch()  # marks the folder as a clip's from the first file on
    for stale in folder.glob("apex_*.jpg"):
        stale.unlink(missing_ok=True)
    for keyframe in exchange.query.keyframes:
        (folder / f"apex_{keyframe.stroke.index}.jpg").write_bytes(keyframe.jpeg)
    if exchange.query.last is not None:
        (folder / "last.jpg").write_bytes(encoded(exchange.query.last.image))
    if job.clip is not None:
        write_json(folder / "truth.json", write_truth(job.clip, video_size(job.path)))
    write_json(folder / ASKED, describe_exchange(exchange, endpoint, generation))
    write_text(folder / "answer.json", exchange.answer.raw)
    lines = _trace(job, exchange, endpoint=endpoint, facts=facts, seen=seen)
    write_text(folder / TRACE, "".join(line + "\n" for line in lines))


def describe_exchange(
    exchange: Exchange, endpoint: Endpoint, generation: Generation
) -> dict[str, Any]:
    """The contents of ``asked.json``."""
    asked = describe_asked(exchange.asked, exchange.request, endpoint, generation)
    if exchange.visual is not None:
        asked["visual"] = exchange.visual.described()
    return asked | {"departures": exchange.reply.counters}


def describe_asked(
    asked: Asked, request: Request, endpoint: Endpoint, generation: Generation
) -> dict[str, Any]:
    """One question to a model and all that came of it, for a record."""
    completion = asked.completion
    return {
        "model": endpoint.name,
        "identity": endpoint.identity,
        "coord_order": endpoint.coord_order,
        "generation": generation.as_key(),
        "request": request.described(),
        "text": completion.text,
        "finish": completion.finish,
        "served_by": completion.served_by,
        "usage": asdict(completion.usage),
        "chances": [[chance.token, chance.logprob] for chance in completion.chances],
        "from_cache": asked.from_cache,
        "attempts": asked.attempts,
        "failures": list(asked.failures),
        "seconds": round(asked.seconds, 3),
        "waited": round(asked.waited, 3),
        "unreadable": list(asked.unreadable),
    }


def _trace(
    job: Job,
    exchange: Exchange,
    *,
    endpoint: Endpoint,
    facts: dict[str, Any],
    seen: Path | None,
) -> Iterator[str]:
    at = exchange.query.asked_at
    header: dict[str, Any] = {
        "type": "Header",
        "format": FORMAT_VERSION,
        "version": VERSION,
        "clip": job.name,
        "source": {"name": job.path.name, "duration": round(at, 6)},
        "pace": "fast",
        "language": job.language,
        "machine": describe_machine(),
    }
    middle, end = _seen_lines(seen / TRACE) if seen is not None else ([], {})
    header |= {key: end.pop(key) for key in ("source", "weights") if key in end}
    told = {key: facts[key] for key in ("interface", "words", "when", "generation", "config")}
    yield dump_line(header | {"model": endpoint.name} | told)
    yield from middle
    yield dump_line(
        encode_event(exchange.answer, known_at=at, emitted_at=at, stage="answering", finish=True)
    )
    yield dump_line(
        {
            "type": "End",
            "complete": True,
            "duration": end.get("duration", round(at, 6)),
            "counters": end.get("counters", {}),
            "wall": {"model_seconds": round(exchange.asked.seconds, 3)},
        }
    )


def check_seen(folder: Path) -> None:
    """Refuse a damaged trace of what was watched, before anybody is paid to answer.

    Raises:
        SavedQueryError: If there is none, or it is damaged.
    """
    _seen_lines(folder / TRACE)


def _seen_lines(trace: Path) -> tuple[list[str], dict[str, Any]]:
    """The event lines of what was watched; and of its first and last line what goes on holding.

    Raises:
        SavedQueryError: If they cannot be read.
    """
    try:
        return _read_seen(trace)
    except (OSError, RecursionError, TypeError, ValueError) as error:
        raise SavedQueryError(
            f"{trace} is missing or damaged; delete the folder {trace.parent} and run again"
        ) from error


def _read_seen(trace: Path) -> tuple[list[str], dict[str, Any]]:
    middle: list[str] = []
    kept: dict[str, Any] = {}
    with trace.open(encoding="utf-8") as stream:
        for text in stream:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise TypeError("a line that is no object")
            match line.get("type"):
                case "Header":
                    kept |= {key: line[key] for key in ("source", "weights") if key in line}
                case "End":
                    kept |= {key: line[key] for key in ("duration", "counters") if key in line}
                case str(kind) if kind not in _DENSE:
                    middle.append(text.rstrip("\n"))
                case _:
                    pass
    return middle, kept
