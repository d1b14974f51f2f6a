"""The stored experiment is the experiment: a resume asks what was asked, or refuses."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab_fakes import EXPERIMENT, SessionBench, experiment, stop_at

from contend.errors import RequestError
from contend.experiment import load_experiment
from contend.lab.events import Interrupted
from contend.lab.session import refuse_passwords
from contend.servers.dsn import Password
from contend.store import RunFolder

STATEMENT = "SELECT 1 AS n HAVING password = 'x1';"
ASKS = EXPERIMENT.replace('kind = "point_select"', f'kind = "sql"\ntext = "{STATEMENT}"')


def broken_off(tmp_path: Path, text: str = ASKS, password: str = "") -> SessionBench:
    """A run of it that was interrupted after the third of its runs."""
    bench = SessionBench(tmp_path, frozenset({Password(password)} if password else ()))
    bench.tiny = experiment(tmp_path, text)
    with pytest.raises(Interrupted):
        bench.begin(stop_at(4, KeyboardInterrupt()))
    return bench


def change_stored(bench: SessionBench, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the stored experiment."""
    with sqlite3.connect(bench.path / "results.sqlite") as store:
        ((text,),) = store.execute("SELECT value FROM meta WHERE key = 'experiment'")
        stored = json.loads(text)
        change(stored)
        text = json.dumps(stored)
        store.execute("UPDATE meta SET value = ? WHERE key = 'experiment'", (text,))


def test_a_resume_asks_the_statement_that_was_asked(tmp_path: Path) -> None:
    """It has `password = 'x1'` in it, which is no secret of a connection."""
    bench = broken_off(tmp_path)
    load = bench.resume(given=bench.tiny)
    assert len(load.plans) == 5
    asked = {plan["workload"]["text"] for plan in load.plans}
    with RunFolder.open(bench.path) as folder:
        asked |= {record.plan["workload"]["text"] for record in folder.records()}
    assert asked == {STATEMENT}


def test_a_resume_that_would_ask_another_statement_is_refused(tmp_path: Path) -> None:
    bench = broken_off(tmp_path)

    def change(stored: dict[str, Any]) -> None:
        stored["base"]["workload"]["text"] = "SELECT 2;"

    change_stored(bench, change)
    with pytest.raises(RequestError, match=r"workload\.text = \"SELECT 1 AS n") as caught:
        bench.resume()
    assert caught.value.exit_code == 2 and 'it is now "SELECT 2;"' in caught.value.message
    assert bench.runs() == [1, 2, 3]


@pytest.mark.parametrize(
    ("password", "place"),
    [("x1", "workload.text (line 17)"), ("Does", "experiment.question (line 4)")],
)
def test_the_password_of_the_login_in_the_text_is_refused(
    tmp_path: Path, password: str, place: str
) -> None:
    bench = SessionBench(tmp_path, frozenset({Password(password)}))
    bench.tiny = experiment(tmp_path, ASKS)
    lines = ASKS.splitlines()
    assert password in lines[int(re.findall(r"\d+", place)[0]) - 1]
    with pytest.raises(RequestError, match=re.escape(place)) as caught:
        bench.begin()
    assert caught.value.exit_code == 2 and password not in caught.value.message
    assert not bench.path.exists()


def test_a_password_that_is_a_name_everybody_knows_is_no_reason_to_refuse(tmp_path: Path) -> None:
    text = ASKS.replace("SELECT 1 AS n", "SELECT id FROM sbtest")
    refuse_passwords(experiment(tmp_path, text), ["sbtest"], tuple)


def test_a_password_in_an_override_or_in_a_script_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "own.lua"
    script.write_text("function prepare() end\nlocal key = 's3cret'\nfunction event() end\n")
    text = re.sub(r'kind = "sql"\n.*', 'kind = "lua"\nscript = "./own.lua"', ASKS)
    with pytest.raises(RequestError, match=r"own\.lua:2 contains the login password"):
        refuse_passwords(experiment(tmp_path, text), ["s3cret"], lambda: [script])
    sets = ["server.options.init_connect=SET @a = 's3cret'"]
    with pytest.raises(RequestError, match=r"--set server\.options\.init_connect "):
        tiny = load_experiment(str(tmp_path / "tiny.toml"), sets=sets)
        refuse_passwords(tiny, ["s3cret"], tuple)
