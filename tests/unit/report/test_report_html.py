"""The page: whole, closed to the network, safe with hostile text, and with its charts as files."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image
from shown import report_of
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, with_warning, write_run

from contend.cli.main import main
from contend.report import Report, html, images
from contend.report.html import minus
from contend.sections.chart_style import THEMES
from contend.store import RunRecord

VOID = {"meta", "link", "br", "wbr", "img", "hr", "input", "path", "rect"}


class Outline(HTMLParser):
    """Counts elements, checks that they close, and gathers what could be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.heads_without_scope = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name in ("src", "href", "srcset", "action", "data", "xlink:href"):
            value = attributes.get(name)
            if value and not value.startswith(("#", "data:")):
                self.fetched.append(f"{tag} {name}={value}")
        if attributes.get("id"):
            self.ids.append(str(attributes["id"]))
        if tag == "th" and "scope" not in attributes:
            self.heads_without_scope += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()


@pytest.fixture(scope="module")
def page(study_report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    html.write(study_report, out)
    return out


@pytest.fixture(scope="module")
def outline(page: Path) -> Outline:
    parser = Outline()
    parser.feed(page.read_text(encoding="utf-8"))
    parser.close()
    return parser


def test_the_page_is_well_formed_and_fetches_nothing(outline: Outline) -> None:
    assert outline.open == []
    assert outline.fetched == []
    assert "img" not in outline.seen and "iframe" not in outline.seen


def test_the_page_may_not_fetch(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    without_scripts = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", without_scripts))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in without_scripts and "url(" not in without_scripts


def test_tables_have_heads_and_ids_are_unique(outline: Outline) -> None:
    assert outline.heads_without_scope == 0
    # The first table has a heading of the page.
    assert outline.seen.count("caption") + 1 == outline.seen.count("table") > 30
    assert len(outline.ids) == len(set(outline.ids))


def test_the_page_says_what_a_reader_asks(page: Path) -> None:
    text = re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8").partition("<script>")[0])
    for fragment in (
        "From 4 connections on, splitting the key cache",
        "with freshly started servers",
        "all intervals of this report hold together",
        "pitbull, published, 32",
        "Server CPU per query",
        "Client CPU per query",
        "Context switches of the server per query",
        "Bytes the server read from storage per query",
        "Disk scheduler",
        "Mitigations",
        "Open files",
        "key_buffer_size",
        "What would refute it",
        "closed-loop",
        "None: no run failed",
        "Made by contend",
    ):
        assert fragment in text, fragment


def test_charts_stand_in_the_page_and_beside_it(page: Path, outline: Outline) -> None:
    files = sorted(path.name for path in (page.parent / "charts").iterdir())
    assert len(files) == 32
    for name in files:
        path = page.parent / "charts" / name
        assert path.stem in outline.ids
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
        else:
            with Image.open(path) as image:
                assert image.width > 1000 and len(image.getcolors(1 << 24) or []) > 50
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 1 + len(files) / 2  # the picture twice: for wide pages, and narrow


def test_drawings_have_the_colours_of_the_dark_theme() -> None:
    style = images.dark_style()
    light, dark = (json.dumps(THEMES[name]) for name in ("light", "dark"))
    for one, other in re.findall(r'\[fill="(#\w+)"\]\{fill:(#\w+)\}', style):
        light = light.replace(one, other.upper())
    assert light.lower() == dark.lower()


def test_the_parts_stand_in_the_order_in_which_they_are_read(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    order = ["answer", "picture", "wholes", "gains", "cause", "bounds", "counters"]
    order += ["charts", "figures", "notices", "basis", "method"]
    at = [text.index(f'id="{name}"') for name in order]
    assert at == sorted(at)
    # All that comes after the first table is folded.
    assert text.index("<details") > text.index('id="wholes"')
    folded = text[text.index('<div class="parts">') : text.index("</main>")]
    assert len(re.findall(r'<details class="part[^>]*><summary><h2>', folded)) == 10
    assert "<details open" not in folded


def test_the_page_is_small(page: Path) -> None:
    assert page.stat().st_size <= 400_000


def test_a_compact_drawing_says_and_shows_the_same(study_report: Report) -> None:
    for chart in html.all_charts(study_report):
        drawing = images.svg(chart)
        small = images.compact(drawing)
        assert len(small) < len(drawing) / 2
        whole, kept = ElementTree.fromstring(drawing), ElementTree.fromstring(small)
        texts = list(whole.itertext())
        assert list(kept.itertext()) == [one for one in texts if one != chart.spec["title"]]
        lines = list(whole.iter("{http://www.w3.org/2000/svg}line"))
        paths = [one.get("d", "") for one in kept.iter("{http://www.w3.org/2000/svg}path")]
        drawn = sum(path.count("l") for path in paths)
        assert drawn == len([one for one in lines if one.get("opacity") != "0"])
        colours = {one.get("stroke") for one in whole.iter()} - {None}
        assert colours == {one.get("stroke") for one in kept.iter()} - {None}


def test_without_the_package_for_charts_the_page_says_so(
    study_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(images, "can_draw", lambda: False)
    out = tmp_path / "plain.html"
    assert main(["report", str(study_path), "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{out}\n"
    assert "pip install 'contend[images]'" in captured.err
    text = out.read_text(encoding="utf-8")
    assert "contend[images]" in text and "<svg" not in text
    assert not (tmp_path / "plain-charts").exists()
    parser = Outline()
    parser.feed(text)
    parser.close()
    assert parser.open == [] and parser.seen.count("table") > 30


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"

    def warn(record: RunRecord) -> RunRecord:
        probes = {**record.probes, "server": {"version": attack}}
        return with_warning(replace(record, probes=probes), "odd", attack)

    sets = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]")
    experiment = replace(study(sets=sets), question=attack, source=attack)
    report = report_of(write_run(tmp_path / "run", experiment, change=warn))
    out = tmp_path / "odd.html"
    html.write(report, out)
    parser = Outline()
    parser.feed(out.read_text(encoding="utf-8"))
    parser.close()
    assert parser.open == [] and "img" not in parser.seen
    assert parser.seen.count("script") == 1
    assert (tmp_path / "odd-charts").is_dir()


@pytest.mark.parametrize("runs", [0, 1, 2, 7])
def test_a_partial_run_has_a_page(tmp_path: Path, runs: int) -> None:
    path = write_run(tmp_path / "run", study("quick"), runs=runs)
    assert main(["report", str(path)]) == 0
    parser = Outline()
    parser.feed((path / "report.html").read_text(encoding="utf-8"))
    parser.close()
    assert parser.open == []
    assert "--resume" in (path / "report.html").read_text(encoding="utf-8")


def test_the_command_names_what_it_wrote(
    study_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sub" / "mine.html"
    assert main(["report", str(study_path), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(out),
        f"{tmp_path / 'sub' / 'mine-charts'} (32 files)",
    ]
    assert main(["report", str(study_path), "--out", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_a_minus_is_a_minus() -> None:
    assert minus("from -13 ±1 % to x-1 (-2)") == "from −13\xa0±1\xa0% to x-1 (−2)"
    assert minus("<b>") == "&lt;b&gt;"
