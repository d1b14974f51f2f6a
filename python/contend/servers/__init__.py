"""Servers: find or get one, run a private one, or use one that exists.

binary = find_server("mariadb")
with PrivateServer(binary, folder) as server:
    server.initialise()
    server.start({"key_buffer_size": "512M"})
"""

from contend.servers.binary import KINDS, ServerBinary
from contend.servers.cache import default_cache
from contend.servers.dsn import Dsn
from contend.servers.error_log import Truncated
from contend.servers.existing import ExistingServer
from contend.servers.find import find_server, servers_at_hand
from contend.servers.path import on_path
from contend.servers.private import PrivateServer

__all__ = [
    "KINDS",
    "Dsn",
    "ExistingServer",
    "PrivateServer",
    "ServerBinary",
    "Truncated",
    "default_cache",
    "find_server",
    "on_path",
    "servers_at_hand",
]
