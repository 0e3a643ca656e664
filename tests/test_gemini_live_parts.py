"""What a live session says and reads: questions, answers, settings; without a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from google.genai import types

from streaming.asking.endpoint import AttemptFailed, Unreachable
from streaming.config import ConfigError, config_path, load
from streaming.events import Counters, Deictic, Word
from streaming.grounding import Query, Task
from streaming.grounding_choice import Pointed
from streaming.models.gemini_live_failures import LiveFault
from streaming.models.gemini_live_question import load_live_prompt, question
from streaming.models.gemini_live_reply import LiveReply
from streaming.models.gemini_live_settings import LiveSettings
from streaming.models.gemini_live_turns import Turns

PUT = Task(object_choices=("A. Mug", "B. Cup"), space_choices=("a. Left", "b. Right"), referents=2)


def query(task: Task = PUT, **more: Any) -> Query:
    fields: dict[str, Any] = {
        "turn": 0,
        "asked_at": 3.0,
        "task": task,
        "pointed": (
            Pointed(kind="object", time=1.0, deictic=0, probability=0.9),
            Pointed(kind="space", time=2.0, deictic=1, probability=0.8),
        ),
        "words": (
            Word(text="this", onset=0.9, offset=1.1),
            Word(text="there", onset=1.9, offset=2.2),
            Word(text="later", onset=3.2, offset=3.4),
        ),
        "deictics": (
            Deictic(index=0, text="this", onset=0.9, offset=1.1, kind="object"),
            Deictic(index=1, text="there", onset=1.9, offset=2.2, kind="place"),
        ),
    }
    return Query(**(fields | more))


def reply(asked: Query, *, spoken: bool) -> tuple[LiveReply, Counters]:
    counters = Counters()
    return LiveReply(asked, model="m", spoken=spoken, counters=counters), counters


# --- questions -------------------------------------------------------------------------------


def test_question_holds_words_targets_and_options_and_nothing_later() -> None:
    text = question(query(), load_live_prompt(), spoken=False)
    assert "this 900 1100, there 1900 2200" in text
    assert "later" not in text
    assert 'a thing, pointed at 1000 ms; word "this" at 900 ms (probability 0.90)' in text
    assert "A. Mug\nB. Cup" in text
    assert "a. Left\nb. Right" in text
    assert '"point_list"' in text


def test_question_follows_the_language_of_the_words() -> None:
    text = question(query(language="zh"), load_live_prompt(), spoken=False)
    assert text.startswith("问题，时刻 3000 毫秒。")
    assert "可选物体：" in text


def test_question_without_words_options_and_targets_says_so() -> None:
    text = question(query(Task(), pointed=(), words=()), load_live_prompt(), spoken=True)
    assert "No words were heard" in text
    assert "No options are given" in text
    assert "found no target" in text
    assert "spoken sentence" in text


def test_prompt_with_a_wrong_name_to_fill_in_is_refused() -> None:
    prompt = load_live_prompt()
    with pytest.raises(ValueError, match=r"en\.now"):
        replace(prompt, en=replace(prompt.en, now="$then"))


# --- answers ---------------------------------------------------------------------------------


def test_written_answer_comes_referent_by_referent() -> None:
    text = (
        '```json\n{"selected_options": ["A", "b"], "point_list": ['
        '{"type": "target_object", "point": [100, 200], "timestamp": 1000}, '
        '{"type": "spatial_affordance", "point": [300, 400], "timestamp": 2000}]}\n```'
    )
    made, counters = reply(query(), spoken=False)
    cut = text.index("1000}") + 5
    first = made.so_far(text[:cut])
    assert first[-1].referents[0].point == (0.2, 0.1)
    assert not first[-1].final
    final = made.whole(text)
    assert [one.label for one in final.referents] == ["A", "b"]
    assert [one.deictic for one in final.referents] == [0, 1]
    assert (final.final, final.raw) == (True, text)
    assert counters.counts == {"reply_json_fence": 1}


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Option A, the mug, goes to option B, on the right.", ["A", "b"]),
        ("把选项 A 放到选项b。", ["A", "b"]),
        ("The mug goes to the right.", [None, None]),
        ("Option A.", [None, None]),
        ("Option Z goes to option b.", [None, None]),
    ],
)
def test_spoken_answer_is_read_for_labels(text: str, labels: list[str | None]) -> None:
    made, counters = reply(query(), spoken=True)
    final = made.whole(text)
    assert [one.label for one in final.referents] == labels
    assert [one.time for one in final.referents] == [1.0, 2.0]
    assert final.text == text
    assert ("reply_spoken_labels_missing" in counters.counts) == (labels == [None, None])


# --- turns -----------------------------------------------------------------------------------


def said(text: str = "", **more: Any) -> types.LiveServerMessage:
    turn = types.Content(role="model", parts=[types.Part(text=text)]) if text else None
    return types.LiveServerMessage(server_content=types.LiveServerContent(model_turn=turn, **more))


async def test_rest_of_an_interrupted_turn_is_not_the_next_answer() -> None:
    turns = Turns(speaks=False, counters=Counters())
    old = turns.ask()
    turns.take(said("old"))
    assert turns.interrupt()
    new = turns.ask()
    for message in (said(" rest"), said(interrupted=True), said(turn_complete=True)):
        turns.take(message)
    turns.take(said("new"))
    turns.take(said(generation_complete=True))
    assert (old.state, new.state, new.text) == ("interrupted", "whole", "new")
    assert turns.busy
    turns.take(said(turn_complete=True))
    assert not turns.busy


async def test_interruption_by_the_server_is_counted_and_drops_the_answer() -> None:
    counters = Counters()
    turns = Turns(speaks=False, counters=counters)
    turn = turns.ask()
    turns.take(said("half"))
    turns.take(said(interrupted=True))
    turns.take(said(turn_complete=True))
    assert (turn.state, turns.busy) == ("interrupted", False)
    assert counters.counts == {"live_answers_interrupted": 1}


async def test_unsent_question_outlives_a_connection() -> None:
    turns = Turns(speaks=False, counters=Counters())
    sent, waiting = turns.ask(), turns.ask()
    sent.sent = True
    turns.lose(Unreachable("gone"), for_good=False)
    assert (sent.state, waiting.state) == ("failed", "open")
    turns.lose(Unreachable("gone"), for_good=True)
    assert waiting.state == "failed"
    assert not turns.busy


async def test_thoughts_are_no_text_and_unasked_text_is_counted() -> None:
    counters = Counters()
    turns = Turns(speaks=False, counters=counters)
    turns.take(said("hello there"))
    assert counters.counts == {"live_unasked_text": 1}
    turn = turns.ask()
    thought = types.Content(parts=[types.Part(text="hm", thought=True), types.Part(text="yes")])
    content = types.LiveServerContent(model_turn=thought)
    turns.take(types.LiveServerMessage(server_content=content))
    assert turn.text == "yes"


async def test_speech_ends_with_the_turn_and_not_with_the_generation() -> None:
    turns = Turns(speaks=True, counters=Counters())
    turn = turns.ask()
    turns.take(said(output_transcription=types.Transcription(text="the ")))
    turns.take(said(generation_complete=True))
    turns.take(said(output_transcription=types.Transcription(text="mug")))
    assert turn.state == "open"
    turns.take(said(turn_complete=True))
    assert (turn.state, turn.text) == ("whole", "the mug")


# --- settings and failures -------------------------------------------------------------------


def test_settings_file_holds_the_defaults() -> None:
    assert load(LiveSettings, config_path("gemini_live.toml")) == LiveSettings()


@pytest.mark.parametrize(
    "wrong", [{"frames_per_second": 2.0}, {"attempts": 0}, {"answer_within": 0.0}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LiveSettings(**wrong)


@pytest.mark.parametrize(
    ("model", "speaks", "realtime"),
    [
        ("gemini-2.0-flash-live-001", False, False),
        ("gemini-live-2.5-flash-preview", False, False),
        ("gemini-2.5-flash-native-audio-preview-12-2025", True, False),
        ("models/gemini-3.1-flash-live-preview", True, True),
        ("some-model", False, False),
    ],
)
def test_name_tells_how_a_model_is_asked(model: str, speaks: bool, realtime: bool) -> None:
    settings = LiveSettings()
    assert (settings.speaks(model), settings.asks_in_realtime(model)) == (speaks, realtime)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (1008, "API key expired. Please renew the API key.", "rejected"),
        (1007, "API key not valid. Please pass a valid API key.", "rejected"),
        (1008, "Operation is not implemented, or supported, or enabled.", "rejected"),
        (1009, "message too big", "rejected"),
        (1011, "RESOURCE_EXHAUSTED", "overloaded"),
        (429, "", "overloaded"),
        (503, "", "overloaded"),
        (500, "", "server_fault"),
        (404, "", "rejected"),
        (403, "", "rejected"),
        (1001, "", "unreachable"),
        (1006, "Abnormal closure.", "unreachable"),
        (1012, "", "unreachable"),
    ],
)
def test_close_codes_and_statuses_have_a_kind(code: int, reason: str, kind: str) -> None:
    failure = LiveFault(model="m", where="h", key="k" * 9).closed(code, f"{reason} {'k' * 9}\n")
    assert isinstance(failure, AttemptFailed)
    assert failure.kind == kind
    assert "kkk" not in str(failure)
    assert "\n" not in str(failure)


def test_live_settings_with_an_unknown_key_are_refused(tmp_path: Any) -> None:
    path = tmp_path / "gemini_live.toml"
    path.write_text("frames_per_secnd = 1.0\n")
    with pytest.raises(ConfigError, match="frames_per_second"):
        load(LiveSettings, path)
