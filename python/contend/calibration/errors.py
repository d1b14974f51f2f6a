"""What can be wrong with a stored calibration. All but a newer one are mended by measuring."""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class DamagedCalibration(WorkError):
    """The file cannot be read whole."""


class ForeignCalibration(WorkError):
    """The file is of another host or another program than its name says."""


class NewerCalibration(RequestError):
    """A newer contend wrote the file."""
