"""What the lab claims of servers whose truth is known: model servers with a knob at two settings.

    python bench/trust_model.py [--seconds 10] [--comparisons 249] [--minutes 60]

Each comparison is a `contend run` of two private model servers in slices, one with a knob at rest
and one with it turned, alone or beside another knob that is turned in both. The server counts what
the knob did, which no statement shows; from that follows the gain at 1 connection. Over more
connections the sign follows, and bounds. Kept in `bench/results/trust/model.jsonl.gz` one by one
with all figures that a cause may look at; begun anew, the command goes on. What is there is counted
into the table of `docs/concepts/trust.md`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rounds import machine, markdown_table
from scipy.stats import beta
from trust_record import FOLDER
from units import EXPERIMENTS

from contend.experiment import load_experiment
from contend.experiment.settings.server import MODEL
from contend.files import default_cache
from contend.findings import Study, compared_of, study_of
from contend.lab import session
from contend.lab.equipment import private_equipment
from contend.load import find_program
from contend.sections.naming import naming_of
from contend.sections.why import cause_of
from contend.servers.find import find_server
from contend.store import RunFolder, RunRecord

KNOB = "server.knobs."
SEGMENTS = "server.options.key_cache_segments"
CONFIDENCE = 0.95
PROMISED = 0.96
"""Of the intervals of the metric that decides, in a report of 95 %."""
MARGIN = 0.02
FOR_S = 10.0
COUNT = 249
"""Three rounds of all."""

Level = int | float | str
Line = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Two settings of a path.

    Args:
        of: the row of the table that it belongs to.
        levels: the first is the baseline.
        beside: other values of the experiment, the same in both.
        sign: of the change if it is not what the server counted that says so: it is not faster.
    """

    of: str
    path: str
    levels: tuple[Level, Level]
    connections: int
    beside: Mapping[str, Level] = field(default_factory=dict)
    sign: bool = False
    number: int = 0

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def sets(self) -> list[str]:
        given = {
            self.path: list(self.levels),
            "compare.baseline": f'{{ "{self.path}" = {json.dumps(self.levels[0])} }}',
            "load.connections": self.connections,
            "load.seed": 1000 + self.number,
            **self.beside,
        }
        # The file's own factor is another one.
        return [
            f"{KNOB}outside_lock_ns=0",
            *(f"{path}={v if isinstance(v, str) else json.dumps(v)}" for path, v in given.items()),
        ]


_ONE_CPU = {"place.server.cpus": "0", "place.client.cpus": "0"}
"""Of server and client, at 1 connection: one of them computes and the other waits, and what is
computed more is all that changes."""
_ONE_EACH = {"place.server.cpus": "one-each"}
"""If the knob sleeps: then a CPU falls idle at each query, whatever the knob is. Left alone, the
scheduler chooses anew at each waking, and sleeps of 100 µs in some of the queries made 1 connection
6 to 15 % faster here."""
SLEEPS = ("miss_ns", "delay_us")

_SMALL = {
    "server.options.key_buffer_size": "950K",
    "workload.distribution": '{ kind = "uniform" }',
}
"""Nearly all of the index of `k` fits, so that one query in three misses a page, from the beginning
to the end."""

ALONE: tuple[tuple[str, Level, tuple[Level, ...], Mapping[str, Level]], ...] = (
    ("under_lock_ns", 1, (60, 120, 300), {}),
    ("outside_lock_ns", 1, (60, 120, 300), {}),
    ("miss_ns", 0, (2000, 20_000, 100_000), _SMALL),
    ("second_lock_ns", 0, (500, 2000, 10_000), {}),
    ("row_lock_ns", 0, (200_000, 500_000, 2_000_000), {}),
    ("delay_us", 0, (5, 50, 500), {}),
    ("speed", 1.0, (1.01, 1.03, 1.1), {}),
    ("leak_ns_per_s", 0, (500, 2000, 10_000), {}),
    ("stall_ms", 0, (1, 4, 15), {f"{KNOB}stall_every_s": 0.1}),
)
"""Knob, its rest, three sizes, and what goes with it. One row in a hundred queries is the row with
a lock, so that it has to be held long. The least that can be spun is one look at the clock, some
30 ns; under the lock that takes 13 to 18 ns more than is counted, however long is spun, so both
rest at 1."""

_LARGE = {"under_lock_ns": 80, "outside_lock_ns": 150, "second_lock_ns": 2000, "speed": 1.03}
_REST = {knob: rest for knob, rest, _, _ in ALONE}
PAIRS = tuple((one, other) for one in _LARGE for other in _LARGE if one != other)
"""The first is turned, the second is on in both."""

SIGNS: tuple[tuple[str, tuple[Level, Level], Mapping[str, Level]], ...] = (
    ("padding", ("apart", "shared"), {SEGMENTS: 32}),
    ("lock", ("adaptive", "fair"), {}),
)
"""Of these only is known that they do not make it faster, over several connections."""

CAUSED = (0, 50, 300)
"""Work under the lock, with which splitting it makes a difference that the cause explains."""


def comparisons() -> Iterator[Comparison]:
    """All of them, in rounds: whoever ends early has some of each kind."""
    for number in range(10):
        for connections in (1, 8):
            for knob, rest, sizes, own in ALONE:
                beside = {**own, **_places(knob, connections)}
                for size in sizes:
                    yield Comparison(
                        knob, KNOB + knob, (rest, size), connections, beside, number=number
                    )
            for one, other in PAIRS:
                levels = (_REST[one], _LARGE[one])
                # With segments, so that the cause has something to go by.
                beside = {KNOB + other: _LARGE[other], SEGMENTS: 32, **_places(one, connections)}
                yield Comparison("pairs", KNOB + one, levels, connections, beside, number=number)
        for knob, levels, beside in SIGNS:
            yield Comparison(knob, KNOB + knob, levels, 8, beside, sign=True, number=number)
        for ns in CAUSED:
            beside = {f"{KNOB}under_lock_ns": ns}
            yield Comparison("segments", SEGMENTS, (0, 32), 8, beside, sign=True, number=number)


def _places(knob: str, connections: int) -> Mapping[str, Level]:
    """Over several connections as the scheduler wants it."""
    if connections > 1:
        return {}
    return _ONE_EACH if knob in SLEEPS else _ONE_CPU


def model_path(folder: Path) -> Path:
    return folder / "model.jsonl.gz"


def read_model(folder: Path) -> list[Line]:
    """The comparisons that were made."""
    if not model_path(folder).exists():
        return []
    with gzip.open(model_path(folder), "rt") as file:
        return [json.loads(line) for line in file]


def make_missing(folder: Path, *, count: int, seconds: float, until_s: float) -> bool:
    """Make what is missing of the first so many; whether all of it is there."""
    made = {line["key"] for line in read_model(folder)}
    wanted = [one for one, _ in zip(comparisons(), range(count), strict=False)]
    missing = [(at, one) for at, one in enumerate(wanted, start=1) if one.key not in made]
    folder.mkdir(parents=True, exist_ok=True)
    for at, one in missing:
        if time.monotonic() + 2 * seconds > until_s:
            return False
        line = {"key": one.key, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        line |= {"machine": machine(), "seconds": seconds, **compare(one, seconds)}
        with gzip.open(model_path(folder), "at") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        print(f"{at}/{count} {one.of} {one.levels}: {said(line)}", file=sys.stderr, flush=True)
    return True


def compare(one: Comparison, seconds: float) -> Line:
    """Measure a comparison, from beginning to end as `contend run` does it."""
    sets = [*one.sets, f"compare.at_most={seconds:g}s"]
    experiment = load_experiment(str(EXPERIMENTS / "model.toml"), sets=sets)
    program = find_program()
    with tempfile.TemporaryDirectory(prefix="contend-bench-") as place:
        path = Path(place) / "run"
        equipment = private_equipment(
            {MODEL: find_server(MODEL)},
            cache=default_cache(),
            program=program,
            listen=lambda _event: None,
        )
        session.begin(experiment, path, equipment, lambda _event: None)
        with RunFolder.open(path) as folder:
            study = study_of(folder, percentiles=False)
            return {**asdict(one), "levels": list(one.levels), **_claims(study), **_figures(study)}


def _claims(study: Study) -> Line:
    """What the report says of it."""
    analysis = compared_of(study)[0]
    assert analysis is not None
    (whole,) = analysis.compared.wholes
    cause = cause_of(study, naming_of(study.experiment), analysis.compared)
    change = whole.change
    return {
        "ratio": change.ratio,
        "low": change.low,
        "high": change.high,
        "verdict": change.verdict,
        "n": change.n,
        "told": cause is not None and cause.is_short,
    }


def _figures(study: Study) -> Line:
    """By level and repeat all that a cause may look at; of the segments' locks the sums."""
    compared = study.roles.compared
    assert compared is not None
    return {
        "runs": [
            [
                [_figures_of(run) for run in runs]
                for runs in study.repeats_of({compared.path: level}).values()
            ]
            for level in compared.levels
        ]
    }


def _figures_of(run: RunRecord) -> Line:
    done, probes = run.done, run.probes
    assert done is not None
    return {
        "qps": done["qps"],
        "queries": done["queries"],
        "latency_us": {name: done["latency_us"][name] for name in ("mean", "p50", "p99")},
        "server": done.get("server"),
        "client": done.get("client"),
        "status": probes.get("status"),
        "model": probes.get("model"),
    }


# --- what is true ---


WORK = (
    *("under_lock", "outside_lock", "second_lock", "row_lock", "leak", "speed"),
    *("misses", "delays"),
)
"""What the server does besides."""


def added_ns(run: Line) -> float:
    """What all knobs together took of a query, as the server counted it."""
    model = run["model"]
    return float(sum(model[name]["ns"] for name in WORK) / model["queries"])


def predicted(line: Line) -> list[float]:
    """ln(level / baseline) of each repeat at 1 connection: what a query takes longer, over what it
    takes at the baseline."""
    logs = []
    for base, level in zip(*line["runs"], strict=True):
        longer = statistics.mean(map(added_ns, level)) - statistics.mean(map(added_ns, base))
        usual = 1e9 / statistics.mean(run["qps"] for run in base)
        logs.append(-math.log1p(longer / usual))
    return logs


def stalled(repeats: Sequence[Sequence[Line]], every_s: float) -> float:
    """The share of the time in which all queries stood still, by how long a stall was."""
    stalls = [run["model"]["stalls"] for runs in repeats for run in runs]
    times = sum(one["times"] for one in stalls)
    return sum(one["ns"] for one in stalls) / times / (1e9 * every_s) if times else 0.0


QUEUED = ("under_lock_ns", "second_lock_ns", "row_lock_ns", "stall_ms")
"""What queries wait for in a queue. Waking them costs, so that over several connections more can be
lost than the time that was added."""


@dataclass(frozen=True)
class Truth:
    """Bounds of the true ratio of level to baseline; both are the same if it is known."""

    low: float
    high: float

    @property
    def is_known(self) -> bool:
        return self.low == self.high


def truth_of(line: Line) -> Truth:
    if line["of"] == "segments":
        # Of the locks that were split, and at work: not slower than by what 32 of them cost.
        return Truth(1.0, math.inf)
    if line["sign"]:
        return Truth(0.0, 1.0)
    knob = line["path"].removeprefix(KNOB)
    if line["connections"] == 1:
        ratio = (
            1 - stalled(line["runs"][1], line["beside"][f"{KNOB}stall_every_s"])
            if knob == "stall_ms"
            else math.exp(statistics.mean(predicted(line)))
        )
        return Truth(ratio, ratio)
    if knob in QUEUED:
        return Truth(0.0, 1.0)
    # At most all of it in a row, one query after the other; at least nothing of it is felt.
    base, level = line["runs"]
    runs = [run for repeat in base for run in repeat]
    usual = 1e9 / statistics.mean(run["qps"] for run in runs)
    longer = statistics.mean(added_ns(run) for repeat in level for run in repeat)
    longer -= statistics.mean(map(added_ns, runs))
    all_of_it = usual / max(1.0, usual + longer)
    return Truth(min(all_of_it, 1.0), max(all_of_it, 1.0))


Judgement = Literal["right", "silent", "wrong"]


def holds(line: Line) -> bool:
    """Whether the interval agrees with the truth."""
    truth = truth_of(line)
    return bool(line["low"] <= truth.high and truth.low <= line["high"])


def judged(line: Line) -> Judgement:
    """Whether the verdict is right."""
    truth, verdict = truth_of(line), line["verdict"]
    if verdict == "inconclusive":
        return "silent"
    could_be = {
        "higher": truth.high > 1,
        "lower": truth.low < 1,
        "equivalent": truth.low <= 1 + MARGIN and truth.high >= 1 / (1 + MARGIN),
    }
    return "right" if could_be[verdict] else "wrong"


def cause_judged(line: Line) -> Judgement:
    """Whether the cause that was told is the one: only if segments are what is compared."""
    if not line["told"]:
        return "silent"
    return "right" if line["of"] == "segments" else "wrong"


def said(line: Line) -> str:
    truth = truth_of(line)
    known = f"{truth.low - 1:+.2%}" if truth.is_known else f"{truth.low - 1:+.1%} to "
    known += "" if truth.is_known else f"{truth.high - 1:+.1%}"
    interval = f"{line['low'] - 1:+.2%} to {line['high'] - 1:+.2%}"
    return (
        f"true {known}, said {interval} {line['verdict']}"
        f"{'' if holds(line) else ' (does not hold it)'}, {judged(line)}"
    )


# --- the table ---


def clopper_pearson(count: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a share."""
    off = (1 - confidence) / 2
    low = beta.ppf(off, count, n - count + 1) if count else 0.0
    high = beta.ppf(1 - off, count + 1, n - count) if count < n else 1.0
    return float(low), float(high)


def share(count: int, n: int) -> str:
    """`57 of 60 (86 to 99 %)`."""
    if not n:
        return "–"
    low, high = clopper_pearson(count, n)
    return f"{count} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"


HEAD = (
    *("knob", "connections", "comparisons", "intervals that agree with the truth"),
    *("verdicts right", "none", "wrong", "mean error, in half-widths"),
    *("cause right", "none told", "wrong"),
)


def table(lines: Sequence[Line]) -> str:
    """In Markdown: a row for each knob and load, and all together."""
    rows = []
    for of in dict.fromkeys(line["of"] for line in lines):
        for connections in (1, 8):
            some = [x for x in lines if x["of"] == of and x["connections"] == connections]
            if some:
                rows.append([of, str(connections), *_row(some)])
    for connections in (1, 8):
        some = [x for x in lines if x["connections"] == connections]
        rows.append(["all", str(connections), *_row(some)])
    rows.append(["all", "both", *_row(lines)])
    return markdown_table(HEAD, rows)


def _row(lines: Sequence[Line]) -> list[str]:
    verdicts, causes = [judged(x) for x in lines], [cause_judged(x) for x in lines]
    known = [x for x in lines if truth_of(x).is_known]
    errors = [
        math.log(x["ratio"] / truth_of(x).low) / (math.log(x["high"] / x["low"]) / 2) for x in known
    ]
    return [
        str(len(lines)),
        share(sum(map(holds, lines)), len(lines)),
        *(str(verdicts.count(one)) for one in ("right", "silent", "wrong")),
        f"{statistics.mean(errors):+.2f}" if errors else "",
        *(str(causes.count(one)) for one in ("right", "silent", "wrong")),
    ]


def broken(lines: Sequence[Line]) -> list[str]:
    """Promises that are not kept: too few intervals hold the truth, or too many verdicts are
    wrong, by more than chance."""
    found = []
    for connections in (1, 8):
        some = [x for x in lines if x["connections"] == connections]
        agree, wrong = sum(map(holds, some)), sum(judged(x) == "wrong" for x in some)
        if some and clopper_pearson(agree, len(some))[1] < PROMISED:
            found.append(f"at {connections} connections {agree} of {len(some)} intervals agree")
        if some and clopper_pearson(wrong, len(some))[0] > 1 - PROMISED:
            found.append(f"at {connections} connections {wrong} of {len(some)} verdicts are wrong")
    told = sum(cause_judged(x) == "wrong" for x in lines)
    return [*found, *([f"{told} causes are wrong"] if told else [])]


def facts(lines: Sequence[Line]) -> str:
    """When and where it was recorded."""
    days = sorted({line["at"][:10] for line in lines})
    machines = "; ".join(sorted({line["machine"] for line in lines}))
    times = sorted({line["seconds"] for line in lines})
    return (
        f"{len(lines)} comparisons of {' or '.join(f'{t:g} s' for t in times)} each, recorded "
        f"{' and '.join(days)} on {machines}. Intervals of shares are Clopper-Pearson's, "
        f"{100 * CONFIDENCE:g} %."
    )


def in_markdown(lines: Sequence[Line]) -> str:
    return f"{table(lines)}\n\n{facts(lines)}" if lines else "Nothing is recorded yet."


def main() -> int:
    from trust import write

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="stop after so long")
    parser.add_argument("--seconds", type=float, default=FOR_S, help="of each comparison")
    parser.add_argument("--comparisons", type=int, default=COUNT)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--print", action="store_true", help="leave the page as it is")
    asked = parser.parse_args()
    until_s = time.monotonic() + 60 * asked.minutes
    done = make_missing(
        asked.folder, count=asked.comparisons, seconds=asked.seconds, until_s=until_s
    )
    print("all is made" if done else "time is up; begun anew, it goes on", file=sys.stderr)
    lines = read_model(asked.folder)
    if not asked.print:
        write({"model": in_markdown(lines)})
    print(in_markdown(lines))
    return 1 if broken(lines) else 0


if __name__ == "__main__":
    sys.exit(main())
