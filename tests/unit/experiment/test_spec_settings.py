"""What an experiment file may say of servers, caches, wrappers, statements and rates."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contend.errors import RequestError
from contend.experiment import CellSpec, Experiment, SpecError, cell_spec
from contend.experiment.settings import SETTINGS
from contend.load import Address, plan_of

Load = Callable[..., Experiment]

STEPS = """
setup = [
    { name = "wide", do = "CREATE INDEX w ON sbtest (k, c)", undo = "DROP INDEX w ON sbtest" },
    { do = "ANALYZE TABLE sbtest" },
]
"""


def load_of(experiment: Experiment, **levels: object) -> dict[str, object]:
    cell = cell_spec(experiment, {f"load.{k.replace('__', '.')}": v for k, v in levels.items()})  # type: ignore[misc]
    plan = plan_of(cell, Address(socket="/s"), seed=1, watch_pid=None)
    found: dict[str, object] = plan["load"]
    return found


class TestArrival:
    def test_what_is_as_usual_goes_without_saying(self, load: Load) -> None:
        names = {"connections", "warmup_s", "measure_s", "interval_s", "protocol", "engine"}
        assert load_of(load("")).keys() == names

    def test_a_rate_is_one_stage(self, load: Load) -> None:
        made = load(
            '[load]\narrival = { kind = "open" }\n[factors]\n"load.arrival.rate" = [10, 2.5]'
        )
        assert load_of(made, arrival__rate=2.5)["arrival"] == {
            "kind": "open",
            "process": "poisson",
            "stages": [{"rate": 2.5}],
        }

    def test_stages_may_ramp(self, load: Load) -> None:
        made = load(
            '[load.arrival]\nkind = "open"\nprocess = "even"\n'
            'stages = [{ rate = 10, end_rate = 90, duration = "1m" }, { rate = 5 }]'
        )
        assert load_of(made)["arrival"] == {
            "kind": "open",
            "process": "even",
            "stages": [
                {"rate": 10.0, "end_rate": 90.0, "duration_s": 60.0},
                {"rate": 5.0, "duration_s": 0.0},
            ],
        }

    def test_think_times_and_limits_are_those_of_the_plan(self, load: Load) -> None:
        made = load(
            '[load]\narrival = { think = "5ms", think_scatters = true }\nevents = 900\n'
            'answer_timeout = "2s"\nerrors = { ignore = [1062], retry_pause = "1ms" }'
        )
        found = load_of(made)
        assert found["arrival"] == {"kind": "closed", "think_s": 0.005, "think_scatters": True}
        assert (found["events"], found["answer_timeout_s"]) == (900, 2.0)
        errors = found["errors"]
        assert isinstance(errors, dict)
        assert (errors["ignore"], errors["retry_pause_s"]) == ([1062], 0.001)


class TestSetup:
    def test_a_named_step_is_turned_on_and_off(self, load: Load) -> None:
        made = load(STEPS + '[factors]\n"setup.wide" = [false, true]')
        on = [
            [
                step["do"].split()[0]
                for step in cell_spec(made, {"setup.wide": level})["setup"]
                if step["on"]
            ]
            for level in (False, True)
        ]
        assert on == [["ANALYZE"], ["CREATE", "ANALYZE"]]

    def test_on_the_command_line_too(self, load: Load) -> None:
        made = load(STEPS, sets=["setup.wide=false"])
        assert [step["on"] for step in cell_spec(made, {})["setup"]] == [False, True]

    def test_a_step_that_is_not_there_is_none_to_set(self, load: Load) -> None:
        with pytest.raises(SpecError, match='no step of setup is named "wide"'):
            load("", sets=["setup.wide=false"])


class TestCold:
    COLD = '[server]\nwarm = "cold"\n'

    def test_it_is_measured_from_the_start(self, load: Load) -> None:
        with pytest.raises(SpecError) as caught:
            load(self.COLD)
        assert caught.value.message.startswith('it.toml:2: server.warm = "cold"')
        assert "load.warmup = 0" in caught.value.message
        assert load(self.COLD + '[load]\nwarmup = "0s"').base["server.warm"] == "cold"

    def test_it_does_not_go_with_a_buffer_pool_that_is_read_back(self, load: Load) -> None:
        with pytest.raises(SpecError, match="innodb_buffer_pool_load_at_startup = 1"):
            load(
                self.COLD + "options = { innodb-buffer-pool-load-at-startup = 1 }\n"
                '[load]\nwarmup = "0s"'
            )


def test_hosts_have_equally_many_connections(load: Load) -> None:
    with pytest.raises(SpecError) as caught:
        load("[load]\nhosts = 3\nconnections = 4")
    assert "= 3 does not divide load.connections = 4" in caught.value.message
    assert caught.value.hint == "Make load.connections a multiple of 3."
    with pytest.raises(SpecError, match="= 2 does not divide"):
        load('[load]\nhosts = 2\n[factors]\n"load.connections" = [8, 7]')
    assert load("[load]\nhosts = 3\nconnections = 6").base["load.hosts"] == 3


def test_a_wrapper_is_a_list_or_a_text(load: Load) -> None:
    made = load('[server]\nwrap = ["nice", "-n", "5"]')
    assert made.base["server.wrap"] == ["nice", "-n", "5"]
    made = load('[factors]\n"server.wrap" = ["", "strace -o \'a b\'"]')
    assert cell_spec(made, {"server.wrap": "strace -o 'a b'"})["server.wrap"] == [
        *("strace", "-o", "a b"),
    ]
    with pytest.raises(SpecError, match=r"server\.wrap cannot be split"):
        load('[server]\nwrap = "a \'b"')


def test_a_variable_s_name_keeps_its_dashes_out(load: Load) -> None:
    made = load('[factors]\n"server.env.LD_PRELOAD" = ["", "x.so"]')
    assert cell_spec(made, {"server.env.LD_PRELOAD": "x.so"})["server.env"] == {
        "LD_PRELOAD": "x.so"
    }
    with pytest.raises(SpecError, match='"LD-PRELOAD" is not the name'):
        load('[server.env]\nLD-PRELOAD = "x"')


def refuse(values: dict[str, object], *, own: bool) -> None:
    for setting in SETTINGS:
        setting.refuse(CellSpec(values).values, own=own)


def refused(values: dict[str, object], *, own: bool) -> str:
    with pytest.raises(RequestError) as caught:
        refuse(values, own=own)
    return f"{caught.value.message} {caught.value.hint}"


STEP = {"do": "ANALYZE TABLE t", "undo": None, "name": None, "on": True}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"server.warm": "cold"}, "needs a private server"),
        ({"server.wrap": ["nice"]}, "needs a private server"),
        ({"server.env": {"A": "1"}}, "needs a private server"),
        ({"server.use": "mysql@sid"}, "--server names a running server"),
        ({"setup": [STEP]}, "without an undo"),
    ],
)
def test_what_a_server_that_is_not_ours_cannot_have(values: dict[str, object], said: str) -> None:
    assert said in refused(values, own=False)
    refuse(values, own=True)


def test_what_this_machine_does_not_have() -> None:
    assert "not a program" in refused({"server.wrap": ["no-such-wrapper"]}, own=True)
    preload = {"LD_PRELOAD": "/nowhere/lib.so"}
    assert "not a file" in refused({"server.env": preload}, own=True)
