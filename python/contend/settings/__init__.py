"""Settings: what can vary, each declared once, in one file. `SETTINGS` has all of them."""

from __future__ import annotations

from contend.settings import (
    before_run,
    check,
    load,
    lock_files,
    options,
    profiles,
    server,
    setup,
    warm,
    workload,
)
from contend.settings.model import Setting

SETTINGS: list[Setting] = [
    server.KIND,
    server.USE,
    options.CHANGE,
    profiles.PROFILES,
    profiles.PROFILE,
    options.OPTIONS,
    server.ENVIRONMENT,
    server.WRAP,
    server.ROUND_TRIP,
    *workload.DATA,
    setup.SETTING,
    workload.SETTING,
    check.SETTING,
    lock_files.SETTING,
    # After whatever disturbs the caches.
    warm.SETTING,
    before_run.SETTING,
    *load.LOAD_SETTINGS,
    *load.SLICES,
    load.SEED,
]
"""In the order in which they are applied."""
