"""What a prediction of EgoSAT says, oddities of the authors' rules included."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.egosat.narrations import said as said_of
from replay.egosat.reading import (
    as_letter,
    confidence,
    guessed_letter,
    predicted_letter,
    predicted_state,
    state_chance,
    tagged,
    true_letter,
    true_state,
)
from tests.egosat_maker import said

LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(["ans", "prompt_and_encoding_debug", "cand_conf_probe", "p_cond", "A"])
ANYTHING = LEAF | st.lists(LEAF, max_size=3) | st.dictionaries(KEYS, LEAF, max_size=3)
ANYTHING |= st.dictionaries(KEYS, st.dictionaries(KEYS, LEAF, max_size=2), max_size=2)
FIELDS = st.sampled_from(["parsed", "diagnostics", "response_text", "clean_response"]) | (
    st.sampled_from(["gen_tokens", "gen_token_probs", "region", "state", "visible_interaction"])
    | st.sampled_from(["mcq", "answer", "answer_idx"])
)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("<FUTURE><ANS>B</ANS><CONF>0.9</CONF></FUTURE>", "B"),
        ("< ans > (c) </ ANS >", "C"),
        ("The answer is B.", "B"),
        ("Answer: d", "D"),
        ("a person takes the cup", "A"),  # the article reads as A
        ("B or C", None),
        ("A. take cup\nB. open drawer", None),  # the options again
        ("<ANS>E</ANS>", None),
        ("nothing", None),
        ("", None),
    ],
)
def test_letters_in_texts(text: str, letter: str | None) -> None:
    assert predicted_letter({"response_text": text}) == letter


def test_parsed_answer_comes_first_then_diagnostics_then_texts_then_tokens() -> None:
    tokens = {"gen_tokens": ["<ANS>", "D", "</ANS>"]}
    text = {"clean_response": "<ANS>C</ANS>"}
    probe = {
        "diagnostics": {"prompt_and_encoding_debug": {"cand_conf_probe": {"chosen_by_p_cond": "B"}}}
    }
    assert predicted_letter(tokens) == "D"
    assert predicted_letter(tokens | text) == "C"
    assert predicted_letter(tokens | text | probe) == "B"
    assert predicted_letter(tokens | text | probe | {"parsed": {"ANS": "option a"}}) == "A"
    assert predicted_letter(None) is None


def test_a_letter_is_the_only_one_of_a_value() -> None:
    assert as_letter(" b ") == "B"
    assert as_letter("(D) or D") == "D"
    assert as_letter("A, B") is None
    assert as_letter(None) is None
    assert guessed_letter("optionb") == "B"


def test_truth_is_a_letter_or_a_number() -> None:
    assert true_letter({"mcq": {"answer": "c", "answer_idx": 0}}) == "C"
    assert true_letter({"mcq": {"answer": None, "answer_idx": "1"}}) == "B"
    assert true_letter({"answer": "D"}) == "D"
    assert true_letter({"mcq": {"answer_idx": 4}}) is None
    assert true_letter({"mcq": {"answer_idx": math.inf}}) is None


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("<STATE>INTERACTION</STATE>", "INTERACTION"),
        ("<state> no interaction </state>", "NO_INTERACTION"),
        ("<STATE>NO_INTERACTION</STATE>", "NO_INTERACTION"),
        ("<STATE>no-interaction</STATE>", "INTERACTION"),  # as the authors read it
        ("<STATE>no visible interaction</STATE>", "INTERACTION"),
        ("<STATE>none</STATE>", "NO_INTERACTION"),
        ("<STATE>maybe</STATE>", None),
        ("there is an interaction", "INTERACTION"),
        ("no interaction, or an interaction", None),
        ("", None),
    ],
)
def test_states_in_texts(text: str, state: str | None) -> None:
    assert predicted_state({"response_text": text}) == state


def test_true_state_comes_from_region_then_flags_then_state() -> None:
    assert true_state({"region": "gap", "visible_interaction": True}) == "NO_INTERACTION"
    assert true_state({"region": "", "is_interaction": 1}) == "INTERACTION"
    assert true_state({"state": "INTERACTION"}) == "INTERACTION"
    assert true_state({"state": "NN"}) is None


def test_confidence_is_the_answers_share_then_the_largest_then_the_first_token() -> None:
    shares = (0.1, 0.2, 0.3, 0.4)
    assert confidence(said(0, "B", shares)) == (0.2, "cand_conf_p_cond_pred")
    assert confidence(said(0, "", shares)) == (0.4, "cand_conf_p_cond_max")
    assert confidence(said(0, "B", gen_token_probs=[1.7])) == (1.0, "gen_token_prob0")
    assert confidence(said(0, "B", gen_token_probs=[math.nan])) == (None, "none")
    assert confidence(None) == (None, "missing_prediction")


@pytest.mark.parametrize(
    ("tokens", "place"),
    [
        (["<STATE>", "INTER", "ACTION", "</STATE>"], 1),
        (["<NOW", "><", "STATE", ">", " ", "NO", "_INTERACTION", "</", "STATE", ">"], 5),
        (["<", "STATE>", "YES", "</STATE", ">"], 2),
        (["<STATE", ">", "YES", "</STATE>"], 2),
        (["<STATE>", "...", "</STATE>"], None),
        (["<STATE>", "YES"], None),
        (["YES"], None),
    ],
)
def test_state_chance_is_that_of_the_first_speaking_token_in_the_tags(
    tokens: list[str], place: int | None
) -> None:
    chances = [number / 100 for number in range(len(tokens))]
    found = state_chance({"gen_tokens": tokens, "gen_token_probs": chances})
    assert found == (None if place is None else chances[place])
    assert state_chance({"gen_tokens": tokens, "gen_token_probs": chances[1:]}) is None


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(FIELDS, ANYTHING))
def test_no_sample_is_too_strange_to_read(sample: dict[str, Any]) -> None:
    assert predicted_letter(sample) in (None, "A", "B", "C", "D")
    assert true_letter(sample) in (None, "A", "B", "C", "D")
    assert predicted_state(sample) in (None, "INTERACTION", "NO_INTERACTION")
    assert true_state(sample) in (None, "INTERACTION", "NO_INTERACTION")
    value, _ = confidence(sample)
    assert value is None or 0 <= value <= 1
    chance = state_chance(sample)
    assert chance is None or math.isfinite(chance)


@pytest.mark.parametrize("piece", ["<", "<ANS>", "<STATE>", "\n", " \n", "ANSWER ", "(", "A."])
def test_a_text_that_repeats_itself_is_read_in_linear_time(piece: str) -> None:
    # Were it read again from each place, this would take minutes.
    text = piece * (200_000 // len(piece))
    sample = {"response_text": text, "clean_response": text + " " * 200_000 + "x"}
    assert predicted_letter(sample) in (None, "A")
    assert predicted_state(sample) is None
    assert said_of(f"C C takes {text}")[0] == "take"


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("<ANS> B </ans> <ANS>C</ANS>", "B"),
        ("</ANS><ANS>B<ANS>C</ANS>", "B<ANS>C"),
        ("< ans\n>\nB\n< / ANS >", "B"),
        ("<ANS>B", None),
        ("B</ANS>", None),
    ],
)
def test_a_tag_is_the_first_that_has_an_end(text: str, within: str | None) -> None:
    assert tagged(text, "ANS") == within
