"""What filling tables costs: the wall time, and the CPU seconds that server and client used. CPU
seconds say the same on a machine that has other things to do.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rounds import markdown_table, ratio

from contend.servers import PrivateServer

SERVER_OPTIONS: dict[str, str | int] = {
    "innodb_buffer_pool_size": "1G",
    "innodb_log_file_size": "1G",
    "key_buffer_size": "512M",
    "local_infile": 1,
}


@dataclass(frozen=True)
class Cost:
    """What one way took."""

    wall_s: float
    server_cpu_s: float
    client_cpu_s: float

    def __str__(self) -> str:
        return f"{self.wall_s:.2f} s, server {self.server_cpu_s:.2f} CPU s"


def cost_of(way: Callable[[], object], server: PrivateServer) -> Cost:
    """What one way to fill tables of a server takes; its clients are processes of ours."""
    os.sync()
    before, server_before = resource.getrusage(resource.RUSAGE_CHILDREN), _cpu_s(server)
    began = time.monotonic()
    way()
    wall_s = time.monotonic() - began
    after, server_after = resource.getrusage(resource.RUSAGE_CHILDREN), _cpu_s(server)
    client = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Cost(wall_s, server_after - server_before, client)


def _cpu_s(server: PrivateServer) -> float:
    """CPU that a server has used so far."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tell(server: PrivateServer, database: str, text: str) -> None:
    """Have the server's own client execute statements."""
    client = ["mariadb", "--no-defaults", f"--socket={server.socket}", "-uroot"]
    subprocess.run([*client, "--local-infile=1", database, "-e", text], check=True)


def table_of(costs: Mapping[str, list[Cost]], against: Mapping[str, str]) -> str:
    """One row a way: medians, then ratios of neighbours to each of the ways in `against`, by the
    name that its column has for it."""
    walls = {name: [cost.wall_s for cost in runs] for name, runs in costs.items()}
    rows = [
        [
            name,
            f"{statistics.median(walls[name]):.2f}",
            f"{statistics.median(cost.server_cpu_s for cost in runs):.2f}",
            f"{statistics.median(cost.client_cpu_s for cost in runs):.2f}",
            *("" if name == way else ratio(walls[name], walls[way]) for way in against.values()),
        ]
        for name, runs in costs.items()
    ]
    columns = ["way", "wall s", "server CPU s", "client CPU s"]
    return markdown_table([*columns, *(f"wall / {short}" for short in against)], rows)
