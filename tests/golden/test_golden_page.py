"""The report in a real browser: nothing fetched, nothing complained about, nothing sideways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import Browser, missing_browser
from needs import missing

from contend.report import build, html
from contend.store import RunFolder

SCROLLED = (
    "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth)"
)
OPEN = "document.querySelectorAll('.parts details').forEach(one => one.open = true);"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, study_run: Callable[[Path], Path]) -> Path:
    path = study_run(tmp_path_factory.mktemp("page") / "run")
    with RunFolder.open(path) as folder:
        report = build(folder)
    return html.write(report, path / "report.html")[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if reason := missing_browser():
        missing(reason)
    with Browser() as one:
        one.requests()  # what Chromium's own start page asked for
        yield one


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_reads_well(browser: Browser, page: Path, width: int, scheme: str) -> None:
    browser.open(page, width=width, scheme=scheme)
    assert browser.console() == []
    assert [url for url in browser.requests() if not url.startswith(("data:", "chrome:"))] == [
        page.resolve().as_uri()
    ]
    sideways = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not browser.run(sideways)
    # Folded, it is the answer, the picture and one table.
    assert browser.run("return document.body.scrollHeight") < 2500
    seen = (
        "[...document.querySelectorAll('.chart svg')]"
        ".filter(one => one.checkVisibility() && one.clientHeight > 100)"
    )
    assert browser.run(f"return {seen}.length") == 1
    browser.run(OPEN)
    assert not browser.run(sideways)
    if width == 1280:
        assert browser.run(f"return {SCROLLED}.length") == 0
    assert browser.run(f"return {seen}.length") == 16


def test_paper_has_what_bears_on_the_answer(browser: Browser, page: Path) -> None:
    browser.open(page)
    shown = (
        "window.dispatchEvent(new Event('%s'));"
        "return [...document.querySelectorAll('.part[open] > div')].map(one => one.id)"
    )
    opened = browser.run(shown % "beforeprint")
    assert opened == ["gains", "cause", "bounds", "scaling", "notices", "basis"]
    assert browser.run(shown % "afterprint") == []


def test_the_page_follows_the_colour_scheme(browser: Browser, page: Path) -> None:
    colours = []
    for scheme in ("light", "dark"):
        browser.open(page, scheme=scheme)
        colours.append(
            browser.run(
                "return ['body', '.wide svg > rect'].map(name => document.querySelector(name))"
                ".map((one, at) => getComputedStyle(one)[at ? 'fill' : 'backgroundColor'])"
            )
        )
    assert colours == [["rgb(255, 255, 255)"] * 2, ["rgb(27, 27, 26)"] * 2]


def test_a_curve_tells_its_figures(browser: Browser, page: Path) -> None:
    browser.open(page)
    place = browser.run(
        "const points = document.querySelectorAll('#change-qps-over-all .wide .at');"
        "points[0].scrollIntoView({block: 'center'});"
        "const box = points[points.length - 1].getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]"
    )
    browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    browser.wait_for("return document.querySelector('#chart-tooltip')?.innerText")
    said = browser.run("return document.querySelector('#chart-tooltip').innerText")
    assert said.split("\n")[:6] == [
        *("key_cache_segments", "64", "connections", "128", "gain over off", "+111 ±3 %")
    ]


def test_a_level_of_the_legend_stands_out(browser: Browser, page: Path) -> None:
    browser.open(page)
    faint = (
        "return [...document.querySelectorAll('#change-qps-over-all .wide [stroke]')]"
        ".filter(one => one.style.opacity === '0.12').length > 0"
    )
    assert not browser.run(faint)
    place = browser.run(
        "const chart = document.querySelector('#change-qps-over-all .wide svg');"
        "chart.scrollIntoView({block: 'center'});"
        "const colour = JSON.parse(document.body.dataset.palette)[1];"
        "const symbols = [...chart.querySelectorAll(`path[fill='${colour}']`)];"
        "const boxes = symbols.map(one => one.getBoundingClientRect());"
        "const box = boxes.reduce((one, other) => one.y > other.y ? one : other);"
        "return [box.x + box.width / 2, box.y + box.height / 2]"
    )
    for wanted in (True, False):
        for kind in ("mousePressed", "mouseReleased"):
            browser.command(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )
        browser.wait_for(f"return (() => {{ {faint} }})() === {str(wanted).lower()}")


def test_a_chart_can_be_saved(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run(
        "window.saved = [];"
        "HTMLAnchorElement.prototype.click = function () {"
        " window.saved.push([this.download, this.href.slice(0, 15)]); };"
        "document.querySelectorAll('#change-qps-over-all .save button').forEach(one => one.click())"
    )
    browser.wait_for("return window.saved.length === 2")
    saved = dict(browser.run("return window.saved"))
    assert sorted(saved) == ["change-qps-over-all.png", "change-qps-over-all.svg"]
    assert saved["change-qps-over-all.png"] == "data:image/png;"
    assert saved["change-qps-over-all.svg"].startswith(("data:image/svg", "blob:"))


def test_without_scripts_the_drawings_are_there(browser: Browser, page: Path) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    browser.run(OPEN)
    visible = browser.run(
        "return [...document.querySelectorAll('.chart svg')]"
        ".filter(one => one.clientHeight > 100).length"
    )
    assert visible == 16


def test_a_long_name_of_a_row_lies_over_no_figure(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run(OPEN)
    assert browser.run(
        "const name = document.querySelector('table.figures tbody th');"
        "name.textContent = 'a kind of workload whose name has many words, side by side';"
        "return name.scrollWidth <= name.clientWidth"
    )
