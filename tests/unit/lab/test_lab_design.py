"""Whether levels are compared in slices, and why not; and what time is too short for one look."""

from __future__ import annotations

import dataclasses
import mmap
import resource
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from lab_fakes import EXPERIMENT, experiment
from needs import missing

from contend import host
from contend.errors import RequestError
from contend.experiment import CellSpec, Experiment, load_experiment
from contend.experiment.settings.model import Launch
from contend.lab import design
from contend.lab.design import (
    SERVER_BYTES,
    STACK_MIN_BYTES,
    STACK_SPAN_BYTES,
    WRITES_BESIDE,
    Design,
    MemoryLayout,
    choose_design,
    layout_of,
    members_bytes,
    refuse_without_memory,
    why_not_matched,
)
from contend.lab.effort import require_time

IN_SLICES = EXPERIMENT.replace('by = "runs"\n', "")
SEGMENTS = '"server.options.key_cache_segments"'
COMPARED = f"baseline = {{ {SEGMENTS} = 0 }}"
NO_WARMUP = ('warmup = "100ms"', 'warmup = "0s"')
OPTION = "key_cache_segments = 0 }"

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with room for everything, whatever this one has."""
    has(monkeypatch, memory=64 << 30, disk=1 << 40)


def has(monkeypatch: pytest.MonkeyPatch, *, memory: int = 64 << 30, disk: int = 1 << 40) -> None:
    monkeypatch.setattr(host, "memory_available_bytes", lambda: memory)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(disk, 0, disk))


def compared(
    tmp_path: Path, path: str, levels: str, baseline: str, *, load: str = ""
) -> Experiment:
    """The tiny experiment with another factor compared."""
    factors = f'{SEGMENTS} = [0, 32]\n"load.connections" = [1, 8]'
    assert factors in IN_SLICES
    text = IN_SLICES.replace(factors, f"{path} = {levels}").replace("[load]", f"[load]\n{load}")
    return experiment(tmp_path, text.replace(COMPARED, f"baseline = {{ {path} = {baseline} }}"))


def design_of(tiny: Experiment, tmp_path: Path, *, own: bool = True) -> Design:
    return choose_design(tiny, own=own, disk=tmp_path)


def insists(tiny: Experiment, tmp_path: Path) -> Experiment:
    """The same experiment, which wants slices."""
    source = tiny.source.replace("[compare]\n", '[compare]\nby = "slices"\n')
    return experiment(tmp_path, source)


def refused(tiny: Experiment, tmp_path: Path, *, own: bool = True) -> str:
    with pytest.raises(RequestError) as caught:
        design_of(insists(tiny, tmp_path), tmp_path, own=own)
    assert caught.value.exit_code == 2
    assert "runs" in str(caught.value.hint)
    return caught.value.message


def test_levels_are_compared_in_slices_if_that_can_be_had(tmp_path: Path) -> None:
    design = design_of(experiment(tmp_path, IN_SLICES), tmp_path)
    assert design.in_slices and design.why == ""
    assert design_of(insists(experiment(tmp_path, IN_SLICES), tmp_path), tmp_path).in_slices


def test_who_wants_runs_gets_them_without_a_word(tmp_path: Path) -> None:
    assert design_of(experiment(tmp_path), tmp_path) == Design("runs")


def test_nothing_compared_is_no_reason_for_a_word(tmp_path: Path) -> None:
    text = IN_SLICES.replace(COMPARED, "").replace(f"{SEGMENTS} = [0, 32]\n", "")
    tiny = experiment(tmp_path, text.replace('"load.connections" = [1, 8]', ""))
    assert tiny.compared is None
    assert design_of(tiny, tmp_path) == Design("runs")


@pytest.mark.parametrize(
    ("path", "levels", "baseline", "words"),
    [
        ('"load.connections"', "[1, 8]", "1", "load.connections is a property"),
        ('"load.idle_connections"', "[0, 8]", "0", "load.idle_connections is a property"),
    ],
)
def test_levels_of_the_load_cannot_be(
    tmp_path: Path, path: str, levels: str, baseline: str, words: str
) -> None:
    tiny = compared(tmp_path, path, levels, baseline)
    design = design_of(tiny, tmp_path)
    assert not design.in_slices and words in design.why
    assert words in refused(tiny, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param(
            'change = "in_place"',
            'warm = "cold"',
            'server.warm = "cold" needs a restart',
            id="cold",
        ),
        pytest.param(
            "[load]",
            '[load]\narrival = { kind = "open", stages = [{ rate = 10, duration = "1s" }, '
            "{ rate = 20 }] }",
            "(load.arrival.stages)",
            id="stages",
        ),
        pytest.param(
            "[load]",
            '[load]\narrival = { kind = "open", stages = [{ rate = 10, end_rate = 20 }] }',
            "a rate that changes cannot be cut",
            id="ramp",
        ),
        pytest.param(
            '"load.connections" = [1, 8]',
            '"load.connections" = [2, 8]\n"load.hosts" = [1, 2]',
            "several load hosts",
            id="hosts",
        ),
    ],
)
def test_a_load_that_cannot_be_cut(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in IN_SLICES
    tiny = experiment(tmp_path, IN_SLICES.replace(old, new).replace(*NO_WARMUP))
    design = design_of(tiny, tmp_path)
    assert not design.in_slices and words in design.why
    assert words in refused(tiny, tmp_path)


@pytest.mark.parametrize("limit", ["events = 100", "events_each = 100"])
def test_work_that_has_an_end_takes_turns(tmp_path: Path, limit: str) -> None:
    tiny = experiment(tmp_path, IN_SLICES.replace("[load]", f"[load]\n{limit}"))
    assert design_of(tiny, tmp_path).in_slices
    # How long a turn takes is not known before the first.
    require_time(
        dataclasses.replace(tiny, compare=dataclasses.replace(tiny.compare, at_most_s=0.3)),
        design_of(tiny, tmp_path),
    )


ASKED = [
    ('"load.protocol"', '["text", "prepared"]', '"text"'),
    ('"load.depth"', "[8, 1]", "1"),
    ('"load.arrival.rate"', "[10, 20]", "10"),
    ('"workload.kind"', '["point_select", "random_points"]', '"point_select"'),
]
WRITING = ('"workload.kind"', '["update_non_index", "update_index"]', '"update_index"')
MIXED = ('"workload.kind"', '["point_select", "update_index"]', '"point_select"')


@pytest.mark.parametrize("factor", ASKED)
@pytest.mark.parametrize("own", [True, False])
def test_levels_that_only_ask_otherwise_share_a_server(
    tmp_path: Path, factor: tuple[str, str, str], own: bool
) -> None:
    load = 'arrival = { kind = "open", rate = 10 }' if "rate" in factor[0] else ""
    tiny = compared(tmp_path, *factor, load=load)
    assert design_of(tiny, tmp_path, own=own) == Design("slices", own=own)


def test_levels_that_write_have_servers_of_their_own(tmp_path: Path) -> None:
    tiny = compared(tmp_path, *WRITING)
    assert design_of(tiny, tmp_path) == Design("slices", servers=2)
    assert "name your own" in design_of(tiny, tmp_path, own=False).why


def test_a_level_that_writes_is_not_in_slices_beside_one_that_reads_unless_asked_for(
    tmp_path: Path,
) -> None:
    tiny = compared(tmp_path, *MIXED)
    assert design_of(tiny, tmp_path) == Design("runs", WRITES_BESIDE)
    insisting = tiny.source.replace("[compare]", '[compare]\nby = "slices"')
    assert design_of(experiment(tmp_path, insisting), tmp_path) == Design("slices", servers=2)


def test_a_server_without_room_for_all_connections_is_not_shared(tmp_path: Path) -> None:
    many = compared(tmp_path, *ASKED[0], load="connections = 100")
    assert design_of(many, tmp_path) == Design("slices", servers=2)
    roomy = many.source.replace(OPTION, f"max_connections = 200, {OPTION}")
    assert design_of(experiment(tmp_path, roomy), tmp_path) == Design("slices")


def test_an_open_loop_of_one_rate_can_be_cut(tmp_path: Path) -> None:
    loop = '[load]\narrival = { kind = "open", rate = 10 }'
    assert design_of(experiment(tmp_path, IN_SLICES.replace("[load]", loop)), tmp_path).in_slices


def test_one_cell_that_cannot_be_cut_is_enough(tmp_path: Path) -> None:
    warm = '"load.connections" = [1, 8]\n"server.warm" = ["index", "cold"]'
    text = IN_SLICES.replace('"load.connections" = [1, 8]', warm).replace(*NO_WARMUP)
    tiny = experiment(tmp_path, text)
    assert "server.warm" in design_of(tiny, tmp_path).why


def test_a_script_hops_unless_it_needs_threads_of_its_own(tmp_path: Path) -> None:
    script = 'kind = "lua"\nscript = "select_random_points"'
    text = IN_SLICES.replace('kind = "point_select"', script)
    tiny = experiment(tmp_path, text)
    assert design_of(tiny, tmp_path).in_slices
    design = choose_design(tiny, own=True, disk=tmp_path, blocking="mine.lua")
    assert "mine.lua needs its own threads" in (design.why or "")


def test_a_server_that_is_not_ours_is_alone(tmp_path: Path) -> None:
    """Nobody starts another storage engine's server beside it."""
    tiny = compared(tmp_path, '"data.engine"', '["MyISAM", "InnoDB"]', '"MyISAM"')
    design = design_of(tiny, tmp_path, own=False)
    assert not design.in_slices and "not" in design.why and "own" in design.why
    assert "own" in refused(tiny, tmp_path, own=False)


def test_a_layout_that_cannot_be_matched_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = IN_SLICES.replace("[compare]\n", '[compare]\nlayout = "matched"\n')
    assert design_of(experiment(tmp_path, text), tmp_path).in_slices
    with monkeypatch.context() as small:
        small.setattr(resource, "getrlimit", lambda _which: (8 << 20, 64 << 20))
        with pytest.raises(RequestError, match=r"stack limit of 256 MiB .* allows 64 MiB"):
            design_of(experiment(tmp_path, text), tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RequestError, match=r"program setarch .package util-linux"):
        design_of(experiment(tmp_path, text), tmp_path)


class TestRoom:
    """Engines as levels, so that no server could take on the levels of the others."""

    @pytest.fixture
    def tiny(self, tmp_path: Path) -> Experiment:
        return compared(tmp_path, '"data.engine"', '["MyISAM", "InnoDB"]', '"MyISAM"')

    def test_servers_that_do_not_fit_in_memory(
        self, tmp_path: Path, tiny: Experiment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        has(monkeypatch, memory=300 << 20)
        design = design_of(tiny, tmp_path)
        assert not design.in_slices
        assert "2 servers with their data need about" in design.why
        assert "300 MiB is available" in design.why
        assert "of memory" in refused(tiny, tmp_path)

    def test_copies_that_do_not_fit_on_the_disk(
        self, tmp_path: Path, tiny: Experiment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        has(monkeypatch, disk=10 << 20)
        design = design_of(tiny, tmp_path)
        assert not design.in_slices
        assert "2 copies of the data need about" in design.why
        assert "10 MiB is free" in design.why
        assert "copies of the data" in refused(tiny, tmp_path)

    def test_each_level_takes_its_own(
        self, tmp_path: Path, tiny: Experiment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What two servers fit in is too little for three."""
        more = compared(tmp_path, '"data.engine"', '["MyISAM", "InnoDB", "Aria"]', '"MyISAM"')
        least = next(
            size
            for size in range(0, 64 << 30, 8 << 20)
            if self._fits(tiny, tmp_path, size, monkeypatch)
        )
        assert self._fits(tiny, tmp_path, least, monkeypatch)
        assert not self._fits(more, tmp_path, least, monkeypatch)
        assert self._fits(more, tmp_path, 3 * least // 2 + (8 << 20), monkeypatch)

    def test_a_larger_cache_takes_more_as_far_as_the_tables_fill_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def bounded(pool: str, rows: str) -> bool:
            options = f'options = {{ innodb_buffer_pool_size = "{pool}", {OPTION}'
            text = IN_SLICES.replace(
                f'options = {{ key_buffer_size = "64M", {OPTION}', options
            ).replace("rows = 1000", f"rows = {rows}")
            text = text.replace('engine = "MyISAM"', 'engine = "InnoDB"')
            text = text.replace(f"{SEGMENTS} = [0, 32]", '"server.wrap" = ["", "env"]')
            text = text.replace(COMPARED, 'baseline = { "server.wrap" = "" }')
            return self._fits(experiment(tmp_path, text), tmp_path, 5 << 30, monkeypatch)

        assert bounded("8G", "1000")
        assert bounded("64M", "4000000")
        assert not bounded("8G", "8000000")

    def test_a_folder_that_is_not_there_yet_is_on_the_disk_of_one_that_is(
        self, tmp_path: Path, tiny: Experiment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[Path] = []

        def usage(path: Path) -> Usage:
            asked.append(path)
            return Usage(1 << 40, 0, 1 << 40)

        monkeypatch.setattr(shutil, "disk_usage", usage)
        assert choose_design(tiny, own=True, disk=tmp_path / "not" / "yet").in_slices
        assert asked == [tmp_path]

    def _fits(
        self, tiny: Experiment, tmp_path: Path, memory: int, monkeypatch: pytest.MonkeyPatch
    ) -> bool:
        has(monkeypatch, memory=memory)
        return design_of(tiny, tmp_path).in_slices


class TestTime:
    def given(self, tmp_path: Path, time: str, **changes: str) -> Experiment:
        text = IN_SLICES.replace("repeats = 2", f'repeats = 2\nat_most = "{time}"')
        return experiment(tmp_path, text, **changes)

    def test_one_that_is_too_short_for_one_look_is_refused(self, tmp_path: Path) -> None:
        """Four cells of a slice, with its settling and the load before the first."""
        with pytest.raises(RequestError, match="is too short: one repeat") as e:
            require_time(self.given(tmp_path, "400ms"), Design("slices"))
        assert e.value.exit_code == 2
        assert "more time" in (e.value.hint or "")
        require_time(self.given(tmp_path, "2s"), Design("slices"))

    def test_a_look_is_as_long_as_the_experiment_says(self, tmp_path: Path) -> None:
        longer = {'warmup = "100ms"': 'slice = "1s"\nsettle = "500ms"'}
        with pytest.raises(RequestError, match=r"^6 s is too short"):
            require_time(self.given(tmp_path, "6s", **longer), Design("slices"))
        require_time(self.given(tmp_path, "7s", **longer), Design("slices"))

    def test_a_look_of_runs_is_a_run_of_each_cell(self, tmp_path: Path) -> None:
        longer = {'measure = "200ms"': 'measure = "2s"'}
        with pytest.raises(RequestError, match=r"8\.4 s"):
            require_time(self.given(tmp_path, "8s", **longer), Design("runs"))
        require_time(self.given(tmp_path, "9s", **longer), Design("runs"))

    def test_without_a_time_none_is_too_short(self, tmp_path: Path) -> None:
        require_time(experiment(tmp_path, IN_SLICES), Design("slices"))


CLUSTER = """
[server]
use = "mariadb+galera"
topology = "galera"
nodes = 4
options = { innodb_buffer_pool_size = "16M" }
[data]
schema = "tpcc"
warehouses = 2
[workload]
kind = "tpcc"
[factors]
"server.nodes" = [2, 4]
"""


def cluster(tmp_path: Path) -> Experiment:
    path = tmp_path / "it.toml"
    path.write_text(CLUSTER)
    return load_experiment(str(path))


@pytest.mark.parametrize(("available_mib", "fits"), [(100, False), (100_000, True)])
def test_the_largest_level_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, available_mib: int, fits: bool
) -> None:
    monkeypatch.setattr(design.host, "memory_available_bytes", lambda: available_mib << 20)
    if fits:
        refuse_without_memory(cluster(tmp_path))
        return
    with pytest.raises(RequestError, match=r"^the 4 servers .* 100 MiB is"):
        refuse_without_memory(cluster(tmp_path))


def test_one_server_is_none_of_its_business(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(design.host, "memory_available_bytes", lambda: 0)
    path = tmp_path / "one.toml"
    path.write_text("[data]\nrows = 1000\n")
    refuse_without_memory(load_experiment(str(path)))


def test_nodes_have_all_rows_and_backends_their_share() -> None:
    big = {"innodb_buffer_pool_size": "8G", "key_buffer_size": 0, "aria_pagecache_buffer_size": 0}
    cell = CellSpec().having(**{"data.schema": "tpcc", "data.warehouses": 8, "server.options": big})
    galera = cell.having(**{"server.topology": "galera", "server.nodes": 4})
    spider = cell.having(**{"server.topology": "spider", "server.backends": 4})
    of_nodes = members_bytes(galera) - 4 * SERVER_BYTES
    of_backends = members_bytes(spider) - 5 * SERVER_BYTES
    assert of_backends < of_nodes / 2


REPEATS = range(1, 9)


def test_the_kernel_is_told_not_to_draw_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    launch = Launch(wrap=("numactl", "-N", "0"))
    MemoryLayout(7, 200 << 20).apply(launch)
    setarch, machine, option, *rest = launch.wrap
    assert (setarch, option) == ("/bin/setarch", "-R") and machine
    assert rest == ["/bin/prlimit", "--stack=209715200:", "numactl", "-N", "0"]
    assert list(launch.environment.values()) == ["x" * 8]


def test_layouts_are_drawn_from_the_seed(tmp_path: Path) -> None:
    tiny = experiment(tmp_path, IN_SLICES)
    drawn = [layout_of(tiny, repeat, matched=True) for repeat in range(1, 40)]
    assert drawn == [layout_of(tiny, repeat, matched=True) for repeat in range(1, 40)]
    for figures in zip(*((one.padding_bytes, one.stack_limit_bytes) for one in drawn), strict=True):
        assert len(set(figures)) > 35
    for one in drawn:
        assert one.stack_limit_bytes is not None
        assert one.stack_limit_bytes % mmap.PAGESIZE == 0
        assert 0 < one.stack_limit_bytes - STACK_MIN_BYTES < STACK_SPAN_BYTES
    other = experiment(tmp_path, IN_SLICES, **{"[load]": "[load]\nseed = 2"})
    assert layout_of(other, 1, matched=True) != drawn[0]
    assert layout_of(tiny, 1, matched=False) == MemoryLayout()


def base_of_libraries(layout: MemoryLayout, *options: str) -> int:
    """Where a process of this layout has its C library."""
    launch = Launch()
    layout.apply(launch)
    script = "print(open('/proc/self/maps').read())"
    command = [*launch.wrap, sys.executable, "-I", "-S", "-c", script, *options]
    done = subprocess.run(
        command, env=launch.environment, capture_output=True, text=True, check=True
    )
    return min(int(line[:12], 16) for line in done.stdout.splitlines() if "/libc" in line)


def test_what_is_mapped_moves_by_repeat_and_is_alike_in_one(tmp_path: Path) -> None:
    """A layout that suits a level, and stayed for all repeats, would look like the level."""
    if (lacks := why_not_matched()) is not None:
        missing(f"this host lacks {lacks}")
    tiny = experiment(tmp_path, IN_SLICES)
    layouts = [layout_of(tiny, repeat, matched=True) for repeat in REPEATS]
    baselines = [base_of_libraries(one) for one in layouts]
    assert len(set(baselines)) == len(REPEATS)
    # Another level is started with other options.
    levels = [base_of_libraries(one, "--key-cache-segments=32") for one in layouts]
    assert levels == baselines
