"""Experiments: text in, frozen and validated objects out. The only effect is reading a file.

The room owns experiment files (the built-in ones are in `recipes/`), everything that can vary
(`settings/`, one file each), and the cells with their order. It may import `host`. Start in
`model.py` for the objects, in `document.py` for reading a file.
"""

from contend.experiment.build_workload import prepared_with
from contend.experiment.document import (
    HIDDEN,
    Document,
    has_word,
    hide_in_comments,
    place_of_secret,
    without_dsn_passwords,
)
from contend.experiment.goal import RATE, as_figures, first_rate
from contend.experiment.keys import CPUS_MAX, MetricNames, without_metric
from contend.experiment.load import load_experiment, read_experiment, recipe_text, recipes, written
from contend.experiment.model import (
    SPEC_FORMAT,
    Cell,
    CellKey,
    CellSpec,
    CompareSpec,
    DataSpec,
    Experiment,
    Factor,
    GoalSpec,
    Planned,
    PredictSpec,
    Published,
    SpecError,
    Words,
    cell_key,
    from_dict,
    same_level,
    to_dict,
)
from contend.experiment.order import (
    Roles,
    asks_twins,
    blocks_at_first,
    blocks_of_levels,
    cell_spec,
    cell_specs,
    cells,
    contexts,
    is_of_treatments,
    is_open,
    need_of,
    next_repeat,
    planned_load_s,
    planned_runs,
    refuse_settings,
    roles_of,
    runs_at_rates,
    turn_of,
)
from contend.experiment.schema import json_schema, key_tables
from contend.experiment.screen import (
    OF_LINES,
    PROOF,
    TOGETHER,
    all_new,
    all_old,
    cell_of,
    mirror,
    part_of,
    round_of_lines,
    runs_of_pairs,
    sets_as_figures,
    without_line,
    without_lines,
)
from contend.experiment.scripts import is_file
from contend.experiment.settings.model import Need
from contend.experiment.settings.options import layout_options
from contend.experiment.settings.plan_keys import SCRIPT, STATEMENTS
from contend.experiment.settings.schemas import SCRIPT_SCHEMA, imported_name
from contend.experiment.settings.screen import LINES, PART, ScreenLine, chosen_options
from contend.experiment.settings.values import Level, Refused
