"""The model server in a file: its knobs, and what is refused because it is no database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contend.errors import RequestError
from contend.experiment import Experiment, SpecError, cell_specs, json_schema, refuse_settings
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.model import Launch, Need
from contend.experiment.settings.model_server import KNOBS
from contend.experiment.settings.model_server import SETTING as KNOBS_SETTING

Load = Callable[..., Experiment]
MODEL = "server.kind=model"


def launches(experiment: Experiment) -> list[Launch]:
    found = []
    for cell in cell_specs(experiment):
        launch = Launch()
        for setting in SETTINGS:
            setting.launch(cell.values, launch)
        found.append(launch)
    return found


def test_rows_seed_and_knobs_go_to_the_command_line(load: Load) -> None:
    experiment = load(
        sets=[MODEL, "data.seed=7", "server.knobs.under_lock_ns=200", "server.knobs.lock=fair"]
    )
    for launch in launches(experiment):
        assert launch.arguments == [
            *("--rows=1000", "--seed=7", "--knob=lock=fair", "--knob=under_lock_ns=200")
        ]


def test_another_server_gets_no_arguments(load: Load) -> None:
    assert all(not launch.arguments for launch in launches(load()))


def test_a_knob_can_be_a_factor_and_takes_a_restart(load: Load) -> None:
    experiment = load(
        sets=[
            *(MODEL, "server.knobs.speed=[1.0, 1.05]"),
            'compare.baseline={ "server.knobs.speed" = 1.0 }',
        ]
    )
    assert {launch.arguments[-1] for launch in launches(experiment)} == {
        *("--knob=speed=1.0", "--knob=speed=1.05")
    }
    cells = list(cell_specs(experiment))
    speeds = {cell["server.knobs"]["speed"]: cell.values for cell in cells}
    assert KNOBS_SETTING.between(speeds[1.0], speeds[1.05]) is Need.RESTART


@pytest.mark.parametrize(
    ("set_", "said", "hint"),
    [
        ("server.knobs.under_lok_ns=5", "is not a path", "server.knobs.under_lock_ns"),
        ("server.knobs.under_lock_ns=-1", "must be a whole number", None),
        ("server.knobs.lock=adaptiv", "must be", "adaptive"),
        ("server.knobs.speed=2", "must be a number from 1 to 1.1", None),
        ("server.kind=modell", "must be", "model"),
    ],
)
def test_a_slip_is_refused_with_the_nearest(
    load: Load, set_: str, said: str, hint: str | None
) -> None:
    with pytest.raises(SpecError, match=said) as refused:
        load(sets=[MODEL, set_])
    assert hint is None or hint in str(refused.value.hint)


def test_an_unknown_knob_in_a_file_is_named_with_its_line(load: Load, small_text: str) -> None:
    text = small_text.replace("[data]", "[server.knobs]\nunder_lock = 5\n\n[data]").replace(
        'change = "in_place"', 'kind = "model"'
    )
    with pytest.raises(SpecError, match=r"it\.toml:\d+: .*under_lock") as refused:
        load(text)
    assert "under_lock_ns" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("set_", "said"),
    [
        ("data.engine=InnoDB", "data.engine"),
        ("data.k=random", "data.k"),
        ("data.tables=4", "data.tables"),
        ("data.table_options=ROW_FORMAT=FIXED", "data.table_options"),
        ("workload.kind=read_write", "workload.kind"),
        ("workload.kind=point_select", "workload.kind"),
        ("server.lock_files=true", "server.lock_files"),
        ("server.redo_log_folder=/dev/shm", "server.redo_log_folder"),
        ("load.protocol=handler_socket", "load.protocol"),
    ],
)
def test_what_it_does_not_have_is_refused(load: Load, set_: str, said: str) -> None:
    with pytest.raises(RequestError, match=f"does not support {said}") as refused:
        refuse_settings(load(sets=[MODEL, set_]), own=True)
    assert "not a database" in str(refused.value.hint)


def test_cold_starts_are_refused(load: Load, small_text: str) -> None:
    text = small_text.replace('warmup = "100ms"', 'warmup = "0s"')
    with pytest.raises(RequestError, match=r"does not support server\.warm"):
        refuse_settings(load(text, sets=[MODEL, "server.warm=cold"]), own=True)


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["server.knobs.under_lock_ns=5"], "is a knob of the model server"),
        ([MODEL, "server.knobs.stall_ms=5"], "needs server.knobs.stall_every_s"),
    ],
)
def test_knobs_that_do_not_go_together_are_refused(load: Load, sets: Any, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        refuse_settings(load(sets=sets), own=True)


def test_it_is_a_private_server(load: Load) -> None:
    with pytest.raises(RequestError, match="needs a private server"):
        refuse_settings(load(sets=[MODEL]), own=False)


def test_the_small_experiment_is_what_it_can(load: Load) -> None:
    refuse_settings(load(sets=[MODEL]), own=True)


def test_the_schema_knows_every_knob() -> None:
    server = json_schema()["properties"]["server"]["properties"]  # type: ignore[index]
    assert list(server["knobs"]["properties"]) == [key.name for key in KNOBS]
    assert "model" in server["kind"]["enum"]
