"""A file of one's own that says some of the server's settings otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.pull_settings import PullSettings
from server.settings import read_server_settings
from streaming.config import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_only_what_it_says_is_otherwise(tmp_path: Path) -> None:
    shipped = read_server_settings()
    mine = read_server_settings(
        written(
            tmp_path,
            'sessions = 2\n[pull]\nread_within = 3\n[[whip.ice]]\nurl = "stun:stun.example.net"\n',
        )
    )
    assert mine.sessions == 2
    assert mine.pull.read_within == 3.0
    assert mine.pull.open_within == shipped.pull.open_within
    assert [server.url for server in mine.whip.ice] == ["stun:stun.example.net"]
    assert mine.whip.media == shipped.whip.media
    assert mine.load == shipped.load


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sesions = 2", "did you mean 'sessions'"),
        ("[pull]\nread_within = 0", "expected above 0"),
        ("[pull\n", "no TOML"),
        ("whip = 3", "expected a table"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_file(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=why) as refused:
        read_server_settings(written(tmp_path, text))
    assert "mine.toml" in str(refused.value)


def test_attempts_may_be_without_end() -> None:
    assert PullSettings(attempts=0).attempts == 0
    with pytest.raises(ValueError, match="attempts is -1"):
        PullSettings(attempts=-1)
