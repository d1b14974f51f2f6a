"""Getting a server program: the one that is named, one that is installed, or one of a Debian suite,
without root.

find       which server a run uses
debian     get one of a suite, with the machine's own apt (apt)
cache      the servers that were got, unpacked in place
model      the model server, which is contend-load
"""

from contend.get.find import find_server, on_path, servers_at_hand
