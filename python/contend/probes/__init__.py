"""What is looked at around a run: counters before and after it, and what they warn of.

A probe is one class and one entry of `PROBES`; a check is one function and one entry of `CHECKS`.
"""

from contend.probes.checks import DRIFT_MAX, Expected, against_ceiling, warnings_of
from contend.probes.counters import Observed, QueryCacheWatch, changes, look
from contend.probes.members import ObservedMember
from contend.probes.profile import ProfileWatch
