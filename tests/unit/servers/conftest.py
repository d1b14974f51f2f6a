"""What the tests of servers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from contend.servers import ServerBinary


@pytest.fixture
def a_binary() -> ServerBinary:
    """A server binary that is never run."""
    return ServerBinary(
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
