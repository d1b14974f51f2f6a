"""What decides which cause is named, as data, and its hash: a change of it leaves no case of
`bench/attribution.py` that counts, and a change of nothing but words or code does not touch it.

In it are, as they are when loaded: the signs of each candidate with their bounds, and what they
read in a made-up pair; what each candidate proposes for such pairs, of several numbers of
connections; constants of the verdicts, and the verdicts on made-up differences, which a changed
rule gives otherwise; how many repeats and how long; the recipe; what is injected.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from contend.experiment.settings.load import ROUNDS_OF_TREATMENTS
from contend.lab import effort
from contend.metrics.probed import TriedRecord
from contend.why import plan as why
from contend.why import tried
from contend.why.candidate import Candidate, Pair, Proposal, Treatment
from contend.why.candidates import CANDIDATES

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from made_up_pairs import SIGNS  # noqa: E402

RECIPE = ROOT / "python" / "contend" / "recipes" / "new-server-slower.toml"
CONNECTIONS = (1, 2, 4, 8, 64)
PLANNED_FOR = ((0.4, 0.41, 0.42), (0.3, 0.4, 0.5, 0.6), (0.0, 0.1, 0.2))
"""Made-up ratios of runs, by which the repeats of trying are planned."""
LEFT = (0.0, 0.3, 0.6, 1.0)
"""Of a made-up difference, with a dose or with the placebo."""


def rules(injections: Iterable[Any]) -> dict[str, Any]:
    """All of it; `injections` are dataclasses."""
    return {
        "candidates": [_candidate(one) for one in CANDIDATES.values()],
        "verdicts": _verdicts(),
        "constants": {
            "confidence": tried.CONFIDENCE,
            "over_placebo": tried.OVER_PLACEBO,
            "dose_slack": tried.DOSE_SLACK,
            "part": tried.PART,
            "looks": tried.LOOKS,
            "aside": tried.ASIDE,
            "planned": [
                tried.repeats_to_decide(np.array(ratios), least, 2)
                for ratios in PLANNED_FOR
                for least in (0.3, 0.5)
            ],
            "repeats": [why.REPEATS, why.REPEATS_WANTED, why.REPEATS_MOST],
            "rounds": [ROUNDS_OF_TREATMENTS, effort.FEWEST_ROUNDS],
            "minutes": why.MINUTES,
        },
        "recipe": tomllib.loads(RECIPE.read_text()),
        "injections": [asdict(one) for one in injections],
    }


def hash_of(dump: Mapping[str, Any]) -> str:
    text = json.dumps(dump, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _candidate(one: Candidate) -> dict[str, Any]:
    fits, fits_not = SIGNS[one.name]
    return {
        "name": one.name,
        "contains": list(one.contains),
        "signs": [
            [sign.name, sign.at, sign.least, sign.most, sign.figure(fits), sign.figure(fits_not)]
            for sign in one.signature
        ],
        "times_over": [one.times_over(fits), one.times_over(fits_not)],
        "proposals": [_proposal(one.propose(pair)) for pair in _of_several_sizes(fits)],
    }


def _of_several_sizes(pair: Pair) -> list[Pair]:
    sizes = [
        {side: cell.having(load__connections=count) for side, cell in pair.cells.items()}
        for count in CONNECTIONS
    ]
    return [pair, *(replace(pair, cells=cells) for cells in sizes)]


def _proposal(one: Proposal | str) -> Any:
    """Without its words. Why something is not proposed is words too."""
    if isinstance(one, str):
        return None
    return [[_sets(dose) for dose in one.doses], _sets(one.placebo), one.least, one.dose_s]


def _sets(one: Treatment) -> Any:
    return [dict(one.sets), list(one.voids)]


def _verdicts() -> list[Any]:
    """Of made-up differences of which so much is left, with much noise and with hardly any."""
    record: TriedRecord = {
        "candidate": "made-up",
        "title": "",
        "refuted_by": "",
        "least": 0.5,
        "doses": ["1", "2"],
        "placebo": "p",
        "words": {},
    }
    found = []
    for repeats, is_over in ((4, False), (7, False), (7, True)):
        for noise in (0.001, 0.03):
            chance = np.random.default_rng(5)
            for whole in LEFT:
                for placebo in LEFT:
                    shares = {"none": 1.0, "1": (1 + whole) / 2, "2": whole, "p": placebo}
                    for loses in ("slower", "faster"):
                        values = {
                            name: _sides(0.4 * share, loses, noise, chance, repeats)
                            for name, share in shares.items()
                        }
                        result = tried.judged_in_turn([record], values, is_over=is_over)
                        assert result is not None
                        verdicts = [one.verdict for one in result.candidates]
                        found.append([result.certain, verdicts, result.aside])
    return found


def _sides(
    difference: float, loses: str, noise: float, chance: np.random.Generator, repeats: int
) -> np.ndarray:
    """Both sides as of `tried.judged`, the first of which is the faster one; what goes of 0.4 is
    what the slower one gains, or what the faster one loses."""
    faster = 0.0 if loses == "slower" else difference - 0.4
    scattered = difference + noise * chance.standard_normal(repeats)
    return np.column_stack((np.full(repeats, faster), faster - scattered))


def _plain(value: Any) -> Any:
    """What JSON does not know."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple | set | frozenset) else str(value)
