"""How the memory of the servers of one repeat is laid out: alike in all of them, and otherwise in
the next repeat; or as the system has it.

Without the kernel's own draw two things decide where memory lies. The environment moves the stack.
The limit of the stack moves all that is mapped: libraries, large allocations, the stacks of
threads, and a server that is started by its loader itself. What stays is the small allocations'
heap (brk), and the program of a server that is started by its name: nothing short of the kernel's
draw moves these.
"""

from __future__ import annotations

import mmap
import os
import random
import resource
import shutil
from dataclasses import dataclass

from contend.probed import LayoutRecord
from contend.settings.model import Launch
from contend.spec import Experiment
from contend.units import format_size

PADDING_MAX_BYTES = 4096
"""Of environment: the reach of a page."""

PADDING_VARIABLE = "CONTEND_PADDING"

STACK_MIN_BYTES = 128 << 20
"""With a limit below it the kernel keeps as much room all the same."""

STACK_SPAN_BYTES = 128 << 20
"""How far mapped memory moves at most. Threads that ask for no size get stacks as large as the
limit, of which they touch as much as ever."""

PROGRAMS = ("setarch", "prlimit")
"""Start a server without address space randomisation, and with a limit."""


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """Of the servers of one repeat. Without any figure it is the system's.

    Args:
        padding_bytes: of environment.
        stack_limit_bytes: a whole number of pages.
    """

    padding_bytes: int | None = None
    stack_limit_bytes: int | None = None

    def record(self) -> LayoutRecord:
        """What the record of a run says of it."""
        return {
            "padding_bytes": self.padding_bytes,
            "stack_limit_bytes": self.stack_limit_bytes,
        }

    def apply(self, launch: Launch) -> None:
        if self.padding_bytes is None or self.stack_limit_bytes is None:
            return
        launch.environment[PADDING_VARIABLE] = "x" * (1 + self.padding_bytes)
        setarch, prlimit = (shutil.which(program) for program in PROGRAMS)
        assert setarch is not None and prlimit is not None, why_not_matched()
        limit = (prlimit, f"--stack={self.stack_limit_bytes}:")
        launch.wrap = (setarch, os.uname().machine, "-R", *limit, *launch.wrap)


def layout_of(experiment: Experiment, repeat: int, *, matched: bool) -> MemoryLayout:
    """The layout of a repeat's servers, drawn anew for each."""
    if not matched:
        return MemoryLayout()
    chance = random.Random(f"layout {experiment.base['load.seed']} {repeat}")
    padding = chance.randrange(PADDING_MAX_BYTES)
    pages = chance.randrange(1, STACK_SPAN_BYTES // mmap.PAGESIZE)
    return MemoryLayout(padding, STACK_MIN_BYTES + pages * mmap.PAGESIZE)


def why_not_matched() -> str | None:
    """What it takes to lay servers out alike, and this host lacks; None if it lacks nothing."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"the program {program} (package util-linux)"
    _soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    needed = STACK_MIN_BYTES + STACK_SPAN_BYTES
    if hard != resource.RLIM_INFINITY and hard < needed:
        return f"a stack limit of {format_size(needed)} (ulimit -Hs allows {format_size(hard)})"
    return None
