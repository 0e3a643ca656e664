"""The ``deixis`` command: how it begins, and how every error ends.

Errors end in one line on stderr, never a traceback: exit code 1 when the work failed, 2 when the
command was used wrongly, 130 after Ctrl-C (143 after ``kill``). So that Ctrl-C in the first moment
ends so too, nothing heavy is imported before :func:`run`.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType

from client.printing import printable
from client.usage import UsageError
from streaming.failures import DEBUG_VARIABLE, is_mendable, leaves, one_line, root_cause

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 128 + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    _fill_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that is not UTF-8 gets escapes in place of what it cannot show.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    stop = _Stop()
    stop.listen()
    code = run(arguments)
    sys.exit(128 + stop.signal if code == INTERRUPTED else code)


def _fill_closed_streams() -> None:
    """Open what the caller has closed (``>&-``), lest a file of ours take its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is the one that is closed.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


class _Stop:
    """Lets ``kill`` and a closed terminal end the work as Ctrl-C does, and remembers which it was.

    Attributes:
        signal: The one that came; SIGINT unless another did.
    """

    def __init__(self) -> None:
        self.signal: int = signal.SIGINT

    def listen(self) -> None:
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for a shell's background jobs
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        os.getcwd()
    except OSError:
        return _say("the current folder was deleted; change to another one", code=FAILED)
    try:
        from client.app import app, whole_help

        whole_help(sys.argv[1:] if arguments is None else arguments)
        result = app(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _interrupted()
    except SystemExit as exit_:
        # Rich leaves so when the reader of our output is gone.
        return exit_.code if isinstance(exit_.code, int) else FAILED
    except (Exception, BaseExceptionGroup) as error:  # the one place where all errors end
        return _failed(error)
    return result if isinstance(result, int) else 0


def _failed(error: BaseException) -> int:
    """Say in one line what went wrong; the traceback of a bug only for who asks for it."""
    if any(isinstance(one, KeyboardInterrupt) for one in leaves(error)):
        return _interrupted()
    cause = root_cause(error)
    if isinstance(cause, BrokenPipeError):
        return _reader_left()
    if isinstance(cause, UsageError) or type(cause).__module__.startswith("cyclopts."):
        return _say(str(cause), code=WRONG_USE)
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    hint = "" if is_mendable(cause) else f"; {DEBUG_VARIABLE}=1 shows the traceback"
    return _say(one_line(cause) + hint, code=FAILED)


def _interrupted() -> int:
    return _say("interrupted; what was finished is kept", code=INTERRUPTED)


def _reader_left() -> int:
    """The reader of our output left (``| head``); Python would complain once more on exit."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.close(silence)
    return FAILED


def _say(text: str, *, code: int) -> int:
    with contextlib.suppress(OSError):  # a terminal that was closed
        print(f"deixis: {printable(' '.join(text.split()))}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    main()
