"""The question about a whole clip, made from its file alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.asking.clip_query import benchmark_words, query_from_clip
from replay.ecog import EcogWord
from replay.jobs import Job, jobs_from
from streaming.asking.interfaces import INTERFACES, compose, needs
from streaming.asking.prompts import load_prompts
from streaming.asking.request import FilmPart
from tests.ecog_maker import TreeMaker, clip
from tests.media_maker import write_clip

WORDS = (
    EcogWord(text="Put", begin_ms=100, end_ms=300),
    EcogWord(text="this"),
    EcogWord(text="here.", begin_ms=900, end_ms=1200),
)


def job(folder: Path, **fields: float) -> Job:
    path = write_clip(folder / "clip.mp4", seconds=2.0, fps=20)
    return Job(name="clip", path=path, language="en", **fields)


def test_benchmarks_words_keep_their_times() -> None:
    said = benchmark_words(clip(words=WORDS))
    assert [(word.text, word.onset, word.offset) for word in said if word.timed] == [
        ("Put", 0.1, 0.3),
        ("here.", 0.9, 1.2),
    ]


def test_word_without_a_time_lies_between_its_neighbours() -> None:
    untimed = benchmark_words(clip(words=WORDS))[1]
    assert (untimed.onset, untimed.offset, untimed.timed) == (0.3, 0.9, False)


def test_words_with_impossible_times_are_untimed() -> None:
    words = (EcogWord(text="a", begin_ms=500, end_ms=400), EcogWord(text="b"))
    assert [word.timed for word in benchmark_words(clip(words=words))] == [False, False]


def test_query_is_about_the_whole_clip(tmp_path: Path) -> None:
    asked = query_from_clip(job(tmp_path), (), {"frames", "film"})
    assert asked.final
    assert asked.asked_at == pytest.approx(2.0, abs=0.03)
    assert asked.last is not None
    assert asked.last.time == pytest.approx(1.95)
    assert [frame.time for frame in asked.prefix.frames] == [0.0, 0.5, 1.0, 1.5]
    assert asked.prefix.film is not None
    assert asked.prefix.film.until(asked.asked_at) == (tmp_path / "clip.mp4").read_bytes()


def test_only_what_is_needed_is_gathered(tmp_path: Path) -> None:
    one = job(tmp_path)
    assert query_from_clip(one, (), {"film"}).prefix.frames == ()
    assert query_from_clip(one, (), {"frames"}).prefix.film is None
    with pytest.raises(ValueError, match="perception cannot be had from the clip alone"):
        query_from_clip(one, (), needs("bound"))


def test_stream_that_is_cut_short_is_asked_about_as_far_as_it_goes(tmp_path: Path) -> None:
    said = benchmark_words(clip(words=WORDS))
    asked = query_from_clip(job(tmp_path, until=0.8), said, {"frames", "film"})
    assert asked.asked_at <= 0.8
    assert [word.text for word in asked.words] == ["Put", "this"]
    request = compose(asked, interface="video", prompts=load_prompts(), coord_order="xy")
    film = next(part for part in request.parts if isinstance(part, FilmPart))
    assert film.content != (tmp_path / "clip.mp4").read_bytes()


def test_benchmarks_transcript_goes_with_its_own_words_only(tmp_path: Path) -> None:
    TreeMaker(tmp_path).clip(
        asr_result={"text": "Take this!", "words": [{"text": "Take"}, {"text": "this"}]}
    ).write()
    (one,) = jobs_from([tmp_path], language="auto").jobs
    assert one.clip is not None
    said = benchmark_words(one.clip)
    theirs = query_from_clip(one, said, {"frames"})
    ours = query_from_clip(one, said, {"frames"}, words_from="ours")
    assert (theirs.words_from, theirs.transcript) == ("benchmark", "Take this!")
    assert (ours.words_from, ours.transcript) == ("ours", "")


@pytest.mark.media
def test_every_clip_can_be_put_through_every_interface_of_the_benchmark(shared_media: Path) -> None:
    prompts = load_prompts()
    for one in jobs_from([shared_media / "ecog-mini"], language="auto").jobs[::7]:
        assert one.clip is not None
        asked = query_from_clip(one, benchmark_words(one.clip), {"frames", "film"})
        for interface in INTERFACES[:-1]:
            request = compose(asked, interface=interface, prompts=prompts, coord_order="yx")
            assert request.prompt.startswith(one.clip.language)
