"""TPC-C from the command to the conditions: a server for each level, and what it leaves."""

from __future__ import annotations

import math

import pytest
from run_lab import Lab

from contend.lab.conditions import looks_in

pytestmark = pytest.mark.timeout(600)  # a busy machine may take its time

IN_SLICES = """
[server]
options = { innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M", \
transaction_isolation = "READ-COMMITTED" }

[data]
schema = "tpcc"
warehouses = 1
shrink = 30

[workload]
kind = "tpcc"

[load]
connections = 2
measure = "1s"
slice = "50ms"
settle = "10ms"

[load.errors]
retry_pause = "2ms"

[factors]
"server.options.innodb_flush_log_at_trx_commit" = [0, 2]

[compare]
by = "slices"
baseline = { "server.options.innodb_flush_log_at_trx_commit" = 0 }
metric = "new_orders_per_minute"
repeats = 2
"""


def test_the_conditions_hold_after_slices(lab: Lab) -> None:
    lab.file.write_text(IN_SLICES)
    done = lab.run()
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert [record.status for record in records] == ["ok"] * 4
    for record in records:
        assert record.done is not None
        assert record.done["failed"] == 0 and record.done["events"] > 0
    looks = list(looks_in(lab.out))
    assert {look["when"] for look in looks} == {"loaded", "end"}
    for look in looks:
        asked = {one["name"] for one in look["conditions"] if one["broken"] is not None}
        assert asked == {str(number) for number in range(1, 13)} - (
            set() if look["when"] == "loaded" else {"11"}
        )
        assert [one for one in look["conditions"] if one["broken"]] == [], look["when"]
    shown = lab.contend("show", lab.out, "--full").stdout
    assert "This is not an audited result" in shown


def test_the_script_stands_beside_the_native_workload(lab: Lab) -> None:
    sets = (
        *("data.shrink=30", "data.warehouses=1", "load.connections=2"),
        *("load.warmup=100ms", "load.measure=300ms", "compare.repeats=2", "compare.at_most=6s"),
    )
    options = [part for one in sets for part in ("--set", one)]
    done = lab.contend("run", "tpcc-script", "--quick", "--out", "out", *options,
                       "--server", lab.server)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (lab.out / "scripts" / "tpcc.lua").exists()
    native, script = (
        [record.done for record in lab.records() if record.cell["workload.kind"] == kind]
        for kind in ("tpcc", "lua")
    )
    assert native and len(native) == len(script)
    for one in (*native, *script):
        assert one is not None and one["failed"] == 0 and one["events"] > 0
    # A statement for each row: a transaction of the mix takes as many by both. Single ones differ
    # by half of the mean, so few of them, as on a busy host, may lie apart by chance (four sigma).
    fewest = min(sum(d["events"] for d in side) for side in (native, script))  # type: ignore[index]
    by_chance = 4 * 0.55 * math.sqrt(2 / fewest)
    each = [sum(d["queries"] for d in side) / sum(d["events"] for d in side)  # type: ignore[index]
            for side in (native, script)]  # fmt: skip
    assert each[0] == pytest.approx(each[1], rel=0.05 + by_chance)
