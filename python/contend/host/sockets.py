"""The TCP connections of a process, as listed by the kernel."""

from __future__ import annotations

import socket
from pathlib import Path

from contend.host.tree import Tree

_ESTABLISHED = "01"


def tcp_peers(pid: int, root: Path = Path("/")) -> set[tuple[str, int]]:
    """Address and port of the peer of each established IPv4 connection of a process; empty if it is
    gone or not visible."""
    own = _sockets_of(pid, root)
    found = set()
    for line in (Tree(root).text(f"proc/{pid}/net/tcp") or "").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _ESTABLISHED and fields[9] in own:
            found.add(_address(fields[2]))
    return found


def _sockets_of(pid: int, root: Path) -> set[str]:
    """The inodes of its sockets."""
    tree, folder = Tree(root), f"proc/{pid}/fd"
    inodes = set()
    for name in tree.names(folder):
        try:
            target = str((root / folder / name).readlink())
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            inodes.add(target.removeprefix("socket:[").rstrip("]"))
    return inodes


def _address(text: str) -> tuple[str, int]:
    """Parse `0100007F:0CEA`, an address in this machine's byte order."""
    address, port = text.split(":")
    there = socket.inet_ntoa(int(address, 16).to_bytes(4, "little"))
    return there, int(port, 16)
