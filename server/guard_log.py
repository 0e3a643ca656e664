"""What the server's log shows: warnings and recordings, without the token, and not without end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

MOST_A_MINUTE = 20
"""Of lines that differ only in their details; hostile clients must not fill a disk."""
_MOST_KINDS = 256
RECORDED = "server.recorded"
"""Logger of the files that sessions leave, which whoever runs the server wants to find."""


class Scrub(logging.Formatter):
    """Formats a record, its traceback with it, and takes the token out of all of it."""

    def __init__(self, scrub: Callable[[str], str]) -> None:
        super().__init__("%(levelname)s: %(message)s")
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        return self._scrub(super().format(record))


class Damp(logging.Filter):
    """Lets only so many records of one kind through in a minute."""

    def __init__(self, most: int = MOST_A_MINUTE) -> None:
        super().__init__()
        self._most = most
        self._seen: dict[str, int] = {}
        self._minute = 0

    def filter(self, record: logging.LogRecord) -> bool:
        minute = int(record.created // 60)
        if minute != self._minute or len(self._seen) > _MOST_KINDS:
            self._minute = minute
            self._seen.clear()
        kind = str(record.msg)
        self._seen[kind] = self._seen.get(kind, 0) + 1
        return self._seen[kind] <= self._most


def log_settings(scrub: Callable[[str], str]) -> dict[str, Any]:
    """For ``logging.config.dictConfig``: uvicorn's and the server's own loggers."""
    logger = {"handlers": ["stderr"], "level": "WARNING", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"damp": {"()": Damp}},
        "formatters": {"scrub": {"()": Scrub, "scrub": scrub}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "stream": "ext://sys.stderr",
                "filters": ["damp"],
                "formatter": "scrub",
            }
        },
        "loggers": {
            **{name: logger for name in ("uvicorn", "server", "asyncio", "websockets")},
            RECORDED: {**logger, "level": "INFO"},
        },
    }
