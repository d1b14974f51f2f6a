"""Descriptions of machines: what they say, and what is refused with its line."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.errors import RequestError
from contend.predict.machine import (
    COSTS,
    Assumed,
    described,
    find_machine,
    read_machine,
    with_cpus,
)

BIG = """
[machine]
name = "big"
cpus = 48
sockets = 2
core_cpus = 2
[assume]
row_wait_ns = 0
[assume.handover_far_ns]
value = 140
low = 110
high = 200
source = "measured"
"""


def test_a_description_has_its_own_costs_and_the_usual_ones() -> None:
    big = read_machine(BIG, "big.toml")
    assert (big.cpus, big.sockets, big.core_cpus) == (48, 2, 2)
    assert big.given == {"row_wait_ns", "handover_far_ns"}
    assert big.costs["handover_far_ns"] == Assumed(140, 110, 200, "measured")
    assert big.costs["row_wait_ns"].is_known and "row_wait_ns" not in big.unknown()
    assert big.costs["switch_ns"] == COSTS["switch_ns"].usual
    host = big.host_costs({"switch_ns": 700.0})
    assert (host["near_cpus"], host["core_cpus"], host["switch_ns"]) == (24, 2, 700.0)


def test_what_a_machine_does_not_have_is_not_unknown() -> None:
    flat = read_machine('[machine]\nname = "flat"\ncpus = 8\n', "flat.toml")
    assert not {"core_share", "handover_far_ns"} & flat.unknown().keys()
    assert {"core_share", "handover_far_ns"} <= read_machine(BIG, "big.toml").unknown().keys()
    assert flat.host_costs({})["core_share"] == 1.0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sockets = 2", "socket = 2", 'big.toml:5: unknown key "socket"'),
        ("[assume]", "[assumed]", '"assumed"'),
        ("row_wait_ns = 0", "row_wait = 0", 'big.toml:8: unknown key "row_wait"'),
        ("cpus = 48", "cpus = 300", "256"),
        ("cpus = 48", "cpus = 42", "42 CPUs cannot be divided"),
        ("cpus = 48\n", "", "[machine] has no cpus"),
        ("value = 140", "value = 240", "not between low 110 and high 200"),
        ("value = 140", "value = -1", "value"),
        ("high = 200\n", "", "has no high"),
        ("sockets = 2", "sockets = 1", "no meaning on a machine with sockets = 1"),
        ("value = 140\nlow = 110\nhigh = 200", "value = 30\nlow = 20\nhigh = 40", "less than one"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_place(old: str, new: str, said: str) -> None:
    assert old in BIG
    with pytest.raises(RequestError) as refused:
        read_machine(BIG.replace(old, new), "big.toml")
    assert said in refused.value.message and "big.toml" in refused.value.message


def test_machines_are_found_by_name_or_file(tmp_path: Path) -> None:
    assert {"pitbull", "perro"} <= described().keys()
    for name in described():
        machine = find_machine(name)
        assert machine.name == name
        own = (machine.costs[one] for one in machine.given)
        assert all(one.is_known or one.source for one in own)
    file = tmp_path / "big.toml"
    file.write_text(BIG)
    assert find_machine(str(file)).name == "big"
    with pytest.raises(RequestError) as refused:
        find_machine("pitbul")
    assert "pitbull" in str(refused.value.hint)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(RequestError):
        find_machine(str(file))


def test_other_numbers_of_cpus_keep_sockets_and_cores_whole() -> None:
    big = read_machine(BIG, "big.toml")
    assert with_cpus(big, 96).host_costs({})["near_cpus"] == 48
    for count, said in ((257, "257 CPUs"), (0, "0 CPUs"), (50, "cannot have 50")):
        with pytest.raises(RequestError, match=said):
            with_cpus(big, count)


def test_a_range_is_walked_on_a_logarithmic_scale_unless_it_begins_at_nothing() -> None:
    assert Assumed(20, 10, 40).at(0.5) == pytest.approx(20)
    assert Assumed(0, 0, 40).at(0.5) == 20
    assert [Assumed(20, 10, 40).at(share) for share in (0, 1)] == pytest.approx([10, 40])
    assert replace(Assumed.known(3), low=3).at(0.7) == 3


@given(
    at=st.integers(0, len(BIG)),
    cut=st.integers(0, 12),
    put=st.text(st.sampled_from('[]{}="#.,\n -0129aein_é'), max_size=6),
)
def test_a_description_that_was_damaged_is_read_or_refused(at: int, cut: int, put: str) -> None:
    with contextlib.suppress(RequestError):
        machine = read_machine(BIG[:at] + put + BIG[at + cut :], "big.toml")
        assert 1 <= machine.cpus <= 256
        for one in machine.costs.values():
            assert one.low <= one.value <= one.high
