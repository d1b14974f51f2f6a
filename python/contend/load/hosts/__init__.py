"""Load from several hosts: workers of a Dask cluster that run contend-load side by side.

fleet      drives a run: parts on all hosts, one begin, one outcome; how a password gets to them
cluster    the workers: our own on this host, or those of the user's scheduler; each is looked at,
           and its clock
worker     what runs on each of them; it is sent there
"""

from contend.load.hosts.cluster import Cluster
from contend.load.hosts.fleet import Fleet
