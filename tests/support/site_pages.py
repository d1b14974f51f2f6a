"""The pages of a built site, and what they point to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}
"""What a browser fetches with the page."""


@dataclass
class Page:
    names: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value for name, value in attrs if value}
        self.page.names |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.page.links.append(said["href"])
        if tag in LOADED and LOADED[tag] in said and said.get("rel") != "canonical":
            self.page.loaded.append(said[LOADED[tag]])


@cache
def read_page(path: Path) -> Page:
    reader = _Reader()
    reader.feed(path.read_text("utf-8"))
    return reader.page


def broken(path: Path) -> Iterator[str]:
    """What a page points to in its own site that is not there."""
    page = read_page(path)
    for link in page.links + page.loaded:
        address, name = urldefrag(link)
        if urlsplit(address).scheme:
            continue
        target = path.parent / unquote(urlsplit(address).path) if address else path
        if not target.is_file():
            yield f"{link}: no such file"
        elif name and target.suffix == ".html" and unquote(name) not in read_page(target).names:
            yield f"{link}: no such place"
