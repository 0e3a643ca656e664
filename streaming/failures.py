"""What to say about an error, in one line: what a person can mend, and what is our own bug.

Errors that a person can mend are the operating system's (:class:`OSError`) and the classes that the
project itself defines (``SourceError``, ``ConfigError`` and so on). Anything else that reaches the
edge is a bug, and is said to be one.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator

OWN_PACKAGES = ("client", "replay", "server", "streaming")
DEBUG_VARIABLE = "DEIXIS_DEBUG"
"""Environment variable that asks for the traceback of a bug."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The error itself, or the errors in a group, however deep."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def is_own(error: BaseException) -> bool:
    """True for a class that the project defines."""
    return type(error).__module__.partition(".")[0] in OWN_PACKAGES


def is_mendable(error: BaseException) -> bool:
    """True when a person can do something about it."""
    return isinstance(error, OSError | MemoryError | ImportError) or is_own(error)


def root_cause(error: BaseException) -> BaseException:
    """The error to tell of: of a group the first that a person can mend, else the first."""
    found = [_first_import(one) for one in leaves(error)]
    return next((one for one in found if is_mendable(one)), found[0])


def _first_import(error: BaseException) -> BaseException:
    """What went wrong inside an import that failed, which is more than that it did."""
    while isinstance(error, ImportError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def one_line(error: BaseException) -> str:
    """The error in one line: what, where, and for a bug that it is one."""
    if not is_mendable(error):
        return f"internal error, this is a bug: {_told(error)}{_place(error)}"
    if isinstance(error, MemoryError):
        return "not enough memory; close other programs or use fewer --workers"
    if isinstance(error, ImportError):
        return f"cannot load a library: {_told(error)}; see what is missing: deixis doctor"
    if isinstance(error, OSError) and error.strerror and not is_own(error):
        where = f"{_name(error.filename)}: " if error.filename is not None else ""
        return f"{where}{error.strerror.lower()}"
    return " ".join(str(error).split()) or type(error).__name__


def _name(path: object) -> str:
    return path.decode(errors="backslashreplace") if isinstance(path, bytes) else str(path)


def _told(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _place(error: BaseException) -> str:
    """Where in our own code the error passed last."""
    places = [
        (str(frame.f_globals.get("__name__", "")), line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    ours = [(name, line) for name, line in places if name.partition(".")[0] in OWN_PACKAGES]
    return f" ({ours[-1][0]}, line {ours[-1][1]})" if ours else ""
