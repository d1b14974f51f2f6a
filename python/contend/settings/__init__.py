"""Settings: what can vary, each declared once, in one file. `SETTINGS` has all of them."""

from __future__ import annotations

from contend.settings import before_run, load, model_server, options, server, setup, workload
from contend.settings.model import Setting

SETTINGS: list[Setting] = [
    server.KIND,
    server.USE,
    options.CHANGE,
    options.PROFILES,
    options.PROFILE,
    options.OPTIONS,
    model_server.SETTING,
    server.ENVIRONMENT,
    server.WRAP,
    server.ROUND_TRIP,
    *workload.DATA,
    setup.SETTING,
    workload.SETTING,
    before_run.CHECK,
    before_run.LOCK_FILES,
    # After whatever disturbs the caches.
    before_run.WARM,
    before_run.BEFORE_RUN,
    *load.LOAD_SETTINGS,
    *load.SLICES,
    load.SEED,
]
"""In the order in which they are applied."""
