"""A setting that nobody thought of takes one object, here, and one line of `SETTINGS`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from lab_fakes import PlaceBench, experiment

from contend.experiment import (
    SpecError,
    cell_spec,
    from_dict,
    json_schema,
    key_tables,
    need_of,
    planned_runs,
    to_dict,
)
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.model import Launch, Need, Setting, Target, Values
from contend.experiment.settings.values import Key, WholeNumber


@dataclass(frozen=True)
class Gremlins(Setting):
    """Started with some, and given a name each."""

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.environment["GREMLINS"] = str(cell[self.path])

    def apply(self, target: Target, cell: Values) -> None:
        target.execute(f"FEED {cell[self.path]}")
        target.on_undo(lambda: target.note("fed", target.execute("STARVE")))


MADE_UP = Gremlins(
    "server",
    Key("gremlins", WholeNumber(0, 9), 0, "how many gremlins are in it"),
    need=Need.IN_PLACE,
)

TEXT = """
[factors]
"server.gremlins" = [0, 3]
"load.connections" = [1, 8]
[compare]
baseline = { "server.gremlins" = 0 }
"""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The line of `SETTINGS`."""
    SETTINGS.insert(0, MADE_UP)
    yield
    SETTINGS.remove(MADE_UP)


def test_a_file_may_say_it_and_vary_it(tmp_path: Path) -> None:
    made = experiment(tmp_path, TEXT)
    assert len(planned_runs(made)) == 4 * made.compare.repeats
    assert cell_spec(made, {"server.gremlins": 3})["server.gremlins"] == 3
    assert need_of("server.gremlins", made) is Need.IN_PLACE
    assert from_dict(to_dict(made)) == made
    with pytest.raises(SpecError, match=r'tiny\.toml:2: .*"gremlin" in \[server\]') as one:
        experiment(tmp_path, "[server]\ngremlin = 2")
    assert one.value.hint == 'Did you mean "gremlins"?'
    with pytest.raises(SpecError, match="a whole number from 0 to 9"):
        experiment(tmp_path, "[server]\ngremlins = 20")


def test_editors_and_the_reference_know_it() -> None:
    jsonschema.validate({"server": {"gremlins": 2}}, json_schema())
    assert "how many gremlins are in it" in key_tables()


def test_the_lab_applies_undoes_and_records_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = PlaceBench(tmp_path).with_statements(monkeypatch)
    made = experiment(tmp_path, TEXT)
    ready = bench.testbed.set(cell_spec(made, {"server.gremlins": 3}))
    assert ready.probes["settings"] == {"server.gremlins": 3}
    assert bench.server.environment == {"GREMLINS": "3"}
    bench.testbed.set(cell_spec(made, {"server.gremlins": 3, "load.connections": 8}))
    bench.testbed.set(cell_spec(made, {"server.gremlins": 0}))
    assert bench.said == ["FEED 3", "STARVE", "FEED 0"]
