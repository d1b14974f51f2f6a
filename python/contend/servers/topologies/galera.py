"""Private nodes of one Galera cluster on this machine: each in its own folder, all on loopback.

The first node begins the cluster with its data; the others receive them by a whole state transfer.
Galera's own methods need rsync, which drops its rights as root, or a backup tool. The nodes here
belong to one user of one machine, so the donor copies its files, at rest, into the folder of the
joiner (`wsrep_sst_contend`, which Galera runs on both sides by its name).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from contend.experiment import DataSpec
from contend.experiment.settings.model import Values
from contend.host import kernel
from contend.servers.client import fetch
from contend.servers.deployment import Deployment, LineMaker, Member, all_or_none, last_keys
from contend.servers.error_log import Truncated
from contend.servers.errors import (
    ConnectionLost,
    ConnectionRefused,
    PortTaken,
    ServerFailed,
    UnusableServer,
)
from contend.servers.folder import free_port
from contend.servers.options import Value
from contend.servers.private import PrivateServer

LIBRARY = Path("lib/galera/libgalera_smm.so")
"""Relative to the base folder of a server downloaded with the extra `galera`."""

SYNCED_S = 60.0
_POLL_S = 0.02
_PORT_ATTEMPTS = 3
_CACHE = "64M"
"""Size of the cache of write sets of each node."""

_HOST = "127.0.0.1"
_BEHIND_LINE = "127.0.0.2"
"""Address of a node behind a line, which has the same port at the other address."""

_TRANSFER = "wsrep_sst_contend"
_TRANSFER_SCRIPT = """\
#!/bin/sh
# Galera runs it on both nodes of a state transfer. The one that gives copies its files.
set -eu
role='' address='' gtid='' data='' bypass='' server=$PPID
while [ $# -gt 0 ]; do
  case $1 in
    --role) role=$2; shift ;;
    --address) address=$2; shift ;;
    --datadir) data=${2%/}; shift ;;
    --gtid) gtid=$2; shift ;;
    --parent) server=$2; shift ;;
    --bypass) bypass=yes ;;
    --mysqld-args) break ;;
  esac
  shift
done
is_own() {
  case $1 in galera.cache|grastate.dat*|gvwstate.dat*|tables_flushed*|transfer*) return 0 ;; esac
  return 1
}
# Waits for a file with something in it, as long as the server lives that started this.
wait_for() {
  until [ -s "$1" ]; do
    kill -0 "$server" 2> /dev/null || exit 32
    sleep 0.02
  done
}
if [ "$role" = joiner ]; then
  rm -f "$data/transfer"
  echo "ready $data"
  wait_for "$data/transfer"
  cat "$data/transfer"
  rm -f "$data/transfer"
  exit
fi
if [ -z "$bypass" ]; then
  rm -f "$data/tables_flushed"
  echo "flush tables"
  wait_for "$data/tables_flushed"
  for file in "$address"/*; do is_own "${file##*/}" || rm -rf "$file"; done
  for file in "$data"/*; do is_own "${file##*/}" || cp -a "$file" "$address/"; done
  rm -f "$data/tables_flushed"
  echo "continue"
fi
echo "$gtid" > "$address/transfer.new"
mv "$address/transfer.new" "$address/transfer"
echo "done $gtid"
"""

_STATES = ("wsrep_ready", "wsrep_local_state_comment", "wsrep_cluster_size")
_PART = "wsrep_cluster_status"
"""`Primary` for nodes that may continue, because they form the majority."""


class Galera(Deployment):
    """Nodes that each have all rows.

    Args:
        patience_s: how long a node may be silent before the others go on without it. All share one
            machine: a node without CPU for some seconds has not gone.
    """

    def __init__(self, members: Sequence[Member], patience_s: float = 15.0) -> None:
        super().__init__(members)
        self._patience_s = patience_s
        self._ports: list[tuple[int, int]] = []
        """For each node: its ports for the other nodes, and for missed write sets."""
        self._is_apart = False

    def data_of(self, member: Member, data: DataSpec) -> DataSpec | None:
        """The tables go to the first node; the others receive them from it."""
        return data if member is self.members[0] else None

    def start(
        self, options: Mapping[str, Value], data: DataSpec, between: LineMaker | None = None
    ) -> list[Truncated]:
        """Start them as one cluster, and wait until all of them are synced. The first has its data;
        those of the others are discarded.

        Args:
            between: nodes then listen at a second loopback address, used only by their lines.

        Raises:
            ServerFailed: a node did not start or did not sync; none runs then.
        """
        del data
        nodes = [member.server for member in self.members]
        self._ports = [(free_port(), free_port()) for _ in nodes]
        self._is_apart = between is not None
        truncated: list[Truncated] = []
        with all_or_none(self.members):
            for number, node in enumerate(nodes):
                if number:
                    node.claim()
                    node.folder.empty()
                else:
                    # The state of the data's last cluster would keep this one from starting.
                    (node.data_folder / "grastate.dat").unlink(missing_ok=True)
                changed = self._start_new(node, number, options)
                truncated = truncated or changed
                if between is not None:
                    # A line needs a listening node; the next nodes connect through it.
                    between.before_port(_BEHIND_LINE, self._ports[number][0])
                # One after the other: a donor can serve only one node at a time.
                require_synced(nodes[: number + 1])
        return truncated

    def _start_new(
        self, node: PrivateServer, number: int, options: Mapping[str, Value]
    ) -> list[Truncated]:
        """Start a node whose ports no node knows yet; it gets new ones if they are taken."""
        for attempt in range(_PORT_ATTEMPTS):
            if attempt:
                self._ports[number] = (free_port(), free_port())
            try:
                return self._start_one(node, number, range(number), options)
            except PortTaken:
                if attempt == _PORT_ATTEMPTS - 1:
                    raise
        raise AssertionError

    def require_healthy(self, data: DataSpec) -> None:
        del data
        require_synced([member.server for member in self.members])
        if self._is_apart:
            self._require_by_lines()

    def _require_by_lines(self) -> None:
        """Check that no node bypasses the line of another node."""
        ports = {group: self.members[number].name for number, (group, _) in enumerate(self._ports)}
        for member in self.members:
            peer = peer_past_its_line(kernel.tcp_peers(member.server.pid), ports)
            if peer is not None:
                raise ServerFailed(
                    f"{member.name} connects to {peer} directly, not through the delay line.",
                    hint="Remove server.member_round_trip to run without the delay line.",
                )

    def _start_one(
        self, node: PrivateServer, number: int, others: Iterable[int], options: Mapping[str, Value]
    ) -> list[Truncated]:
        library = node.binary.basedir / LIBRARY
        if not library.exists():
            raise UnusableServer(
                f"{node.binary.name} has no Galera ({library}).",
                hint="Download one with Galera: `contend server get mariadb+galera`.",
            )
        node.environment = {**node.environment, "PATH": _with_transfer(node)}
        provider = f"--wsrep-provider={library}"
        node.arguments = (*(one for one in node.arguments if one != provider), provider)
        group, transfer = self._ports[number]
        provider_options = ";".join(
            (
                f"base_port={group}",
                f"gmcast.listen_addr=tcp://{_BEHIND_LINE if self._is_apart else _HOST}:{group}",
                f"ist.recv_addr={_HOST}:{transfer}",
                f"gcache.size={_CACHE}",
                "socket.ssl=NO",
                f"evs.keepalive_period=PT{min(1.0, self._patience_s / 5):g}S",
                f"evs.suspect_timeout=PT{self._patience_s:g}S",
                f"evs.inactive_timeout=PT{2 * self._patience_s:g}S",
                f"evs.install_timeout=PT{self._patience_s:g}S",
                f"gmcast.peer_timeout=PT{self._patience_s:g}S",
            )
        )
        # A node sends the others its port, and they combine it with the address that it came from:
        # that is its line, if there is one, and else its own address.
        addresses = ",".join(f"{_HOST}:{self._ports[place][0]}" for place in others)
        every = {
            **options,
            "binlog_format": "ROW",
            "innodb_autoinc_lock_mode": 2,
            "wsrep_on": "ON",
            "wsrep_provider_options": provider_options,
            "wsrep_cluster_name": "contend",
            "wsrep_cluster_address": f"gcomm://{addresses}",
            "wsrep_node_name": f"node-{number + 1}",
            "wsrep_node_address": _HOST,
            "wsrep_sst_method": _TRANSFER.removeprefix("wsrep_sst_"),
        }
        try:
            return node.start(every)
        except (ConnectionLost, ConnectionRefused):
            # A joiner answers while it receives rows, but breaks connections off, even in a login.
            if not node.running:
                raise
            return []


def peer_past_its_line(peers: Iterable[tuple[str, int]], names: Mapping[int, str]) -> str | None:
    """The node that a process queries directly instead of through the node's line; None if none.

    Args:
        peers: address and port of the other end of each of its connections.
        names: of the nodes, by the port that each listens at.
    """
    return next(
        (names[port] for host, port in peers if host == _BEHIND_LINE and port in names), None
    )


def deployment(cell: Values, make: Callable[[str], PrivateServer]) -> Deployment:
    """The number of nodes that the cell wants. They share the warehouses evenly; if there are fewer
    warehouses than nodes, some own none."""
    names = [f"node-{number}" for number in range(1, cell["server.nodes"] + 1)]
    lasts = last_keys(cell["data.warehouses"], len(names))
    before = [0, *lasts]
    owned = [last if last > one else None for last, one in zip(lasts, before, strict=False)]
    owners = zip(names, owned, strict=True)
    return Galera([Member(name, "node", make(name), last) for name, last in owners])


def require_synced(nodes: Sequence[PrivateServer], *, within_s: float = SYNCED_S) -> None:
    """Wait until each node takes queries, has caught up, and sees all of them; raises
    ServerFailed, which names the node that does not."""
    deadline = time.monotonic() + within_s
    for number, node in enumerate(nodes, 1):
        while (reason := _not_synced(node, len(nodes))) is not None:
            if time.monotonic() > deadline:
                raise ServerFailed(
                    f"node {number} of {len(nodes)} of the Galera cluster is not synced: {reason}.",
                    hint=f"Its log is {node.log_path}.",
                )
            time.sleep(_POLL_S)


def _not_synced(node: PrivateServer, size: int) -> str | None:
    """The node's problem by its own report, or None; raises ServerDied."""
    node.check()
    try:
        with node.connect() as connection:
            rows = status_of(connection)
    except (ConnectionLost, ConnectionRefused, pymysql.err.MySQLError) as error:
        # A joiner may break connections off while it receives rows.
        return f"it does not answer ({error.args[-1]})"
    return why_not_synced(rows, size)


def status_of(connection: Connection[Any]) -> Iterable[Sequence[object]]:
    """The input of `why_not_synced`."""
    return fetch(connection, "SHOW GLOBAL STATUS LIKE 'wsrep%'")


def why_not_synced(rows: Iterable[Sequence[object]], size: int) -> str | None:
    """The problem of a node of a cluster of `size`, by its status; None if there is none."""
    status = {str(name): str(value) for name, value in rows}
    state = [status.get(name, "") for name in _STATES]
    if state == ["ON", "Synced", str(size)] and status.get(_PART, "Primary") == "Primary":
        return None
    listed = ", ".join(f"{name} = {one}" for name, one in zip(_STATES, state, strict=True))
    if status.get(_PART) not in (None, "Primary"):
        # A node in the minority of a divided cluster: it takes no queries.
        return f"it has no quorum ({_PART} = {status[_PART]}, {listed})"
    return listed


def _with_transfer(node: PrivateServer) -> str:
    programs = node.folder.root / "programs"
    programs.mkdir(mode=0o700, exist_ok=True)
    script = programs / _TRANSFER
    script.write_text(_TRANSFER_SCRIPT, encoding="ascii")
    script.chmod(0o700)
    return os.pathsep.join((str(programs), os.defpath))
