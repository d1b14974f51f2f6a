"""Every setting, in the order in which they are applied."""

from __future__ import annotations

from contend.settings import (
    data,
    environment,
    load,
    options,
    setup,
    warm,
    which,
    workload,
    wrap,
)
from contend.settings.model import Setting

SETTINGS: list[Setting] = [
    which.KIND,
    which.USE,
    options.CHANGE,
    options.OPTIONS,
    environment.SETTING,
    wrap.SETTING,
    *data.DATA,
    setup.SETTING,
    workload.SETTING,
    # After whatever disturbs the caches.
    warm.SETTING,
    *load.LOAD_SETTINGS,
    *load.SLICES,
    load.SEED,
]
