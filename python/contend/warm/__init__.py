"""Warm caches: choose what a server should hold in memory, and load it. The command `contend warm`
and the lab (before a run) both use this package.

plan       the tables, what is loaded of them, in which order, and what does not fit
survey     reads a server's tables, indexes and caches
coverage   the warmth of a server, and the pages that a plan needs
scan       the plan as statements, range by range, and running them
warm_up    loads the plan, throttled, and reports progress
"""
