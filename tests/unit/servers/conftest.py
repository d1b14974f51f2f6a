"""What the tests of servers share."""

from __future__ import annotations

import pytest
from unrun_server import UNRUN

from contend.servers import ServerBinary


@pytest.fixture
def a_binary() -> ServerBinary:
    """A server binary that is never run."""
    return UNRUN
