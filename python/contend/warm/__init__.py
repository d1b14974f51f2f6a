"""Warm caches: choose what a server should hold in memory, and load it. The command `contend warm`
and the lab (before a run) both use this package.

plan       what a server has, how much of it is loaded, in which order, and what does not fit
survey     reads a server's tables, indexes and caches
coverage   how warm a server is, and which pages a plan needs
scan       the plan as statements, range by range, and running them
warm_up    loads the plan, throttled, and reports progress
"""
