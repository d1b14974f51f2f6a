"""Changes to a server that is not contend's own, or to the host, which must be reverted.

journal     one file per server and per host; entries are on the disk before a change
variables   change a variable, and restore the original number or text
files       change a file of /proc or /sys, and restore its original content
back        reverts all of a journal, or names the failures; statements, lists of pages
"""

from contend.servers.undo.back import (
    Host,
    NotPutBack,
    drop_what_is_back,
    in_words,
    put_back,
    statement_entry,
)
from contend.servers.undo.files import HostRefused
from contend.servers.undo.files import change as change_file
from contend.servers.undo.journal import (
    Journal,
    JournalBroken,
    default_folder,
    is_host,
    journals_in,
    path_of,
    server_in,
    this_host,
)
from contend.servers.undo.variables import NotAgreed
