"""Servers: find or download the program (find, debian), run a private one, or use an existing one.

binary = find_server("mariadb")
with PrivateServer(binary, folder) as server:
    server.initialise()
    server.start({"key_buffer_size": "512M"})
"""

from contend.servers.binary import ServerBinary
from contend.servers.dsn import Dsn
from contend.servers.error_log import Truncated
from contend.servers.existing import ExistingServer
from contend.servers.private import PrivateServer
