"""The lab: walks the planned runs of an experiment and stores each the moment it ends.

session      a whole run folder, new or resumed; equipment: what it measures with
design       how levels are compared: in slices, or by runs; on servers laid out alike or not
testbed      a server brought from cell to cell: every setting applied, in their order
private      what can be done to a private server
borrowed     what can be done to a server that is not ours, or a cluster of them
caches       of a server and of its host: filled, emptied
trial        every start tried, before anything is loaded
client       what contend-load itself can do: its engine, its ceilings, its scripts
effort       how much is measured; observations: what that rests on
walk         all runs, with what failed among them; what is measured next
runner       all runs of a block at once
measure      one run on a prepared testbed
sessions     what earlier runs of this host said
events       what a listener is told; errors
"""
