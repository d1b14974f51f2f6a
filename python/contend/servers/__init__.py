"""Servers: get a program (`find`, `debian`), run a private server, or use an existing one.

    binary = find_server("mariadb")
    with PrivateServer(binary, folder) as server:
        server.initialise()
        server.start({"key_buffer_size": "512M"})

The room may import `experiment` and `host`. Start in `private.py`, or in `existing.py` for servers
that are not contend's own; `kinds/` has what differs between MariaDB, MySQL and the model server,
`topologies/` the clusters, `undo/` the changes that must be reverted.
"""

from contend.servers.binary import ServerBinary
from contend.servers.dsn import Dsn
from contend.servers.error_log import Truncated
from contend.servers.existing import ExistingServer
from contend.servers.private import PrivateServer
