"""Load from several hosts: workers of a Dask cluster that run contend-load side by side.

fleet      drives a run: parts on all hosts, one start, one outcome; sends passwords to them
cluster    the workers: contend's own on this host, or those of the user's scheduler; checks each
           and its clock
worker     the code that runs on each of them; it is sent there
"""

from contend.load.hosts.cluster import Cluster
from contend.load.hosts.fleet import Fleet
