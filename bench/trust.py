"""Does the lab keep what it promises? From recorded processes, and live: `make trust`.

    python bench/trust.py [--minutes 120] [--tables 1000]

Records what is missing of `bench/trust_record.py` (half an hour of a quiet machine), of
`bench/trust_live.py` (an hour) and of `bench/trust_model.py` (another), relabels the record into
tables of which the truth is known (`bench/trust_tables.py`), counts what they claim, and writes the
tables of `docs/concepts/trust.md`. Ended at any moment, it goes on where it was. The exit code is 1
if a promise is not kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import trust_model
from rounds import markdown_table
from scipy.stats import binom
from trust_live import ALIKE, COUNTS, SLOWER, SLOWER_BY, Line, make_missing, read_live
from trust_record import FOLDER, HOSTS, read_lines, record, record_path
from trust_record import UNITS as UNITS_RECORDED
from trust_tables import (
    CONFIDENCE,
    MARGIN,
    PART,
    UNITS,
    Asked,
    Tally,
    Way,
    answers_of,
    record_of,
    tally,
)

from contend.stats.contrasts import TableShape
from contend.stats.table import answer_table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "concepts" / "trust.md"
STATS = ROOT / "python" / "contend" / "stats"
CACHE = ROOT / "build" / "trust.json"
WAYS: tuple[Way, ...] = ("slices", "crossed", "runs")
NOISY = 4.0
"""How many times as noisy as the others the noisy cell of a column is."""
INJECTED = (0.01, 0.02, 0.05, 0.10)
UNITS_MAX = 200
POWER = 0.8
MARGIN_OF_POWER = 0.001
"""A change within the margin is called equivalent, and never found."""


@dataclass(frozen=True)
class Promise:
    """A row: what is promised, what each column has, and whether that keeps it."""

    what: str
    promised: str
    cells: Sequence[str]
    kept: Sequence[bool]

    def row(self) -> list[str]:
        marked = [
            cell if kept else f"**{cell}**"
            for cell, kept in zip(self.cells, self.kept, strict=True)
        ]
        return [self.what, self.promised, *marked]


def of_equal_levels(columns: Sequence[tuple[Tally, Tally]]) -> list[Promise]:
    """The promises about tables of equal levels. Each column: as recorded, and with +3 %."""
    plain = [one for one, _ in columns]
    other = [one for _, one in columns]
    error = round(1 - CONFIDENCE, 6)
    at_most = f"at most {100 * error:g} %"

    def in_200(values: Iterable[float], what: str, share: float) -> Promise:
        counts = [200 * value for value in values]
        low, high = map(int, binom.interval(0.95, 200, share))
        kept = [low <= count <= high for count in counts]
        return Promise(what, f"{low} to {high}", [f"{count:.1f}" for count in counts], kept)

    def percent(values: Iterable[float], what: str, promised: str, kept: Sequence[bool]) -> Promise:
        return Promise(what, promised, [f"{100 * value:.1f} %" for value in values], kept)

    least = [POWER - 2 * math.sqrt(POWER * (1 - POWER) / one.tables) for one in plain]
    return [
        in_200(
            (one.alone_rejects for one in plain),
            f"single cells, unadjusted {100 * CONFIDENCE:g} %, that exclude no change, of 200",
            error,
        ),
        in_200(
            (1 - one.alone_rejects for one in plain),
            "the same, that hold no change",
            CONFIDENCE,
        ),
        in_200(
            (one.alone_rejects_whole for one in plain),
            "levels as a whole, unadjusted, that exclude no change, of 200",
            error,
        ),
        percent(
            (one.false_tables for one in plain),
            "whole tables with any false claim",
            at_most,
            [one.false_tables <= error for one in plain],
        ),
        percent(
            (one.false_cells for one in plain),
            "of them, tables with a false claim about a single cell",
            at_most,
            [one.false_cells <= error for one in plain],
        ),
        percent(
            (one.false_pairs for one in plain),
            "of them, tables in which one level is said to differ from another",
            at_most,
            [one.false_pairs <= error for one in plain],
        ),
        percent(
            (one.kept for one in plain),
            "a level as a whole, changed by what its table calls detectable, is found",
            "80 %",
            [one.kept >= low for one, low in zip(plain, least, strict=True)],
        ),
        percent(
            (one.kept_cells for one in plain),
            "a cell, changed by what its table calls detectable, is found",
            "80 %",
            [one.kept_cells >= low for one, low in zip(plain, least, strict=True)],
        ),
        Promise(
            "mean error of a level as a whole, in half-widths",
            "-0.2 to 0.2",
            [f"{one.bias:+.2f}" for one in plain],
            [abs(one.bias) <= 0.2 for one in plain],
        ),
        percent(
            (one.equivalent for one in other),
            f"tables that call any change of 3 % equivalent at a margin of {100 * MARGIN:g} %",
            at_most,
            [one.equivalent <= error for one in other],
        ),
    ]


def of_power(effect: float, at_eight: Tally, asked: Asked, counts: Counts) -> Promise:
    """An effect, found with as many units as are said to find it."""
    # What is detectable falls with the root of the units, a little faster while they are few.
    guess = math.ceil(UNITS * (at_eight.detectable / effect) ** 2)
    units = min(max(guess, UNITS), UNITS_MAX)
    (seen,) = counts.of(replace(asked, units=units), effect)
    promises = seen.detectable <= effect
    least = POWER - 2 * math.sqrt(POWER * (1 - POWER) / seen.tables)
    return Promise(
        f"{effect:+.0%}".replace("%", " %"),
        "80 %" if promises else "none",
        [
            str(units),
            f"{100 * seen.detectable:.2g} %",
            f"{100 * seen.found:.1f} %",
            f"{200 * (1 - seen.alone_rejects_whole):.1f}",
            f"{seen.bias:+.2f}",
        ],
        [
            True,
            True,
            not promises or seen.found >= least,
            seen.alone_rejects_whole <= 0.08,
            abs(seen.bias) <= 0.2,
        ],
    )


class Counts:
    """Tallies of tables, kept for as long as the record and the statistics are the same."""

    def __init__(self, folder: Path, pool: Executor) -> None:
        self._pool = pool
        self._path = CACHE
        sources = [*sorted(STATS.glob("*.py")), Path(__file__).with_name("trust_tables.py")]
        sources += [record_path(folder, host) for host in HOSTS]
        self._of = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
        kept = json.loads(CACHE.read_text()) if CACHE.exists() else {}
        self._kept = kept if kept.get("of") == self._of else {"of": self._of}

    def of(self, asked: Asked, *effects: float) -> list[Tally]:
        """Of these tables, had their levels changed by each of the effects."""
        keys = [f"{asked.seed} {asked.way} {asked.units} {asked.tables} {e}" for e in effects]
        if not all(key in self._kept for key in keys):
            answers = answers_of(asked, self._pool)
            for key, effect in zip(keys, effects, strict=True):
                self._kept[key] = asdict(tally(answers, asked.units, effect))
                print(f"{key}: {self._kept[key]}", file=sys.stderr, flush=True)
            self._path.parent.mkdir(exist_ok=True)
            self._path.write_text(json.dumps(self._kept, indent=1))
        return [Tally(**self._kept[key]) for key in keys]


def of_live(lines: Sequence[Line]) -> list[Promise]:
    """What the experiments that were made live claimed."""
    promises = []
    for kind, truth in ((ALIKE, 1.0), (SLOWER, 1 / (1 + SLOWER_BY))):
        answers = [
            answer_table(
                np.array(line["logs"])[:, None, None],
                TableShape(1, 1),
                margin=MARGIN,
                confidence=CONFIDENCE,
            )
            for line in lines
            if line["kind"] == kind and len(line["logs"]) >= 2
        ]
        if not answers:
            continue
        changes = [answer.whole(0) for answer in answers]
        n = len(changes)
        holds = sum(one.low <= truth <= one.high for one in changes)
        errors = [math.log(one.ratio / truth) for one in changes]
        half = statistics.median(math.log(one.high / one.low) / 2 for one in changes)
        off = 1.96 * statistics.stdev(errors) / math.sqrt(n) if n > 1 else math.inf
        mean = statistics.mean(errors)
        claims = [
            sum(one.verdict == verdict for one in changes)
            for verdict in ("higher", "lower", "equivalent", "inconclusive")
        ]
        least = {40: 35, 20: 17}.get(n, math.ceil(0.8 * n))
        what = "an option that changes nothing" if kind == ALIKE else "a server of -4.76 %"
        promises.append(
            Promise(
                f"{what}, {n} of {COUNTS[kind]} experiments so far"
                if n < COUNTS[kind]
                else f"{what}, {n} experiments",
                f"{least} of {n} intervals hold the truth",
                [
                    f"{holds} of {n}",
                    f"{claims[0]} faster, {claims[1]} slower, {claims[2]} equivalent, "
                    f"{claims[3]} inconclusive",
                    f"±{100 * half:.1f} %",
                    f"{100 * mean:+.2f} % ±{100 * off:.2f}",
                ],
                [holds >= least, True, True, abs(mean) <= max(off * 1.3, half / 5)],
            )
        )
    return promises


def report(folder: Path, tables: int) -> tuple[dict[str, str], int, list[str]]:
    """The tables in Markdown by name, how many promises they hold, and which are not kept."""
    records = {host: record_of(read_lines(folder, host)) for host in HOSTS}
    asked_of = {
        f"{host}, {way}": Asked(records[host], way, UNITS, tables, host)
        for host in HOSTS
        for way in WAYS
    }
    for host in HOSTS:
        noisy = Asked(records[host], "slices", UNITS, tables, f"noisy {host}", noisy=NOISY)
        asked_of[f"{host}, slices, one cell {NOISY:g} times as noisy"] = noisy
    head = list(asked_of)
    power = []
    with ProcessPoolExecutor() as pool:
        counts = Counts(folder, pool)
        columns = []
        for asked in asked_of.values():
            plain, changed = counts.of(asked, 0.0, 0.03)
            columns.append((plain, changed))
        of_slices = columns[: len(HOSTS) * len(WAYS) : len(WAYS)]
        for host, (at_eight, _) in zip(HOSTS, of_slices, strict=True):
            seed = f"power {host}"
            asked = Asked(records[host], "slices", UNITS, max(tables // 5, PART), seed)
            asked = replace(asked, margin=MARGIN_OF_POWER)
            for effect in INJECTED:
                power.append((host, of_power(effect, at_eight, asked, counts)))
    equal = of_equal_levels(columns)
    widths = [
        ["half of the interval of a level as a whole, median", ""]
        + [f"±{100 * one.half_width:.1f} %" for one, _ in columns],
        ["what a table calls detectable of it, median", ""]
        + [f"{100 * one.detectable:.1f} %" for one, _ in columns],
    ]
    live = of_live(read_live(folder))
    made = {
        "equal": markdown_table(["", "promised", *head], [*(one.row() for one in equal), *widths]),
        "power": markdown_table(
            [
                *("host", "change", "promised", "units", "detectable, median", "found"),
                *("unadjusted intervals that hold it, of 200", "mean error, in half-widths"),
            ],
            [[host, *one.row()] for host, one in power],
        ),
        "live": markdown_table(
            ["live", "promised", "held", "claims", "half-width, median", "mean error"],
            [one.row() for one in live],
        )
        + f"\n\n{where_live(read_live(folder))}",
    }
    broken = [
        f"{one.what}: {cell} ({where})"
        for one in equal
        for cell, kept, where in zip(one.cells, one.kept, head, strict=True)
        if not kept
    ]
    broken += [f"{one.what}, {host}: {one.cells}" for host, one in power if not all(one.kept)]
    broken += [f"{one.what}: {one.cells}" for one in live if not all(one.kept)]
    kept = [one.kept for one in (*equal, *(one for _, one in power), *live)]
    return made, sum(map(len, kept)), broken


def where_live(lines: Sequence[Line]) -> str:
    """On which machines how many of the live experiments were made."""
    counts = Counter(line["machine"] for line in lines)
    return "Made on: " + "; ".join(f"{machine} ({n})" for machine, n in counts.most_common()) + "."


def write(made: dict[str, str]) -> None:
    """Put tables and facts into the page, each between its marks."""
    text = PAGE.read_text()
    for name, body in made.items():
        begin, end = f"<!-- {name}: made by `make trust` -->", f"<!-- end of {name} -->"
        pattern = re.escape(begin) + r".*?" + re.escape(end)
        text, count = re.subn(
            pattern, lambda _, b=begin, x=body, e=end: f"{b}\n\n{x}\n\n{e}", text, flags=re.S
        )
        if count != 1:
            raise SystemExit(f"contend: {PAGE} has no place for {name}: {begin} … {end}")
    PAGE.write_text(text)


def facts_of(folder: Path, tables: int) -> str:
    """When and where the record was made."""
    lines = [line for host in HOSTS for line in read_lines(folder, host)]
    days = sorted({line["at"][:10] for line in lines})
    machines = "; ".join(sorted({line["machine"] for line in lines}))
    servers = ", ".join(sorted({line["server"] for line in lines}))
    today = datetime.now(UTC).date().isoformat()
    counts = ", ".join(
        f"{sum(line['host'] == host for line in lines)} processes {where}"
        for host, where in zip(HOSTS, ("on a quiet host", "beside the neighbour"), strict=True)
    )
    return (
        f"Recorded {' and '.join(days)} on {machines}: {servers}; {counts}. "
        f"Counted {today} by `make trust`: {tables:,} tables a column."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120, help="of recording, at most")
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    until_s = time.monotonic() + 60 * asked.minutes
    done = record(asked.folder, units=UNITS_RECORDED, until_s=until_s)
    done &= make_missing(asked.folder, counts=COUNTS, until_s=until_s)
    done &= trust_model.make_missing(
        asked.folder, count=trust_model.COUNT, seconds=trust_model.FOR_S, until_s=until_s
    )
    if not done:
        print("contend: not all is recorded yet; begun anew, it goes on", file=sys.stderr)
    made, promises, broken = report(asked.folder, asked.tables)
    of_model = trust_model.read_model(asked.folder)
    made["model"] = trust_model.in_markdown(of_model)
    broken += trust_model.broken(of_model)
    write({**made, "facts": facts_of(asked.folder, asked.tables)})
    print(*made.values(), sep="\n\n")
    # The last line is for `tools/test_long.py`.
    print(json.dumps({"promises": promises, "broken": broken}, ensure_ascii=False))
    return 1 if broken or not done else 0


if __name__ == "__main__":
    sys.exit(main())
