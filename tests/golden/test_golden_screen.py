"""What `contend show` prints of screens, to the letter; their JSON, page and smallest option
file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up_screen import DOUBLE, FLUSH, POOL, by_effects, screen_experiment, write_screen
from transcripts import check

from contend.cli.main import main
from contend.findings import study_of
from contend.report import html
from contend.report.build import build
from contend.sections.screen import cnf_text
from contend.store import RunFolder

EVERY = {
    **{FLUSH: 1.1, POOL: 0.9, DOUBLE: 1.2, "table_open_cache": 1.1, "thread_cache_size": 0.9},
    **{"query_cache_type": 0.9, "innodb_adaptive_hash_index": 1.1},
}
LEFT_OUT: dict[str, Any] = {
    "left_out": [
        {
            "line": "innodb_log_file_size",
            "value": "1K",
            "together_with": [],
            "needs_others": False,
            "message": "the server ended while starting",
        }
    ]
}
Rate = Callable[[set[str]], float]


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (("COLUMNS", "80"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "LINES"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("title", "rate", "how"),
    [
        ("three matter", by_effects({FLUSH: 1.4, POOL: 0.7, DOUBLE: 1.1}), {}),
        ("none matters", by_effects({}), {}),
        ("every line matters", by_effects(EVERY), {}),
        ("two work together", by_effects({}, {(FLUSH, DOUBLE): 1.2}), {}),
        ("not certain", by_effects({FLUSH: 1.4, POOL: 0.9}), {"noise": 0.06}),
        ("that is not all", by_effects({FLUSH: 1.4, POOL: 1.04}), {"noise": 0.05}),
        ("left out", by_effects({FLUSH: 1.4}), {"facts": LEFT_OUT}),
        ("unfinished", by_effects({FLUSH: 1.4}), {"blocks": 20}),
        ("nothing yet", by_effects({}), {"blocks": 0}),
    ],
)
def test_show(
    capsys: pytest.CaptureFixture[str], title: str, rate: Rate, how: dict[str, Any]
) -> None:
    write_screen(Path("run"), screen_experiment(Path()), rate, **how)
    code = main(["show", "run"])
    printed = capsys.readouterr()
    assert all(len(line) <= 80 for line in printed.out.splitlines())
    check(f"screen-{title.replace(' ', '-')}", f"{printed.out}{printed.err}exit {code}\n")


def test_the_json_the_page_and_the_smallest_file(capsys: pytest.CaptureFixture[str]) -> None:
    rate = by_effects({FLUSH: 1.4, POOL: 0.7}, {(FLUSH, DOUBLE): 1.1})
    path = write_screen(Path("run"), screen_experiment(Path()), rate)
    assert main(["show", "run", "--json"]) == 0
    screen = json.loads(capsys.readouterr().out)["screen"]
    assert set(screen["matter"]) == {FLUSH, POOL, DOUBLE}
    flush = next(one for one in screen["lines"] if one["name"] == FLUSH)
    assert (flush["old"], flush["new"], flush["verdict"]) == (1, 2, "faster")
    assert flush["low"] < 1.4 * 1.1**0.5 < flush["high"]
    assert "host crashes" in flush["gives_up"]
    (both,) = (one for one in screen["together"] if set(one["lines"]) == {FLUSH, DOUBLE})
    assert both["low"] < 1.1 < both["high"]
    assert screen["pairs"]["lines"] == 48
    assert screen["proof"]["verdict"] == "equivalent"
    with RunFolder.open(path) as folder:
        page, *_ = html.write(build(folder), Path("page.html"))
        text = cnf_text(study_of(folder))
    assert "screen-effects" in page.read_text()
    given = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert given[0] == "[mysqld]"
    assert set(given[1:]) == {f"{FLUSH} = 2", f"{DOUBLE} = OFF"}
    assert f"# {POOL} = 64M: -30" in text
