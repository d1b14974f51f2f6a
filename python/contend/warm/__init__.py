"""Warm caches: what a server is to hold in memory, and how it gets there. The command
`contend warm` and the lab, before a run, use the same.

plan       what a server has, what of it is loaded, in which order, and what does not fit
survey     what a server says of its tables, indexes and caches
coverage   how warm a server is, and which pages a plan needs
scan       the plan as statements, range by range, and their reading
warm_up    loads it, throttled, and tells how far it is
"""
