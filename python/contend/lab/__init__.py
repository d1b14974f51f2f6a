"""The lab: makes the planned runs of an experiment and stores each when it ends.

It may import every room except `sections`, `report`, `runs` and `cli`. Start in `session.py`: a
whole run folder, new or resumed. Then:

design       how levels are compared: in slices or run by run; on servers laid out alike or not
testbed      a server that serves one cell after the other: every setting applied in order
private      operations on a private server
borrowed     operations on a server that is not contend's own, or a cluster of them
equipment    the tools of a session; caches: filling and emptying those of server and host
trial        tries every start before any data is loaded
effort       how much to measure, and when it is enough (`observations` has the data it uses)
walk         makes all runs, tolerates failures among them, and chooses the next measurement
runner       all runs of a block at once; measure: one run on a prepared testbed
probes/      readings before and after each run, and the warnings from them
"""
