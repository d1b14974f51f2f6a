"""What the load generator itself can do on this host: its ceiling against a server without work.

    calibration = ensure(shapes, program=…, cache=…, effort=QUICK, tell=…)
    calibration.of(shape_of(plan))      # the Ceiling that a run of this plan is compared with

shape      what the client's cost depends on
model      rounds, ceilings, and all of them of one host and one program
identity   which host, which program
file       where they are kept
measure    rounds against the null server
quiet      whether the host was left alone meanwhile
kept       what is kept, and what is missing measured now
"""

from contend.calibration.errors import (
    DamagedCalibration,
    ForeignCalibration,
    NewerCalibration,
)
from contend.calibration.file import path_of
from contend.calibration.identity import Host, Program, this_host, this_program
from contend.calibration.kept import calibrate, ensure, keep, stored, tell_starved, writable
from contend.calibration.measure import CAREFUL, QUICK, Effort
from contend.calibration.model import Calibration, Ceiling, Round
from contend.calibration.quiet import watched
from contend.calibration.shape import Shape, has_ceiling, shape_of

__all__ = [
    "CAREFUL",
    "QUICK",
    "Calibration",
    "Ceiling",
    "DamagedCalibration",
    "Effort",
    "ForeignCalibration",
    "Host",
    "NewerCalibration",
    "Program",
    "Round",
    "Shape",
    "calibrate",
    "ensure",
    "has_ceiling",
    "keep",
    "path_of",
    "shape_of",
    "stored",
    "tell_starved",
    "this_host",
    "this_program",
    "watched",
    "writable",
]
