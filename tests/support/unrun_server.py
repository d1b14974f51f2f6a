"""A server binary for tests that run no server: nothing lies where it says."""

from __future__ import annotations

from pathlib import Path

from contend.servers import ServerBinary

UNRUN = ServerBinary(
    kind="mariadb",
    version="10.11.19",
    suite="bookworm",
    argv=("/nowhere/mariadbd", "--no-defaults"),
    program=Path("/nowhere/mariadbd"),
    basedir=Path("/nowhere"),
    share_dir=Path("/nowhere/share"),
    plugin_dir=None,
    source="debian",
    verified=True,
)
