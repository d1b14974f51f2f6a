"""The lab: makes the planned runs of an experiment and stores each when it ends.

session      a whole run folder, new or resumed; equipment: the tools it measures with
design       how levels are compared: in slices, or by runs; on servers laid out alike or not
testbed      a server that serves one cell after the other: every setting applied in order
private      operations on a private server
borrowed     operations on a server that is not contend's own, or a cluster of them
caches       the caches of a server and of its host: filling, emptying
trial        tries every start before anything is loaded
client       questions to contend-load itself: its engine, its ceilings, its scripts
effort       the number of measurements; observations: the data it is based on
walk         makes all runs, tolerates failures among them, and chooses the next measurement
runner       all runs of a block at once
measure      one run on a prepared testbed
sessions     results of earlier runs of this host
events       messages to a listener; errors
"""
