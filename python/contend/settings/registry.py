"""Every setting, in the order in which they are applied."""

from __future__ import annotations

from contend.settings import data, load, options, warm, which, workload
from contend.settings.model import Setting

SETTINGS: tuple[Setting, ...] = (
    which.KIND,
    which.USE,
    options.CHANGE,
    options.OPTIONS,
    *data.DATA,
    workload.SETTING,
    # After whatever disturbs the caches.
    warm.SETTING,
    *load.LOAD_SETTINGS,
    load.SEED,
)
