"""The experiment made from a command line of `contend try`."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unrun_server import UNRUN

from contend.cli.experiments import EXAMPLES
from contend.cli.main import main
from contend.cli.try_experiment import KINDS, SYSBENCH, script_of
from contend.experiment import Experiment, load_experiment
from contend.experiment.settings.workload import may_write

DOCS = Path(__file__).parents[3] / "docs"

Printed = Callable[[str], Experiment]


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    servers: list[Any] = [UNRUN]
    monkeypatch.setattr("contend.servers.find.servers_at_hand", lambda: servers)
    monkeypatch.setattr("contend.servers.find.find_server", lambda _kind, wanted=None: UNRUN)
    return servers


@pytest.fixture
def printed(at_hand: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Printed:
    """The experiment that `contend run` reads from the output of `contend try … --print`."""

    def run(line: str) -> Experiment:
        code = main(["try", *shlex.split(line), "--print"])
        output = capsys.readouterr()
        assert (code, output.err) == (0, ""), output.err
        file = tmp_path / "it.toml"
        file.write_text(output.out, "utf-8")
        return load_experiment(str(file))

    return run


def test_the_same_load_is_written_into_the_file(printed: Printed) -> None:
    assert printed("sort_buffer_size=256K,4M --equal-load").base["load.rate"] == "equal"
    assert printed("sort_buffer_size=256K,4M --alone").base["load.alone"] is True
    assert printed("sort_buffer_size=256K,4M").base["load.rate"] is None


def test_the_first_value_is_the_baseline(printed: Printed) -> None:
    made = printed("key_cache_segments=32,0 --engine myisam --workload random_points")
    assert made.compare.baseline == {"server.options.key_cache_segments": 32}
    assert made.compare.repeats == 8 and made.compare.at_most_s == 70
    assert made.base["data.engine"] == "MyISAM" and made.base["data.rows"] == 100_000
    assert made.base.workload.kind == "random_points"
    assert made.base["load.connections"] == 8
    assert made.name == "try-key_cache_segments"
    assert made.question.endswith(" = 0 faster than 32 for random_points?")


@pytest.mark.parametrize(
    ("line", "metric"),
    [
        ("", ("events_per_s",)),
        ("--workload tpcc --data tpcc", ("new_orders_per_minute",)),
        ("--workload point_select", ("qps",)),
        ("--workload tpcc --data tpcc --metric qps", ("qps",)),
        ("--metric response_us_p99,qps", ("response_us_p99", "qps")),
    ],
)
def test_the_metric_is_the_workloads_or_the_given_one(
    printed: Printed, line: str, metric: tuple[str, ...]
) -> None:
    assert printed(f"a=1,2 {line}").compare.metric == metric


def test_several_options_are_several_factors_and_the_first_is_compared(printed: Printed) -> None:
    made = printed("c=7 --connections 8,64 a=1,2 --workload point_select b=3,4")
    assert [(f.path, f.levels) for f in made.factors] == [
        ("server.options.a", (1, 2)),
        ("server.options.b", (3, 4)),
        ("load.connections", (8, 64)),
    ]
    assert made.compare.baseline == {"server.options.a": 1}
    assert made.base["server.options"] == {"c": 7}


@pytest.mark.parametrize("line", ["sort_bufer_size=1M,2M", "--a '' --b sort_bufer_size=2M"])
def test_print_refuses_what_a_run_refuses(
    line: str,
    at_hand: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        "contend.servers.kinds.mysqld.program_options", lambda _: frozenset({"sort_buffer_size"})
    )
    assert main(["try", *shlex.split(line), "--print"]) == 2
    output = capsys.readouterr()
    assert output.out == "" and "has no option sort_bufer_size" in output.err


def test_sets_are_profiles(printed: Printed) -> None:
    made = printed("--a 'x=1 y=2' --b x=3 z=5,6")
    assert made.base["server.profiles"] == {"a": {"any": {"x": 1, "y": 2}}, "b": {"any": {"x": 3}}}
    assert made.compare.baseline == {"server.profile": "a"}
    assert "b (x=3) faster than a (x=1 y=2) for" in made.question
    made = printed("--a '' --b x=3")
    assert made.base["server.profiles"]["a"] == {"any": {}}
    assert "faster than a (the defaults)" in made.question


def test_servers_are_compared_first(printed: Printed) -> None:
    for line in ("--server mariadb,mysql@sid", "--server mariadb --server mysql@sid"):
        made = printed(f"a=1,2 {line}")
        assert made.compare.baseline == {"server.use": "mariadb"}
        assert [f.path for f in made.factors] == ["server.use", "server.options.a"]
    made = printed("a=1,2 --server mysql@sid")
    assert made.base["server.use"] == "mysql@sid"
    made = printed("--server mysql://a@one/x,mysql://a@two/x --connections 500")
    assert made.compare.baseline == {"server.use": "mysql://a@one/x"}
    assert made.base["server.options"] == {}


def test_engines_are_compared_if_nothing_else_is(printed: Printed) -> None:
    made = printed("--engine innodb,MyISAM --workload oltp_point_select,read_only")
    assert made.compare.baseline == {"data.engine": "InnoDB"}
    assert made.factors[0].levels == ("point_select", "read_only")


def test_a_machine_with_mysql_alone_measures_mysql(printed: Printed, at_hand: list[Any]) -> None:
    assert printed("a=1,2").base["server.kind"] == "mariadb"
    at_hand[:] = [dataclasses.replace(UNRUN, kind="mysql")]
    assert printed("a=1,2").base["server.kind"] == "mysql"
    at_hand.clear()
    assert printed("a=1,2").base["server.kind"] == "mariadb"


@pytest.mark.parametrize(("name", "kind"), [*SYSBENCH.items(), *zip(KINDS, KINDS, strict=True)])
def test_every_workload_by_its_names(printed: Printed, name: str, kind: str) -> None:
    assert printed(f"a=1,2 --workload {name}").base.workload.kind == kind


@pytest.mark.parametrize(
    ("typed", "schema", "rows"),
    [
        ("100000", "sbtest", 100_000),
        ("20_000", "sbtest", 20_000),
        ("1M", "sbtest", 1_000_000),
        ("1.5k", "sbtest", 1_500),
        ("employees", "employees", 300_024),
        ("test_data", "test_data", 100_000),
    ],
)
def test_data_are_rows_or_tables(printed: Printed, typed: str, schema: str, rows: int) -> None:
    made = printed(f"a=1,2 --data {typed} --sql 'SELECT 1'")
    assert (made.base["data.schema"], made.base["data.rows"]) == (schema, rows)


def test_an_import_has_its_own_rows_and_engines(printed: Printed) -> None:
    made = printed("a=1,2 --data import:shop --sql 'SELECT 1'")
    assert made.base["data.schema"] == "import:shop"
    assert "engine" not in made.source


def test_a_workload_brings_its_tables(printed: Printed) -> None:
    assert printed("a=1,2 --workload tpcc").base["data.schema"] == "tpcc"
    assert printed("a=1,2 --workload string_lookup").base["data.schema"] == "test_data"


def test_times_and_widths(printed: Printed) -> None:
    made = printed("a=1,2 --for 5m")
    assert (made.compare.at_most_s, made.compare.until) == (300, None)
    for width in ("2%", "'±2 %'", "0.02"):
        made = printed(f"a=1,2 --until {width}")
        assert (made.compare.at_most_s, made.compare.until) == (None, 0.02)
    made = printed("a=1,2 --until 2% --for 90")
    assert (made.compare.at_most_s, made.compare.until) == (90, 0.02)


def test_a_private_server_takes_all_connections(printed: Printed) -> None:
    assert printed("a=1,2 --connections 8,200").base["server.options"] == {"max_connections": 220}
    made = printed("a=1,2 max_connections=999 --connections 500")
    assert made.base["server.options"] == {"max_connections": 999}
    assert printed("a=1,2 --connections 64").base["server.options"] == {}


def test_statements_are_events_of_equal_weight() -> None:
    assert script_of(["SELECT 1;"]) == "@query\nSELECT 1;\n"
    two = script_of(["BEGIN; SELECT 1; COMMIT", " SELECT 2 -- two"]).splitlines()
    assert two == ["@query1", "BEGIN; SELECT 1; COMMIT;", "@query2", "SELECT 2 -- two", ";"]
    assert script_of(["@read weight 9\nSELECT 1;"]) == "@read weight 9\nSELECT 1;\n"


def test_writing_statements_need_consent(printed: Printed) -> None:
    made = printed("a=1,2 --writes --sql 'UPDATE sbtest SET k = 1 WHERE id = {id:uniform(1, 9)}'")
    assert may_write("sql", made.base["workload"])


def test_an_experiment_is_measured_like_contend_run(
    at_hand: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def measure(experiment: Experiment, args: Any, *, exact: bool) -> int:
        begun.append((experiment, args.server, args.resume, args.out, args.yes, exact))
        return 0

    monkeypatch.setattr("contend.cli.run.measure", measure)
    assert main(["try", "a=1,2", "--out", "x", "--yes"]) == 0
    ((experiment, *rest),) = begun
    assert experiment.compare.baseline == {"server.options.a": 1}
    assert rest == [None, None, Path("x"), True, True]


def test_examples_of_the_page_and_the_help_are_valid(
    printed: Printed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.cnf").write_text("[mysqld]\nsync_binlog = 0\n")
    Path("new.cnf").write_text("[mysqld]\nsort_buffer_size = 1M\n")
    page = (DOCS / "start" / "try-one-setting.md").read_text("utf-8")
    lines = re.findall(r"^contend try (.*?)(?: --print > .*)?$", page, re.M)
    helped = re.findall(r"^  contend try ((?:.*\\\n)?.*)$", EXAMPLES, re.M)
    assert len(lines) == 9 and len(helped) == 6
    for line in (*lines, *(one.replace("\\\n", " ") for one in helped)):
        assert printed(line).compare.baseline
    table = re.findall(r"^\| `(.*?)` \|", page, re.M)
    assert len(table) == 7
    for line in table:
        assert printed(f"{line} --workload point_select").compare.baseline


WORDS = st.sampled_from(
    [
        *("a=1,2", "a=", "=", "a='", "b=1", "--a", "--b", "x=1", "", "--sql", "SELECT 1", "{"),
        *("--data", "1M", "import:", "import:x y", "employees", "--engine", "MyISAM", "--until"),
        *("--for", "2%", "1s", "--connections", "8,64", "0", "x", "--workload", "tpcc", "lua"),
        *("--server", "mysql://u:p@h/", "socket:/x", "mariadb,mysql", "--writes", "--", "\udcff"),
        *("\n", "'''", "--sql=-- '", "nan", "1e999", "9" * 5000, "--connections=1,1"),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(WORDS, max_size=8))
def test_nothing_typed_gives_a_traceback(at_hand: list[Any], arguments: list[str]) -> None:
    assert main(["try", "--print", *arguments]) in (0, 2)
