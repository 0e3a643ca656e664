"""EcoG-Bench asked under a budget of visual tokens."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import replay.asking.bench
import replay.asking.cell_run
from client.bench_asking import AskOptions
from client.usage import UsageError
from replay.asking.bench import AskBench, ask_ecog
from replay.asking.cells import Cell
from replay.asking.visual import VisualChoice
from replay.out_folder import OutFolderError
from streaming.asking.request import PicturePart, Request, TextPart
from streaming.asking.visual_budget import VisualBudget, load_visual_settings
from streaming.asking.visual_tokens import TokenFormula, VisualTokens
from tests.asking_fakes import FakeEndpoint, Told
from tests.ecog_maker import TreeMaker
from tests.media_maker import write_clip
from tests.test_ask_bench import View

pytestmark = pytest.mark.threads

EACH = TokenFormula(models="*", source="", kind="fixed", each=10)


def visual(most: int) -> VisualChoice:
    settings = replace(load_visual_settings(), tokens=VisualTokens(formula=(EACH,)))
    budget = VisualBudget(choice="uniform", most=most, formula=EACH, settings=settings)
    return VisualChoice(budget=budget)


def pictures(request: Request) -> list[float]:
    return [part.until for part in request.parts if isinstance(part, PicturePart)]


def test_sampled_frames_are_chosen_under_a_budget_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = TreeMaker(tmp_path / "tree")
    maker.clip(name="a.mp4")
    tree = maker.write()
    for film in tree.rglob("a.mp4"):
        write_clip(film, seconds=2.0, size=(64, 48))
    fake = FakeEndpoint(script=lambda request: Told(after=0.0))
    monkeypatch.setattr(replay.asking.cell_run, "open_cell", lambda cell, keys: fake)
    monkeypatch.setattr(replay.asking.bench, "open_cell", lambda cell, keys: fake)
    out = tmp_path / "run"
    cells = (Cell(model="gemini:fake", interface="frames"),)
    bench = AskBench(root=tree, out=out, cells=cells, visual=visual(20))
    (outcome,) = ask_ecog(bench, View())
    (request,) = fake.asked
    assert pictures(request) == [0.0, 1.5]  # of 0, 0.5, 1 and 1.5 s the ends
    tags = [part.text for part in request.parts if isinstance(part, TextPart)]
    assert [tag for tag in tags if tag.startswith("<timestamp_ms>")] == [
        "<timestamp_ms>0", "<timestamp_ms>1500",
    ]  # fmt: skip
    assert outcome.facts["visual_tokens"] == {
        "requests": 1, "pictures": 2, "left_out": 2, "cut_outs": 0, "tokens": 20, "offered": 40,
    }  # fmt: skip
    assert json.loads((out / "a" / "asked.json").read_text())["visual"]["tokens"] == 20
    with pytest.raises(OutFolderError, match="visual"):
        ask_ecog(replace(bench, visual=visual(30)), View())


def test_interface_whose_captions_tell_of_each_picture_is_refused() -> None:
    options = AskOptions(frames="uniform")
    with pytest.raises(UsageError, match="--frames chooses among sampled frames"):
        options.bench(
            (Cell(model="gemini:fake", interface="bound"),), root=Path(), out=Path(),
            matrix=False, language="en", asr="auto", limit=None, workers=1, fresh=False,
        )  # fmt: skip
