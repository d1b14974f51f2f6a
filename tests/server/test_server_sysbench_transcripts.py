"""Command lines and what they print, to the letter: tests/golden/sysbench/transcripts.

Where sysbench 1.0.20 is installed the same command line runs under it, and must print the same.

A transcript is the command line behind `$ `, and below it what came of it. In front:

# words about it
# before: a command line of ours that sets the stage; after: one that clears it
# stdin: a file of ../scripts
# counts               how much is done differs from run to run
# unordered            threads print in any order
# whole                written out; elsewhere `BEGINS` and `REPORT` stand for parts of run.txt, each
#                      with its numbers
# alone: why sysbench says something else, so that it is not asked

Transcripts that changed on purpose are written anew with CONTEND_UPDATE_GOLDEN=1.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sysbench_peer as peer
from sql import Factory

from contend.servers import PrivateServer, ServerBinary

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sysbench"
SCRIPTS = GOLDEN / "scripts"
TRANSCRIPTS = sorted((GOLDEN / "transcripts").glob("*.txt"))
SYSBENCH = peer.find_peer()


@dataclass
class Transcript:
    words: list[str] = field(default_factory=list)
    before: list[str] | None = None
    after: list[str] | None = None
    stdin: str | None = None
    counts: bool = False
    unordered: bool = False
    whole: bool = False
    alone: bool = False
    head: str = ""
    text: str = ""


def read(path: Path) -> Transcript:
    head, _, text = path.read_text().partition("\n$ sysbench")
    command, _, text = text.partition("\n")
    transcript = Transcript(shlex.split(command), text=text)
    transcript.head = f"{head}\n$ sysbench{command}\n"
    for name, value in re.findall(r"^# (before|after|stdin): (.*)$", head, re.MULTILINE):
        setattr(transcript, name, value if name == "stdin" else shlex.split(value))
    for name in re.findall(r"^# (counts|unordered|whole|alone)\b", head, re.MULTILINE):
        setattr(transcript, name, True)
    return transcript


@functools.cache
def parts_of_a_run() -> dict[str, re.Pattern[str]]:
    """How a run begins, and its report, as `run.txt` has them, with any numbers."""
    whole = (GOLDEN / "transcripts" / "run.txt").read_text().partition("\n$ ")[2].partition("\n")[2]
    begins, rest = whole.split("\nThreads started!\n\n")
    return {"BEGINS": _any_numbers(begins), "REPORT": _any_numbers(rest.split("\n\n--- ")[0])}


def _any_numbers(text: str) -> re.Pattern[str]:
    parts = re.split(r"(?<=: )( *)\d+(?=<7>|$)", text, flags=re.MULTILINE)
    # Every second part is what stands in front of a number.
    before = [f"{part}(\\d+|N)" for part in parts[1::2]] + [""]
    return re.compile("".join(re.escape(a) + b for a, b in zip(parts[::2], before, strict=True)))


@pytest.fixture(scope="module")
def server(
    mariadb_binary: ServerBinary, shared_server: Factory, load_program: Path
) -> Iterator[PrivateServer]:
    """Two small tables in sbtest, an empty database besides."""
    server = shared_server(mariadb_binary)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE sbtest")
        cursor.execute("CREATE DATABASE other")
    words = ["oltp_read_write", "--tables=2", "--table-size=1000", "prepare"]
    done = ours(load_program, server, words)
    assert done.code == 0, done
    yield server


def entry(server: PrivateServer) -> list[str]:
    return [f"--mysql-socket={server.socket}", "--mysql-user=root"]


def ours(
    program: Path, server: PrivateServer, words: list[str], stdin: str | None = None
) -> peer.Done:
    command = [str(program), "sysbench", *entry(server)]
    return peer.run(command, words, folder=SCRIPTS, stdin=stdin)


def masked(done: peer.Done, server: PrivateServer, transcript: Transcript) -> str:
    text = peer.mask(str(done), counts=transcript.counts)
    text = text.replace(str(server.socket), "SOCKET").replace(str(Path.home()), "HOME")
    if not transcript.whole:
        text = shorten(text)
    if transcript.unordered:
        text = "".join(sorted(text.splitlines(keepends=True)))
    return text


def shorten(text: str) -> str:
    """With the names of its parts and their numbers in the place of these."""
    for name, pattern in parts_of_a_run().items():
        text = pattern.sub(lambda found, name=name: " ".join([name, *found.groups()]), text)
    return text


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=[path.stem for path in TRANSCRIPTS])
def test_transcript(path: Path, load_program: Path, server: PrivateServer) -> None:
    transcript = read(path)
    stdin = (SCRIPTS / transcript.stdin).read_text() if transcript.stdin else None

    def staged(program: list[str]) -> str:
        if transcript.before is not None:
            before = ours(load_program, server, transcript.before)
            assert before.code == 0, before
        try:
            words = [*entry(server), *transcript.words]
            return masked(peer.run(program, words, folder=SCRIPTS, stdin=stdin), server, transcript)
        finally:
            if transcript.after is not None:
                ours(load_program, server, transcript.after)

    said = staged([str(load_program), "sysbench"])
    if os.environ.get("CONTEND_UPDATE_GOLDEN"):
        transcript.text = said
        path.write_text(transcript.head + transcript.text)
    assert said == transcript.text
    if SYSBENCH and not transcript.alone:
        theirs = peer.until(said, lambda: staged([str(SYSBENCH)]))
        assert said == theirs, "sysbench says otherwise"


def test_a_transcript_that_is_alone_says_why() -> None:
    pattern = re.compile(r"^# alone(?!: \S)", re.MULTILINE)
    silent = [path.name for path in TRANSCRIPTS if pattern.search(path.read_text())]
    assert not silent
