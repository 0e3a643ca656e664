"""The report page: what it says, what it weighs, and that nothing in a run can take it over."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from client.cli import run as run_command
from replay.report.page import Limits, build_report
from replay.report.pictures import Album, jpeg_size, mask_outline
from replay.run_folder import open_run
from tests.run_maker import ClipMaker, make_run, scores_of, write_trace
from tests.run_scripts import CHINESE, FOUR, MUG, SCRIPTS, SILENT

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&\u2028{{ 7*7 }}"


def page_of(folder: Path, **changes: Any) -> str:
    return build_report(open_run(folder), **changes)


def data_of(page: str) -> list[dict[str, Any]]:
    match = re.search(r'<script type="application/json" id="run-data">(.*?)</script>', page, re.S)
    assert match is not None
    clips = json.loads(match.group(1))["clips"]
    assert isinstance(clips, list)
    return clips


class Outline(HTMLParser):
    """Every tag with its attributes, and the text outside of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.texts.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(text for text in self.texts if text)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "night", scores=scores_of())


def test_page_names_model_pace_machine_and_time(scored: Path) -> None:
    text = Outline(page_of(scored)).text
    for part in ("EcoG-Bench", "night", "local", "realtime", "Imaginary CPU @ 2.5 GHz, 2 cores",
                 "2026-03-02 10:15:00 UTC", "4, 27.2 s of media"):  # fmt: skip
        assert part in text


def test_headline_is_that_of_the_scores(scored: Path) -> None:
    overall = scores_of()["overall"]
    tiles = re.findall(r'tile-value">([\d.]+)<small>', page_of(scored))
    assert tiles == [f"{100 * overall[name]:.1f}" for name in ("eco", "seq", "t", "s", "cls")]


def test_published_systems_stand_beside_ours_by_rank(scored: Path) -> None:
    page = page_of(scored)
    table = page[page.index("table-published") :]
    names = re.findall(r'<th scope="row">([^<]+)</th>', table[: table.index("</table>")])
    assert names[:2] == ["Human", "this run"]
    assert "Gemini-3-Flash, frames+asr" in names
    assert "811 clips" in page


def test_failures_add_up_to_all_referents(scored: Path) -> None:
    page = page_of(scored)
    parts = re.search(r'<figure class="failures">(.*?)</figure>', page, re.S)
    assert parts is not None
    counts = [int(count) for count in re.findall(r"<b>(\d+)</b>", parts.group(1))]
    assert sum(counts) == sum(len(script.meant) for script in SCRIPTS)


def test_left_out_and_failed_clips_are_listed(tmp_path: Path) -> None:
    scores = scores_of() | {"left_out": [{"video_name": "odd.mp4", "reason": "no answer"}]}
    text = Outline(page_of(make_run(tmp_path, scores=scores, pictures=False))).text
    assert "odd.mp4 no answer" in text
    assert "broken.mp4 no moov atom: the file is cut off" in text


def test_run_without_scores_shows_counts_and_ticks_all_the_same(tmp_path: Path) -> None:
    page = page_of(make_run(tmp_path, (FOUR,), pictures=False))
    assert "tile-value" in page
    assert "table-published" not in page
    hits = [one["hits"] for one in data_of(page)[0]["referents"]]
    assert [(hit["cls"], hit["t"]) for hit in hits] == [
        (True, True), (False, True), (True, True), (True, False)
    ]  # fmt: skip


def test_ticks_are_those_of_the_scores_where_there_are_any(tmp_path: Path) -> None:
    scores = scores_of((MUG,))
    scores["details"][0]["referents"][0]["cls"] = False
    page = page_of(make_run(tmp_path, (MUG,), scores=scores, pictures=False))
    assert data_of(page)[0]["referents"][0]["hits"]["cls"] is False


def test_clip_holds_everything_that_the_timeline_draws(scored: Path) -> None:
    clips = {clip["name"]: clip for clip in data_of(page_of(scored))}
    mug = clips[MUG.name]
    assert [word["t"] for word in mug["words"]] == ["Put", "this", "mug", "over", "there."]
    assert [word["d"] for word in mug["words"]] == [None, 0, None, 1, 1]
    assert [stroke["apex"] for stroke in mug["strokes"]] == [1.83, 3.92]
    assert [(one["d"], one["s"]) for one in mug["bindings"]] == [(0, 0), (1, 1)]
    assert [one["truth"]["window"] for one in mug["referents"]] == [[1.74, 2.52], [3.85, 4.75]]
    assert mug["referents"][0]["truth"]["outline"]
    assert mug["referents"][1]["truth"]["outline"] == []
    assert mug["last"]["uri"].startswith("data:image/jpeg;base64,")
    assert all(stroke["picture"] for stroke in mug["strokes"])
    assert max(max(curve["v"]) for curve in mug["curves"]) > 1.0
    assert clips[SILENT.name]["words"] == []
    assert clips[CHINESE.name]["spans"][0]["text"] == "把这个放到哪里"


def test_ray_of_the_apex_is_carried_to_the_last_frame(scored: Path) -> None:
    mug = next(clip for clip in data_of(page_of(scored)) if clip["name"] == MUG.name)
    _, tip = mug["referents"][0]["said"]["ray"]
    moved = 0.02 * (np.sin(1.1 * (MUG.duration - 1 / 30)) - np.sin(1.1 * 1.83))
    assert tip[0] == pytest.approx(MUG.strokes[0].tip[0] + moved, abs=0.002)


# --- nothing from anywhere else ---


def test_page_refers_to_nothing_outside_of_itself(scored: Path) -> None:
    outline = Outline(page_of(scored))
    for tag, attributes in outline.tags:
        for name in ("src", "href", "action", "poster", "data", "srcset", "formaction"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:", "#")), (tag, name, value)
    style = page_of(scored).partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_policy_allows_this_files_own_scripts_and_nothing_else(scored: Path) -> None:
    page = page_of(scored)
    policy = next(
        attributes["content"] or ""
        for tag, attributes in Outline(page).tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def hostile_run(folder: Path) -> Path:
    """A run in which every text is an attack."""
    script = replace(
        MUG,
        scene=EVIL,
        words=tuple(replace(said, text=EVIL) for said in MUG.words),
        objects=tuple(f"{option[:3]}{EVIL}" for option in MUG.objects),
        spaces=tuple(f"{option[:3]}{EVIL}" for option in MUG.spaces),
    )
    make_run(folder, (script,), pictures=False)
    clip = folder / script.name
    evil_clip = folder / "<img src=x onerror=alert(3)>"
    clip.rename(evil_clip)
    lines = ClipMaker(script).lines()
    lines[0] |= {"clip": EVIL, "pace": EVIL, "model": EVIL, "language": EVIL}
    lines[0]["machine"]["cpu"] = EVIL
    lines[0]["config"] = {EVIL: EVIL}
    lines[-1]["counters"][EVIL] = 3
    lines[-1]["wall"]["components"][EVIL] = {"busy": 1.0, "longest": 1.0, "steps": 1}
    lines[-1]["wall"]["started"] = EVIL
    write_trace(evil_clip / "trace.jsonl", lines)
    run = json.loads((folder / "run.json").read_text())
    run |= {"clips": [evil_clip.name], "model": EVIL, "version": EVIL, "language": EVIL,
            "benchmark": {"name": EVIL}, "failed": [{"source": EVIL, "reason": EVIL}]}  # fmt: skip
    (folder / "run.json").write_text(json.dumps(run))
    scores = scores_of((MUG,)) | {"left_out": [{"video_name": EVIL, "reason": EVIL}]}
    scores["by_scene"][EVIL] = scores["overall"]
    scores["repairs"][EVIL] = 1
    (folder / "scores.json").write_text(json.dumps(scores))
    return folder


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    page = page_of(hostile_run(tmp_path / "run"))
    outline = Outline(page)
    tags = [tag for tag, _ in outline.tags]
    assert tags.count("script") == 4 - 1
    assert "img" not in tags
    assert not any(name.startswith("on") for _, attributes in outline.tags for name in attributes)
    assert "alert(2)" in html.unescape(outline.text)
    assert "49" not in re.findall(r"\{\{ 7\*7 \}\}|\b49\b", outline.text)
    clip = data_of(page)[0]
    assert clip["words"][0]["t"] == EVIL
    assert clip["name"] == "<img src=x onerror=alert(3)>"


# --- weight ---


def test_long_clip_keeps_its_peaks_and_not_its_weight(tmp_path: Path) -> None:
    folder = make_run(tmp_path, (MUG,), pictures=False)
    lines = ClipMaker(MUG).lines()
    dense = [line for line in lines if line["type"] in ("HandsSeen", "CameraMotion")]
    late = []
    for turn in range(1, 30):
        for line in dense:
            shifted = {**line, **{name: round(line[name] + turn * MUG.duration, 6)
                       for name in ("known_at", "emitted_at", "time")}}  # fmt: skip
            late.append(shifted)
    lines[-1]["duration"] = 30 * MUG.duration
    write_trace(folder / MUG.name / "trace.jsonl", [*lines[:-1], *late, lines[-1]])
    clip = data_of(page_of(folder, limits=Limits(curve_points=1000)))[0]
    points = sum(len(curve["t"]) for curve in clip["curves"])
    assert points <= 1300
    assert clip["duration"] == pytest.approx(30 * MUG.duration)
    whole = data_of(page_of(folder, limits=Limits(curve_points=10**6)))[0]
    top = max(max(curve["v"]) for curve in whole["curves"])
    assert max(max(curve["v"]) for curve in clip["curves"]) == pytest.approx(top)


def test_pictures_stay_under_the_budget_and_the_page_says_so(tmp_path: Path) -> None:
    folder = make_run(tmp_path, SCRIPTS)
    page = page_of(folder, limits=Limits(picture_bytes=20_000))
    uris = re.findall(r"data:image/jpeg;base64,[A-Za-z0-9+/=]*", page)
    assert 0 < sum(map(len, uris)) <= 20_000
    assert "to keep this file small" in Outline(page).text


def test_files_that_are_no_pictures_are_left_out(tmp_path: Path) -> None:
    folder = make_run(tmp_path, (MUG,))
    (folder / MUG.name / "last.jpg").write_bytes(b"<svg onload=alert(1)>")
    (folder / MUG.name / "apex_0.jpg").write_bytes(
        b"\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03"
    )
    page = page_of(folder)
    assert data_of(page)[0]["last"] is None
    assert data_of(page)[0]["strokes"][0]["picture"] is None
    assert "2 pictures could not be read" in Outline(page).text


def test_size_of_a_jpeg_is_read_without_decoding_it() -> None:
    image = np.zeros((30, 50, 3), np.uint8)
    content = cv2.imencode(".jpg", image)[1].tobytes()
    assert jpeg_size(content) == (50, 30)
    assert jpeg_size(content[:6]) is None
    assert jpeg_size(b"") is None
    assert jpeg_size(b"\xff\xd8\x00\x00") is None


def test_small_pictures_are_not_blown_up(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "small.jpg"), np.zeros((30, 50, 3), np.uint8))
    album = Album(budget=100_000, frames=1, thumbnails=0)
    picture = album.frame(tmp_path / "small.jpg")
    assert picture is not None
    assert (picture.width, picture.height) == (50, 30)


def png_of(mask: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(cv2.imencode(".png", mask)[1].tobytes()).decode()


def test_outline_is_the_same_for_a_whole_and_a_cropped_mask() -> None:
    mask = np.zeros((100, 200), np.uint8)
    mask[20:60, 50:150] = 255
    whole = mask_outline(png_of(mask), (50, 20, 150, 60), 200, 100)
    cropped = mask_outline(png_of(mask[20:60, 50:150]), (50, 20, 150, 60), 200, 100)
    for outline in (whole, cropped):
        xs, ys = zip(*outline[0], strict=True)
        assert (min(xs), max(xs)) == (pytest.approx(0.25, abs=0.01), pytest.approx(0.75, abs=0.01))
        assert (min(ys), max(ys)) == (pytest.approx(0.2, abs=0.02), pytest.approx(0.6, abs=0.02))


def huge_png() -> str:
    head = struct.pack(">IIBBBBB", 200_000, 200_000, 8, 0, 0, 0, 0)
    chunk = b"IHDR" + head
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk
    return base64.b64encode(png + struct.pack(">I", zlib.crc32(chunk))).decode()


@pytest.mark.parametrize("text", ["", "****", "aGVsbG8=", huge_png(), "x" * 7])
def test_mask_that_is_no_picture_has_no_outline(text: str) -> None:
    assert mask_outline(text, (0, 0, 10, 10), 640, 480) == []


def test_mask_with_an_absurd_box_has_no_outline() -> None:
    cropped = png_of(np.full((5, 5), 255, np.uint8))
    assert mask_outline(cropped, (0, 0, float("inf"), 10), 640, 480) == []
    assert mask_outline(cropped, (0, 0), 640, 480) == []


# --- odd runs ---


def test_run_without_clips_is_still_a_page(tmp_path: Path) -> None:
    folder = make_run(tmp_path, ())
    text = Outline(page_of(folder)).text
    assert "This run has no clip with a trace." in text


def test_damaged_traces_make_a_page_that_says_so(tmp_path: Path) -> None:
    folder = make_run(tmp_path, (MUG, SILENT), pictures=False)
    (folder / MUG.name / "trace.jsonl").write_bytes(b"\x00\xff nonsense\n{\n")
    (folder / SILENT.name / "truth.json").write_text("[]")
    page = page_of(folder)
    assert "1 of 2 traces break off" in Outline(page).text
    clips = data_of(page)
    assert [clip["complete"] for clip in clips] == [False, True]
    assert clips[0]["fault_count"] == 4


@pytest.mark.parametrize(
    "truth",
    [
        {},
        {"answer": []},
        {"answer": "A", "instruction": 3},
        {"answer": [{"choice": "A", "points": [["x", 1]]}], "instruction": 1},
        {"answer": [{"choice": "A"}], "instruction": 99, "width": -5, "height": 10**9},
        {"answer": [{"choice": "A", "mask": {"bbox": [1], "mask_base64": "?"}}], "words": [1, {}]},
    ],
)
def test_no_truth_makes_the_page_fail(tmp_path: Path, truth: dict[str, Any]) -> None:
    folder = make_run(tmp_path, (MUG,), pictures=False)
    (folder / MUG.name / "truth.json").write_text(json.dumps(truth))
    assert data_of(page_of(folder))[0]["referents"]


def test_output_that_is_no_json_makes_no_ticks_wrongly(tmp_path: Path) -> None:
    folder = make_run(tmp_path, (MUG,), pictures=False)
    (folder / MUG.name / "answer.json").write_text("I would say the mug.")
    clip = data_of(page_of(folder))[0]
    assert clip["status"] == "unparsable"
    assert [one["hits"]["cls"] for one in clip["referents"]] == [False, False]


def test_same_run_makes_the_same_page(tmp_path: Path) -> None:
    folder = make_run(tmp_path, (MUG,), scores=scores_of((MUG,)))
    assert page_of(folder) == page_of(folder)


# --- the command ---


def test_command_writes_the_page_into_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", (MUG,), pictures=False)
    assert run_command(["report", str(folder)]) == 0
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "report.html" in capsys.readouterr().out.replace("\n", "")


def test_command_writes_where_it_is_told(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", (MUG,), pictures=False)
    target = tmp_path / "elsewhere" / "page.html"
    assert run_command(["report", str(folder), "--out", str(target)]) == 0
    assert target.is_file()
    assert not (folder / "report.html").exists()
    assert list(target.parent.iterdir()) == [target]


def test_command_on_nothing_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["report", str(tmp_path / "nowhere")]) == 1
    assert "no such run" in capsys.readouterr().err
