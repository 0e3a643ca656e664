"""The table of subcommands.

Each lives in :mod:`client.commands` and is imported only when it is called, so that ``--help`` is
instant; what the list says of it is therefore written here, and is its docstring's first line.
"""

from __future__ import annotations

from collections.abc import Sequence

import cyclopts

from streaming.version import VERSION

app = cyclopts.App(
    name="deixis",
    help="Streams egocentric video and sound, and says which word pointed where.",
    version=VERSION,
    suppress_keyboard_interrupt=False,
    # A file may be called ``[x].mp4``: that is no list.
    default_parameter=cyclopts.Parameter(json_list=False, json_dict=False),
)
measure = cyclopts.App(name="measure", help="Measure one component against its truth.")
score = cyclopts.App(name="score", help="Score predictions against a benchmark's annotations.")
bench = cyclopts.App(name="bench", help="Run a model over a benchmark and score it.")
egosat = cyclopts.App(name="egosat", help="Build EgoSAT's query sets from Ego4D's annotations.")

COMMANDS = (
    (
        app,
        "replay",
        "replay:replay",
        "Stream clips as if they were live, and say which word pointed where and when.",
    ),
    (
        app,
        "demo",
        "demo:demo",
        "Stream the shipped clips as if they were live, score the answers and write a report.",
    ),
    (
        app,
        "serve",
        "serve:serve",
        "Serve a page on which to point and speak, and take streams from glasses and phones.",
    ),
    (
        app,
        "publish",
        "publish:publish",
        "Stream a file or a camera to a live server at the pace at which it happened.",
    ),
    (
        app,
        "latency",
        "latency:latency",
        "Say where the time went, from the traces of one run or of several.",
    ),
    (
        app,
        "report",
        "report:report",
        "Write one self-contained HTML file about a run, or about a matrix of runs.",
    ),
    (
        app,
        "compare",
        "compare:compare",
        "Compare scored runs over the same clips: intervals, and whether differences are chance.",
    ),
    (
        app,
        "synth",
        "synth:synth",
        "Make egocentric pointing clips, or stills, with exact truth; goes on where it stopped.",
    ),
    (
        app,
        "doctor",
        "doctor:doctor",
        "Look over packages, weights, libraries, keys, models, cameras and the machine.",
    ),
    (
        measure,
        "asr",
        "measure_asr:asr",
        "Measure the incremental transcript on recordings whose words are known.",
    ),
    (
        measure,
        "binding",
        "measure_binding:binding",
        "Measure the binder beside nearest apex and the offline optimum.",
    ),
    (
        measure,
        "hallucination",
        "measure_hallucination:hallucination",
        "Say how often answers are about what is near the hand or stands out, not what is meant.",
    ),
    (
        measure,
        "hands",
        "measure_hands:hands",
        "Track hands in photos and videos; show how often they are found and what it costs.",
    ),
    (
        measure,
        "long",
        "measure_long:long",
        "Run a long session in fast pace over a made-up stream, and see what it remembers.",
    ),
    (
        measure,
        "live",
        "measure_live:live",
        "Publish clips to a live server and measure how soon each thing is on its feed.",
    ),
    (
        measure,
        "media",
        "measure_media:media",
        "Play files as fast as they decode, and show times, sizes, rates and faults.",
    ),
    (
        measure,
        "recording",
        "measure_recording:recording",
        "Stream clips to a live server that records, replay the recordings, and compare decisions.",
    ),
    (
        measure,
        "realism",
        "measure_realism:realism",
        "Compare made clips with real footage, as our own tracker and ears take both.",
    ),
    (
        measure,
        "scoring",
        "measure_scoring:scoring",
        "Time the scoring of made predictions on a benchmark, files and tables included.",
    ),
    (
        measure,
        "soak",
        "measure_soak:soak",
        "Let clients come and go, some cut off, and see whether the server's process grows.",
    ),
    (
        measure,
        "strokes",
        "measure_strokes:strokes",
        "Find pointing strokes and compare them with what is annotated.",
    ),
    (
        measure,
        "sync",
        "measure_sync:sync",
        "Publish clicks and flashes made at once by WebRTC, and see how far apart they arrive.",
    ),
    (
        score,
        "ecog",
        "score:ecog",
        "Score predictions on EcoG-Bench: what, where, when, and all three together.",
    ),
    (
        score,
        "egopoint",
        "egopoint:score",
        "Score predictions on EgoPoint-Bench: accuracy by dimension, deixis level and type.",
    ),
    (
        score,
        "egoextra",
        "egoextra:score",
        "Score predictions on Ego-EXTRA: accuracy by scenario, their average, and by protocol.",
    ),
    (
        score,
        "egosat",
        "egosat:score",
        "Score predictions on EgoSAT: the authors' main table, and calibration.",
    ),
    (
        bench,
        "ecog",
        "bench:ecog",
        "Run a model over an EcoG-Bench tree and score it; goes on where it stopped.",
    ),
    (
        bench,
        "egopoint",
        "egopoint:bench",
        "Run a model over EgoPoint-Bench and score it; goes on where it stopped.",
    ),
    (
        bench,
        "egopoint-judge",
        "egopoint:judge",
        "Have a model of your choice judge the open answers of a run, which accuracy leaves out.",
    ),
    (
        bench,
        "egopoint-where",
        "egopoint:where",
        "Ask where the finger points on EgoPoint-Bench's pictures: at what the ray hits or a lure.",
    ),
    (
        bench,
        "egoextra",
        "egoextra:bench",
        "Run a model over Ego-EXTRA and score it; goes on where it stopped.",
    ),
    (
        bench,
        "egosat",
        "egosat:bench",
        "Run a model over EgoSAT's query sets and score it; goes on where it stopped.",
    ),
    (egosat, "build", "egosat:build", "Build EgoSAT's query sets from Ego4D's annotations."),
)
"""Where a command belongs, its name, where it lives, and what the list says of it."""

for _group, _name, _where, _summary in COMMANDS:
    _group.command(f"client.commands.{_where}", name=_name, help=_summary)
for _group in (measure, score, bench, egosat):
    app.command(_group)


def whole_help(arguments: Sequence[str], at: cyclopts.App = app) -> None:
    """Let the command that these arguments name show all of its docstring, not the first line."""
    for word in arguments:
        if word.startswith("-") or word not in at:
            return
        at = at[word]
        if at.default_command is not None:
            at.help = None
