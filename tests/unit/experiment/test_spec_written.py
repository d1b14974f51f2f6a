"""What is written as an experiment file is read as what it was."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.experiment import read_experiment, written
from contend.experiment.model import SpecError

SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS), st.dictionaries(st.text("ab. '\"\n"), SCALARS))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(NAMES, VALUES))
def test_it_is_read_back_as_it_was(table: dict[str, object]) -> None:
    assert tomllib.loads(written({"one": table, "two.three": {}})) == {
        "one": table,
        "two": {"three": {}},
    }


def test_it_reads_well() -> None:
    text = written(
        {
            "data": {"rows": 1_000_000, "gone": None},
            "workload": {"text": "SELECT 1;\nSELECT 'a';\n"},
        }
    )
    data, workload = text.split("\n\n")
    assert data == "[data]\nrows = 1_000_000"
    assert workload.split("\n", 2)[1:] == ["text = '''", "SELECT 1;\nSELECT 'a';\n'''\n"]


def test_what_nobody_can_read_is_no_value() -> None:
    with pytest.raises(TypeError):
        written({"a": {"b": object()}})


def test_a_fault_is_told_by_where_the_value_is_from() -> None:
    text = '[factors]\n"load.connections" = [1, 0]\n[data]\nrows = 5'
    with pytest.raises(SpecError) as caught:
        read_experiment(text, "it", {("factors", "load.connections"): "--connections 1,0"})
    assert caught.value.message.startswith(
        '--connections 1,0: level 0 of factor "load.connections"'
    )
    with pytest.raises(SpecError) as caught:
        read_experiment("[data]\nrows = 0", "it", {})
    assert caught.value.message.startswith("it: data.rows ")
