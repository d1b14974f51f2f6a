"""Whole studies of a recording whose truth is known.

    python bench/recorded_live.py [--for 60s] [--orders 100000] [--name NAME]

Fills the shop of `tests/support/shop.py`, dumps it, logs its application, and imports both like a
user. Then each study is a `contend run`: eight drop one index each, and two set an option that
changes nothing. Printed: which of the named templates need the index, which do not, and which that
need it were not named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rounds import RESULTS, machine, markdown_table

from contend.servers import PrivateServer
from contend.servers.find import find_server

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
import shop
from shop_statements import TEMPLATES, templates_of

STUDY = """
{setup}
[experiment]
name = "study"

[server]
kind = "mariadb"

[data]
schema = "import:shop"

[workload]
kind = "twins"
recording = "peak"

[factors]
"{path}" = {levels}

[compare]
baseline = {{ "{path}" = {first} }}
at_most = "{time}"
"""


def study_of(index: str | None, at_most: str) -> str:
    if index is None:
        levels = {"setup": "", "path": "server.options.net_retry_count", "levels": "[10, 11]"}
        return STUDY.format(**levels, first="10", time=at_most)
    undo = f"CREATE INDEX {index} ON {shop.INDEXES[index]}"
    step = f'{{ name = "dropped", do = "{shop.drop_index(index)}", undo = "{undo}" }}'
    levels = {"setup": f"setup = [{step}]", "path": "setup.dropped", "levels": "[false, true]"}
    return STUDY.format(**levels, first="false", time=at_most)


class User:
    """Runs `contend` in a folder, with a cache of its own that shares the downloaded servers."""

    def __init__(self, folder: Path, servers: Path) -> None:
        self.folder = folder
        (folder / "cache" / "contend").mkdir(parents=True)
        (folder / "cache" / "contend" / "servers").symlink_to(servers)
        self._environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}

    def contend(self, *arguments: str | Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "contend", *map(str, arguments)],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"contend {arguments[0]} failed:\n{done.stderr}")
        return done.stdout


def named_by(user: User, out: str) -> tuple[dict[str, Any], set[str], set[str]]:
    """The document of a run, and the shop's names of templates that get certainly slower, and of
    all that were tested."""
    shown = json.loads(user.contend("show", out, "--json"))
    (twins,) = shown["twins"]
    slower, tested = set(), set()
    for one in twins["templates"]:
        if one["change"] is None:
            continue
        number = str(one["example"])
        found = json.loads(user.contend("log", "show", "peak", "--statement", number, "--json"))
        names = set(templates_of(found["statements"][0]["text"]))
        tested |= names
        if one["change"]["verdict"] == "slower":
            slower |= names
    return shown, slower, tested


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="time", default="60s")
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--name")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="contend-recorded-live-") as temporary:
        folder = Path(temporary)
        binary = find_server("mariadb")
        with PrivateServer(binary, folder / "server") as server:
            server.initialise()
            server.start({"innodb_buffer_pool_size": "256M"})
            recorded = shop.record(server, folder, orders=args.orders)
        user = User(folder, binary.program.parents[4])
        user.contend("data", "import", recorded.dump, "--name", "shop", "--server", binary.name)
        user.contend("log", "import", recorded.log, "--name", "peak")

        for number, index in enumerate([*shop.INDEXES, None, None]):
            (folder / "study.toml").write_text(study_of(index, args.time))
            began, out = time.monotonic(), f"out-{number}"
            user.contend("run", "study.toml", "--out", out, "--server", binary.name, "--yes")
            took_s = time.monotonic() - began
            shown, slower, tested = named_by(user, out)
            needy = {one.name for one in TEMPLATES if index in one.needs} & tested
            (twins,) = shown["twins"]
            row = [
                index or "none (an option without effect)",
                twins["repeats"],
                ", ".join(sorted(slower & needy)) or "-",
                ", ".join(sorted(needy - slower)) or "-",
                ", ".join(sorted(slower - needy)) or "-",
                f"{took_s:.0f}",
            ]
            print(row, flush=True)
            rows.append(list(map(str, row)))
    heads = ["dropped", "repeats", "named, needs it", "needs it, not named", "named, wrong", "s"]
    text = f"{machine()}\n\n{markdown_table(heads, rows)}\n"
    print(text)
    if args.name:
        (RESULTS / f"{args.name}.md").write_text(text)


if __name__ == "__main__":
    main()
