"""A cell's levels go where their paths say, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from contend.settings.plan_keys import SCHEMA_OF, WORKLOAD
from contend.settings.values import Refused
from contend.spec import (
    Cell,
    CellSpec,
    Experiment,
    Level,
    SpecError,
    cell_key,
    cell_spec,
    cell_specs,
    cells,
    load_experiment,
    planned_load_s,
    planned_runs,
    to_dict,
)
from contend.spec import cell as cell_module
from contend.spec.keys import factor_paths, resolve

Load = Callable[..., Experiment]


def some_level(path: str) -> tuple[Level, Level]:
    """One that the key takes, and what the cell has then."""
    for level in (
        True,
        4,
        1,
        100,
        0.5,
        "0",
        "local",
        "idle",
        "none",
        "never",
        "steady",
        "jemalloc",
        "dropped",
    ):
        try:
            read = resolve(path).key.level.read(level)
        except Refused:
            continue
        return level, cast("Level", read)
    raise AssertionError(path)


def test_levels_are_put_in(load: Load) -> None:
    experiment = load()
    cell = {"server.options.key_cache_segments": 32, "load.connections": 8}
    spec = cell_spec(experiment, cell)
    assert spec["server.options"] == {"key_buffer_size": "64M", "key_cache_segments": 32}
    assert spec["load.connections"] == 8
    assert (spec["server.change"], spec.data, spec["load.measure"]) == (
        "in_place",
        experiment.base.data,
        2.0,
    )


def test_the_base_is_left_alone(load: Load) -> None:
    experiment = load(sets=["workload.distribution.kind=special"])
    before = load(sets=["workload.distribution.kind=special"])
    cell_spec(experiment, {"workload.distribution.pct": 7, "server.options.x": 1})
    assert experiment == before


def test_a_cell_is_computed_once(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Cell] = []

    def counted(experiment: Experiment, cell: Cell) -> CellSpec:
        computed.append(cell)
        return compute(experiment, cell)

    compute = cell_module._computed
    monkeypatch.setattr(cell_module, "_computed", counted)
    experiment = replace(load())
    computed.clear()
    assert len(planned_runs(experiment)) == 16
    planned_load_s(experiment)
    every = list(cell_specs(experiment))
    assert sorted(computed, key=str) == sorted(cells(experiment), key=str)
    backwards = dict(reversed(cells(experiment)[0].items()))
    assert cell_spec(experiment, backwards) is every[0]
    # Another experiment has cells of its own, though it is equal to this one.
    assert cell_spec(replace(experiment), backwards) is not every[0]


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (1, "1")])
def test_levels_that_python_calls_equal_are_different_cells(one: Level, other: Level) -> None:
    assert cell_key({"server.options.x": one}) != cell_key({"server.options.x": other})


def test_computed_cells_are_neither_stored_nor_compared(load: Load) -> None:
    used, unused = load(), replace(load())
    list(cell_specs(used))
    assert used.computed and not unused.computed
    assert (used, to_dict(used)) == (unused, to_dict(unused))


def test_levels_are_read_as_the_file_would_be(load: Load) -> None:
    experiment = load(sets=['load.measure=["500ms", 2]'])
    assert [
        cell_spec(experiment, {"load.measure": level})["load.measure"] for level in ("500ms", 2)
    ] == [0.5, 2.0]


def test_defaults_of_the_workload_are_filled_in(load: Load) -> None:
    spec = cell_spec(load(), {})
    assert spec.workload.parameters == {"points": 10, "distribution": {"kind": "uniform"}}
    spec = cell_spec(load(sets=["workload.distribution.kind=special"]), {})
    assert spec.workload.parameters["distribution"] == {
        "kind": "special",
        "iter": 12,
        "pct": 1,
        "res": 75,
    }


def test_where_the_kind_varies_each_cell_has_its_own_parameters(load: Load) -> None:
    experiment = load(
        '[workload]\ndistribution = { pct = 3 }\n[factors]\n"workload.distribution.kind" = '
        '["uniform", "special"]\n"workload.kind" = ["point_select", "random_points"]'
    )
    found = {
        (spec.workload.kind, *sorted(spec.workload.parameters["distribution"].items()))  # type: ignore[attr-defined]
        for spec in (cell_spec(experiment, cell) for cell in cells(experiment))
    }
    special = (("iter", 12), ("kind", "special"), ("pct", 3), ("res", 75))
    assert found == {
        ("point_select", ("kind", "uniform")),
        ("point_select", *special),
        ("random_points", ("kind", "uniform")),
        ("random_points", *special),
    }


OPEN = {"process": ", rate = 5", "rate": ", rate = 4"}

LEVELS: dict[str, tuple[object, object]] = {
    "treatment": ("more", "more"),
    "server.kind": ("mysql", "mysql"),
    "server.use": ("mysql@sid", "mysql@sid"),
    "server.warm": ("full", "full"),
    "server.wrap": ("nice -n 5", ["nice", "-n", "5"]),
    "server.lock_files": (True, True),
    "server.redo_log_folder": ("/dev/shm", "/dev/shm"),
    "load.hosts": (2, 2),
    "load.host_lost": ("go_on", "go_on"),
    "server.profiler_hz": (199, 199),
    "server.round_trip": ("250ms", 0.25),
    "server.member_round_trip": ("250ms", 0.25),
    "check": ("each_run", "each_run"),
    "load.answer_timeout": ("2s", 2.0),
    "load.arrival.kind": ("closed", "closed"),
    "load.arrival.think": ("10ms", 0.01),
    "load.arrival.think_scatters": (True, True),
    "load.arrival.rate": (50, 50.0),
    "load.arrival.process": ("even", "even"),
    "load.errors.ignore_all": (True, True),
    "load.errors.reconnect": (False, False),
    "load.errors.retry_limit": (3, 3),
    "load.errors.retry_pause": ("1ms", 0.001),
    "load.events": (7, 7),
    "load.events_each": (7, 7),
    "load.idle_connections": (7, 7),
    "load.depth": (8, 8),
    "load.reconnect_every": (7, 7),
    "load.storm": (True, True),
    "server.change": ("restart", "restart"),
    "server.topology": ("single", "single"),
    "server.backends": (3, 3),
    "server.fronts": (3, 3),
    "server.members": ("node=socket:/x", ["node=socket:/x"]),
    "server.nodes": (4, 4),
    "load.route": ("first", "first"),
    "data.schema": ("sbtest", "sbtest"),
    "data.engine": ("Aria", "Aria"),
    "data.rows": (77, 77),
    "data.seed": (5, 5),
    "data.k": ("random", "random"),
    "data.table_options": ("CHECKSUM=1", "CHECKSUM=1"),
    "data.tables": (3, 3),
    "data.emp_no_keys": (True, True),
    "data.warehouses": (2, 2),
    "data.first_warehouse": (1, 1),
    "data.last_warehouse": (1, 1),
    "data.partition_by": ("hash", "hash"),
    "data.partitions": (2, 2),
    "data.foreign_keys": (True, True),
    "data.history_key": (True, True),
    "data.string_length": (40, 40),
    "data.shrink": (2, 2),
    "load.connections": (3, 3),
    "load.threads": (2, 2),
    "load.warmup": ("1m", 60.0),
    "load.measure": ("1m", 60.0),
    "load.slice": ("200ms", 0.2),
    "load.settle": (0, 0.0),
    "load.interval": (0, 0.0),
    "load.protocol": ("text", "text"),
    "load.engine": ("epoll", "epoll"),
    "load.seed": (9, 9),
    "workload.kind": ("point_select", "point_select"),
    "workload.points": (4, 4),
    "workload.ranges": (4, 4),
    "workload.delta": (4, 4),
    "workload.transaction": (False, False),
    "workload.range_size": (4, 4),
    "workload.auto_increment": (False, False),
    "workload.batch": (4, 4),
    "workload.batch_rows": (4, 4),
    "workload.select_by": ("in", "in"),
    "workload.insert_by": ("multi_row", "multi_row"),
    "workload.bulk_execute": (True, True),
    "workload.text": ("SELECT 1", "SELECT 1"),
    "workload.times": (4, 4),
    "workload.ask": ("in", "in"),
    "workload.deliveries": ("deferred", "deferred"),
    "workload.mix": ("weights", "weights"),
    "workload.c_load": (4, 4),
    "workload.first_warehouse": (4, 4),
    "workload.last_warehouse": (4, 4),
    "workload.remote_lines_percent": (4, 4),
    "workload.remote_payments_percent": (4, 4),
    "workload.rollbacks_percent": (4, 4),
    "workload.waits_percent": (4, 4),
    "workload.warehouses": (4, 4),
    "workload.mix_weights.delivery": (4, 4),
    "workload.mix_weights.new_order": (4, 4),
    "workload.mix_weights.order_status": (4, 4),
    "workload.mix_weights.payment": (4, 4),
    "workload.mix_weights.stock_level": (4, 4),
    "workload.order": ("index", "index"),
    "workload.shared": (True, True),
    "workload.skip": (0, 0),
    **{
        f"workload.{name}": (0, 0)
        for name in (
            *("point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"),
            *("index_updates", "non_index_updates", "delete_inserts"),
        )
    },
    "server.profile": ("same", "same"),
    **{
        f"server.knobs.{name}": (5, 5)
        for name in (
            *("under_lock_ns", "outside_lock_ns", "miss_ns", "second_lock_ns", "row_lock_ns"),
            *("delay_us", "stall_every_s", "stall_ms", "leak_ns_per_s", "pool"),
        )
    },
    "server.knobs.miss": ("read", "read"),
    "server.knobs.padding": ("shared", "shared"),
    "server.knobs.speed": (1.05, 1.05),
    "server.knobs.lock": ("fair", "fair"),
    "workload.script": ("oltp_insert", "oltp_insert"),
    **{
        path: some_level(path)
        for path in factor_paths()
        if path.partition(".")[0] in ("place", "host")
    },
    "workload.distribution.kind": ("zipfian", "zipfian"),
    "workload.distribution.iter": (4, 4),
    "workload.distribution.pct": (4, 4),
    "workload.distribution.res": (4, 4),
    "workload.distribution.h": (0.5, 0.5),
    "workload.distribution.exp": (1.5, 1.5),
}


@pytest.mark.parametrize("path", factor_paths())
def test_every_path_that_can_be_a_factor_reaches_the_cell(load: Load, path: str) -> None:
    level, expected = LEVELS[path]
    kinds = {"h": "pareto", "exp": "zipfian"}
    name = path.rsplit(".", 1)[-1]
    having = (kind for kind, keys in WORKLOAD.kinds.items() if name in {key.name for key in keys})
    kind = "tpcc" if ".mix_weights." in path else next(having, "random_points")
    required = {
        "lua": 'script = "bulk_insert"\n',
        "sql": 'text = "SELECT 2"\n',
        "list": 'statements = ["SELECT 2"]\n',
        "scan": 'parts = [{ name = "a", statement = "SELECT 2" }]\n',
    }
    arrival = "open" if name in ("rate", "process") else "closed"
    text = (
        f'[load]\narrival = {{ kind = "{arrival}" {OPEN.get(name, "")} }}\n'
        if ".arrival." in path
        else ""
    )
    if path == "treatment":
        text += '[treatments.more]\n"load.connections" = 9\n'
    if kind in SCHEMA_OF:
        text += f'[data]\nschema = "{SCHEMA_OF[kind]}"\n'
    text += f'[workload]\nkind = "{kind}"\n{required.get(kind, "")}'
    if path.startswith("workload.distribution.") and name != "kind":
        text += f'distribution = {{ kind = "{kinds.get(name, "special")}" }}\n'
    spec = cell_spec(load(text), {path: level})  # type: ignore[dict-item]
    target = resolve(path)
    assert target.setting is not None
    found = spec[target.setting.path]
    for key in target.steps[len(target.setting.steps) :]:
        found = found[key]
    assert found == expected


@pytest.mark.parametrize("cell", [{"load.conections": 1}, {"load.connections": "many"}])
def test_a_cell_that_the_experiment_cannot_have(load: Load, cell: dict[str, object]) -> None:
    with pytest.raises(SpecError, match="a cell of the experiment: "):
        cell_spec(load(), cell)  # type: ignore[arg-type]


def test_the_study_in_one_cell() -> None:
    experiment = load_experiment("segmented-key-cache")
    cell = {
        "server.options.key_cache_segments": 64,
        "workload.points": 50,
        "load.connections": 128,
    }
    spec = cell_spec(experiment, cell)
    assert spec["server.options"]["key_buffer_size"] == "512M"
    assert spec["server.options"]["key_cache_segments"] == 64
    assert spec.workload.parameters["points"] == 50
    assert spec.workload.parameters["distribution"]["kind"] == "special"  # type: ignore[index]
    assert (spec["load.connections"], spec["load.seed"]) == (128, 303)
