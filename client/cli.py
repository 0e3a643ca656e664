"""The ``deixis`` command.

Every subcommand lives in :mod:`client.commands` and is imported only when it is called, so that
``--help`` is instant. Errors that a person can mend end in one line on stderr, never a traceback:
exit code 1 when the work failed, 2 when the command was used wrongly, 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import cyclopts
from rich.console import Console

from streaming.version import VERSION

app = cyclopts.App(
    name="deixis",
    help="Streams egocentric video and sound, and says which word pointed where.",
    version=VERSION,
)
measure = cyclopts.App(name="measure", help="Measure one component against its truth.")
score = cyclopts.App(name="score", help="Score predictions against a benchmark's annotations.")
bench = cyclopts.App(name="bench", help="Run a model over a benchmark and score it.")

app.command("client.commands.replay:replay", name="replay")
app.command("client.commands.demo:demo", name="demo")
app.command("client.commands.latency:latency", name="latency")
app.command("client.commands.report:report", name="report")
app.command("client.commands.doctor:doctor", name="doctor")
app.command(measure)
app.command(score)
app.command(bench)
bench.command("client.commands.bench:ecog", name="ecog")
score.command("client.commands.score:ecog", name="ecog")
measure.command("client.commands.measure_asr:asr", name="asr")
measure.command("client.commands.measure_binding:binding", name="binding")
measure.command("client.commands.measure_hands:hands", name="hands")
measure.command("client.commands.measure_media:media", name="media")
measure.command("client.commands.measure_strokes:strokes", name="strokes")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        result = app(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except cyclopts.CycloptsError as error:
        return _fail(str(error), code=2)
    except KeyboardInterrupt:
        return _fail("interrupted; what was finished is kept", code=130)
    except BrokenPipeError:
        # The reader of our output left (``| head``). Python would complain once more on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseExceptionGroup as group:
        return _fail(_first_cause(group), code=1)
    except (ValueError, OSError, RuntimeError) as error:
        return _fail(_one_line(error), code=1)
    return result if isinstance(result, int) else 0


def _first_cause(group: BaseExceptionGroup[BaseException]) -> str:
    """The text of the first error of a group that a person can mend.

    Raises:
        BaseExceptionGroup: If it holds none: that is our own bug.
    """
    mendable = group.subgroup((ValueError, OSError, RuntimeError))
    if mendable is None:
        raise group
    cause: BaseException = mendable
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return _one_line(cause)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return " ".join(str(error).split()) or type(error).__name__


def _fail(text: str, *, code: int) -> int:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"deixis: {text}", markup=False)
    return code


if __name__ == "__main__":
    main()
