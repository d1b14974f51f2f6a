"""Which TCP connections a process has: of this one, and of files as the kernel has them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from contend.host.kernel import tcp_peers


def test_the_other_end_of_a_connection_of_this_process_is_found() -> None:
    with socket.create_server(("127.0.0.2", 0)) as listening:
        there = listening.getsockname()
        with socket.create_connection(there) as asking:
            peers = tcp_peers(os.getpid())
            assert there in peers
            assert asking.getsockname()[1] not in {port for host, port in peers if host == there[0]}


def test_connections_of_others_are_none_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "proc" / "7"
    (folder / "fd").mkdir(parents=True)
    (folder / "net").mkdir()
    (folder / "fd" / "3").symlink_to("socket:[111]")
    (folder / "fd" / "4").symlink_to("/dev/null")
    rows = (
        ("0100007F:1388", "0200007F:0CEA", "01", 111),
        ("0100007F:1389", "0200007F:0CEB", "01", 222),
        ("0100007F:138A", "0200007F:0CEC", "06", 111),
    )
    lines = ["  sl  local_address rem_address   st tx_queue"] + [
        f"   {n}: {near} {far} {state} 00000000:00000000 00:00000000 00000000  0 0 {inode} 1"
        for n, (near, far, state, inode) in enumerate(rows)
    ]
    (folder / "net" / "tcp").write_text("\n".join(lines))
    assert tcp_peers(7, tmp_path) == {("127.0.0.2", 3306)}
    assert tcp_peers(8, tmp_path) == set()
