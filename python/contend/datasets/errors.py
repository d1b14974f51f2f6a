"""What can go wrong with datasets."""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class UnknownDataset(RequestError):
    """No dataset of that key is kept."""


class DatasetInUse(RequestError):
    """Another contend works with the dataset."""


class EngineMissing(RequestError):
    """The server does not have the storage engine."""


class LoadingDeclined(RequestError):
    """Rows were to be loaded into a server that is not ours, and nobody agreed."""


class LoadingFailed(WorkError):
    """A dataset could not be loaded; nothing of it was kept."""


class SnapshotDamaged(WorkError):
    """A kept dataset is not what was stored."""


class DiskFull(WorkError):
    """There is no room for a dataset; nothing of it was kept."""
