"""What was changed on a server that is not contend's own, and must be put back.

journal     one file a server; what must be put back is on the disk before it is changed
variables   change a variable, put it back as the number or the text that it was
back        puts back all of a journal, or says what could not be; statements, lists of pages
"""

from contend.undo.back import (
    NotPutBack,
    drop_what_is_back,
    in_words,
    put_back,
    statement_entry,
)
from contend.undo.journal import Journal, JournalBroken, default_folder, journals_in, server_in
from contend.undo.variables import NotAgreed
