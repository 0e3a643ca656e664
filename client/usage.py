"""Wrong use of the command line."""

from __future__ import annotations


class UsageError(ValueError):
    """Arguments that do not go together, or a value that no command takes; exit code 2."""
