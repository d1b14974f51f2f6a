"""Two ratchets: the lines of each room, and turns of phrase that are not plain English.

`size.toml` and `english.toml` beside this file hold today's numbers, and a number may only fall.
Raising a size takes a line in the same commit that says what the user got for it.
`CONTEND_UPDATE_RATCHETS=1` lowers what has fallen and raises nothing.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
from tree import ROOT, tracked_files

HERE = Path(__file__).parent
SLACK = 1.03
"""How far a number may lie above what is there before it has to be lowered; and 30 besides."""

ROOMS = ("python/contend", "load/src", "load/crates", "tests", "load/tests", "bench")

PROSE = {
    "user pages": (
        *("README.md", "docs/index.md", "docs/start/*.md", "docs/guides/*.md"),
        *("docs/reference/*.md", "docs/concepts/*.md"),
    ),
    "decisions": ("docs/decisions/*.md",),
    "python": ("python/contend/*.py",),
    "rust": ("load/src/*.rs", "load/crates/*.rs"),
    "printed": ("tests/golden/*.txt",),
}

PHRASES = {
    "told": r"\b(is|are|was|were|be|been)\stold\b",
    "of_first": r'(^|[.:;"]\s|//[/!]?\s|"")Of\s(?!course)',
    "is_other": r"\b(is|are|was|were|be)\s(an)?other\b|\bno\sother\b",
    "is_no": r"(?<![Tt]here\s)\b(is|are|was|were)\sno\s(?!longer|more\b)",
    "so_many": r"(?i)\bso\s(long|many|much|narrow|few|often)\b",
    "whoever": r"(?i)\b(whoever|whatever|nobody|somebody)\b",
    "what_is": r"(?i)\bwhat\s(is|are|was|were)\b",
    "of_which": r"\bof\swhich\b",
    "be_had": r"\bbe\shad\b|\b(is|are|was|were)\sgot\b",
    "as_it_is": r"(?i)\bas\s(it|they)\s(is|are|was|were)\b|\bas\sof\b",
    "anew_beside": r"\b(anew|beside)\b",
    "one_a": r"\b(one|line|row|file|test|value|slices|blocks)\san?\s(?!second)\w+",
}

LONGEST_SENTENCE = 30
"""Words. A longer one counts as `long`."""


def test_a_room_has_no_more_lines() -> None:
    held("size.toml", sizes())


@pytest.mark.parametrize("area", PROSE)
def test_prose_has_no_more_turns_of_phrase(area: str) -> None:
    held("english.toml", {area: phrases(area)}, only=area)


def test_more_than_the_number_is_refused_and_so_is_a_number_that_is_too_high() -> None:
    assert problems({"lab": 100}, {"lab": 101}) == ["lab: 101, at most 100"]
    assert problems({"lab": 100}, {"lab": 100, "new": 1}) == ["new: 1, and no number is set"]
    assert problems({"lab": 100, "gone": 5}, {"lab": 100}) == ["gone: remove its number"]
    assert problems({"lab": 200}, {"lab": 100}) == ["lab: lower its number to 100"]


def test_phrases_are_found() -> None:
    assert counted("It is told so.\nOf all it is no other.")["told"] == 1
    assert sentences("```\n" + "word " * 40 + "\n```\nShort. " + "word " * 31) == [1, 31]


def held(name: str, found: Mapping[str, Mapping[str, int]], only: str | None = None) -> None:
    path = HERE / name
    limits = tomllib.loads(path.read_text()) if path.exists() else {}
    if os.environ.get("CONTEND_UPDATE_RATCHETS"):
        path.write_text(as_toml({**limits, **lowered(limits, found)}))
        return
    wrong = [
        f"{table}, {line}"
        for table, numbers in found.items()
        for line in problems(limits.get(table, {}), numbers)
    ]
    if only is None:
        wrong += [f"{table}: remove its table" for table in limits.keys() - found.keys()]
    assert not wrong, f"{name}:\n" + "\n".join(wrong)


def problems(limits: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    wrong = []
    for name, number in found.items():
        if name not in limits:
            wrong += [f"{name}: {number}, and no number is set"] if number else []
        elif number > limits[name]:
            wrong.append(f"{name}: {number}, at most {limits[name]}")
        elif limits[name] > number * SLACK + 30:
            wrong.append(f"{name}: lower its number to {number}")
    return wrong + [f"{name}: remove its number" for name in limits if name not in found]


def lowered(
    limits: Mapping[str, Mapping[str, int]], found: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    return {
        table: {
            name: min(number, limits.get(table, {}).get(name, number))
            for name, number in numbers.items()
        }
        for table, numbers in found.items()
    }


def as_toml(tables: Mapping[str, Mapping[str, int]]) -> str:
    return "\n".join(
        f'["{table}"]\n' + "".join(f'"{name}" = {number}\n' for name, number in numbers.items())
        for table, numbers in tables.items()
    )


@cache
def files(pattern: str) -> tuple[Path, ...]:
    # A pattern's `*` crosses folders, which is meant.
    return tuple(path for path in tracked_files() if fnmatch(str(path), pattern))


def text_of(path: Path) -> str:
    return (ROOT / path).read_bytes().decode("utf-8", "replace")


def sizes() -> dict[str, dict[str, int]]:
    """Lines by room: of a tree of sources by its first folder, what stands beside those as `.`."""
    found: dict[str, dict[str, int]] = {}
    for tree in ROOMS:
        rooms = found.setdefault(tree, {})
        for path in files(f"{tree}/*"):
            if path.suffix not in {".py", ".rs", ".txt", ".lua", ".j2", ".js", ".css"}:
                continue
            inside = path.relative_to(tree).parts
            room = inside[0] if len(inside) > 1 else "."
            if tree == "tests" and room == "unit":
                room = "/".join(inside[: min(2, len(inside) - 1)])
            rooms[room] = rooms.get(room, 0) + text_of(path).count("\n")
    return {tree: dict(sorted(rooms.items())) for tree, rooms in found.items()}


def phrases(area: str) -> dict[str, int]:
    found = dict.fromkeys([*PHRASES, "long"], 0)
    for path in sorted({path for pattern in PROSE[area] for path in files(pattern)}):
        if path.suffix == ".json":
            continue
        text = text_of(path)
        for name, number in counted(text).items():
            found[name] += number
        if path.suffix == ".md":
            found["long"] += sum(words > LONGEST_SENTENCE for words in sentences(text))
    return found


def counted(text: str) -> dict[str, int]:
    lines = text.splitlines()
    return {
        name: sum(len(re.findall(pattern, line)) for line in lines)
        for name, pattern in PHRASES.items()
    }


def sentences(markdown: str) -> list[int]:
    """How many words each sentence has; code and tables have none."""
    text = re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)
    text = re.sub(r"(?m)^\s*\|.*", "", text)
    return list(_word_counts(re.split(r"(?<=[.?!])\s+|\n\n", text)))


def _word_counts(parts: list[str]) -> Iterator[int]:
    for part in parts:
        if words := part.split():
            yield len(words)
