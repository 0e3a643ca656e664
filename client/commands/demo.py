"""``deixis demo``: the whole pipeline on the shipped clips, in real time, scored and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from client.commands.replay import stream_jobs
from client.commands.report import report
from client.commands.score import print_scores
from client.printing import plain_console, printable
from replay.batch import BatchSettings
from replay.bench import write_scores
from replay.jobs import jobs_from
from replay.scoring.ecog_json import as_json

CLIPS = Path(__file__).resolve().parents[2] / "replay" / "clips"
"""An EcoG-Bench tree of generated clips, English and Chinese, of every level; as made by
``deixis synth --clips 6 --seed 0 --difficulty easy,real``."""

_LEGEND = "cls: what was meant; s: where; t: when; eco: all three; seq: every referent of a clip"
_NEXT = """next: open that report in a browser
      deixis replay YOUR.mp4     the same with your own clip
      deixis serve               the same live, with camera and microphone
      deixis latency {out}   where the time went"""


def demo(
    *,
    out: Path = Path("runs/demo"),
    pace: Literal["fast", "realtime"] = "realtime",
    open_report: Annotated[bool, Parameter(name="--open", negative=())] = False,
) -> int:
    """Stream the shipped clips as if they were live, score the answers and write a report.

    Parameters
    ----------
    out
        Run folder.
    pace
        `realtime` shows words, strokes and bindings while they happen; `fast` does not wait.
    open_report
        Open the report in the browser.
    """
    found = jobs_from([CLIPS], language="auto")
    settings = BatchSettings(out=out, pace=pace)
    results = stream_jobs(found, settings, language="auto", console=plain_console())
    if found.tree is None or any(result.outcome is None for result in results):
        return 1
    scores = write_scores(found.tree, found.jobs, out)
    print()
    print_scores(scores, as_json(scores), Console())
    console = plain_console()
    console.print(_LEGEND)
    report(out, open=open_report)
    console.print(_NEXT.format(out=printable(str(out))))
    return 0
