"""Where a process runs, and how it is scheduled.

model      what is asked of a process, resolved to numbers
cpus       CPUs and nodes by words, against what the host has
become     a script: places itself, and becomes the program
look       how a process and its threads are placed, as the kernel says it; placing single threads
groups     control groups of our own, for quotas
beside     a neighbour that takes CPU time (`spin`), the watchdog of a real-time server (`watchdog`)
"""

from contend.placement.model import Placed, Placement
