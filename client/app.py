"""The table of subcommands.

Each lives in :mod:`client.commands` and is imported only when it is called, so that ``--help`` is
instant.
"""

from __future__ import annotations

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

app.command("client.commands.replay:replay", name="replay")
app.command("client.commands.demo:demo", name="demo")
app.command("client.commands.serve:serve", name="serve")
app.command("client.commands.publish:publish", name="publish")
app.command("client.commands.latency:latency", name="latency")
app.command("client.commands.report:report", name="report")
app.command("client.commands.compare:compare", name="compare")
app.command("client.commands.synth:synth", name="synth")
app.command("client.commands.doctor:doctor", name="doctor")
app.command(measure)
app.command(score)
app.command(bench)
app.command(egosat)
bench.command("client.commands.bench:ecog", name="ecog")
score.command("client.commands.score:ecog", name="ecog")
bench.command("client.commands.egopoint:bench", name="egopoint")
bench.command("client.commands.egopoint:judge", name="egopoint-judge")
bench.command("client.commands.egopoint:where", name="egopoint-where")
score.command("client.commands.egopoint:score", name="egopoint")
bench.command("client.commands.egoextra:bench", name="egoextra")
score.command("client.commands.egoextra:score", name="egoextra")
bench.command("client.commands.egosat:bench", name="egosat")
score.command("client.commands.egosat:score", name="egosat")
egosat.command("client.commands.egosat:build", name="build")
measure.command("client.commands.measure_asr:asr", name="asr")
measure.command("client.commands.measure_binding:binding", name="binding")
measure.command("client.commands.measure_hallucination:hallucination", name="hallucination")
measure.command("client.commands.measure_hands:hands", name="hands")
measure.command("client.commands.measure_long:long", name="long")
measure.command("client.commands.measure_live:live", name="live")
measure.command("client.commands.measure_media:media", name="media")
measure.command("client.commands.measure_recording:recording", name="recording")
measure.command("client.commands.measure_realism:realism", name="realism")
measure.command("client.commands.measure_scoring:scoring", name="scoring")
measure.command("client.commands.measure_soak:soak", name="soak")
measure.command("client.commands.measure_strokes:strokes", name="strokes")
measure.command("client.commands.measure_sync:sync", name="sync")
