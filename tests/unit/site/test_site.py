"""The site builds without a warning, nothing in it points nowhere, and a phone shows it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser import Browser, missing_browser
from needs import missing
from site_pages import broken, read_page

ROOT = Path(__file__).resolve().parents[3]
REPORTS = Path("docs/examples/reports")
PHONE_PX = 390
WIDE = (
    "docs/index",
    "docs/concepts/architecture",
    "docs/concepts/trust",
    "docs/examples/server-versus-server",
    "docs/guides/what-can-vary",
    "docs/reference/experiment-file",
    "bench/README",
)
"""Pages with the widest tables, code and names."""

pytestmark = pytest.mark.timeout(900)  # the site is built for all of them


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if any(importlib.util.find_spec(name) is None for name in ("sphinx", "furo", "myst_parser")):
        missing("the site's generator is missing: `make setup` installs contend[docs]")
    out = tmp_path_factory.mktemp("site")
    words = ["-W", "--keep-going", "-q", "-c", "docs", ".", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    why = missing_browser()
    if why is not None:
        missing(f"{why}: `make test-needs` gets it")
    with Browser() as opened:
        yield opened


def pages(site: Path) -> list[Path]:
    """The pages that were made of Markdown, without the reports."""
    made = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(site / path for path in made if path.parent != REPORTS)


def test_every_page_of_the_documents_is_in_it_and_can_be_reached(site: Path) -> None:
    wanted = {path.relative_to(ROOT).with_suffix(".html") for path in ROOT.glob("docs/**/*.md")}
    wanted |= {path.relative_to(ROOT) for path in ROOT.glob("docs/examples/**/*.html")}
    found, new = set(), {site / "index.html"}
    while new:
        page = new.pop()
        found.add(page)
        links = (urlsplit(link) for link in read_page(page).links)
        local = {(page.parent / link.path).resolve() for link in links if not link.scheme}
        if page == site / "index.html":
            local = {site / "docs" / "index.html"}
        new |= {path for path in local if path.suffix == ".html" and path.is_file()} - found
    assert wanted - {path.relative_to(site) for path in found} == set()


def test_no_link_is_broken(site: Path) -> None:
    wrong = [f"{page.relative_to(site)}: {what}" for page in pages(site) for what in broken(page)]
    assert wrong == []


def test_a_page_fetches_nothing_from_elsewhere(site: Path) -> None:
    loaded = {address for page in pages(site) for address in read_page(page).loaded}
    assert [address for address in loaded if urlsplit(address).netloc] == []
    assert any(urlsplit(address).path.endswith(".css") for address in loaded)


def test_the_search_finds_a_page(site: Path, browser: Browser) -> None:
    browser.open(site / "docs" / "index.html")
    browser.visit((site / "search.html").as_uri() + "?q=coordinated+omission")
    browser.wait_for("return document.querySelectorAll('ul.search li a').length > 0")
    found = browser.run("return [...document.querySelectorAll('ul.search li a')].map(a => a.href)")
    assert any("docs/concepts/latency.html" in address for address in found)


@pytest.mark.parametrize("name", WIDE)
def test_a_phone_shows_a_page_without_scrolling_sideways(
    site: Path, browser: Browser, name: str
) -> None:
    browser.open(site / f"{name}.html", width=PHONE_PX, height=844)
    assert browser.run("return document.documentElement.scrollWidth") <= PHONE_PX
