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
DRAWN = "return document.documentElement.dataset.charts === 'drawn'"


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
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_reads_well(browser: Browser, page: Path, width: int, scheme: str) -> None:
    browser.open(page, width=width, scheme=scheme)
    browser.wait_for(DRAWN)
    assert browser.console() == []
    assert [url for url in browser.requests() if not url.startswith(("data:", "chrome:"))] == [
        page.resolve().as_uri()
    ]
    sideways = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not browser.run(sideways)
    if width == 1280:
        assert browser.run(f"return {SCROLLED}.length") == 0
    charts = browser.run(
        "return document.querySelectorAll('.chart .marks, .chart svg.marks').length"
    )
    assert charts == browser.run("return document.querySelectorAll('.chart').length") == 12


def test_the_page_follows_the_colour_scheme(browser: Browser, page: Path) -> None:
    colours = []
    for scheme in ("light", "dark"):
        browser.open(page, scheme=scheme)
        browser.wait_for(DRAWN)
        colours.append(
            browser.run(
                "return ['body', '.chart svg.marks']"
                ".map(name => getComputedStyle(document.querySelector(name)).backgroundColor)"
            )
        )
    assert colours == [["rgb(255, 255, 255)"] * 2, ["rgb(27, 27, 26)"] * 2]


def test_a_curve_tells_its_figures(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.wait_for(DRAWN)
    place = browser.run(
        "const chart = document.getElementById('change-qps-10-points');"
        "chart.scrollIntoView({block: 'center'});"
        "const points = chart.querySelectorAll('.mark-symbol.role-mark path');"
        "const box = points[points.length - 1].getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]"
    )
    browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    browser.wait_for("return document.querySelector('#chart-tooltip')?.innerText")
    said = browser.run("return document.querySelector('#chart-tooltip').innerText")
    for word in ("key_cache_segments", "connections", "gain over off, %", "from", "to", "n"):
        assert word in said


def test_a_level_of_the_legend_stands_out(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.wait_for(DRAWN)
    faint = (
        "return [...document.querySelectorAll('#qps-10-points .mark-line.role-mark path')]"
        ".filter(one => one.getAttribute('opacity') < 0.5).length"
    )
    assert browser.run(faint) == 0
    place = browser.run(
        "const chart = document.getElementById('qps-10-points');"
        "chart.scrollIntoView({block: 'center'});"
        "const symbols = chart.querySelectorAll('.role-legend-symbol path');"
        "const box = symbols[1].getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.command(
            "Input.dispatchMouseEvent",
            type=kind,
            x=place[0],
            y=place[1],
            button="left",
            clickCount=1,
        )
    browser.wait_for(faint)
    assert browser.run(faint) == 2


def test_a_chart_can_be_saved(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.wait_for(DRAWN)
    browser.run(
        "window.saved = [];"
        "HTMLAnchorElement.prototype.click = function () {"
        " window.saved.push([this.download, this.href.slice(0, 15)]); };"
        "document.querySelectorAll('#qps-10-points .save button').forEach(one => one.click())"
    )
    browser.wait_for("return window.saved.length === 2")
    saved = dict(browser.run("return window.saved"))
    assert sorted(saved) == ["qps-10-points.png", "qps-10-points.svg"]
    assert saved["qps-10-points.png"] == "data:image/png;"
    assert saved["qps-10-points.svg"].startswith(("data:image/svg", "blob:"))


def test_without_scripts_the_drawings_are_there(browser: Browser, page: Path) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    visible = browser.run(
        "return [...document.querySelectorAll('.chart > svg')]"
        ".filter(one => getComputedStyle(one).visibility === 'visible' && one.clientHeight > 100)"
        ".length"
    )
    assert visible == 12


def test_a_long_name_of_a_row_lies_over_no_figure(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.wait_for(DRAWN)
    assert browser.run(
        "const name = document.querySelector('table.figures tbody th');"
        "name.textContent = 'a kind of workload whose name has many words, side by side';"
        "return name.scrollWidth <= name.clientWidth"
    )
