"""Where a process runs, and how it is scheduled.

model      the placement requested for a process, resolved to numbers
cpus       CPUs and nodes by name, checked against the host
become     a script: places itself, then executes the program
look       reads from the kernel how a process and its threads are placed; places single threads
groups     contend's own control groups, for quotas
beside     a neighbour that takes CPU time (`spin`), the watchdog of a real-time server (`watchdog`)
"""

from contend.host.placement.model import Placed, Placement
