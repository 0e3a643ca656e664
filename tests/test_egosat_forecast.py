"""Shares of letters from tokens' log-probabilities, and how endpoints tell of alternatives."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.answers import Answer, AnswerLog, read_answers
from replay.egosat.forecast import forecast_at, forecast_of, letter_of
from streaming.asking.endpoint import Completion, Generation, TokenChance
from streaming.asking.responses import Response, ResponseCache, read_responses
from streaming.models.gemini_answer import AnswerReader
from streaming.models.openai_body import chat_body
from streaming.models.openai_failures import Server
from streaming.models.openai_reading import Reading


def chance(token: str, share: float, *others: tuple[str, float]) -> TokenChance:
    return TokenChance(
        token=token,
        logprob=math.log(share),
        alternatives=tuple(chance(name, value) for name, value in others),
    )


def test_variants_of_a_letter_are_added_up() -> None:
    found = forecast_at(
        [
            chance("A", 0.3),
            chance(" A", 0.1),
            chance("a", 0.1),
            chance("B", 0.25),
            chance("The", 0.2),
        ]
    )
    assert found is not None
    assert found.raw == pytest.approx({"A": 0.5, "B": 0.25, "C": 0, "D": 0})
    assert found.shares == pytest.approx({"A": 2 / 3, "B": 1 / 3, "C": 0, "D": 0})
    assert found.mass == pytest.approx(0.75)
    assert found.chosen == "A"
    assert found.entropy == pytest.approx(-(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3))
    assert found.as_probe()["p_cond"] == found.shares


def test_the_chosen_token_among_its_own_alternatives_counts_once() -> None:
    found = forecast_of([chance("B", 0.6, ("B", 0.6), ("C", 0.4))])
    assert found is not None
    assert found.shares == pytest.approx({"A": 0, "B": 0.6, "C": 0.4, "D": 0})


def test_the_place_is_the_first_letter_or_the_one_in_the_tag() -> None:
    tokens = [chance("A", 0.9), chance("<ANS>", 1.0), chance("\nC", 0.7, ("D", 0.3))]
    found = forecast_of(tokens)
    assert found is not None
    assert found.chosen == "C"
    assert forecast_of([chance("Hello", 0.5)]) is None
    assert forecast_of([]) is None


@pytest.mark.parametrize(
    ("token", "letter"),
    [("A", "A"), (" b", "B"), ("\n\nC", "C"), ("▁D", "D"), ("ĠA", "A"), ("A.", "A"), ("AB", None)],
)
def test_tokens_that_say_a_letter(token: str, letter: str | None) -> None:
    assert letter_of(token) == letter


def test_a_positive_log_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 0"):
        forecast_at([TokenChance(token="A", logprob=0.5)])


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["A", " A", "a", "B", "c", "D.", "x"]), st.floats(0.001, 1)))
def test_shares_sum_to_1_whatever_the_order(told: dict[str, float]) -> None:
    chances = [chance(token, share) for token, share in told.items()]
    found, turned = forecast_at(chances), forecast_at(chances[::-1])
    if found is None or turned is None:
        assert found == turned
        assert not set(told) - {"x"}
        return
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.shares == pytest.approx(turned.shares)
    assert 1 / 4 - 1e-9 <= max(found.shares.values()) <= 1 + 1e-9
    assert 0 <= found.entropy <= math.log(4) + 1e-9


def test_alternatives_are_asked_for_only_when_wanted() -> None:
    plain, wanted = Generation(logprobs=True), Generation(logprobs=True, top_logprobs=5)
    assert "top_logprobs" not in plain.as_key()
    assert wanted.as_key()["top_logprobs"] == 5
    with pytest.raises(ValueError, match="top_logprobs"):
        Generation(top_logprobs=5)
    from streaming.asking.request import Request, TextPart

    request = Request(
        system="", parts=(TextPart(text="?"),), schema=None, interface="egosat", prompt="en/1",
        words="none", asked_at=0.0,
    )  # fmt: skip
    body = chat_body(request, wanted, model="m", lacks=())
    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)
    assert "top_logprobs" not in chat_body(request, wanted, model="m", lacks=("logprobs",))


def test_alternatives_of_an_openai_answer_are_read() -> None:
    entry = {
        "token": "B",
        "logprob": -0.5,
        "top_logprobs": [{"token": "B", "logprob": -0.5}, {"token": "A", "logprob": -1.0}, 7],
    }
    reading = Reading(Server("openai:m", "http://here"), max_tokens=9)
    choice = {"delta": {"content": "B"}, "logprobs": {"content": [entry]}, "finish_reason": "stop"}
    reading.push({"choices": [choice]})
    (found,) = reading.complete(done=True).chances
    assert [(one.token, one.logprob) for one in found.alternatives] == [("B", -0.5), ("A", -1.0)]


def test_alternatives_of_a_gemini_answer_are_read() -> None:
    told = types.LogprobsResult(
        chosen_candidates=[types.LogprobsResultCandidate(token="B", log_probability=-0.5)],
        top_candidates=[
            types.LogprobsResultTopCandidates(
                candidates=[
                    types.LogprobsResultCandidate(token="B", log_probability=-0.5),
                    types.LogprobsResultCandidate(token="A", log_probability=-1.0),
                ]
            )
        ],
    )
    reader = AnswerReader("gemini:m")
    content = types.Content(parts=[types.Part(text="B")])
    candidate = types.Candidate(
        content=content, logprobs_result=told, finish_reason=types.FinishReason.STOP
    )
    reader.push(types.GenerateContentResponse(candidates=[candidate]))
    (found,) = reader.completion().chances
    assert [(one.token, one.logprob) for one in found.alternatives] == [("B", -0.5), ("A", -1.0)]


def test_alternatives_stay_in_the_cache_of_responses(tmp_path: Path) -> None:
    completion = Completion(text="B", chances=(chance("B", 0.5, ("B", 0.5), ("A", 0.25)),))
    response = Response(
        key="k", request="r", model="m", identity={}, coord_order="xy", generation={},
        interface="egosat", prompt="en/1", words="none", completion=completion,
    )  # fmt: skip
    with ResponseCache(tmp_path / "responses.jsonl") as cache:
        cache.add(response)
    (read,) = read_responses(tmp_path / "responses.jsonl")
    assert read.completion == completion


def test_alternatives_stay_with_an_answer_and_are_recited(tmp_path: Path) -> None:
    told = (("B", -0.5), ("A", -1.0))
    answer = Answer(id="q", output="B", chances=(("B", -0.5),), alternatives=(told,))
    with AnswerLog(tmp_path / "predictions.jsonl") as log:
        log.append(answer)
    path = tmp_path / "predictions.jsonl"
    assert read_answers(path).answers == (answer,)
    path.write_text('{"id": "q", "output": "B", "chances": [7], "alternatives": [[["B", 0]]]}\n')
    (read,) = read_answers(path).answers
    assert (read.chances, read.alternatives) == ((), ())
