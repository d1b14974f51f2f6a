"""Guarantees that lines give up, and the smallest option file of a screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up_screen import DOUBLE, FLUSH, POOL, by_effects, screen_experiment, write_screen
from shown import as_text, report_of

from contend.experiment import load_experiment
from contend.findings import study_of
from contend.report import as_json
from contend.sections.screen import cnf_text, given_up
from contend.store import RunFolder

SERVER_OR_HOST = "the transactions of the last second if the server or its host crashes"
HOST = "the transactions of the last second if the host crashes"
TORN = "the repair of pages that a crash leaves half written"
BINLOG = "commits that are in no binary log yet if the host crashes"
ALL = "all guarantees after a crash"
SIZES = "the size of files that grew before a crash of the host, on some file systems"

Lost = Callable[[str, str, str], str]


@pytest.fixture
def lost(tmp_path: Path) -> Lost:
    """What a line gives up, by its name and both values as a file has them; empty: absent."""

    def of(name: str, old: str, new: str) -> str:
        sets = [f"{name} = {value}" if value else "" for value in (old, new)]
        file = tmp_path / "it.toml"
        file.write_text(f"[screen.old]\nother = 1\n{sets[0]}\n[screen.new]\nother = 2\n{sets[1]}\n")
        lines = load_experiment(str(file)).lines
        return given_up(next(line for line in lines if line.name == name))

    return of


@pytest.mark.parametrize(
    ("name", "old", "new", "text"),
    [
        (FLUSH, "1", "0", SERVER_OR_HOST),
        (FLUSH, "1", "2", HOST),
        (FLUSH, "2", "0", SERVER_OR_HOST),
        (FLUSH, "", "0", SERVER_OR_HOST),
        (FLUSH, "3", "2", HOST),
        (FLUSH, "1", "false", SERVER_OR_HOST),
        (DOUBLE, '"ON"', '"OFF"', TORN),
        (DOUBLE, "1", "0", TORN),
        (DOUBLE, "true", "false", TORN),
        (DOUBLE, '"on"', '"off"', TORN),
        (DOUBLE, '"ON"', '"false"', TORN),
        (DOUBLE, '"DETECT_AND_RECOVER"', '"detect_only"', TORN),
        (DOUBLE, "", '"OFF"', TORN),
        ("innodb_flush_method", '"fsync"', '"nosync"', ALL),
        ("innodb_flush_method", '"O_DIRECT"', '"O_DIRECT_NO_FSYNC"', SIZES),
        ("innodb_flush_method", "", '"o_direct_no_fsync"', SIZES),
        ("innodb_flush_method", '"O_DIRECT_NO_FSYNC"', '"nosync"', ALL),
        ("sync_binlog", "1", "0", BINLOG),
        ("sync_binlog", "1", "1000", BINLOG),
        ("sync_binlog", "", "0", BINLOG),
    ],
)
def test_a_guarantee_that_a_new_value_gives_up(
    lost: Lost, name: str, old: str, new: str, text: str
) -> None:
    assert lost(name, old, new) == text
    # The way back gives up nothing.
    assert lost(name, new, old) == ""


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (FLUSH, "1", "3"),
        (FLUSH, "0", "false"),
        (DOUBLE, '"OFF"', "0"),
        (DOUBLE, '"ON"', "1"),
        ("innodb_flush_method", '"fsync"', '"O_DIRECT"'),
        ("sync_binlog", "0", "100"),
        ("sync_binlog", "1", ""),
        (POOL, '"1G"', '"64M"'),
        ("thread_cache_size", "0", "2"),
    ],
)
def test_values_with_the_same_guarantees(lost: Lost, name: str, old: str, new: str) -> None:
    assert lost(name, old, new) == ""


# --- the smallest option file ---

LOSSLESS = """
[screen.old]
flush_time = 5
skip_external_locking = true
only_old = 1
worse = 1
same = 1

[screen.new]
flush_time = 0
skip_name_resolve = true
worse = "64M"
same = 2

[workload]
kind = "write_only"

[compare]
repeats = 6
"""
HELP = {"flush_time": 1.3, "skip_name_resolve": 1.2, "only_old": 1.1}


def cnf_of(path: Path) -> str:
    with RunFolder.open(path) as folder:
        return cnf_text(study_of(folder))


def test_a_file_of_lines_that_help(tmp_path: Path) -> None:
    it = screen_experiment(tmp_path, LOSSLESS)
    path = write_screen(tmp_path / "run", it, by_effects({**HELP, "worse": 0.8}))
    first, group, *rest = cnf_of(path).splitlines()
    assert first.startswith("# ") and "48 pairs" in first
    assert group == "[mysqld]"
    # The largest first; each below its effect.
    assert [line for line in rest if not line.startswith("#")] == [
        "flush_time = 0",
        "skip_name_resolve",
    ]
    assert rest[0].startswith("# +30") and rest[0].endswith(" %, faster")
    assert rest[2].startswith("# +2") and rest[3] == "skip_name_resolve"
    assert rest[4].startswith("# +") and rest[5] == "# without only_old"
    # The others are comments with what they do.
    others = rest[6:]
    assert others[0].startswith("# worse = 64M: -2") and others[0].endswith("slower")
    assert {line.split(":")[0] for line in others[1:]} == {
        "# same = 2",
        "# without skip_external_locking",
    }
    assert all(line.endswith("equivalent") for line in others[1:])


def test_what_is_given_up_stands_above_the_line(tmp_path: Path) -> None:
    path = write_screen(
        tmp_path / "run", screen_experiment(tmp_path), by_effects({FLUSH: 1.4, POOL: 1.2})
    )
    lines = cnf_of(path).splitlines()
    at = lines.index(f"{FLUSH} = 2")
    assert lines[at - 1].endswith(f"; gives up {HOST}")
    assert "gives up" not in lines[lines.index(f"{POOL} = 64M") - 1]
    # A line that does not help costs nothing.
    (other,) = [line for line in lines if DOUBLE in line]
    assert other.startswith(f"# {DOUBLE} = OFF: ") and "gives up" not in other


def test_a_file_without_lines_that_help(tmp_path: Path) -> None:
    path = write_screen(
        tmp_path / "run", screen_experiment(tmp_path), by_effects({FLUSH: 0.7, POOL: 0.9})
    )
    lines = cnf_of(path).splitlines()
    assert lines[1] == "[mysqld]" and len(lines) == 2 + 7
    assert all(line.startswith("# ") for line in lines[2:])


def test_there_is_no_file_before_a_pair_was_measured(tmp_path: Path, study_path: Path) -> None:
    nothing = write_screen(tmp_path / "run", screen_experiment(tmp_path), blocks=0)
    assert cnf_of(nothing) == ""
    assert cnf_of(study_path) == ""
    assert report_of(study_path).found("screen") is None
    assert "screen" not in as_json(report_of(nothing))


# --- what the report has of it ---


def test_losses_are_named_for_lines_that_help_only(tmp_path: Path) -> None:
    rate = by_effects({FLUSH: 1.4, DOUBLE: 0.8})
    report = report_of(write_screen(tmp_path / "run", screen_experiment(tmp_path), rate))
    (given,) = [one for one in report.answer.others if "gives up" in one]
    assert given == f"{FLUSH}=2 gives up {HOST}."
    lines: dict[str, Any] = {one["name"]: one for one in as_json(report)["screen"]["lines"]}
    assert lines[FLUSH]["gives_up"] == HOST and lines[DOUBLE]["gives_up"] == TORN
    assert lines[POOL]["gives_up"] is None


def test_lines_that_were_left_out_are_named(tmp_path: Path) -> None:
    def left_out(name: str, *others: str, needs_others: bool = False) -> dict[str, Any]:
        return {
            "line": name,
            "value": "1",
            "together_with": list(others),
            "needs_others": needs_others,
            "message": f"no {name} here",
        }

    facts = {"left_out": [left_out("a"), left_out("b", "c", "d"), left_out("e", needs_others=True)]}
    path = write_screen(tmp_path / "run", screen_experiment(tmp_path), facts=facts)
    report = report_of(path)
    named = [one for one in report.answer.others if "left out" in one]
    assert [one[:4] for one in named] == ["a=1 ", "b=1 ", "e=1 "]
    assert [one.partition("starts with it")[2].rstrip(".") for one in named] == [
        "",
        " together with c, d",
        " while the other lines are old",
    ]
    assert as_json(report)["screen"]["left_out"] == facts["left_out"]
    text = " ".join(as_text(report, full=True).split())
    assert all(f": no {name} here" in text for name in "abe")
