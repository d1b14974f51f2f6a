"""Where the noise of a comparison in slices lies."""

from __future__ import annotations

from contend.report.study import Study
from contend.stats import Components
from contend.store import SliceRatios


def noise_of(study: Study) -> Components | None:
    """Of throughput, by slices, sets of connections and repeats; None if nothing was in slices."""
    roles = study.roles
    if not study.in_slices or roles.compared is None or roles.baseline is None:
        return None
    ratios = SliceRatios(roles.compared.path, roles.baseline)
    ratios.add(study.measured)
    return ratios.components()
