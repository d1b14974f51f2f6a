"""Where a process runs, and how it is scheduled.

model      what is asked of a process, resolved to numbers
cpus       CPUs and nodes by words, against what the host has
become     a script: places itself, and becomes the program
look       how a process and its threads are placed, as the kernel says it
threads    placing single threads of a server that runs
groups     control groups of our own, for quotas
watched    a real-time process under a watchdog (`watchdog`, a script)
neighbour  processes of ours that take CPU time beside a run (`spin`, a script)
"""

from contend.placement.model import Placed, Placement
