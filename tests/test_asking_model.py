"""A model that is asked: from a query of the pipeline to its answers, and opened by its name."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streaming.asking.asked import AskedModel, Exchange, linked
from streaming.asking.asker import Asker
from streaming.asking.endpoint import Blocked, Generation, Rejected
from streaming.asking.engine import AskingChoice, AskingEngine
from streaming.asking.limits import RetryPolicy
from streaming.asking.opening import is_asked, open_endpoint
from streaming.asking.responses import ResponseCache, ResponsesError
from streaming.build import EngineSettings, describe_settings, model_name
from streaming.config import ConfigError
from streaming.events import Answer
from streaming.grounding_frames import encoded
from streaming.grounding_query import ModelError, Query, Task
from streaming.models.scripted_endpoint import ScriptedEndpoint
from tests.asking_fakes import ANSWER, TEXT, FakeEndpoint, Told, request
from tests.standins import gemini as gemini_standin
from tests.standins import openai_chat as openai_standin
from tests.standins.faults import Fault
from tests.table_maker import RED, Item, pointing_at, query, said, table

pytestmark = pytest.mark.threads

MUG = Item(x=200, y=260, width=40, height=40, colour=RED)
TASK = Task(
    object_choices=("A. Red mug", "B. Blue bowl"),
    space_choices=("a. Right of the bowl", "b. Left of the bowl"),
    instruction=3,
    referents=2,
)
KEY = "k-SECRET-0123456789"
QUICK = RetryPolicy(attempts=3, base=0.01, cap=0.01)


def asked_about(task: Task = TASK) -> Query:
    strokes = [pointing_at(MUG.middle, apex=1.0), pointing_at((0.7, 0.6), apex=2.5)]
    words: dict[str, Any] = said("put this over there", pointing=("this", "there"))
    return query(table((MUG,)), strokes, task=task, **words)


def model(endpoint: Any, **settings: Any) -> AskedModel:
    asker = Asker(endpoint, retry=QUICK, cache=settings.pop("cache", None))
    return AskedModel(asker, **settings)


async def answers(one: AskedModel, question: Query | None = None) -> list[Answer]:
    return [answer async for answer in one.ground(question or asked_about())]


def quick(**told: Any) -> FakeEndpoint:
    return FakeEndpoint([Told(after=0, **told)])


async def test_answer_has_referents_text_and_the_models_own_words() -> None:
    question = asked_about()
    final = (await answers(model(quick()), question))[-1]
    assert final.final
    assert [one.label for one in final.referents] == ["A", "b"]
    assert [one.point for one in final.referents] == [(0.35, 0.4), (0.6, 0.5)]
    assert [one.time for one in final.referents] == [2.3, 4.3]
    assert [one.stroke for one in final.referents] == [p.stroke for p in question.pointed]
    assert final.text == ANSWER["explicit_command"]
    assert final.reasoning == ANSWER["reasoning"]
    assert final.raw == TEXT
    assert final.model == "gemini:fake"
    assert question.last is not None
    assert final.frame_time == question.last.time


async def test_partial_answers_come_as_referents_become_whole_however_the_text_is_cut() -> None:
    seen = [await answers(model(quick(pieces=pieces))) for pieces in (1, 3, 40, len(TEXT))]
    for partial in seen:
        assert partial == seen[0]
        assert [one.final for one in partial] == [False] * (len(partial) - 1) + [True]
    placed = [sum(one.point is not None for one in answer.referents) for answer in seen[0]]
    assert placed == sorted(placed)
    assert {1, 2} <= set(placed[:-1])


async def test_partial_answers_come_before_the_text_is_whole() -> None:
    one = model(FakeEndpoint([Told(after=0, pieces=len(TEXT), ends=False)]))
    seen: list[Answer] = []

    async def follow() -> None:
        async for answer in one.ground(asked_about()):
            seen.append(answer)

    with pytest.raises(ModelError, match="without saying that it is whole"):
        await follow()
    assert seen
    assert not any(answer.final for answer in seen)


async def test_times_are_ours_when_the_binder_has_the_say() -> None:
    question = asked_about()
    one = model(FakeEndpoint([Told(after=0)], coord_order="yx"), when="binder")
    assert one.coord_order == "xy"
    final = (await answers(one, question))[-1]
    times = [pointed.time for pointed in question.pointed]
    assert [referent.time for referent in final.referents] == times
    raw = json.loads(final.raw)
    assert [entry["point"] for entry in raw["point_list"]] == [[400, 350], [500, 600]]
    assert [entry["timestamp"] for entry in raw["point_list"]] == [
        round(1000 * time) for time in times if time is not None
    ]


def test_referents_are_not_linked_when_their_numbers_differ() -> None:
    question = asked_about()
    assert linked((), question) == ()
    assert linked((), question, when="binder") == ()


async def test_text_that_is_no_answer_is_a_wrong_answer_and_no_failure() -> None:
    exchanges: list[Exchange] = []
    one = model(quick(text="I cannot tell."), on_exchange=exchanges.append)
    (final,) = await answers(one)
    assert final.raw == "I cannot tell."
    assert [referent.point for referent in final.referents] == [None, None]
    assert final.text == "I could not tell what you pointed at."
    assert one.counters.counts["reply_unparsable"] == 1
    assert exchanges[0].answer == final
    assert exchanges[0].request.interface == "bound"


async def test_refusal_is_a_failure_and_no_answer() -> None:
    with pytest.raises(Blocked):
        await answers(model(FakeEndpoint([Told(after=0, failure=Blocked("safety"))])))


async def test_cancelled_question_ends_the_request() -> None:
    endpoint = FakeEndpoint([Told(after=60)])
    task = asyncio.create_task(answers(model(endpoint)))
    await asyncio.wait_for(endpoint.begun.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (endpoint.at_once, endpoint.left) == (0, 1)


async def test_who_stops_listening_ends_the_request() -> None:
    endpoint = FakeEndpoint([Told(after=0, pieces=len(TEXT))])
    async with contextlib.aclosing(model(endpoint).ground(asked_about())) as coming:
        assert not (await anext(coming)).final
    assert (endpoint.at_once, endpoint.left) == (0, 1)


async def test_recorded_run_is_replayed_word_for_word(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    endpoint = FakeEndpoint([Told(after=0)], coord_order="yx")
    with ResponseCache(path) as cache:
        first = await answers(model(endpoint, cache=cache))
    scripted = ScriptedEndpoint(path)
    assert scripted.coord_order == "yx"
    again = await answers(model(scripted))
    assert again == [replace(one, model=scripted.name) for one in first]
    assert "1 requests, of gemini:fake" in await scripted.check()


async def test_request_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    with ResponseCache(path) as cache:
        await answers(model(quick(), cache=cache))
    other = replace(asked_about(), language="zh")
    with pytest.raises(Rejected, match=r"no response to request [0-9a-f]{12} .*holds 1 requests"):
        await answers(model(ScriptedEndpoint(path)), other)


async def test_recording_of_several_models_wants_one_named(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    with ResponseCache(path) as cache:
        for name, order in (("gemini:a", "yx"), ("openai:b", "xy")):
            endpoint = quick(text=name)
            endpoint.name, endpoint.identity = name, {"model": name}
            endpoint.coord_order = "yx" if order == "yx" else "xy"
            await Asker(endpoint, cache=cache).ask(request())
    with pytest.raises(ModelError, match=r"name one: scripted:.*#MODEL"):
        ScriptedEndpoint(path)
    with pytest.raises(ModelError, match="it holds those of gemini:a, openai:b"):
        ScriptedEndpoint(path, model="openai:c")
    both = ScriptedEndpoint(path, coord_order="xy")
    with pytest.raises(Rejected, match="2 different responses"):
        await Asker(both).ask(request())
    chosen = open_endpoint(f"scripted:{path}#openai:b", keys={})
    assert (await Asker(chosen).ask(request())).completion.text == "openai:b"
    assert chosen.coord_order == "xy"


async def test_response_of_the_same_generation_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    with ResponseCache(path) as cache:
        for tokens in (10, 20):
            generation = Generation(max_tokens=tokens)
            await Asker(quick(text=str(tokens)), generation, cache=cache).ask(request())
    found = await Asker(ScriptedEndpoint(path), Generation(max_tokens=20)).ask(request())
    assert found.completion.text == "20"


@pytest.mark.parametrize(
    ("name", "keys", "told"),
    [
        ("gemini:x", {}, "gemini:x needs a key; set GEMINI_API_KEY"),
        ("gemini:x", {"GEMINI_API_KEY": " "}, "set GEMINI_API_KEY"),
        ("openai:x", {}, "openai:x needs a key or a server; set OPENAI_API_KEY"),
        ("openai:x", {"OPENAI_BASE_URL": "localhost"}, "no http:// or https:// address"),
        ("openai:x", {"OPENAI_BASE_URL": f"http://me:{KEY}@host/v1"}, "holds a user, password"),
        ("openai:x", {"OPENAI_BASE_URL": f"http://host/v1?key={KEY}"}, "holds a user, password"),
        ("gemini:", {"GEMINI_API_KEY": KEY}, "use gemini:NAME"),
        ("clever:x", {}, "no model 'clever:x'"),
        ("scripted:/none.jsonl", {}, "No such file"),
    ],
)
def test_model_that_cannot_be_opened_says_what_to_set(
    name: str, keys: dict[str, str], told: str
) -> None:
    with pytest.raises(ModelError, match="(?s).*" + told) as caught:
        open_endpoint(name, keys=keys)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


async def test_keys_and_servers_come_from_the_environment_or_the_argument() -> None:
    gemini = open_endpoint("gemini:gemini-3-flash", keys={"GOOGLE_API_KEY": f"{KEY}\n"})
    openai = open_endpoint(
        "openai:mine", keys={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, coord_order="yx"
    )
    assert (gemini.name, gemini.coord_order, gemini.takes_films) == (
        "gemini:gemini-3-flash",
        "yx",
        True,
    )
    assert (openai.name, openai.coord_order, openai.takes_films) == ("openai:mine", "yx", False)
    assert KEY not in repr(gemini) + str(gemini.identity)
    await gemini.aclose()
    await openai.aclose()


def test_only_recorded_responses_make_scripted_an_asked_model(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"turn": 0, "answer": {"referents": [], "frame_time": 0}}\n')
    assert not is_asked(f"scripted:{path}")
    assert not is_asked("local")
    assert not is_asked("gemini-live:x")
    assert is_asked("gemini:x")
    assert is_asked("openai:x")


def test_names_of_models_that_the_command_line_takes() -> None:
    for name in ("local", "gemini:x", "openai:a/b:c", "scripted:f", "gemini-live:x"):
        model_name(name)
    for wrong in ("gemini", "local:x", "clever:x", ""):
        with pytest.raises(ModelError, match="use local, gemini:NAME"):
            model_name(wrong)


def test_record_holds_how_the_model_was_asked_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    choice = AskingChoice(interface="frames+asr", max_cost=1.0)
    recorded = describe_settings(EngineSettings(model="gemini:gemini-3-flash", asking=choice))
    assert recorded["asking"]["interface"] == "frames+asr"
    assert recorded["asking"]["prefix"]["step"] == 0.5
    assert KEY not in json.dumps(recorded)
    assert "asking" not in describe_settings(EngineSettings())
    raised = EngineSettings(
        model="gemini:gemini-3-flash", asking=AskingChoice(interface="frames+asr", max_cost=9.0)
    )
    assert describe_settings(raised) == recorded


async def test_engine_gives_the_pipeline_what_the_interface_needs(tmp_path: Path) -> None:
    keys = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    bound = AskingEngine("openai:mine", AskingChoice(responses=tmp_path / "r.jsonl"))
    assert bound.prefix is not None
    assert not bound.wants_film
    one, cache = bound.open(keys)
    assert cache is not None
    with pytest.raises(ResponsesError, match="another process"):
        bound.open(keys)
    cache.close()
    await one.aclose()
    filmed, _ = AskingEngine("openai:mine", AskingChoice(interface="video")).open(keys)
    await filmed.aclose()
    with pytest.raises(ConfigError, match="price of openai:mine is not known"):
        AskingEngine("openai:mine", AskingChoice(max_cost=1.0))
    with pytest.raises(ModelError, match="no interface 'x'"):
        AskingChoice(interface="x")


FAULTS = (
    Fault.TOO_MANY,
    Fault.SERVER_ERROR,
    Fault.RESET,
    Fault.CUT,
    Fault.MALFORMED,
    Fault.EMPTY,
    Fault.WRONG_TYPE,
)


@pytest.mark.parametrize("provider", ["gemini", "openai"])
async def test_real_clients_get_through_every_fault_that_may_pass(provider: str) -> None:
    coming = iter(FAULTS)
    key = gemini_standin.KEY
    with contextlib.ExitStack() as stack:
        standin: Any
        if provider == "gemini":
            standin = gemini_standin.GeminiStandIn(lambda _: next(coming, TEXT))
            name = "gemini:gemini-3-flash"
        else:
            standin = openai_standin.OpenAiStandIn(lambda _: next(coming, TEXT))
            name = f"openai:{openai_standin.MODEL}"
        stack.enter_context(standin)
        keys = {"GEMINI_API_KEY": key, "OPENAI_API_KEY": key}
        endpoint = open_endpoint(name, keys=keys, base_url=standin.url)
        asker = Asker(endpoint, retry=RetryPolicy(attempts=9, base=0.01, cap=0.01))
        try:
            asked = await asker.ask(request(picture=encoded(table((MUG,)))))
        finally:
            await asker.aclose()
    assert asked.completion.text == TEXT
    assert len(asked.failures) == len(FAULTS)
    assert asked.failures[:3] == ("overloaded", "server_fault", "unreachable")
    assert asked.failures[5] == "empty"


@pytest.fixture(params=["gemini", "openai"])
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, Any]]:
    """Name, address and stand-in of each provider; it says :data:`TEXT`."""
    if request.param == "gemini":
        with gemini_standin.GeminiStandIn(lambda *_: TEXT) as gemini:
            yield "gemini:gemini-3-flash", gemini.url, gemini
    else:
        with openai_standin.OpenAiStandIn(lambda *_: TEXT) as openai:
            yield f"openai:{openai_standin.MODEL}", openai.url, openai


async def test_real_clients_are_asked_once_and_then_replayed(
    served: tuple[str, str, Any], tmp_path: Path
) -> None:
    name, url, standin = served
    key = gemini_standin.KEY
    keys = {"GEMINI_API_KEY": key, "OPENAI_API_KEY": key}
    path = tmp_path / "responses.jsonl"
    runs = []
    for _ in range(2):
        endpoint = open_endpoint(name, keys=keys, base_url=url)
        with ResponseCache(path) as cache:
            one = model(endpoint, cache=cache)
            runs.append(await answers(one))
            await one.aclose()
    assert runs[0] == runs[1]
    assert runs[0][-1].raw == TEXT
    assert sum(standin.paid.values()) == 1
    assert key.encode() not in path.read_bytes()
