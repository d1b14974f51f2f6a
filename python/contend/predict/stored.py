"""Predictions in a run folder: `prediction.json`, which the report reads. A later prediction for a
machine takes the place of the earlier one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.errors import WorkError
from contend.files import replace_file

FILE = "prediction.json"


@dataclass(frozen=True, slots=True)
class StoredGain:
    """A predicted gain over no segments, and its band, in percent."""

    points: int
    segments: int
    connections: int
    percent: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class StoredPrediction:
    """The predictions for one machine.

    Args:
        band: the chance that a band is meant to hold the figure.
        off: rms of ln(computed over measured gain) of the run that was fitted, over `fitted` gains.
        parts: what the band is made of: words, and a share of the variance, the largest first.
        assumed: words, value, low, high and source of each cost with a range.
    """

    name: str
    about: str
    cpus: int
    draws: int
    band: float
    off: float
    fitted: int
    gains: tuple[StoredGain, ...]
    parts: tuple[tuple[str, float], ...]
    assumed: tuple[tuple[str, float, float, float, str], ...]


def keep(folder: Path, predictions: Sequence[StoredPrediction]) -> None:
    """Write them into a run folder.

    Raises:
        WorkError: the file cannot be written.
    """
    names = {one.name for one in predictions}
    kept = [one for one in read(folder) if one.name not in names]
    document = {"predictions": [as_json(one) for one in (*kept, *predictions)]}
    try:
        replace_file(folder / FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise WorkError(f"cannot write {folder / FILE}: {error}") from error


def read(folder: Path) -> tuple[StoredPrediction, ...]:
    """The predictions of a run folder; none if there are none.

    Raises:
        WorkError: the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return ()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return tuple(map(_prediction, document["predictions"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkError(
            f"cannot read {path}: {error}", hint="Remove it and run `contend predict` again."
        ) from error


def as_json(one: StoredPrediction) -> dict[str, Any]:
    """One prediction as plain values; numbers are rounded for display."""
    head = {name: getattr(one, name) for name in ("name", "about", "cpus", "draws", "band")}
    return {
        **head,
        "off": round(one.off, 4),
        "fitted": one.fitted,
        "gains": [
            {
                **{name: getattr(gain, name) for name in ("points", "segments", "connections")},
                **{name: round(getattr(gain, name), 2) for name in ("percent", "low", "high")},
            }
            for gain in one.gains
        ],
        "parts": [{"part": part, "share": round(share, 4)} for part, share in one.parts],
        "assumed": [
            dict(zip(("cost", "value", "low", "high", "source"), each, strict=True))
            for each in one.assumed
        ],
    }


def _prediction(found: Mapping[str, Any]) -> StoredPrediction:
    return StoredPrediction(
        name=_text(found["name"]),
        about=_text(found["about"]),
        cpus=int(_number(found["cpus"])),
        draws=int(_number(found["draws"])),
        band=_number(found["band"]),
        off=_number(found["off"]),
        fitted=int(_number(found["fitted"])),
        gains=tuple(map(_gain, found["gains"])),
        parts=tuple((_text(one["part"]), _number(one["share"])) for one in found["parts"]),
        assumed=tuple(
            (
                _text(one["cost"]),
                *(_number(one["value"]), _number(one["low"]), _number(one["high"])),
                _text(one["source"]),
            )
            for one in found["assumed"]
        ),
    )


def _gain(found: Mapping[str, Any]) -> StoredGain:
    place = (int(_number(found[name])) for name in ("points", "segments", "connections"))
    points, segments, connections = place
    percent, low, high = (_number(found[name]) for name in ("percent", "low", "high"))
    return StoredGain(points, segments, connections, percent, low, high)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise ValueError(f"{value!r} is not a number of a prediction")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
