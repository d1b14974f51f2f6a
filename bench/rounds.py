"""Rounds of alternating contestants, and the ratios of neighbours they give.

One round runs every contestant once, in random order, on the same server. A ratio compares the
two runs of one round; rounds are the pairs, and the interval is that of contend's own statistics.
"""

from __future__ import annotations

import datetime
import platform
import random
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from contend.stats import estimate

Contestant = TypeVar("Contestant")
Result = TypeVar("Result")


RESULTS = Path(__file__).parent / "results"


def alternate(
    contestants: Mapping[str, Contestant],
    run: Callable[[Contestant], Result],
    *,
    rounds: int,
    seed: int,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
    before_round: Callable[[], None] = lambda: None,
) -> dict[str, list[Result]]:
    """Run each contestant once a round, in random order. Results are lists by round."""
    order = random.Random(seed)
    results: dict[str, list[Result]] = {name: [] for name in contestants}
    for number in range(rounds):
        names = list(contestants)
        order.shuffle(names)
        before_round()
        for name in names:
            results[name].append(run(contestants[name]))
            say(f"round {number + 1}/{rounds} {name}: {results[name][-1]}")
    return results


def ratio(values: Sequence[float], baseline: Sequence[float]) -> str:
    """`1.31 [1.28, 1.35] n=5`: values over baseline, pair by pair, 95 % interval."""
    ratios = [value / other for value, other in zip(values, baseline, strict=True)]
    found = estimate(ratios, log_scale=True)
    return f"{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}] n={found.n}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown writes it."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """The machine in one line: CPU, count, memory, kernel."""
    model = "unknown CPU"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    cpus = sum(
        line.startswith("processor") for line in Path("/proc/cpuinfo").read_text().splitlines()
    )
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    return f"{cpus} x {model}, {memory_kb / 2**20:.0f} GiB, Linux {platform.release()}"


def publish(name: str, title: str, facts: Iterable[str], body: str) -> Path:
    """Print a result and write it, dated, with the command that was given, beside the others."""
    command = shlex.join(["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = "\n".join(
        [
            f"# {title}",
            "",
            f"{today}. Reproduce with `{command}`.",
            "",
            *[f"- {fact}" for fact in (machine(), *facts)],
            "",
            body,
            "",
        ]
    )
    print(text)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{today}-{name}.md"
    path.write_text(text)
    return path
