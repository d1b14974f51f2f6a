"""Text from outside is cleaned on its way to every stream, display and output file."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, as_failed, study, with_warning, write_run

from contend.cli import main as front_door
from contend.cli.console import CleanConsole
from contend.cli.main import main
from contend.cli.parser import columns, confirmed
from contend.cli.progress import LiveDisplay, PlainDisplay
from contend.cli.streams import clean_streams, control
from contend.cli.warm_display import WarmDisplay
from contend.errors import WorkError, clean, one_line
from contend.experiment import Experiment
from contend.lab import events
from contend.report.gate import junit_of, markdown_of
from contend.store import RunRecord

UNSAFE = [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F)]
UNSAFE += [*range(0x2066, 0x206A), 0xD800, 0xDC80, 0xDFFF]

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\x \x9b31m\x85 \x7f\b\r"
    "\u202egnp\u202c \u2066x\u2069 \udc80 [bold]b[/bold] [link=http://evil]x[/link] :skull:"
    "\ncontend: error: forged\n  hint: forged"
)
OURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
"""Control sequences of contend's own colours and bars."""


def require_safe(output: str, *, ours: bool = False) -> None:
    output = OURS.sub("", output) if ours else output
    bad = {hex(ord(one)) for one in output if ord(one) in UNSAFE}
    assert not bad, bad
    assert "\ncontend: error: forged" not in f"\n{output}"
    assert "\n  hint: forged" not in output


def test_every_unsafe_character_is_replaced_and_no_other() -> None:
    for code in range(0x3000):
        found = clean(chr(code))
        assert found == ("\ufffd" if code in UNSAFE else chr(code)), hex(code)
    assert clean("a\r\nb") == "a\nb"
    assert one_line("  a\n   b\u2028c\n") == "  a b c"


def test_both_streams_are_cleaned_and_restored(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    with clean_streams():
        for stream in (sys.stdout, sys.stderr):
            stream.write("\x1b[2Jx")
            stream.writelines(["\x9b", "y"])
            control(stream, "\x1b[K")
    assert (sys.stdout, sys.stderr) == before
    assert tuple(capsys.readouterr()) == ("\ufffd[2Jx\ufffdy\x1b[K",) * 2


def test_unencodable_characters_do_not_fail() -> None:
    code = "from contend.cli.main import main; main(['recipes', '\\udc80é'])"
    env = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr and "contend: error:" in done.stderr


def test_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_: object) -> int:
        raise WorkError(HOSTILE, hint=HOSTILE, detail=HOSTILE)

    monkeypatch.setattr(front_door, "_dispatch", refuse)
    assert main(["show"]) == 1
    output = capsys.readouterr().err
    require_safe(output)
    assert "\n  | contend: error: forged" in output


def test_a_typed_name(capsys: pytest.CaptureFixture[str]) -> None:
    for line in (["show", HOSTILE], [HOSTILE], ["show", f"--{HOSTILE}"], ["run", HOSTILE]):
        assert main(line) == 2
        require_safe(capsys.readouterr().err)


def test_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    output = Terminal()
    monkeypatch.setattr("sys.stderr", output)
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    with clean_streams():
        assert confirmed(HOSTILE, yes=False)
    require_safe(output.getvalue())


def test_tables_keep_their_columns() -> None:
    first, second = columns([["a", HOSTILE], ["b", "x"]])
    require_safe(first)
    assert "\n" not in first and second == "b  x"


EVENTS = [
    events.Notice(HOSTILE),
    events.StepProgress(HOSTILE, 1, 10, "rows"),
    events.Began(Path(HOSTILE), total=4, ended=1, load_s=8.0),
    events.RunBegan(1, 1, 2, {"server.options.x": HOSTILE}, 4, None),
    events.Pace(1.0, 1000.0),
]


def failed_run() -> RunRecord:
    cell = {"server.options.x": HOSTILE}
    return as_failed(RunRecord(1, 1, 1, cell, "failed", "", ""), HOSTILE)


@pytest.mark.parametrize("terminal", [False, True], ids=["lines", "live"])
def test_displays(terminal: bool) -> None:
    out = io.StringIO()
    console = CleanConsole(file=out, force_terminal=terminal, width=400)
    with (LiveDisplay if terminal else PlainDisplay)(console) as display:
        for event in [*EVENTS, events.RunEnded(failed_run())]:
            display(event)
    require_safe(out.getvalue(), ours=True)
    # What looks like markup is text.
    assert "[link=http://evil]x[/link] :skull:" in out.getvalue()


def test_the_display_of_a_warm_up() -> None:
    out = io.StringIO()
    with WarmDisplay(CleanConsole(file=out, force_terminal=True, width=400)) as display:
        display.notice(HOSTILE)
    require_safe(out.getvalue(), ours=True)
    assert "[bold]b[/bold]" in out.getvalue()


def test_only_the_clean_console_is_used() -> None:
    files = Path(front_door.__file__).parents[1].rglob("*.py")
    assert not [one for one in files if re.search(r"(?<!Clean)\bConsole\(", one.read_text())]


SETS = (f"{CONNECTIONS}=[8, 64]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=2")


def hostile_study() -> Experiment:
    found = study(sets=SETS)
    return replace(found, name=f"x{HOSTILE}", question=HOSTILE, source=found.source + HOSTILE)


def hostile_record(record: RunRecord) -> RunRecord:
    if record.run == 1:
        return as_failed(record, HOSTILE)
    record = with_warning(record, HOSTILE, HOSTILE)
    assert record.done is not None
    error = {"code": 1, "sqlstate": HOSTILE, "message": HOSTILE, "count": 1, "statement": HOSTILE}
    record.done["errors"] = [error]  # type: ignore[list-item]
    server = {"kind": "mariadb", "version": HOSTILE, "source": HOSTILE, "change": HOSTILE}
    record.probes["server"] = server  # type: ignore[typeddict-item]
    record.probes["variables_that_differ"] = {HOSTILE: {"value": HOSTILE, "default": HOSTILE}}
    return record


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with hostile text everywhere."""
    facts = {"cpu": {"model": HOSTILE, "count": 2}, "missing": {HOSTILE: HOSTILE}}
    facts["doctor"] = [  # type: ignore[assignment]
        {
            **dict.fromkeys(("id", "title", "evidence", "cost", "mend"), HOSTILE),
            **{"severity": "warning", "touches": ["all"], "measure": None, "ignored": None},
        }
    ]
    return write_run(
        tmp_path_factory.mktemp("stranger") / "run",
        hostile_study(),
        change=hostile_record,
        facts=facts,
    )


@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["show", "--full"],
        ["show", "--json"],
        ["export", "--format", "csv"],
        ["export", "--format", "json"],
        ["compare", "SAME"],
        ["compare", "SAME", "--json"],
        ["history", "SAME"],
        ["why", "--plan"],
        ["profile"],
        ["run", "--resume"],
    ],
    ids=" ".join,
)
def test_a_foreign_run_folder(
    stranger: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *more = command
    more = [str(stranger) if one == "SAME" else one for one in more]
    # Refused or not, it says nothing raw.
    main([name, *more, str(stranger)])
    output = capsys.readouterr()
    assert output.out or output.err
    require_safe(output.err)
    assert not any(ord(one) in UNSAFE for one in output.out)
    if "--json" in more and output.out:
        assert "\\u001b[2J" in output.out and json.loads(output.out)


def written_files(stranger: Path, tmp_path: Path) -> Iterator[tuple[Path, Callable[[], int]]]:
    for name in ("csv", "json"):
        out = tmp_path / name
        yield (
            out,
            lambda n=name, o=out: main(  # type: ignore[misc]
                ["export", str(stranger), "--format", n, "--out", str(o)]
            ),
        )


def test_files_that_people_read(stranger: Path, tmp_path: Path) -> None:
    for path, write in written_files(stranger, tmp_path):
        assert write() == 0
        assert not any(ord(one) in UNSAFE for one in path.read_text("utf-8"))


def test_the_files_of_a_gate() -> None:
    import xml.etree.ElementTree as ET

    from contend.metrics import THROUGHPUT, metric_of
    from contend.report.model import GateRow, GateText

    qps = metric_of(THROUGHPUT)
    row = GateRow(qps, 0.03, HOSTILE, "uncertain", change="", finding=None, says=HOSTILE)
    text = GateText(HOSTILE, "uncertain", HOSTILE, (row,), policy="fail")
    markdown = markdown_of(text, (HOSTILE,))
    require_safe(markdown)
    xml = junit_of(text)
    assert not any(ord(one) in UNSAFE for one in xml)
    assert ET.fromstring(xml).attrib["failures"] == "1"


def test_the_page_and_its_charts(stranger: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(stranger), "--out", str(page)]) == 0
    assert not any(ord(one) in UNSAFE for one in page.read_text("utf-8"))
    assert "[link=http://evil]" in page.read_text("utf-8")
