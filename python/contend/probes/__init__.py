"""What is looked at around a run: counters before and after it, and what they warn of.

counters   a probe is two functions and one entry of `PROBES`
watches    what is looked at while a run lasts
checks     a check is one function and one entry of `CHECKS`
"""

from contend.probes.checks import DRIFT_MAX, Expected, against_ceiling, warnings_of
from contend.probes.counters import Observed, ObservedMember, changes, look
from contend.probes.watches import ProfileWatch, QueryCacheWatch
