"""What the load generator itself can do on this host: its ceiling against a server without work.

model      hosts, programs, shapes of load, and the ceilings of them
measure    rounds against the null server, for what is not kept yet, and the file that keeps them
"""

from contend.calibration.measure import (
    CAREFUL,
    QUICK,
    DamagedCalibration,
    Extent,
    calibrate,
    ensure,
    folder_of,
    keep,
    path_of,
    read,
    stored,
    tell_starved,
    this_host,
    this_program,
    watched,
    writable,
    write,
)
from contend.calibration.model import (
    Calibration,
    Ceiling,
    ClientHost,
    ClientProgram,
    Round,
    RunShape,
    has_ceiling,
    shape_of,
)
