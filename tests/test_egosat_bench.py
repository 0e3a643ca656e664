"""EgoSAT with a model: nothing later than the question is sent, nothing of the answer, and back."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import replay.asking.run_benchmark as running
from client.commands.egosat import bench, score
from client.usage import UsageError
from replay.asking.run_benchmark import Asking, run_benchmark
from replay.benchmark import UnaskableError
from replay.egosat.benchmark import Egosat
from replay.egosat.build import build_query_sets, write_query_sets
from replay.egosat.embedding import WordsEmbedder
from replay.egosat.files import EgosatError
from replay.egosat.narrations import read_annotations
from replay.egosat.prompts import read_texts
from replay.egosat.queries import Query, load_queries
from replay.egosat.requests import moments_of, request_for
from replay.egosat.settings import read_settings
from replay.report.benchmark_page import build_benchmark_report
from streaming.asking.endpoint import Completion, Generation, TextPiece, TokenChance
from streaming.asking.request import PicturePart, Request, TextPart
from streaming.asking.visual_budget import VisualBudget, load_visual_settings
from tests.asking_fakes import USAGE, FakeEndpoint
from tests.egosat_maker import FPS, hands_and_objects, query, time_of, write, write_film
from tests.test_egopoint_asking import Quiet

pytestmark = pytest.mark.threads

START = 4.0
"""Where the annotated clip begins in its film."""
SETTINGS = read_settings()


@dataclass
class Sure(FakeEndpoint):
    """Answers by what is asked, and tells how likely its tokens are."""

    generations: list[Generation] = field(default_factory=list)

    async def stream(
        self, request: Request, generation: Generation
    ) -> AsyncIterator[TextPiece | Completion]:
        self.asked.append(request)
        self.generations.append(generation)
        text, chances = _said(request, generation)
        yield TextPiece(text=text)
        yield Completion(text=text, usage=USAGE, chances=chances if generation.logprobs else ())


def _said(request: Request, generation: Generation) -> tuple[str, tuple[TokenChance, ...]]:
    def token(text: str, share: float, *others: TokenChance) -> TokenChance:
        return TokenChance(token=text, logprob=math.log(share), alternatives=others)

    if request.interface.endswith("cand_conf"):
        others = (token("B", 0.5), token(" B", 0.1), token("A", 0.2)) * bool(
            generation.top_logprobs
        )
        return "B", (token("B", 0.5, *others),)
    if request.interface.endswith("cand_state"):
        tokens = (token("<STATE>", 1), token("INTERACTION", 0.75), token("</STATE>", 1))
        return "<NOW><STATE>INTERACTION</STATE><CONF>0.9</CONF></NOW>", tokens
    return "<NOW><ANS>B</ANS><CONF>0.40</CONF></NOW>", ()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Query sets and films of two annotated videos."""
    folder = tmp_path_factory.mktemp("egosat")
    source = write(folder / "fho_main.json", hands_and_objects(start=START))
    built = build_query_sets(
        read_annotations([source]), WordsEmbedder(), settings=SETTINGS, texts=read_texts(), seed=0
    )
    write_query_sets(built, folder / "sets")
    for video in range(2):
        write_film(folder / "films" / f"video-{video}.mp4", START + 112)
    return folder / "sets", folder / "films"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Sure:
    endpoint = Sure()
    monkeypatch.setattr(running, "open_model", lambda *_, **__: endpoint)
    return endpoint


def thinned(sets: Path, target: Path, *, each: int) -> Path:
    """The first samples of every query set."""
    for path in sets.rglob("*.json"):
        content = json.loads(path.read_text())
        content["samples"] = content["samples"][:each]
        write(target / path.relative_to(sets), content)
    return target


def some_of(queries: tuple[Query, ...], each: int) -> list[Query]:
    """The first queries of every place."""
    found: dict[str, list[Query]] = {}
    for one in queries:
        found.setdefault(one.place, []).append(one)
    return [one for many in found.values() for one in many[:each]]


def test_nothing_later_than_the_question_is_sent(made: tuple[Path, Path]) -> None:
    sets, films = made
    benchmark = Egosat(sets, films, flavours="all")
    queries = {
        one.key: one for one in load_queries(sets, films, SETTINGS.windows, flavours="all").asked
    }
    chosen = {one.key for one in some_of(tuple(queries.values()), 2)}
    places = set()
    for item in benchmark.items():
        if item.key not in chosen:
            continue
        asked, (question,) = queries[item.key], item.questions
        request = question.compose()
        assert request.asked_at == question.asked_at == asked.asked_at
        shown = [part for part in request.parts if isinstance(part, PicturePart)]
        seen = [time_of(part.jpeg) for part in shown]
        # The pictures themselves say when they were: none is later, the last is the newest.
        assert max(seen) <= question.asked_at + 1e-6
        assert seen[-1] == pytest.approx(math.floor(question.asked_at * FPS + 1e-6) / FPS)
        assert min(seen) >= asked.start - 1 / FPS - 1e-6
        assert len(seen) <= SETTINGS.asking.frames
        assert seen == [pytest.approx(part.until) for part in shown]
        assert all(
            part.until is not None and part.until <= request.asked_at for part in request.parts
        )
        # Times that are told are those of the clip, up to the question.
        told = [p.text for p in request.parts if isinstance(p, TextPart) and "<time>" in p.text]
        assert told[-1] == f"<time>{seen[-1] - START:.1f} s</time>"
        places.add(asked.place)
    # Every task, and every flavour of it.
    assert places == {
        "now_narration/cand_state", "now_narration/cand_mcq", "now_narration/open",
        *(f"now_state_switch/cand_state/sspos_t_{at}_0" for at in (1, 2, 4)),
        *(f"now_state_switch/open/sspos_t_{at}_0" for at in (1, 2, 4)),
        "sh_rtrv/cand", "sh_rtrv/open", "sh_pred/cand_full", "sh_pred/cand_conf", "sh_pred/open",
        "ms_rtrv/cand", "ms_rtrv/cand_conf", "ms_rtrv/open",
        "ms_pred/cand", "ms_pred/cand_conf", "ms_pred/open",
    }  # fmt: skip


def test_a_request_does_not_depend_on_the_truth(made: tuple[Path, Path], tmp_path: Path) -> None:
    sets, films = made
    hidden = ("answer", "answer_idx", "option_sources", "state", "region", "verb", "noun")
    hidden += ("narration", "branchiness", "surprise", "gt_segment_start", "gt_segment_end")
    for path in sets.rglob("*.json"):
        content = json.loads(path.read_text())
        for sample in content["samples"]:
            for name in hidden:
                sample.pop(name, None)
                sample.get("mcq", {}).pop(name, None)
        write(tmp_path / path.relative_to(sets), content)
    whole = Egosat(sets, films, flavours="all")
    bare = {item.key: item for item in Egosat(tmp_path, films, flavours="all").items()}
    queries = load_queries(sets, films, SETTINGS.windows, flavours="all").asked
    chosen = {one.key for one in some_of(queries, 1)}
    compared = 0
    for item in whole.items():
        if item.key in chosen and item.key in bare:
            first, second = (one.questions[0].compose() for one in (item, bare[item.key]))
            assert first.digest() == second.digest()
            compared += 1
    assert compared > 10


def test_a_run_scores_as_its_files_do(
    made: tuple[Path, Path], tmp_path: Path, fake: Sure, capsys: pytest.CaptureFixture[str]
) -> None:
    _, films = made
    sets = thinned(made[0], tmp_path / "sets", each=4)
    out = tmp_path / "run"
    settings = replace(SETTINGS, asking=replace(SETTINGS.asking, frames=1, side=160))
    run = run_benchmark(
        Egosat(sets, films, settings=settings), Asking(out=out, model="openai:f"), Quiet()
    )
    assert run.is_complete
    # What was sent, told by the pictures themselves, and what the record says of it.
    for request in fake.asked:
        shown = [time_of(p.jpeg) for p in request.parts if isinstance(p, PicturePart)]
        assert shown == [pytest.approx(math.floor(request.asked_at * FPS + 1e-6) / FPS)]
    for line in (out / "asked.jsonl").read_text().splitlines():
        recorded = json.loads(line)["request"]
        assert all((part["until"] or 0) <= recorded["asked_at"] for part in recorded["parts"])
    # Outcomes of single samples have the names of their questions: the page shows both together.
    assert {one.key for one in run.scores.outcomes if "#pair" not in one.key} <= {
        item.key for item in Egosat(sets, films).items()
    }
    row = run.scores.row
    # INTERACTION, always: nothing is missed; precision is the share of such moments.
    assert row["now_rec"] == 1.0
    assert 0 < (row["now_prec"] or 0) < 1
    # Said at both probes, it is never right at both.
    assert row["ss1_fg2bg_acc"] == row["ss1_bg2fg_acc"] == 0.0
    # B and " B" have 0.6 of 0.8.
    assert row["ms_pred_step0_conf"] == pytest.approx(0.75)
    assert row["sh_pred_predictable_conf"] == pytest.approx(0.75)
    found = run.scores.as_json()
    assert found["calibration"]["ms_pred"]["buckets"]["step_1"]["confidence"] == pytest.approx(0.75)
    assert found["calibration"]["sh_rtrv stated"]["confidence"] == pytest.approx(0.4)
    assert found["calibration"]["now_narration state"]["confidence"] == pytest.approx(0.75)
    score(sets, out / "results", as_json=True)
    again = json.loads(capsys.readouterr().out)
    for name in ("main_table", "metrics", "calibration", "intervals"):
        assert again[name] == found[name]
    wanted = {
        request.interface.split()[-1]: (one.max_tokens, one.logprobs, one.top_logprobs)
        for request, one in zip(fake.asked, fake.generations, strict=True)
    }
    asking = settings.asking
    assert wanted["cand_conf"] == (asking.letter_tokens, True, asking.top_logprobs)
    assert wanted["cand_state"] == (asking.tag_tokens, True, 0)
    assert wanted["cand"] == (asking.tag_tokens, False, 0)
    intervals = run.scores.intervals
    for column, value in row.items():
        if column in intervals:
            assert intervals[column].value == pytest.approx(value)


def test_failed_questions_are_left_out_and_said(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets, films = made
    queries = load_queries(sets, films, SETTINGS.windows, tasks=("sh_rtrv",)).asked
    answers = tmp_path / "answers.jsonl"
    lines = [{"id": one.key, "output": one.fields["mcq"]["answer"]} for one in queries[1:]]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    chosen: dict[str, Any] = {"videos": films, "model": f"scripted:{answers}", "as_json": True}
    assert bench(sets, out=tmp_path / "run", task=("sh_rtrv",), **chosen) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["main_table"]["sh_rtrv_acc"] == 1.0
    assert found["errors"] == {"unrecorded": 1}
    bench(sets, out=tmp_path / "strict", task=("sh_rtrv",), errors_as_wrong=True, **chosen)
    found = json.loads(capsys.readouterr().out)
    assert found["main_table"]["sh_rtrv_acc"] == pytest.approx(1 - 1 / len(queries))
    page = build_benchmark_report(tmp_path / "run")
    assert "left out of every number" in page
    assert "<svg" not in page.split("<main")[1]  # no answer said how sure it was


def test_score_writes_the_authors_files_and_diagrams(
    made: tuple[Path, Path], tmp_path: Path, fake: Sure
) -> None:
    sets, films = made
    tasks: Any = {"tasks": ("ms_pred",)}
    out = tmp_path / "run"
    run_benchmark(Egosat(sets, films, **tasks), Asking(out=out, model="openai:f"), Quiet())
    score(sets, out / "results", model="m", out=tmp_path / "scored")
    whole = json.loads((tmp_path / "scored" / "main_table_metrics.json").read_text())
    assert whole["metrics"]["ms_pred"]["step_0_conf"] == pytest.approx(0.75)
    assert (tmp_path / "scored" / "main_table_metrics.csv").read_text().startswith("model,split,")
    drawn = sorted(path.name for path in (tmp_path / "scored").glob("*.svg"))
    assert drawn == ["reliability_ms_pred.svg", "reliability_ms_pred_stated.svg"]
    assert ElementTree.parse(tmp_path / "scored" / drawn[0]).getroot().tag.endswith("svg")
    page = build_benchmark_report(out)
    assert page.count('aria-label="Accuracy against confidence"') == 2
    assert page.count('aria-label="Accuracy against coverage"') == 2
    assert "ms_pred stated" in page
    with pytest.raises(UsageError, match="OLD=NEW"):
        score(sets, out / "results", path_map=("x",))


def test_a_window_that_reaches_beyond_its_question_is_not_asked(tmp_path: Path) -> None:
    samples = [
        query(0, "A", t_eval=8.0, window_end_sec=9.0),
        query(1, "A", t_eval=8.0, window_end_sec=8.0),
        query(2, "A"),
        query(3, "A", t_eval=8.0, window_start_sec=8.5),
        query(4, t_eval=8.0, mcq={"options": ["one"]}),
        query(1, "B", t_eval=9.0),
    ]
    content = {"task": "sh_rtrv", "video_uid": "v", "samples": samples}
    write(tmp_path / "q.json", content)
    write(tmp_path / "other.json", [1, 2])
    write(tmp_path / "p.json", {"task": "sh_rtrv", "source_queryset": "q.json"})
    found = load_queries(tmp_path, tmp_path, SETTINGS.windows)
    assert [one.number for one in found.asked] == [1]
    reasons = " ".join(one.reason for one in found.left_out)
    assert "its window ends at 9.000 s, after it is asked at 8.000 s" in reasons
    assert "it says no time" in reasons
    assert "it has not 4 options" in reasons
    assert "another sample of its query set has the same idx" in reasons
    with pytest.raises(EgosatError, match="holds no query set"):
        load_queries(tmp_path / "nothing", tmp_path, SETTINGS.windows)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"video_uid": "../v"}, "it names no video_uid"),
        ({"video_uid": "v" * 5000}, "it names no video_uid"),
        ({"video_metadata": {"interval_start_sec": math.inf}}, "its clip begins at inf s"),
        ({"video_metadata": {"interval_start_sec": 1e308}}, "its clip begins at 1e\\+308 s"),
        ({"params": {"time_offset_sec": math.nan}}, "it says no time"),
        ({"samples": [query(0, "A", t_eval=1e308)]}, "it says no time"),
        ({"samples": []}, "no sample of the tasks chosen"),
    ],
)
def test_query_sets_of_which_nothing_can_be_asked_are_refused(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    content = {"task": "sh_rtrv", "video_uid": "v", "samples": [query(0, "A", t_eval=8.0)]}
    write(tmp_path / "q.json", content | changes)
    with pytest.raises(EgosatError, match=reason):
        load_queries(tmp_path, tmp_path, SETTINGS.windows)


def test_a_film_that_ends_before_the_window_is_not_asked_about(tmp_path: Path) -> None:
    write_film(tmp_path / "v.mp4", seconds=4.0)
    samples = [query(0, "A", t_eval=8.0, window_start_sec=start) for start in (2.0, 6.0)]
    samples[1]["idx"] = 1
    write(tmp_path / "q.json", {"task": "sh_rtrv", "video_uid": "v", "samples": samples})
    asked = load_queries(tmp_path, tmp_path, SETTINGS.windows).asked
    assert request_for(asked[0], SETTINGS.asking, read_texts()).parts
    with pytest.raises(UnaskableError, match=r"no frame between 6\.0 s and 8\.0 s"):
        request_for(asked[1], SETTINGS.asking, read_texts())


def test_times_of_the_whole_video_are_read_as_such(tmp_path: Path) -> None:
    about = {"interval_start_sec": 100.0, "clip_uid": "c"}
    params = {"time_offset_sec": 100.0, "time_mode": "full"}
    full = query(0, "A", t_eval=108.0, t_eval_rel=8.0, window_start_sec=103.0, window_end_sec=108.0)
    content = {"task": "sh_rtrv", "video_uid": "v", "video_metadata": about}
    write(tmp_path / "q.json", content | {"params": params, "samples": [full]})
    (one,) = load_queries(tmp_path, tmp_path, SETTINGS.windows).asked
    assert (one.start, one.asked_at, one.offset) == (103.0, 108.0, 100.0)
    (tmp_path / "c.mp4").touch()
    (one,) = load_queries(tmp_path, tmp_path, SETTINGS.windows).asked
    assert (one.film.name, one.start, one.asked_at) == ("c.mp4", 3.0, 8.0)
    assert moments_of(one, 1) == [8.0]
    assert moments_of(one, 3) == [3.0, 5.5, 8.0]


def test_a_query_sets_own_position_and_window_are_kept(tmp_path: Path) -> None:
    probe = query(0, t_eval=30.0, region="gap", state_switch_param={"raw": "t:2"})
    content = {"task": "now_state_switch", "video_uid": "v", "samples": [probe]}
    write(tmp_path / "q.json", content | {"params": {"lookback_sec": 12.0}})
    write(tmp_path / "r.json", content | {"helper": {"state_switch_ss_pos_raw": "r:0.5"}})
    found = load_queries(tmp_path, tmp_path, SETTINGS.windows)
    (one,) = found.asked
    assert (one.place, one.start) == ("now_state_switch/cand_state/sspos_t_2_0", 18.0)
    assert "its switch position is none of t:1.0, t:2.0, t:4.0" in found.left_out[0].reason


def test_the_prompts_of_the_query_sets_can_be_sent(made: tuple[Path, Path]) -> None:
    sets, films = made
    ours = Egosat(sets, films, tasks=("sh_rtrv",)).items()[0].questions[0].compose()
    theirs = Egosat(sets, films, tasks=("sh_rtrv",), wording="file").items()[0]
    request = theirs.questions[0].compose()
    assert request.prompt == "egosat/file"
    first, second = ours.parts[-1], request.parts[-1]
    assert isinstance(first, TextPart)
    assert isinstance(second, TextPart)
    assert first.text == second.text  # the sets were built with our words
    assert not [
        item for item in Egosat(sets, films, confidence=False).items() if "cand_conf" in item.key
    ]


def test_a_budget_of_visual_tokens_leaves_the_newest_frame(made: tuple[Path, Path]) -> None:
    sets, films = made
    request = Egosat(sets, films, tasks=("sh_rtrv",)).items()[0].questions[0].compose()
    formula = load_visual_settings().tokens.of("openai:gpt-5-mini")
    whole, offered = VisualBudget(choice="uniform", most=None, formula=formula).applied(request)
    assert whole.digest() == request.digest()
    budget = VisualBudget(choice="uniform", most=offered.tokens // 3, formula=formula)
    small, use = budget.applied(request)
    assert 0 < use.tokens <= offered.tokens // 3
    shown = [part for part in small.parts if isinstance(part, PicturePart)]
    told = [one for one in small.parts if isinstance(one, TextPart) and "<time>" in one.text]
    assert len(shown) == len(told) == use.pictures < offered.pictures
    assert time_of(shown[-1].jpeg) == pytest.approx(request.asked_at)
