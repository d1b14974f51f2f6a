"""The lab: walks the planned runs of an experiment and stores each the moment it ends.

events     what a listener is told
stage      where a cell is played: a server, its options, its data, its caches
private    the stage of a private server
borrowed   the stage of a server that is not ours
calibrated what the client itself can do, for the cells of a run
measure    one run on a prepared stage
walk       all runs, with what failed among them
session    a whole run folder, new or resumed
"""
