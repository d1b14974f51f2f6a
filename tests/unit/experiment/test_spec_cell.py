"""A cell's levels go where their paths say, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from contend.experiment import (
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
from contend.experiment import order as cell_module
from contend.experiment.keys import factor_paths, resolve
from contend.experiment.settings.plan_keys import SCHEMA_OF, WORKLOAD
from contend.experiment.settings.values import Refused

Load = Callable[..., Experiment]


def some_level(path: str) -> Level:
    """One that the key takes, and that is not its default."""
    if path in LEVELS:
        return LEVELS[path]
    key = resolve(path).key
    names: tuple[Level, ...] = getattr(key.level, "names", ())
    usual = ("local", 4, 40, 100, 1, True, False, "1m", 0.5, 1.05, "0", "/dev/shm", "jemalloc")
    for level in (*names[::-1], *usual):
        try:
            if key.level.read(level) != key.default:
                return level
        except Refused:
            continue
    raise AssertionError(path)


LEVELS: dict[str, Level] = {
    **{"treatment": "more", "host.numa_balancing": 0},
    **{f"place.{whose}.io_class": "idle" for whose in ("server", "client")},
    **{"data.schema": "sbtest", "data.first_warehouse": 1, "data.last_warehouse": 1},
    **{"load.route": "first", "server.topology": "single", "load.hosts": 2},
    **{"server.members": "node=socket:/x", "server.warm": "full", "server.profile": "same"},
}


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


@pytest.mark.parametrize("path", factor_paths())
def test_every_path_that_can_be_a_factor_reaches_the_cell(load: Load, path: str) -> None:
    level = some_level(path)
    kinds = {"h": "pareto", "exp": "zipfian"}
    name = path.rsplit(".", 1)[-1]
    having = (kind for kind, keys in WORKLOAD.kinds.items() if name in {key.name for key in keys})
    kind = "tpcc" if ".mix_weights." in path else next(having, "random_points")
    required = {
        "lua": 'script = "bulk_insert"\n',
        "sql": 'text = "SELECT 2"\n',
        "list": 'statements = ["SELECT 2"]\n',
        "scan": 'parts = [{ name = "a", statement = "SELECT 2" }]\n',
        "recorded": 'recording = "shop"\n',
        "twins": 'recording = "shop"\n',
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
    spec = cell_spec(load(text), {path: level})
    target = resolve(path)
    assert target.setting is not None
    found = spec[target.setting.path]
    for key in target.steps[len(target.setting.steps) :]:
        found = found[key]
    assert found == target.key.level.read(level)


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
