"""docs/reference/cli.md has the help of every command, except those of contend-load.

CONTEND_UPDATE_GOLDEN=1 writes it again. The prose around the blocks stays; a new command gets a
section at the end.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contend.cli.parser import COMMANDS, build_parser

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
BLOCK = re.compile(
    r"(?P<head>^#+ `(?P<name>contend[^`]*)`\n.*?^```text\n)(?P<text>.*?)^```$", re.S | re.M
)


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and all below it, in the order of the help."""
    if not parser.add_help:
        return
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from commands(below)


def helps() -> dict[str, str]:
    return {parser.prog: parser.format_help() for parser in commands(build_parser(COMMANDS))}


def shown() -> dict[str, str]:
    return {match["name"]: match["text"] for match in BLOCK.finditer(PAGE.read_text("utf-8"))}


def update() -> None:
    text, wanted = PAGE.read_text("utf-8"), helps()
    text = BLOCK.sub(lambda m: m["head"] + wanted.get(m["name"], m["text"]) + "```", text)
    there = {match["name"] for match in BLOCK.finditer(text)}
    for name in wanted.keys() - there:
        text += f"\n## `{name}`\n\n```text\n{wanted[name]}```\n"
    PAGE.write_text(text, "utf-8")


def test_the_page_has_the_help_of_every_command() -> None:
    if os.environ.get("CONTEND_UPDATE_GOLDEN"):
        update()
    assert shown() == helps()


def test_every_argument_is_explained() -> None:
    silent = [
        f"{parser.prog} {'/'.join(action.option_strings) or action.dest}"
        for parser in commands(build_parser(COMMANDS))
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert not silent, "add help: " + ", ".join(silent)


def test_no_parser_abbreviates() -> None:
    """`--ful` must not mean `--full` today and something else tomorrow."""
    assert [p.prog for p in commands(build_parser(COMMANDS)) if p.allow_abbrev] == []
