"""What each input interface sends, in both languages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from streaming.asking.answer_schema import answer_schema, labels_of
from streaming.asking.interface_settings import InterfaceSettings
from streaming.asking.interfaces import INTERFACES, compose, film_type, needs, spoken_text
from streaming.asking.prompts import load_prompts
from streaming.asking.request import FilmPart, Part, PicturePart, Request, TextPart
from streaming.events import Word
from streaming.grounding import ModelError, Query, Task
from streaming.grounding_prefix import Prefix
from tests.query_maker import PLACED, frame, query, words

PROMPTS = load_prompts()


def sent(asked: Query, interface: str, **fields: Any) -> Request:
    fields = {"coord_order": "xy"} | fields
    return compose(asked, interface=interface, prompts=PROMPTS, **fields)


def shape(parts: tuple[Part, ...]) -> list[str]:
    """The parts, each by what it begins with."""
    said = []
    for part in parts:
        match part:
            case TextPart():
                said.append(part.text.split("\n")[0][:24])
            case PicturePart():
                said.append("PICTURE")
            case FilmPart():
                said.append("FILM")
    return said


def texts(request: Request) -> str:
    return "\n".join(part.text for part in request.parts if isinstance(part, TextPart))


def options_en() -> str:
    return PROMPTS.in_language("en").texts.scenario.placed[:24]


def options_zh() -> str:
    return PROMPTS.in_language("zh").texts.scenario.placed[:24]


def test_video_is_the_film_and_no_word() -> None:
    request = sent(query(), "video")
    assert shape(request.parts) == [options_en(), "FILM", "Now watch and listen, an"]
    assert request.parts[1] == FilmPart(content=b"film", until=4.0)
    assert request.words == "none"
    assert "this here" not in texts(request)


def test_frames_have_their_times_and_the_words_as_plain_text() -> None:
    request = sent(query(), "frames")
    assert shape(request.parts) == [
        options_en(),
        "<instruction>Put this he",
        *[line for k in range(8) for line in (f"<timestamp_ms>{500 * k}", "PICTURE")],
        "Now answer with the JSON",
    ]
    assert request.words == "ours"
    assert request.parts[1].until == pytest.approx(2.8)
    assert [part.until for part in request.parts[2:6]] == [0.0, 0.0, 0.5, 0.5]
    assert "<asr_data>" not in texts(request)


def test_frames_without_the_transcript_are_those_of_the_authors() -> None:
    request = sent(query(), "frames", settings=InterfaceSettings(frames_transcript=False))
    assert "<instruction>" not in texts(request)
    assert request.words == "none"
    assert "You are not told what was said" in request.system


def test_words_with_times_are_in_the_benchmarks_own_form() -> None:
    said = query(words_from="benchmark", transcript="Put this, here!")
    request = sent(said, "frames+asr")
    line = request.parts[1].text.split("\n")[1]  # type: ignore[union-attr]
    told = json.loads(line.removeprefix("<asr_data>").removesuffix("</asr_data>"))
    assert told["text"] == "Put this, here!"
    assert told["words"][1] == {"text": "this", "begin_time": 1500, "end_time": 1800}
    assert request.words == "benchmark"
    assert shape(request.parts)[2:4] == ["<timestamp_ms>0", "PICTURE"]


def test_word_without_a_time_of_its_own_has_none() -> None:
    untimed = replace(words()[1], timed=False)
    request = sent(query(words=(untimed,)), "frames+asr")
    assert '"words": [{"text": "this"}]' in texts(request)


def test_ablation_without_frame_times_keeps_the_words_times() -> None:
    request = sent(query(), "no_frame_timestamps")
    assert "<timestamp_ms>" not in texts(request) + request.system
    assert '"begin_time": 1500' in texts(request)
    assert shape(request.parts)[2:-1] == ["PICTURE"] * 8


def test_ablation_without_word_times_keeps_the_frames_times() -> None:
    request = sent(query(), "no_word_timing")
    assert '<asr_data>{"text": "Put this here."}</asr_data>' in texts(request)
    assert "<timestamp_ms>1500" in texts(request)


def test_chinese_query_is_asked_in_chinese() -> None:
    request = sent(query(language="zh"), "frames+asr")
    assert request.prompt == "zh/1"
    assert shape(request.parts)[0] == options_zh()
    assert "<instruction>放这个那里</instruction>" in texts(request)
    assert '"text": "这个", "begin_time": 1500' in texts(request)
    assert "毫秒" in request.system


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("interface", INTERFACES)
def test_model_is_told_its_own_order_of_coordinates(interface: str, language: str) -> None:
    asked = query(language=language)
    for order, wanted, other in (("xy", "[x, y]", "[y, x]"), ("yx", "[y, x]", "[x, y]")):
        system = sent(asked, interface, coord_order=order).system
        assert wanted in system
        assert other not in system
        assert "$" not in system


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("interface", INTERFACES)
def test_system_names_every_key_of_the_answer(interface: str, language: str) -> None:
    request = sent(query(language=language), interface)
    for key in ("reasoning", "explicit_command", "selected_options", "point_list", "type"):
        assert f'"{key}"' in request.system
    for key in ("description", "point", "timestamp", "target_object", "spatial_affordance"):
        assert f'"{key}"' in request.system


@pytest.mark.parametrize("interface", INTERFACES)
def test_options_are_in_two_parts(interface: str) -> None:
    text = sent(query(), interface).parts[0].text  # type: ignore[union-attr]
    assert "Things to choose from:\nA. Red cup, left\nB. Blue cup, right\n\n" in text
    assert text.endswith("Places to choose from:\na. Free space in front\nb. Free space behind")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("interface", INTERFACES)
def test_silent_clip_is_said_to_be_silent(interface: str, language: str) -> None:
    silent = replace(PLACED, instruction=1, referents=1, space_choices=())
    request = sent(query(task=silent, language=language), interface)
    said = PROMPTS.in_language(language).texts.speech.silent
    assert said in texts(request)
    assert request.words == "none"
    # Whoever heard words in silence: they are not passed on.
    for word in words(language)[1:]:
        assert f'"{word.text}"' not in texts(request)
    assert "<instruction>" not in texts(request)


def test_stream_without_words_says_that_none_were_heard() -> None:
    request = sent(query(words=(), task=Task()), "frames+asr")
    assert "No words were heard so far." in texts(request)
    assert request.words == "none"


@pytest.mark.parametrize("interface", INTERFACES)
def test_question_without_options_asks_for_words(interface: str) -> None:
    request = sent(query(task=Task()), interface)
    assert "No options are given" in texts(request)
    assert "selected_options" not in request.system
    assert request.schema is not None
    assert "selected_options" not in request.schema["properties"]
    assert "minItems" not in request.schema["properties"]["point_list"]


def test_scenario_follows_the_instruction_type_or_else_the_number() -> None:
    scenario = PROMPTS.in_language("en").texts.scenario
    wanted = ["silent", "taken", "placed", "placed_beside", "placed_then_taken", "placed_twice"]
    for instruction, name in enumerate(wanted, 1):
        task = replace(PLACED, instruction=instruction)
        text = sent(query(task=task), "frames").parts[0].text  # type: ignore[union-attr]
        assert text.startswith(getattr(scenario, name))
    counted = sent(query(task=Task(referents=3)), "frames").parts[0].text  # type: ignore[union-attr]
    assert counted.startswith("The answer has 3 entries: target_object, spatial_affordance, target")
    alone = sent(query(task=Task(referents=1)), "frames").parts[0].text  # type: ignore[union-attr]
    assert alone.startswith("The answer has 1 entry: target_object.")
    free = sent(query(task=Task()), "frames").parts[0].text  # type: ignore[union-attr]
    assert free.startswith(scenario.open)


def test_last_frame_follows_live_but_not_in_a_benchmark() -> None:
    def pictures(asked: Query, **fields: Any) -> list[PicturePart]:
        request = sent(asked, "frames", **fields)
        return [part for part in request.parts if isinstance(part, PicturePart)]

    assert [part.until for part in pictures(query())][-1] == 3.5
    assert [part.until for part in pictures(query(task=Task()))][-1] == 4.0
    always = InterfaceSettings(frames_last="always")
    assert [part.until for part in pictures(query(), settings=always)][-1] == 4.0
    never = InterfaceSettings(frames_last="never")
    assert [part.until for part in pictures(query(task=Task()), settings=never)][-1] == 3.5


def test_last_frame_is_not_sent_twice() -> None:
    sampled = Prefix(frames=(frame(3.5), frame(4.0)))
    request = sent(query(task=Task(), prefix=sampled), "frames")
    assert shape(request.parts).count("PICTURE") == 2


@pytest.mark.parametrize("interface", INTERFACES)
def test_same_query_gives_the_same_bytes(interface: str) -> None:
    one, other = sent(query(), interface), sent(query(), interface)
    assert one.described() == other.described()


def test_query_that_lacks_what_an_interface_needs_is_refused() -> None:
    bare = query(prefix=Prefix())
    with pytest.raises(ModelError, match="the interface video needs the film"):
        sent(bare, "video")
    with pytest.raises(ModelError, match=r"the interface frames\+asr needs sampled frames"):
        sent(bare, "frames+asr")
    with pytest.raises(ModelError, match="no interface 'sound'; use one of video, frames"):
        sent(bare, "sound")
    with pytest.raises(ModelError, match="no interface"):
        needs("sound")


def test_film_with_nothing_to_send_is_a_model_error() -> None:
    class Nothing:
        def until(self, time: float) -> bytes:
            raise ValueError("a.mp4: nothing of it lies before 0.000 s")

    with pytest.raises(ModelError, match=r"nothing to send: a\.mp4: nothing of it lies before"):
        sent(query(prefix=Prefix(film=Nothing())), "video")


def test_needs_are_those_that_compose_asks_for() -> None:
    assert needs("video") == {"film"}
    assert needs("frames") == needs("no_word_timing") == {"frames"}
    assert "perception" in needs("bound")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\0\0\0\x14ftypqt  \0\0", "video/quicktime"),
        (b"\0\0\0\x14ftypisom\0\0", "video/mp4"),
        (b"\x1a\x45\xdf\xa3\x9fB\x82\x84webm", "video/webm"),
        (b"\x1a\x45\xdf\xa3\x9fB\x82\x88matroska", "video/x-matroska"),
        (b"RIFF\0\0\0\0AVI LIST", "video/x-msvideo"),
        (b"anything", "video/mp4"),
    ],
)
def test_film_says_what_it_is_by_its_first_bytes(content: bytes, kind: str) -> None:
    assert film_type(content) == kind


def test_running_text_has_spaces_but_between_chinese_words() -> None:
    said = tuple(Word(text=text, onset=0, offset=1) for text in ("把", "这个", "OK", "放", "here"))
    assert spoken_text(said) == "把这个 OK 放 here"


def test_schema_limits_labels_and_counts() -> None:
    schema = answer_schema(PLACED)
    options = schema["properties"]["selected_options"]
    assert options["items"]["enum"] == ["A", "B", "a", "b"]
    assert (options["minItems"], options["maxItems"]) == (2, 2)
    target = schema["properties"]["point_list"]["items"]
    assert target["required"] == ["type", "description", "point", "timestamp"]
    assert list(schema["properties"]) == [
        "reasoning",
        "explicit_command",
        "selected_options",
        "point_list",
    ]
    json.dumps(schema)


def test_labels_are_what_stands_before_the_full_stop() -> None:
    assert labels_of(("A. Cup. Red", " b .Space", "A. Cup again")) == ("A", "b")


def test_truth_is_nowhere_in_a_request() -> None:
    # The kinds of targets are told by the scenario's words only, as the benchmark does.
    assert answer_schema(replace(PLACED, instruction=4)) == answer_schema(PLACED)
