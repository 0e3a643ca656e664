"""What a reader of a feed got, and how long after it happened."""

from __future__ import annotations

from typing import Any

import pytest

from client.publishing.server_clock import Compared
from replay.measure.live_feed import Received, Watched
from replay.measure.live_figures import Samples, Spoken, first_seen, match_words
from replay.measure.live_processes import LiveMeasureError

LEAD = 0.05
ZERO = 10.0


def word(text: str, onset: float, offset: float, *, emitted: float) -> dict[str, Any]:
    return {
        "type": "Word",
        "text": text,
        "onset": onset,
        "offset": offset,
        "utterance": 0,
        "emitted_at": emitted,
    }


def watched(*lines: dict[str, Any], captured: bool = True) -> Watched:
    """A session whose clock is 50 ms behind its sender's, read on a clock 3 s behind the server's.

    Each line came when it was emitted.
    """
    way: dict[str, list[float]] = {"network_ms": [40.0], "decoding_ms": [10.0], "whole_ms": [50.0]}
    journey = {"lead_ms": 1000 * LEAD, "sound": way, "pictures": way, "feed_ms": [1.0]}
    end = {"type": "End", "duration": 5.0, "wall": {"journey": journey}}
    said = [{"type": "Captured", "zero": 1000 * ZERO, "within": 0.1}] if captured else []
    result = Watched(origin=ZERO + LEAD, down=[0.004])
    result.clock.compare(Compared(ahead=3000.0, way=0.2))
    for line in (*said, *({"known_at": 2.0, **line} for line in lines), end):
        at = ZERO + LEAD + line.get("emitted_at", 0.0) - 3.0
        result.received.append(Received(line=line, at=at))
    return result


def test_a_word_counts_from_when_its_truth_was_spoken() -> None:
    samples = Samples()
    samples.add(watched(word("mug", 1.0, 1.3, emitted=2.0)), [Spoken(text="Mug.", offset=1.25)])
    assert samples.events["word"] == [pytest.approx(2.0 + LEAD - 1.25)]
    assert samples.media["word"] == [pytest.approx(2.0 - 1.25)]
    assert (samples.matched, samples.spoken) == (1, 1)


def test_without_truth_it_counts_from_where_it_was_heard() -> None:
    samples = Samples()
    samples.add(watched(word("mug", 1.0, 1.3, emitted=2.0)), [])
    assert samples.events["word"] == [pytest.approx(2.0 + LEAD - 1.3)]


def test_a_word_that_nobody_spoke_counts_for_nothing() -> None:
    samples = Samples()
    samples.add(watched(word("mug", 1.0, 1.3, emitted=2.0)), [Spoken(text="cup", offset=1.25)])
    assert samples.events["word"] == []
    assert (samples.matched, samples.spoken) == (0, 1)


def test_what_only_the_end_brought_out_is_counted_apart() -> None:
    samples = Samples()
    samples.add(watched({**word("mug", 1.0, 1.3, emitted=2.0), "finish": True}), [])
    assert samples.events["word"] == []
    assert samples.at_end["word"] == 1


def test_a_binding_counts_from_the_later_of_word_and_apex() -> None:
    lines = (
        {"type": "Deictic", "index": 0, "offset": 1.5, "emitted_at": 2.2},
        {"type": "Stroke", "index": 4, "apex": 1.9, "emitted_at": 2.1},
        {"type": "Binding", "deictic": 0, "stroke": 4, "emitted_at": 2.5},
        {"type": "Binding", "deictic": 0, "stroke": None, "emitted_at": 2.5},
    )
    samples = Samples()
    samples.add(watched(*lines), [])
    assert samples.events["binding"] == pytest.approx([0.6 + LEAD])
    assert samples.events["alone"] == pytest.approx([1.0 + LEAD])
    assert samples.events["stroke"] == pytest.approx([0.2 + LEAD])


def test_an_answer_counts_from_its_first_part_and_from_its_last() -> None:
    lines = (
        word("mug", 1.0, 1.3, emitted=2.0),
        {"type": "Answer", "turn": 0, "final": False, "emitted_at": 2.3},
        {"type": "Answer", "turn": 0, "final": True, "emitted_at": 3.3},
    )
    samples = Samples()
    samples.add(watched(*lines), [])
    assert samples.events["answer_first"] == pytest.approx([1.0 + LEAD])
    assert samples.events["answer_last"] == pytest.approx([2.0 + LEAD])


def test_what_transport_adds_is_the_slower_way_in_and_the_way_out() -> None:
    samples = Samples()
    assert samples.added("p95") is None
    samples.add(watched(), [])
    assert samples.added("p95") == pytest.approx(0.054)


def test_a_sender_that_did_not_compare_clocks_cannot_be_measured() -> None:
    with pytest.raises(LiveMeasureError, match="Captured"):
        Samples().add(watched(captured=False), [])


def test_a_word_is_seen_when_a_hypothesis_first_shows_it() -> None:
    shown = {"text": "Mug,", "onset": 1.1, "offset": 1.3}
    partials = [
        Received(line={"type": "Partial", "utterance": 1, "words": [shown]}, at=0.5),
        Received(line={"type": "Partial", "utterance": 0, "words": [shown]}, at=1.5),
    ]
    committed = Received(line=word("mug", 1.0, 1.3, emitted=2.0), at=2.0)
    assert first_seen(committed, partials) is partials[1]
    assert first_seen(committed, partials[:1]) is committed


def test_words_are_matched_in_order_whatever_they_are_cut_into() -> None:
    english = [Spoken(text=text, offset=1.0) for text in ("Put", "this", "on", "this")]
    assert match_words(english, ["put", "it", "on", "this."]) == {0: 0, 2: 2, 3: 3}
    chinese = [Spoken(text=text, offset=1.0) for text in ("把", "这个", "放在", "那里")]
    assert match_words(chinese, ["把这", "个", "放", "在", "那里"]) == {
        0: 1,
        1: 1,
        2: 2,
        3: 2,
        4: 3,
    }
