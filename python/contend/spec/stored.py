"""An experiment as JSON, for the run folder, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from contend.spec.errors import SpecError
from contend.spec.model import (
    CellSpec,
    CompareSpec,
    Experiment,
    Factor,
    Published,
    PublishedRow,
)

SPEC_FORMAT = 3
"""Version of the stored form. A change that an older contend would misread raises it.
2: the load names its engine. 3: the base is the value of each setting, by path."""


def to_dict(experiment: Experiment) -> dict[str, Any]:
    """Plain JSON values; `from_dict` gives an equal experiment back."""
    plain = _plain(asdict(experiment))
    assert isinstance(plain, dict)
    return {"format": SPEC_FORMAT, **plain, "base": plain["base"]["values"]}


def from_dict(stored: Mapping[str, Any]) -> Experiment:
    """The experiment that `to_dict` wrote; raises SpecError where it is damaged or newer."""
    number = stored.get("format")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise SpecError("the stored experiment has no format number")
    if number > SPEC_FORMAT:
        raise SpecError(
            f"the stored experiment has format {number}, and this contend reads {SPEC_FORMAT}",
            hint="Read it with the newer contend that wrote it.",
        )
    try:
        return _experiment(stored, number)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SpecError(f"the stored experiment is damaged: {error}") from error


def _experiment(stored: Mapping[str, Any], number: int) -> Experiment:
    parts = {name: value for name, value in stored.items() if name != "format"}
    base = parts["base"] if number >= 3 else _by_path(parts["base"])
    # What a later contend can vary had its default in an experiment that could not say it.
    parts["base"] = CellSpec({str(path): value for path, value in base.items()})
    unknown = parts["base"].values.keys() - CellSpec().values.keys()
    if unknown:
        raise ValueError(f"it has a setting {min(unknown)}, which this contend does not know")
    parts["factors"] = tuple(Factor(f["path"], tuple(f["levels"])) for f in parts["factors"])
    parts["compare"] = CompareSpec(**parts["compare"])
    parts["published"] = tuple(_published(p) for p in parts["published"])
    parts["overrides"] = tuple(parts["overrides"])
    return Experiment(**parts)


def _by_path(base: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of the formats before 3, with durations named by their unit."""
    values: dict[str, Any] = {}
    for section in ("server", "data", "load"):
        for name, value in base[section].items():
            values[f"{section}.{name.removesuffix('_s')}"] = value
    workload = base["workload"]
    return {**values, "workload": {"kind": workload["kind"], **workload["parameters"]}}


def _published(stored: Mapping[str, Any]) -> Published:
    parts = dict(stored)
    parts["columns"] = tuple(parts["columns"])
    parts["rows"] = tuple(
        PublishedRow(cell=dict(r["cell"]), gain_percent=tuple(r["gain_percent"]))
        for r in parts["rows"]
    )
    return Published(**parts)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
