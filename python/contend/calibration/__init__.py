"""What the load generator itself can do on this host: its ceiling against a server without work.

    calibration = ensure(shapes, program=…, cache=…, effort=QUICK, tell=…)
    calibration.of(shape_of(plan))      # the Ceiling that a run of this plan is compared with

model      hosts, programs, shapes of load, and the ceilings of them
file       which host and program this is, and where their ceilings are kept
measure    rounds against the null server, for what is not kept yet
"""

from contend.calibration.file import path_of, this_host, this_program
from contend.calibration.measure import (
    CAREFUL,
    QUICK,
    Extent,
    calibrate,
    ensure,
    keep,
    stored,
    tell_starved,
    watched,
    writable,
)
from contend.calibration.model import (
    Calibration,
    Ceiling,
    ClientHost,
    ClientProgram,
    DamagedCalibration,
    ForeignCalibration,
    NewerCalibration,
    Round,
    RunShape,
    has_ceiling,
    shape_of,
)
