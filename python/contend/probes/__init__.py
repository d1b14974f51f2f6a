"""What is looked at around a run: counters before and after it, and what they warn of.

A probe is one file and one line in `PROBES`; a check is one function and one line in `CHECKS`.
"""

from contend.probes.checks import CHECKS, Check, Expected, warnings_of
from contend.probes.client import against_ceiling
from contend.probes.model import Probe, Sight
from contend.probes.registry import PROBES, changes, look

__all__ = [
    "CHECKS",
    "PROBES",
    "Check",
    "Expected",
    "Probe",
    "Sight",
    "against_ceiling",
    "changes",
    "look",
    "warnings_of",
]
