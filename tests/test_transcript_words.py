"""Tokens to words and times; what is cut off; what is moved out of pauses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.transcript_agreement import (
    common_prefix,
    cut_crammed,
    cut_loops,
    cut_past_end,
    prefix_costs,
)
from streaming.transcript_hearing import Room, levelled, out_of_pauses
from streaming.transcript_recognizer import Aligned, Decoded
from streaming.transcript_sound import Sound
from streaming.transcript_words import Heard, assemble, fold, spell_out

VOCABULARY = frozenset({"这个", "那里", "然后", "拿给"})


def heard(onset: float, offset: float) -> Heard:
    return Heard(
        text="this", key="this", first=0, core=1, last=1, whole=True, onset=onset, offset=offset
    )


def steps(count: int, length: float = 0.2) -> list[Aligned]:
    return [
        Aligned(onset=index * length, offset=(index + 1) * length, probability=0.9)
        for index in range(count)
    ]


def texts(pieces: list[bytes], *, vocabulary: frozenset[str] = VOCABULARY) -> list[str]:
    words = assemble(
        range(len(pieces)), steps(len(pieces)), pieces.__getitem__, vocabulary=vocabulary
    )
    return [word.text for word in words]


def test_english_words_begin_at_a_space_and_keep_their_marks() -> None:
    assert texts([b" I", b"'m", b" here", b",", b" ok", b"ay", b"."]) == ["I'm", "here,", "okay."]


def test_marks_have_no_share_in_a_words_time() -> None:
    pieces = [b" this", b",", b" one"]
    first, second = assemble(range(3), steps(3), pieces.__getitem__)
    assert (first.offset, first.core, first.last) == (pytest.approx(0.2), 1, 2)
    assert second.onset == pytest.approx(0.4)


def test_leading_marks_join_the_word_behind() -> None:
    assert texts([b" \xe2\x80\x9c", b"this", b" one"]) == ["\u201cthis", "one"]


def test_chinese_words_stay_together_and_other_characters_stand_alone() -> None:
    pieces = ["请", "把", "这", "个", "，", "放", "到", "那里", "。"]
    assert texts([piece.encode() for piece in pieces]) == [
        "请",
        "把",
        "这个，",
        "放",
        "到",
        "那里。",
    ]


def test_two_words_of_one_token_share_its_time() -> None:
    pieces = ["然后那里".encode()]
    first, second = assemble([0], steps(1, 1.0), pieces.__getitem__, vocabulary=VOCABULARY)
    assert (first.text, first.onset, first.offset) == ("然后", 0.0, pytest.approx(0.5))
    assert (second.text, second.onset, second.offset) == ("那里", pytest.approx(0.5), 1.0)
    assert (first.whole, second.whole) == (False, True)


def test_character_cut_in_three_tokens_is_one_character() -> None:
    raw = "砸".encode()
    assert texts([raw[:1], raw[1:2], raw[2:], "自".encode()]) == ["砸", "自"]


def test_unfinished_character_is_left_out() -> None:
    raw = "砸".encode()
    assert texts(["自".encode(), raw[:2]]) == ["自"]


@given(st.lists(st.binary(min_size=0, max_size=4), max_size=12))
def test_no_bytes_make_a_broken_character(pieces: list[bytes]) -> None:
    units = spell_out(range(len(pieces)), pieces.__getitem__)
    assert "\ufffd" not in "".join(unit.text for unit in units)
    assert all(before.last <= behind.first for before, behind in itertools.pairwise(units))


def test_mixed_text_parts_at_chinese() -> None:
    assert texts([b" iPhone", "放".encode(), b" A", b"4"]) == ["iPhone", "放", "A4"]


def test_folding_drops_case_marks_and_outer_quotes() -> None:
    assert fold("“Here’s,”") == "here's"


def test_text_behind_the_end_of_the_sound_is_cut() -> None:
    decoded = Decoded(tokens=(1, 2, 3, 4), marks=((0, 0.0), (2, 3.96), (2, 3.96), (4, 8.0)))
    assert cut_past_end(decoded, duration=4.0) == (1, 2)


def test_text_before_the_end_of_the_sound_stays() -> None:
    decoded = Decoded(tokens=(1, 2, 3, 4), marks=((0, 0.0), (2, 2.0), (2, 2.0), (4, 3.9)))
    assert cut_past_end(decoded, duration=4.0) == (1, 2, 3, 4)


def test_pattern_three_times_is_a_loop_and_stands_once() -> None:
    assert cut_loops([9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]) == 4


def test_word_said_four_times_is_no_loop() -> None:
    assert cut_loops([5, 7, 7, 7, 7]) == 5


def test_word_said_forever_is_a_loop() -> None:
    assert cut_loops([5] + [7] * 40) == 2


def test_tokens_without_time_are_cut() -> None:
    aligned = steps(3) + [Aligned(onset=0.6, offset=0.6, probability=0.9)] * 5
    assert cut_crammed(aligned) == 3


@given(st.lists(st.sampled_from("ab"), max_size=6), st.lists(st.sampled_from("ab"), max_size=6))
def test_prefix_costs_are_edit_distances(one: list[str], other: list[str]) -> None:
    costs = prefix_costs(one, other)
    assert len(costs) == len(other) + 1
    assert costs[0] == len(one)
    assert all(abs(left - right) <= 1 for left, right in itertools.pairwise(costs))
    if one == other:
        assert costs[-1] == 0


def test_common_prefix_counts_equal_entries() -> None:
    assert common_prefix(["a", "b", "c"], ["a", "b", "d", "c"]) == 2


def test_word_stretched_back_over_a_pause_begins_behind_it() -> None:
    moved = out_of_pauses(heard(1.0, 3.0), [(1.2, 2.6)])
    assert (moved.onset, moved.offset) == (2.6, 3.0)


def test_word_stretched_on_into_a_pause_ends_before_it() -> None:
    moved = out_of_pauses(heard(1.0, 3.0), [(1.6, 2.9)])
    assert (moved.onset, moved.offset) == (1.0, 1.6)


def test_word_inside_a_pause_moves_to_its_nearer_end() -> None:
    moved = out_of_pauses(heard(2.3, 2.5), [(1.2, 2.6)])
    assert (moved.onset, moved.offset) == (2.6, 2.6)


def test_words_get_room_one_behind_the_other() -> None:
    room = Room(1.0, 2.0)
    first = room.place(heard(0.5, 1.4), 0, "en")
    second = room.place(heard(1.2, 1.3), 0, "en")
    third = room.place(heard(1.9, 2.7), 0, "en")
    assert (first.onset, first.offset) == (1.0, 1.4)
    assert (second.onset, second.offset) == (1.4, pytest.approx(1.44))
    assert (third.onset, third.offset) == (1.9, 2.0)


def test_quiet_sound_is_raised_and_silence_stays() -> None:
    assert np.abs(levelled(np.full(10, 0.1, np.float32), 0.9)).max() == pytest.approx(0.9)
    assert not levelled(np.zeros(10, np.float32), 0.9).any()


def test_sound_keeps_time_when_the_old_is_dropped() -> None:
    sound = Sound(10.0, voice=10.1)
    for value in range(4):
        sound.append(np.full(1600, value, np.float32), voiced=value != 1)
    sound.drop(1600)
    assert sound.between(3200, 3201)[0] == 2.0
    assert sound.time(3200) == pytest.approx(10.2)
    with pytest.raises(ValueError, match="dropped"):
        sound.between(0, 10)


def test_pauses_are_known_by_media_time() -> None:
    sound = Sound(10.0, voice=10.1)
    for voiced in (True, False, False, True, False, False):
        sound.append(np.zeros(1600, np.float32), voiced=voiced)
    assert sound.pauses() == [
        (10.0, pytest.approx(10.1)),
        (pytest.approx(10.1), pytest.approx(10.3)),
        (pytest.approx(10.4), pytest.approx(10.6)),
    ]
