"""Load from several hosts: workers of a Dask cluster that run contend-load side by side.

fleet      drives a run: parts on all hosts, one begin, one outcome
cluster    the workers: our own on this host, or those of the user's scheduler; each is looked at
worker     what runs on each of them; it is sent there
clocks     how their clocks stand to ours
secrets    how a password gets to them
"""

from contend.load.hosts.cluster import Cluster
from contend.load.hosts.fleet import Fleet
