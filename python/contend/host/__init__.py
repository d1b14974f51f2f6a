"""Properties of the host and its state during runs: facts, pressure, processes, page cache.

Reads /proc and /sys under an injected root, and changes only the page cache.
"""

from contend.host import page_cache
from contend.host.counters import Pressure, change, disturbances, own_cpu_s, pressure, process_cpu_s
from contend.host.inventory import facts
from contend.host.kernel import limits, memory_available_bytes
from contend.host.tree import Tree
