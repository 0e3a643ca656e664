"""Frames out of the middle of films as they are in the wild: those that play there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from replay.media.opening import SourceError
from replay.media.window import frame_times, frames_at
from replay.source import open_source
from streaming.events import VideoFrame
from tests.media_maker import write_clip

FILMS = (
    "awkward/imageio_cockatoo.mp4",  # states only in its first packet how it is to be decoded
    "awkward/mediabunny_edts.mp4",
    "awkward/mediabunny_rotate-buck-bunny.mp4",
    "made/vfr.mp4",
    "made/start3600.ts",
)


@pytest.mark.media
@pytest.mark.parametrize("name", FILMS)
def test_frames_of_the_middle_are_those_that_play_there(shared_media: Path, name: str) -> None:
    film = shared_media / name
    events = open_source(film, until=1.5, max_side=320).events()
    played = [event for event in events if isinstance(event, VideoFrame)]
    moments = [played[-1].time * share for share in (0.7, 0.9)]
    found = frames_at(film, moments, max_side=320)
    wanted = [max(f.time for f in played if f.time <= moment + 1e-4) for moment in moments]
    assert [frame.time for frame in found] == pytest.approx(wanted, abs=1e-6)
    by_time = {round(frame.time, 4): frame.image for frame in played}
    for frame in found:
        assert np.array_equal(frame.image, by_time[round(frame.time, 4)])
    times = [f.time for f in played if moments[0] <= f.time <= moments[1]]
    assert frame_times(film, moments[0], moments[1])[-len(times) :] == pytest.approx(
        times, abs=1e-4
    )


def test_sound_without_pictures_is_refused(tmp_path: Path) -> None:
    film = write_clip(tmp_path / "a.mp4", seconds=1.0, blind=True)
    with pytest.raises(SourceError, match="has no pictures"):
        frames_at(film, [0.5])
