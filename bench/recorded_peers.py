"""One log of the shop, two servers: what contend-load, pt-upgrade and mariadb-slap answer, how soon
and for how much CPU of their own.

    python bench/recorded_peers.py [--rounds 1] [--statements 20000]

Both servers are of one program and hold the same rows. First they are equal, then the second one
lacks an index. The tests' shop knows which templates need that index, so each answer can be judged.
`--pt-upgrade` is the path of that program; without it, it is looked for in PATH.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from peers import spent
from rounds import alternate, markdown_table, publish
from scipy import stats

from contend.data import Rules
from contend.data.dump.load import load_into
from contend.data.recordings import import_recording
from contend.load import find_program
from contend.load.ask import recorded_statements, show_recording
from contend.servers import PrivateServer
from contend.servers.find import find_server

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import shop
from shop_statements import TEMPLATES, templates_of

INDEX = "orders_by_customer"
OPTIONS: dict[str, str | int | float | bool] = {
    "innodb_buffer_pool_size": "256M",
    "innodb_flush_log_at_trx_commit": 2,
    "skip_log_bin": True,
}
DELIMITER = ";"


@dataclass(frozen=True)
class Log:
    """The log, and its recording with the template of the shop behind each of its numbers."""

    file: Path
    recording: Path
    templates: dict[int, str]
    reads: list[str]


@dataclass(frozen=True)
class Answer:
    """What a tool answered.

    Args:
        sent: statements, on both servers together.
        slower, faster: templates that it names so on the second server.
        differ: templates whose rows or errors it calls different.
    """

    elapsed_s: float
    cpu_us_per_statement: float
    sent: int
    slower: frozenset[str] = frozenset()
    faster: frozenset[str] = frozenset()
    differ: frozenset[str] = frozenset()
    says: str = ""


Tool = Callable[[Log, list[PrivateServer]], Answer]


def contend_load(log: Log, servers: list[PrivateServer]) -> Answer:
    """A template counts as slower if the 95 % interval of its mean log-ratio is above 0, after
    Bonferroni over all templates."""
    plan = {
        "version": 1,
        "recording": str(log.recording),
        "arms": [
            {"name": name, "server": {"socket": str(server.socket), "user": "root"}}
            for name, server in zip("ab", servers, strict=True)
        ],
    }
    begun = time.monotonic()
    output, cpu_s, _ = spent([str(find_program()), "recording", "ask", "-"], stdin=json.dumps(plan))
    elapsed_s = time.monotonic() - begun
    done = json.loads(output.splitlines()[-1])
    sent = len(servers) * (done["asked"] + done["warm"])
    found: dict[str, set[str]] = {"slower": set(), "faster": set(), "differ": set()}
    widths = []
    for template in done["templates"]:
        pair, name = template["pairs"][0], log.templates[template["template"]]
        if pair["rows_differ"] or pair["results_differ"] or template["one_sided"]:
            found["differ"].add(name)
        if pair["pairs"] < 2:
            continue
        error = math.sqrt(pair["var_ln_ratio"] / pair["pairs"])
        certain = stats.t.ppf(1 - 0.025 / len(done["templates"]), pair["pairs"] - 1) * error
        widths.append(certain)
        if abs(pair["mean_ln_ratio"]) > certain:
            found["slower" if pair["mean_ln_ratio"] > 0 else "faster"].add(name)
    return Answer(
        elapsed_s,
        cpu_s / sent * 1e6,
        sent,
        **{kind: frozenset(names) for kind, names in found.items()},
        says=f"median half interval {100 * math.expm1(sorted(widths)[len(widths) // 2]):.0f} %",
    )


def pt_upgrade(program: str, log: Log, servers: list[PrivateServer]) -> Answer:
    dsns = [f"h=localhost,S={server.socket},u=root,D={shop.DATABASE}" for server in servers]
    command = [program, "--no-version-check", "--type=slowlog", str(log.file), *dsns]
    begun = time.monotonic()
    # 4 is its exit code for differences.
    output, cpu_s, _ = spent(command, accepted=(0, 4))
    elapsed_s = time.monotonic() - begun
    counts = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", output, re.M)}
    sent = len(servers) * (counts["queries_no_diffs"] + counts["queries_with_diffs"])
    slower, faster, differ = set[str](), set[str](), set[str]()
    times = re.compile(r"^([\d.]+) vs\. ([\d.]+) seconds", re.M)
    for section in re.split(r"^# Query class ", output, flags=re.M)[1:]:
        names = functools.reduce(set.union, map(templates_of, section.splitlines()), set[str]())
        for first, second in times.findall(section):
            (slower if float(second) > float(first) else faster).update(names)
        if "Row diffs" in section or "Row count diffs" in section:
            differ |= names
    return Answer(
        elapsed_s,
        cpu_s / sent * 1e6,
        sent,
        *map(frozenset, (slower, faster, differ)),
        says=f"{counts['queries_with_diffs']} queries with differences",
    )


def mariadb_slap(log: Log, servers: list[PrivateServer]) -> Answer:
    """All reads of the log on one connection, on one server and then on the other."""
    seconds, cpu_s, begun = [], 0.0, time.monotonic()
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(DELIMITER.join(log.reads))
        file.flush()
        for server in servers:
            output, used_s, _ = spent(
                [
                    *("mariadb-slap", "--no-defaults", f"--socket={server.socket}", "--user=root"),
                    *(f"--create-schema={shop.DATABASE}", "--no-drop", "--iterations=1"),
                    *(f"--query={file.name}", f"--delimiter={DELIMITER}"),
                ]
            )
            cpu_s += used_s
            found = re.search(r"Average number of seconds.*: ([\d.]+)", output)
            assert found is not None, output
            seconds.append(float(found[1]))
    sent = len(servers) * len(log.reads)
    says = f"{seconds[0]:.2f} s, then {seconds[1]:.2f} s for all reads"
    return Answer(time.monotonic() - begun, cpu_s / sent * 1e6, sent, says=says)


@dataclass
class Judged:
    """The answers of one tool about one pair of servers."""

    tool: str
    case: str
    needy: frozenset[str]
    answers: list[Answer] = field(default_factory=list)

    def row(self) -> list[str]:
        def many(values: list[float], digits: int) -> str:
            return " / ".join(f"{value:,.{digits}f}" for value in values)

        return [
            self.case,
            self.tool,
            many([one.elapsed_s for one in self.answers], 0),
            many([one.cpu_us_per_statement for one in self.answers], 0),
            many([one.sent for one in self.answers], 0),
            many([len(one.slower & self.needy) for one in self.answers], 0),
            many([len(one.slower - self.needy) for one in self.answers], 0),
            many([len(one.faster) for one in self.answers], 0),
            many([len(one.differ) for one in self.answers], 0),
            "; ".join(one.says for one in self.answers),
        ]


HEAD = (
    *("servers", "tool", "time to the answer, s", "client CPU per statement, µs"),
    *("statements sent", "slower: right", "slower: wrong", "faster: wrong", "rows differ", "says"),
)


@contextlib.contextmanager
def recorded(folder: Path, statements: int) -> Iterator[tuple[Log, list[PrivateServer]]]:
    """A log, and two servers with the rows of its beginning."""
    program, binary = find_program(), find_server("mariadb")
    with PrivateServer(binary, folder / "recorded") as server:
        server.initialise()
        server.start(OPTIONS)
        made = shop.record(server, folder, statements=statements)
    recording, _ = import_recording(program, [str(made.log)], "shop", cache=folder)
    names, reads = {}, []
    failing = {template.name for template in TEMPLATES if template.fails}
    for template in show_recording(program, recording.path)["templates"]:
        number = template["template"]
        chosen = recorded_statements(program, recording.path, f"--template={number}")
        texts = [one["text"].encode("latin-1").decode() for one in chosen]
        of = templates_of(texts[0])
        names[number] = " or ".join(sorted(of))
        if template["read"] and of and not of & failing:
            reads += [(one["number"], text) for one, text in zip(chosen, texts, strict=True)]
    with contextlib.ExitStack() as stack:
        servers = []
        for name in "ab":
            server = stack.enter_context(PrivateServer(binary, folder / name))
            server.confined = True
            server.initialise()
            server.start(OPTIONS)
            load_into(server, made.dump, Rules(), shop.DATABASE)
            # Else the one that was loaded last would still be writing its pages.
            server.stop()
            server.start(OPTIONS)
            servers.append(server)
        yield Log(made.log, recording.path, names, [text for _, text in sorted(reads)]), servers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--statements", type=int, default=20_000)
    parser.add_argument("--pt-upgrade", default=shutil.which("pt-upgrade"))
    arguments = parser.parse_args()

    tools: dict[str, Tool] = {
        "contend-load recording ask": contend_load,
        "mariadb-slap --query": mariadb_slap,
    }
    if arguments.pt_upgrade:
        tools["pt-upgrade"] = functools.partial(pt_upgrade, arguments.pt_upgrade)
    needy = frozenset(one.name for one in TEMPLATES if INDEX in one.needs)
    judged = []
    with (
        tempfile.TemporaryDirectory(prefix="contend-bench-") as folder,
        recorded(Path(folder), arguments.statements) as (log, servers),
    ):
        for case, expected in (("equal", frozenset()), (f"{INDEX} dropped", needy)):
            if expected:
                with servers[1].connect(shop.DATABASE) as connection:
                    connection.query(shop.drop_index(INDEX))
            answers = alternate(
                tools, lambda tool: tool(log, servers), rounds=arguments.rounds, seed=1
            )
            judged += [Judged(tool, case, expected, found) for tool, found in answers.items()]
        version = servers[0].variables()["version"]
    publish(
        "recorded-peers",
        "Tools that compare two servers on one log",
        [
            f"MariaDB {version} twice, the tests' shop, a slow log of {arguments.statements:,}"
            f" statements with {len(log.reads):,} reads",
            f"{len(needy)} templates need {INDEX}: {', '.join(sorted(needy))}",
            "values of several rounds are separated by /",
        ],
        markdown_table(HEAD, [one.row() for one in judged]),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
