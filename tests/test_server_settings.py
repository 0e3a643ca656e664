"""How sessions share a machine."""

from __future__ import annotations

import pytest

from server.settings import Level, LiveLimits, LoadPolicy, ServerSettings, read_server_settings
from streaming.config import build


def test_the_shipped_settings_can_be_read() -> None:
    settings = read_server_settings()
    assert settings.sessions == 4
    assert settings.load.levels[0] == Level(pictures=30.0, stride=1)


def test_pictures_go_first_and_hops_after_them() -> None:
    load = read_server_settings().load
    levels = [load.level(sessions, 2) for sessions in (1, 2, 3, 4)]
    assert [level.pictures for level in levels] == sorted(
        (level.pictures for level in levels), reverse=True
    )
    assert [level.stride for level in levels] == sorted(level.stride for level in levels)
    assert levels[0] == Level(pictures=30.0, stride=1)
    assert levels[1].stride == 1
    assert levels[1].pictures < 30.0
    assert levels[3].stride > 1


def test_a_large_machine_does_everything_for_four() -> None:
    assert read_server_settings().load.level(4, 16) == Level(pictures=30.0, stride=1)


def test_more_than_fits_gets_the_last_level() -> None:
    policy = LoadPolicy(levels=(Level(), Level(pictures=1.0, stride=9)))
    assert policy.level(100, 1) == Level(pictures=1.0, stride=9)


def test_nonsense_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="sessions is 0"):
        ServerSettings(sessions=0)
    with pytest.raises(ValueError, match="silence_most"):
        LiveLimits(silence_after=3.0, silence_most=2.0)
    with pytest.raises(ValueError, match="did you mean 'sessions'"):
        build(ServerSettings, {"session": 3}, where="server.toml")
