"""Private nodes of one Galera cluster on this machine: each in its own folder, all on loopback.

The first node begins the cluster with its data; each other one gets them by a whole state transfer.
Galera's own ways want rsync, which as root gives up its rights, or a tool of backups. The nodes
here are one user's on one machine, so the node that gives copies its files, at rest, into the
folder of the one that takes (`wsrep_sst_contend`, which Galera runs on both sides by its name).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pymysql

from contend.servers.client import fetch
from contend.servers.deployment import Deployment, Member, all_or_none, last_keys
from contend.servers.error_log import Truncated
from contend.servers.errors import (
    ConnectionLost,
    ConnectionRefused,
    ServerFailed,
    UnusableServer,
)
from contend.servers.folder import free_port
from contend.servers.options import Value
from contend.servers.private import PrivateServer
from contend.settings.model import Values
from contend.spec import DataSpec

LIBRARY = Path("lib/galera/libgalera_smm.so")
"""From the base folder of a server that was got with the extra `galera`."""

SYNCED_S = 60.0
_POLL_S = 0.02
_CACHE = "64M"
"""Of write sets, for each node."""

_PATIENCE = (
    "evs.suspect_timeout=PT15S",
    "evs.inactive_timeout=PT30S",
    "evs.install_timeout=PT15S",
    "gmcast.peer_timeout=PT15S",
)
"""All nodes share one machine: one that has no CPU for some seconds has not gone."""

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


class Galera:
    """Nodes that each have all rows."""

    def data_of(self, member: Member, members: Sequence[Member], data: DataSpec) -> DataSpec | None:
        """The first one's; the others get them from it."""
        return data if member is members[0] else None

    def start(
        self, members: Sequence[Member], options: Mapping[str, Value], data: DataSpec
    ) -> list[Truncated]:
        """Start them as one cluster, and wait until all of them are synced.

        Args:
            members: that do not run. The first has its data; what the others have is thrown away.

        Raises:
            ServerFailed: a node did not start or did not sync; none runs then.
        """
        del data
        with all_or_none(members):
            return _start([member.server for member in members], dict(options))

    def require_healthy(self, members: Sequence[Member], data: DataSpec) -> None:
        del data
        require_synced([member.server for member in members])


def deployment(cell: Values, make: Callable[[str], PrivateServer]) -> Deployment:
    """As many nodes as the cell wants. Each owns as many warehouses as the others; if there are
    fewer warehouses than nodes, some own none."""
    names = [f"node-{number}" for number in range(1, cell["server.nodes"] + 1)]
    lasts = last_keys(cell["data.warehouses"], len(names))
    before = [0, *lasts]
    owned = [last if last > one else None for last, one in zip(lasts, before, strict=False)]
    owners = zip(names, owned, strict=True)
    return Deployment(
        Galera(), tuple(Member(name, "node", make(name), last) for name, last in owners)
    )


def require_synced(nodes: Sequence[PrivateServer], *, within_s: float = SYNCED_S) -> None:
    """Wait until each node takes queries, has caught up, and sees all of them; raises
    ServerFailed, which names the node that does not."""
    deadline = time.monotonic() + within_s
    for number, node in enumerate(nodes, 1):
        while (said := _not_synced(node, len(nodes))) is not None:
            if time.monotonic() > deadline:
                raise ServerFailed(
                    f"node {number} of {len(nodes)} of the Galera cluster is not synced: {said}.",
                    hint=f"Its log is {node.log_path}.",
                )
            time.sleep(_POLL_S)


def _not_synced(node: PrivateServer, size: int) -> str | None:
    """What the node says of itself, if that is not that all is well; raises ServerDied."""
    node.check()
    try:
        with node.connect() as connection:
            rows = fetch(connection, "SHOW GLOBAL STATUS LIKE 'wsrep%'")
    except (ConnectionLost, ConnectionRefused, pymysql.err.MySQLError) as error:
        # While it takes the rows of another one it may break connections off.
        return f"it does not answer ({error.args[-1]})"
    told = {str(name): str(value) for name, value in rows}
    state = [told.get(name, "") for name in _STATES]
    if state == ["ON", "Synced", str(size)]:
        return None
    return ", ".join(f"{name} = {said}" for name, said in zip(_STATES, state, strict=True))


def _start(nodes: Sequence[PrivateServer], options: dict[str, Value]) -> list[Truncated]:
    truncated: list[Truncated] = []
    ports = [(free_port(), free_port()) for _ in nodes]
    first = f"127.0.0.1:{ports[0][0]}"
    for number, (node, (group, transfer)) in enumerate(zip(nodes, ports, strict=True)):
        library = node.binary.basedir / LIBRARY
        if not library.exists():
            raise UnusableServer(
                f"{node.binary.name} has no Galera ({library}).",
                hint="Get one that has: `contend server get mariadb+galera`.",
            )
        if number:
            node.claim()
            node.folder.empty()
        else:
            # What the data's last cluster left would keep this one from beginning.
            (node.data_folder / "grastate.dat").unlink(missing_ok=True)
        node.environment = {**node.environment, "PATH": _with_transfer(node)}
        asked = ";".join(
            (
                f"base_port={group}",
                f"gmcast.listen_addr=tcp://127.0.0.1:{group}",
                f"ist.recv_addr=127.0.0.1:{transfer}",
                f"gcache.size={_CACHE}",
                "socket.ssl=NO",
                *_PATIENCE,
            )
        )
        told = node.start(
            {
                **options,
                "binlog_format": "ROW",
                "innodb_autoinc_lock_mode": 2,
                "wsrep_on": "ON",
                "wsrep_provider": str(library),
                "wsrep_provider_options": asked,
                "wsrep_cluster_name": "contend",
                "wsrep_cluster_address": f"gcomm://{first if number else ''}",
                "wsrep_node_name": f"node-{number + 1}",
                "wsrep_node_address": "127.0.0.1",
                "wsrep_sst_method": _TRANSFER.removeprefix("wsrep_sst_"),
            }
        )
        truncated = truncated or told
        # One after the other: a node that gives its data gives them to one at a time.
        require_synced(nodes[: number + 1])
    return truncated


def _with_transfer(node: PrivateServer) -> str:
    """Where the node finds programs: the script first."""
    programs = node.folder.root / "programs"
    programs.mkdir(mode=0o700, exist_ok=True)
    script = programs / _TRANSFER
    script.write_text(_TRANSFER_SCRIPT, encoding="ascii")
    script.chmod(0o700)
    return os.pathsep.join((str(programs), os.defpath))
