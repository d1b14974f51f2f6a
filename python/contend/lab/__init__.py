"""The lab: walks the planned runs of an experiment and stores each the moment it ends.

events     what a listener is told
testbed    a server brought from cell to cell: every setting applied, in their order
private    what can be done to a private server
borrowed   what can be done to a server that is not ours
caches     of a server and of its host: filled, emptied
trial      every start tried on an empty server, before anything is loaded
calibrated what the client itself can do, for the cells of a run
measure    one run on a prepared testbed
walk       all runs, with what failed among them
session    a whole run folder, new or resumed
"""
