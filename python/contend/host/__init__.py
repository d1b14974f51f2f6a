"""The host: its facts, and its state during runs (pressure, processes, page cache).

It reads /proc and /sys under an injected root, and changes only the page cache. `doctor/` checks
whether the host is fit to measure on; `placement/` runs a process on chosen CPUs. The room imports
nothing from other rooms. Start in `inventory.py` for facts, in `counters.py` for state.
"""

from contend.host import page_cache
from contend.host.counters import (
    Pressure,
    change,
    disturbances,
    own_cpu_s,
    pressure,
    process_cpu_s,
    process_memory_bytes,
)
from contend.host.inventory import facts
from contend.host.kernel import limits, memory_available_bytes
from contend.host.tree import Tree
