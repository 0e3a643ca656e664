"""Responses on disk: written through, mended after a crash, claimed by one process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.asking.endpoint import Completion, Generation, TokenChance, Usage
from streaming.asking.responses import (
    Response,
    ResponseCache,
    ResponsesError,
    describe_response,
    encode_response,
    holds_responses,
    read_responses,
    response_key,
)
from streaming.models.scripted_endpoint import ScriptedEndpoint
from tests.asking_fakes import TEXT, FakeEndpoint, request

COLD = Generation()


def response(text: str = TEXT, *, asked: str = "What is meant?") -> Response:
    completion = Completion(
        text=text,
        usage=Usage(sent=5, written=7),
        chances=(TokenChance(token="A", logprob=-0.25),),
        served_by="fake-1",
    )
    return describe_response(FakeEndpoint(), COLD, request(asked), completion)


def test_response_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "responses.jsonl"
    with ResponseCache(path) as cache:
        cache.add(response())
        cache.add(response())
        assert cache.get(response().key) == response()
    with ResponseCache(path) as again:
        assert list(again) == [response()]
    assert path.read_bytes().count(b"\n") == 1


@given(st.text())
def test_any_text_survives(text: str) -> None:
    line = encode_response(response(text))
    assert b"\n" not in line
    assert json.loads(line)["text"] == text


def test_half_a_surrogate_pair_survives(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with ResponseCache(path) as cache:
        cache.add(response("bad \ud800 text \u2028 end"))
    (found,) = read_responses(path)
    assert found.completion.text == "bad \ud800 text \u2028 end"


@pytest.mark.parametrize("kept", [0, 1, 40, -2])
def test_torn_last_line_is_passed_over_and_mended(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "r.jsonl"
    with ResponseCache(path) as cache:
        cache.add(response())
        cache.add(response(asked="and now?"))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[: first + kept] if kept >= 0 else whole[:kept])
    with ResponseCache(path) as cache:
        assert len(cache) == 1
        assert cache.passed_over == (kept != 0)
        cache.add(response(asked="and now?"))
    assert path.read_bytes() == whole


def test_line_that_lacks_only_its_end_was_paid_for_and_counts(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(encode_response(response()))
    with ResponseCache(path) as cache:
        assert len(cache) == 1
        cache.add(response(asked="and now?"))
    assert len(read_responses(path)) == 2


def test_second_writer_is_refused_in_this_and_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with ResponseCache(path):
        with pytest.raises(ResponsesError, match="another process is writing responses"):
            ResponseCache(path)
        script = (
            "import sys; from pathlib import Path; "
            "from streaming.asking.responses import ResponseCache, ResponsesError\n"
            "try: ResponseCache(Path(sys.argv[1]))\n"
            "except ResponsesError: sys.exit(7)"
        )
        ran = subprocess.run([sys.executable, "-c", script, str(path)], cwd=Path.cwd())
        assert ran.returncode == 7
    ResponseCache(path).close()


def test_other_files_are_not_taken_for_responses_nor_harmed(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    content = '{"type":"Header"}\n{"type":"End"}\n'
    path.write_text(content)
    assert not holds_responses(path)
    with pytest.raises(ResponsesError, match="holds no recorded responses"):
        ResponseCache(path)
    assert path.read_text() == content
    path.write_text("my notes")
    with pytest.raises(ResponsesError, match="holds no recorded responses"):
        ResponseCache(path)
    assert path.read_text() == "my notes"
    with pytest.raises(ResponsesError, match="No such file"):
        read_responses(tmp_path / "none.jsonl")


@pytest.mark.parametrize("count", ["-1", "1e999", "NaN", '"7"', "true", "1.5"])
def test_tokens_that_cannot_be_counted_are_no_response(tmp_path: Path, count: str) -> None:
    good, bad = encode_response(response()), encode_response(response(asked="And this?"))
    path = tmp_path / "responses.jsonl"
    bad = re.sub(rb'"sent": \d+', b'"sent": ' + count.encode(), bad)
    path.write_bytes(good + b"\n" + bad + b"\n")
    with ResponseCache(path) as cache:
        assert (len(cache), cache.passed_over) == (1, 1)


def test_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.jsonl"
    with ResponseCache(path) as cache:
        cache.add(response())
        before = path.read_bytes()

        def full(file: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ResponsesError, match="No space left"):
            cache.add(response(asked="and now?"))
        assert path.read_bytes() == before
        assert len(cache) == 1


def test_key_holds_all_that_decides_the_text() -> None:
    key = response_key(FakeEndpoint(), COLD, request())
    assert key == response_key(FakeEndpoint(), replace(COLD, within=5.0), request())
    others = {
        response_key(FakeEndpoint(identity={"model": "two"}), COLD, request()),
        response_key(FakeEndpoint(), replace(COLD, max_tokens=5), request()),
        response_key(FakeEndpoint(), COLD, request("else")),
        response_key(FakeEndpoint(), COLD, request(picture=b"other")),
    }
    assert len(others - {key}) == 4


@pytest.mark.parametrize(
    ("completion", "generation", "again"),
    [
        (Completion(text="x"), COLD, True),
        (Completion(text="cut o", finish="length"), COLD, True),
        (Completion(text="x", repeatable=False), COLD, False),
        (Completion(text="x"), replace(COLD, temperature=0.2), False),
    ],
)
def test_only_what_would_come_again_is_used_again(
    completion: Completion, generation: Generation, again: bool, tmp_path: Path
) -> None:
    made = describe_response(FakeEndpoint(), generation, request(), completion)
    with ResponseCache(tmp_path / "r.jsonl") as cache:
        cache.add(made)
        assert (cache.get(made.key) is not None) == again
    with ResponseCache(tmp_path / "r.jsonl") as cache:
        assert (cache.get(made.key) is not None) == again
        assert list(cache) == [made]  # recorded all the same


def test_of_texts_that_do_not_come_again_the_last_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with ResponseCache(path) as cache:
        for text in ("first", "second"):
            completion = Completion(text=text, repeatable=False)
            cache.add(describe_response(FakeEndpoint(), COLD, request(), completion))
    replayed = ScriptedEndpoint(path)._find(request(), COLD)
    assert replayed.text == "second"


def test_pictures_do_not_land_in_a_record() -> None:
    completion = Completion(text="x")
    line = encode_response(
        describe_response(FakeEndpoint(), COLD, request(picture=b"SECRETPICTURE"), completion)
    )
    assert b"SECRET" not in line


def test_what_a_killed_process_had_is_there_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    script = (
        "import sys; from pathlib import Path\n"
        "from streaming.asking.responses import ResponseCache\n"
        "from tests.test_asking_responses import response\n"
        "with ResponseCache(Path(sys.argv[1])) as cache:\n"
        "    for number in range(100_000):\n"
        "        cache.add(response('x' * 2000, asked=str(number)))\n"
        "        print(number, flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writing:
        assert writing.stdout is not None
        had = next(int(line) for line in writing.stdout if int(line) >= 20)
        writing.kill()
        had = max([had, *(int(line) for line in writing.stdout if line.endswith("\n"))])
    with ResponseCache(path) as cache:
        assert len(cache) >= had + 1
        assert cache.get(response("", asked=str(had)).key) is not None
        assert all(len(one.completion.text) == 2000 for one in cache)
