"""``deixis score egoextra`` and ``deixis bench egoextra``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from client.benchmark_run import REMARKS_SHOWN, ModelOptions, bench_with, print_tables
from client.choices import Count, LanguageName, ModelName
from client.printing import plain_console, printable
from client.progress import counting_progress
from client.usage import UsageError
from replay.asking.run_benchmark import ASKED, Asking, check_run
from replay.egoextra import EgoExtra, load_egoextra
from replay.egoextra.audit import audit_requests
from replay.egoextra.benchmark import EgoExtraBenchmark, Reading, Source
from replay.egoextra.dataset import EgoExtraError, LeftOut
from replay.egoextra.listening import duration_of, hearing_delays, replay_recordings
from replay.egoextra.proactive import ProactiveBenchmark
from replay.egoextra.questions import Protocol
from replay.egoextra.requests import WordsFrom
from replay.egoextra.runs import read_run
from replay.egoextra.sampling import Sampling
from replay.egoextra.scoring import quantile
from replay.egoextra.settings import (
    EgoExtraSettings,
    load_egoextra_prompt,
    load_egoextra_settings,
)
from replay.egoextra.tables import paper_tables, protocol_table
from replay.out_folder import claimed
from streaming.build import EngineSettings, describe_settings, language_code
from streaming.config import config_path, load
from streaming.events import Seconds
from streaming.prefix import PrefixSettings

Flag = Annotated[bool, Parameter(negative=())]
Transcript: TypeAlias = Literal["none", "benchmark", "ours"]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """How questions are put.

    Parameters
    ----------
    reading
        `paper`: the clip before each question. `stream`: the dialogue is replayed and each question
        answered from the prefix when it has been asked. `proactive`: it is replayed and the model
        decides every few seconds whether to speak.
    sampling
        Frames of the clip: `US` uniform, `QA` the last ones before the question, `TS` a single one.
    clip
        Length of the clip: `5`, `15` or `30` seconds.
    transcript
        Whose words are sent: `none`, the `benchmark`'s, or `ours` (what our own ears heard by then;
        the default where the dialogue is replayed).
    protocol
        Only the questions of one protocol: `PA` pro-active, `OD` on-demand.
    """

    reading: Literal["paper", "stream", "proactive"] = "paper"
    sampling: Sampling = "US"
    clip: Literal["5", "15", "30"] = "5"
    transcript: Transcript | None = None
    protocol: Protocol | None = None

    def chosen(self) -> Reading:
        """The same, for the benchmark.

        Raises:
            UsageError: If options do not go together.
        """
        replayed = self.reading != "paper"
        words: WordsFrom = self.transcript or ("ours" if replayed else "none")
        if self.reading == "proactive" and self.protocol == "OD":
            raise UsageError("whether to speak is asked of the pro-active protocol only")
        try:
            return Reading(
                mode="stream" if replayed else "paper",
                sampling=self.sampling,
                length=float(self.clip),
                words=words,
                protocol=self.protocol,
            )
        except ValueError as error:
            raise UsageError(str(error)) from error


def score(
    dataset: Path,
    /,
    *predictions: Path,
    protocol: Protocol | None = None,
    errors_as_wrong: Flag = False,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Score predictions on Ego-EXTRA: accuracy by scenario, their average, and by protocol.

    Parameters
    ----------
    dataset
        Folder of the questions, or one file of them.
    predictions
        Run folders of `deixis bench egoextra`, which stand together in the paper's Tables 2 to 5;
        or files of JSON lines `{"id", "output"}`, whose ids are `<recording>/<question id>`, or the
        question's id alone where one recording has it. An output chooses an option by its number.
    protocol
        Only the questions of one protocol: `PA` pro-active, `OD` on-demand.
    errors_as_wrong
        Count a failed model call as a wrong answer.
    as_json
        Print one JSON object instead of tables; of several runs a list of them under `runs`.
        What of the folder cannot be used stands under `left_out`.
    """
    if not predictions:
        raise UsageError("nothing to score: give run folders or files of predictions")
    data = load_egoextra(dataset)
    questions = data.questions if protocol is None else data.of(protocol)
    runs = [read_run(path, questions, errors_as_wrong=errors_as_wrong) for path in predictions]
    if as_json:
        listed = [
            {"system": run.system, "reading": run.way.name, **run.scores.as_json()} for run in runs
        ]
        told = listed[0] if len(listed) == 1 else {"runs": listed}
        told |= {"left_out": [asdict(one) for one in data.left_out]}
        print(json.dumps(told, allow_nan=False))
        return
    remarks = [
        f"{run.system}, {run.way.name}: {line}" for run in runs for line in run.scores.remarks()
    ]
    _say_left_out(data.left_out)
    print_tables((*paper_tables(runs), protocol_table(runs)), remarks)


def bench(
    dataset: Path,
    *,
    out: Path,
    model: ModelName,
    how: ReadingOptions | None = None,
    language: LanguageName = "auto",
    asr: str = "auto",
    limit: Count | None = None,
    errors_as_wrong: Flag = False,
    fresh: Flag = False,
    asking: ModelOptions | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Run a model over Ego-EXTRA and score it; goes on where it stopped.

    When all is asked, the record of what was sent is looked through for anything from after a
    question; exit code 1 if there is.

    Parameters
    ----------
    dataset
        Folder of films, transcripts and questions.
    out
        Run folder.
    model
        `gemini:NAME`, `openai:NAME` (any server with that protocol), or `scripted:FILE` for
        recorded responses or answers (`{"id", "output"}` a line).
    language
        Spoken language, for our own ears.
    asr
        Whisper model of our own ears, as in `deixis replay`.
    limit
        Only the first so many questions; recordings, where the model decides when to speak.
    errors_as_wrong
        Count a failed model call as a wrong answer.
    fresh
        Forget what the run folder holds, responses that were paid for included, and start over.
    as_json
        Print the scores as one JSON object.
    """
    options = how or ReadingOptions()
    reading = options.chosen()
    data = load_egoextra(dataset)
    _say_left_out(data.left_out)
    asked = (asking or ModelOptions()).asking(
        model, out, limit=limit, fresh=fresh, errors_as_wrong=errors_as_wrong
    )
    replaying = _Replaying(
        out=out,
        reading=reading,
        ears=EngineSettings(asr=asr) if reading.words == "ours" else None,
        language=language_code(language),
        prefix=load(PrefixSettings, config_path("prefix.toml")),
    )
    benchmark: EgoExtraBenchmark | ProactiveBenchmark
    if options.reading == "proactive":
        benchmark = _proactive(data, replaying)
    else:
        benchmark = _questions(data, replaying)
    if reading.mode == "stream":
        _check(benchmark, asked)
        replaying.run(data, benchmark, limit=limit)
    if isinstance(benchmark, ProactiveBenchmark):
        code = bench_with(benchmark, asked, as_json=as_json)
    else:
        code = bench_with(benchmark, asked, as_json=as_json)
    if reading.words == "ours" and isinstance(benchmark, EgoExtraBenchmark):
        _say_delays(benchmark)
    return max(code, _audit(out, data))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replaying:
    """How dialogues are replayed: whose ears listen, and what is remembered."""

    out: Path
    reading: Reading
    ears: EngineSettings | None
    language: str
    prefix: PrefixSettings

    @property
    def facts(self) -> dict[str, Any]:
        """What a replayed dialogue depends on; nothing where none is replayed."""
        if self.reading.mode == "paper":
            return {}
        return {
            "language": self.language,
            "ears": None if self.ears is None else describe_settings(self.ears),
            "prefix": asdict(self.prefix),
        }

    def folder(self, settings: EgoExtraSettings) -> Path:
        """Where they lie: those of other settings lie elsewhere."""
        watching = asdict(self.reading.watching(settings, self.prefix))
        digest = hashlib.sha256(json.dumps([self.facts, watching], sort_keys=True).encode())
        return self.out / "replayed" / digest.hexdigest()[:12]

    def run(
        self,
        data: EgoExtra,
        benchmark: EgoExtraBenchmark | ProactiveBenchmark,
        *,
        limit: int | None,
    ) -> None:
        """Replay what is to be asked about, with a bar that counts recordings."""
        moments: dict[str, list[Seconds]] = {}
        for item in benchmark.items()[:limit]:
            moments.setdefault(item.group, []).extend(one.asked_at for one in item.questions)
        with claimed(self.out), counting_progress(plain_console(stderr=True)) as progress:
            bar = progress.add_task("replaying", total=None)

            def told(recording: str, error: str) -> None:
                progress.advance(bar)
                if error:
                    progress.console.print(printable(f"{recording}: {error}"))

            replay_recordings(
                data.films,
                moments,
                benchmark.source.replayed,
                watching=self.reading.watching(benchmark.source.settings, self.prefix),
                ears=self.ears,
                language=self.language,
                begun=lambda total: progress.update(bar, total=total),
                told=told,
            )


def _questions(data: EgoExtra, replaying: _Replaying) -> EgoExtraBenchmark:
    return EgoExtraBenchmark(
        source=_source(data, replaying), prompt=load_egoextra_prompt(), more=replaying.facts
    )


def _proactive(data: EgoExtra, replaying: _Replaying) -> ProactiveBenchmark:
    asked = {question.video for question in data.of("PA")} & data.films.keys()
    made = ProactiveBenchmark(
        source=_source(data, replaying),
        durations={video: duration_of(data.films[video]) for video in asked},
        prompt=load_egoextra_prompt(),
        more=replaying.facts,
    )
    if not made.videos:
        left = made.left_out[-1:]
        why = f" ({left[0].source}: {left[0].reason})" if left else ""
        raise EgoExtraError(f"{data.root}: no recording in which a system could speak up{why}")
    return made


def _source(data: EgoExtra, replaying: _Replaying) -> Source:
    settings = load_egoextra_settings()
    return Source(
        dataset=data,
        reading=replaying.reading,
        settings=settings,
        replayed=replaying.folder(settings),
    )


def _check(benchmark: EgoExtraBenchmark | ProactiveBenchmark, asked: Asking) -> None:
    """Know of what is missing before hours are replayed."""
    if isinstance(benchmark, ProactiveBenchmark):
        check_run(benchmark, asked)
    else:
        check_run(benchmark, asked)


def _say_left_out(left_out: Sequence[LeftOut]) -> None:
    """Say what of a folder is not used, and why."""
    console = plain_console(stderr=True)
    if left_out:
        console.print(f"{len(left_out)} files or questions are left out:")
    for one in left_out[:REMARKS_SHOWN]:
        console.print(printable(f"  {one.name}: {one.reason}"))
    if len(left_out) > REMARKS_SHOWN:
        console.print(f"  and {len(left_out) - REMARKS_SHOWN} more")


def _say_delays(benchmark: EgoExtraBenchmark) -> None:
    delays = hearing_delays(benchmark.source.replayed, benchmark.questions)
    if delays:
        plain_console(stderr=True).print(
            f"our ears had a question p50 {quantile(delays, 0.5):.2f} s, p90 "
            f"{quantile(delays, 0.9):.2f} s after its end, n {len(delays)}"
        )


def _audit(out: Path, data: EgoExtra) -> int:
    """Say whether anything that was sent is from after its question."""
    report = audit_requests(out / ASKED, data.dialogues)
    console = plain_console(stderr=True)
    found = len(report.leaks)
    console.print(f"{report.requests} requests looked through: {found} hold something from later")
    for leak in report.leaks[:10]:
        console.print(printable(f"  {leak.id}: {leak.what}"))
    return 1 if report.leaks else 0
