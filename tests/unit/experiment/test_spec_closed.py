"""What closed work and its recipes say in a file: names, shares, published figures, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from closed_run import SWEEP, experiment

from contend.errors import RequestError
from contend.experiment import SpecError, cell_spec, from_dict, json_schema, to_dict
from contend.experiment.settings import SETTINGS

SCRIPT = """
[workload]
kind = "sql"
text = '''
@read
SELECT 1;
@write
UPDATE sbtest SET k = 1;
'''
shares = { write = 0 }

[factors]
"workload.shares.write" = [0, 5]
"""


def test_published_figures_are_kept_with_their_metric(tmp_path: Path) -> None:
    tried = experiment(tmp_path, SWEEP)
    new, old = tried.published
    assert (new.name, new.metric) == ("new", "seconds")
    assert new.rows[0].figures == (0.5, 0.6, 3.3) and new.rows[0].gain_percent == ()
    assert old.rows[0].cell == {}
    assert from_dict(to_dict(tried)) == tried


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("[{ cell = {}, figures = [1, 2] }]", "one number per column: 3, not 2"),
        ("[{ cell = {}, figures = [1, 2, 0] }]", "figures must be above 0"),
        ("[{ cell = {}, gain_percent = [1, 2, 3] }]", "needs the cell that it belongs to"),
        ("[{ cell = {} }]", "either gain_percent"),
        (
            "[{ cell = {}, figures = [1, 2, 3], gain_percent = [1, 2, 3] }]",
            "either gain_percent",
        ),
    ],
)
def test_figures_that_cannot_be_shown_are_refused(tmp_path: Path, rows: str, message: str) -> None:
    text = SWEEP.replace("[{ cell = {}, figures = [0.5, 0.6, 3.3] }]", rows)
    with pytest.raises(SpecError) as caught:
        experiment(tmp_path, text)
    assert message in caught.value.message and "closed.toml:" in caught.value.message


@pytest.mark.parametrize("metric", ['"second"', '["seconds"]', "5"])
def test_a_published_metric_is_one_that_there_is(tmp_path: Path, metric: str) -> None:
    text = SWEEP.replace(
        '[published.new]\nmachine = "a large one"\nmetric = "seconds"',
        f'[published.new]\nmachine = "a large one"\nmetric = {metric}',
    )
    with pytest.raises(SpecError, match=r"published\.new\.metric"):
        experiment(tmp_path, text)


def test_a_share_can_be_a_factor(tmp_path: Path) -> None:
    tried = experiment(tmp_path, SCRIPT)
    cell = cell_spec(tried, {"workload.shares.write": 5})
    assert cell["workload"]["shares"] == {"write": 5}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{ write = 0 }", "{ write = 101 }", "a whole number from 0 to 100"),
        ("{ write = 0 }", "{ write = 0.5 }", "a whole number from 0 to 100"),
        ("[0, 5]", "[0, 200]", "a whole number from 0 to 100"),
        ("shares.write", "shares.wr-ite", "is not the name of an event"),
    ],
)
def test_a_share_is_a_percentage(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        experiment(tmp_path, SCRIPT.replace(old, new))
    assert message in caught.value.message


def test_an_empty_statement_before_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"server\.before_run .*empty"):
        experiment(tmp_path, '[server]\nbefore_run = ["FLUSH TABLES", " "]\n')


@pytest.mark.parametrize(
    ("server", "refused"),
    [
        ('kind = "mysql"', True),
        ('kind = "mariadb"', False),
        ('use = "mysql@sid"', True),
        ('use = "mariadb@trixie"', False),
        ('use = "/opt/mysqld"', False),
    ],
)
def test_mysql_has_no_query_cache(tmp_path: Path, server: str, refused: bool) -> None:
    text = f"[server]\n{server}\noptions = {{ query_cache_type = 1 }}\n"
    cell = cell_spec(experiment(tmp_path, text), {})

    def refuse() -> None:
        for setting in SETTINGS:
            if setting.path == "server.options":
                setting.refuse(cell.values, own=True)

    if refused:
        with pytest.raises(RequestError, match="no query cache since version 8"):
            refuse()
    else:
        refuse()


def test_editors_know_all_of_it(tmp_path: Path) -> None:
    schema: Any = json_schema()
    good = {
        "server": {"before_run": ["RESET QUERY CACHE"]},
        "workload": {"kind": "sql", "text": "SELECT 1;", "shares": {"a": 5}},
        "published": {
            "there": {
                "metric": "seconds",
                "columns": {"load.connections": [1]},
                "rows": [{"cell": {}, "figures": [2.5]}],
            }
        },
    }
    jsonschema.validate(good, schema)
    good["published"]["there"]["rows"][0]["gain_percent"] = [1]  # type: ignore[index]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(good, schema)
