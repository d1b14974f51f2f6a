"""`contend sysbench`: the command line of sysbench, handed over to contend-load as it is."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from contend.program import find_program


def hand_over(arguments: Sequence[str]) -> NoReturn:
    """Become contend-load: streams, signals and exit code are the program's own from here on."""
    program = str(find_program())
    # Python ignores these, and a program inherits what is ignored.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, "sysbench", *arguments])
