"""Settings: everything that can vary, each declared once in one file. `SETTINGS` has all."""

from __future__ import annotations

from contend.experiment.settings import (
    before_run,
    load,
    model_server,
    options,
    server,
    setup,
    topology,
    workload,
)
from contend.experiment.settings.equal_load import EQUAL_LOAD
from contend.experiment.settings.host import HOST
from contend.experiment.settings.model import Launch, Setting, Values
from contend.experiment.settings.place import PLACE
from contend.experiment.settings.screen import SCREEN
from contend.experiment.settings.server import PROFILER_HZ
from contend.experiment.settings.treatments import TREATMENT, TREATMENTS

SETTINGS: list[Setting] = [
    # Overrides all other settings before they are applied.
    TREATMENTS,
    TREATMENT,
    *SCREEN,
    server.KIND,
    server.USE,
    options.CHANGE,
    options.PROFILES,
    options.PROFILE,
    options.OPTIONS,
    options.GLOBALS,
    options.SESSION,
    model_server.SETTING,
    server.ENVIRONMENT,
    server.WRAP,
    server.REDO_LOG_FOLDER,
    *topology.SHAPE,
    topology.MEMBER_ROUND_TRIP,
    topology.MEMBERS,
    server.ROUND_TRIP,
    # After the settings for environment and options, to which these add.
    *PLACE,
    *HOST,
    *workload.DATA,
    setup.SETTING,
    workload.SETTING,
    before_run.CHECK,
    before_run.LOCK_FILES,
    # After all settings that disturb the caches.
    before_run.WARM,
    before_run.BEFORE_RUN,
    PROFILER_HZ,
    *load.LOAD_SETTINGS,
    topology.ROUTE,
    *load.SLICES,
    *EQUAL_LOAD,
    load.SEED,
]
"""In the order in which they are applied."""


def launch_of(cell: Values) -> Launch:
    """How the servers and the client of a cell are started, and the state of the host."""
    launch = Launch()
    for setting in SETTINGS:
        setting.launch(cell, launch)
    return launch
