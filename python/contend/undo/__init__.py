"""What was changed on a server that is not contend's own, or on the host, and must be put back.

journal     one file a server, one a host; what must be put back is on the disk before a change
variables   change a variable, put it back as the number or the text that it was
files       change a file of /proc or /sys, put it back as what it said
back        puts back all of a journal, or says what could not be; statements, lists of pages
"""

from contend.undo.back import (
    Host,
    NotPutBack,
    drop_what_is_back,
    in_words,
    put_back,
    statement_entry,
)
from contend.undo.files import HostRefused
from contend.undo.files import change as change_file
from contend.undo.journal import (
    Journal,
    JournalBroken,
    default_folder,
    is_host,
    journals_in,
    path_of,
    server_in,
    this_host,
)
from contend.undo.variables import NotAgreed
