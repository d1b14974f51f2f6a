"""Warm caches: what a server is to hold in memory, and how it gets there. The
command `contend warm` and the lab, before a run, use the same.

survey     what a server says of its tables, indexes and caches (`model` has them as plain data)
plan       what is loaded, in which order, and what does not fit
parts      the plan as statements, range by range
by_list    the plan as a list of pages that the server loads by itself
warm_up    loads it, throttled, and tells how far it is
status     how warm a server is: `pool` for InnoDB, `myisam` for MyISAM, Aria and their files
work       what is done already; the server's journal keeps it (see `contend.undo`)
"""
