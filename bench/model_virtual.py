"""Does the model server in virtual time do what the real one does?

    python bench/model_virtual.py [--quick] [--rounds 8] [--server model|mariadb|itself]

The real server runs on one CPU and then on two, its client beside it on the same. A round goes
through the numbers of connections in random order; each is measured between two looks at one
connection, and every measurement has slices with 0 and 32 segments in turn. Beside each round the
host's costs are measured: `contend-load cpus --calls` and `--state`.

Virtual time is told these costs and how long a visit holds its lock (the model server counts that),
and is fitted at one connection on one CPU alone: CPU time of a query with 1 and with all points,
with 0 and with 32 segments, of the server and of the client. All else is a prediction: q/s at N
connections over q/s at one, and the gain of 32 segments. Beside it stands what counting CPUs says:
q/s is min(N, CPUs) / demand.

With --server itself virtual time stands in for the real server too: the fit must find again what it
was told, and the table of what matters needs no quiet host. With --keep the measurements go to a
file; with --again they are taken from it, and only computed.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from model_fit import VARIANTS, Key, changed, fit, fit_on_one_cpu, predicted
from model_itself import session_of_itself
from model_real import CPU_SETS, POINTS, Session, measure, read
from rounds import markdown_table, publish

from contend.stats.student import t_quantile


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="3 rounds of shorter slices")
    parser.add_argument("--server", choices=("model", "mariadb", "itself"), default="model")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--held-ns", type=float, help="of a visit, where the server does not say")
    parser.add_argument("--virtual-s", type=float, default=1.0)
    parser.add_argument("--keep", type=Path, help="write what was measured to this file")
    parser.add_argument("--again", type=Path, help="compute from such a file")
    parser.add_argument("--publish", action="store_true", help="write the result's page")
    asked = parser.parse_args()
    if asked.again:
        session = read(asked.again)
    elif asked.server == "itself":
        session = session_of_itself(asked)
    else:
        session = measure(asked)
    facts, tables = compare(session, asked)
    if asked.publish:
        title = "The model server in virtual time beside the real one"
        publish("model-virtual", title, facts, tables)
    else:
        print("\n".join([*facts, "", tables]))
    return 0


def ratios(session: Session) -> dict[Key, list[float]]:
    """ln q/s over that of the two looks at one connection beside it, round by round."""
    by_place = {
        (one.cpus, one.round, one.place, one.segments): math.log(one.qps)
        for one in session.samples
        if one.connections == 1 and one.points == POINTS
    }
    found: dict[Key, list[float]] = {}
    for one in session.samples:
        if one.connections == 1:
            continue
        # The first has (1 connection, 1 point) before it, and before that the usual one.
        around = [
            by_place[key]
            for near in (one.place - 1, one.place - 2, one.place + 1)
            if (key := (one.cpus, one.round, near, one.segments)) in by_place
        ][-2:]
        at = (one.cpus, one.connections, one.segments)
        found.setdefault(at, []).append(math.log(one.qps) - statistics.mean(around))
    return found


def gains(session: Session) -> dict[tuple[int, int], list[float]]:
    """ln of the gain of 32 segments, round by round."""
    logs: dict[tuple[int, int, int], dict[int, list[float]]] = {}
    for one in session.samples:
        if one.points == POINTS:
            by = logs.setdefault((one.cpus, one.connections, one.round), {})
            by.setdefault(one.segments, []).append(math.log(one.qps))
    found: dict[tuple[int, int], list[float]] = {}
    for (cpus, connections, _round), by in logs.items():
        gain = statistics.mean(by[32]) - statistics.mean(by[0])
        found.setdefault((cpus, connections), []).append(gain)
    return found


def half_width(values: Sequence[float]) -> float:
    """Of the 95 % interval of the mean."""
    if len(values) < 2:
        return math.inf
    return t_quantile(len(values) - 1, 0.975) * statistics.stdev(values) / math.sqrt(len(values))


def rms(values: Sequence[float]) -> float:
    return math.sqrt(statistics.mean(one * one for one in values))


def compare(session: Session, asked: argparse.Namespace) -> tuple[list[str], str]:
    seen, seen_gains = ratios(session), gains(session)
    fitted = {len(cpus): fit_on_one_cpu(session, len(cpus), asked) for cpus in CPU_SETS}
    said = {key: value for one in fitted.values() for key, value in predicted(one, asked).items()}
    mean = {key: statistics.mean(values) for key, values in seen.items()}
    by_count = {key: math.log(min(key[1], key[0])) for key in seen}
    rounds = len(next(iter(seen.values())))

    def off(guess: Mapping[Key, float], number: int | None = None) -> float:
        at = mean if number is None else {key: values[number] for key, values in seen.items()}
        return rms([guess[key] - at[key] for key in seen])

    better = [off(by_count, number) - off(said, number) for number in range(rounds)]
    head = ["CPUs", "connections", "segments", "q/s over one", "±", "virtual", "by count"]
    lines = [
        [
            *(str(one) for one in key),
            f"{math.exp(mean[key]):.2f}",
            f"{half_width(seen[key]):.1%}",
            f"{math.exp(said[key]):.2f}",
            f"{math.exp(by_count[key]):.2f}",
        ]
        for key in sorted(seen)
    ]
    gain_head = ["CPUs", "connections", "gain of 32", "±", "virtual", "off by, beyond ±"]
    gain_lines, beyond = [], []
    for cpus, connections in sorted(seen_gains):
        values = seen_gains[cpus, connections]
        mine = said[cpus, connections, 32] - said[cpus, connections, 0]
        if connections > 1:
            mine += said[cpus, 1, 32] - said[cpus, 1, 0]
        half = half_width(values)
        beyond.append(max(0.0, abs(mine - statistics.mean(values)) - half))
        row = [
            f"{math.expm1(statistics.mean(values)):+.1%}",
            f"{half:.1%}",
            f"{math.expm1(mine):+.1%}",
        ]
        gain_lines.append([str(cpus), str(connections), *row, f"{beyond[-1]:.3f}"])
    facts = [
        f"{session.server}, {asked.rows:,} rows, {POINTS} points, Unix socket; {rounds} rounds",
        f"load average {session.load[0]:.1f} before, {session.load[1]:.1f} after",
        f"rms of ln(q/s over one): virtual time {off(said):.3f}, by count {off(by_count):.3f}",
        f"by count is worse by {statistics.mean(better):.3f} ±{half_width(better):.3f}",
        f"the gain of 32 segments is off by at most {max(beyond):.3f} beyond the measurement's ±",
    ]
    for cpus, virtual in fitted.items():
        for name, costs in (("host", virtual.host), ("demands", virtual.demands)):
            told = ", ".join(f"{key} {value:,.4g}" for key, value in costs.items())
            facts.append(f"{cpus} CPUs, {name}: {told}")
    variants = {name: [changed(one, name) for one in fitted.values()] for name in VARIANTS}
    variants["fitted on as many CPUs"] = [fit(session, len(cpus), asked) for cpus in CPU_SETS]
    variant_lines = []
    for name, varied in variants.items():
        guess = {key: value for one in varied for key, value in predicted(one, asked).items()}
        parts = [
            f"{rms([guess[key] - mean[key] for key in seen if key[0] == len(cpus)]):.3f}"
            for cpus in CPU_SETS
        ]
        variant_lines.append([name, f"{off(guess):.3f}", *parts])
    variants_head = ["one thing changed", "rms", *(f"{len(cpus)} CPUs" for cpus in CPU_SETS)]
    tables = [
        markdown_table(head, lines),
        "## The gain of 32 segments",
        markdown_table(gain_head, gain_lines),
        "## What matters",
        markdown_table(variants_head, variant_lines),
    ]
    return facts, "\n\n".join(tables)


if __name__ == "__main__":
    raise SystemExit(main())
