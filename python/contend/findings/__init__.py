"""The findings of an experiment, with their evidence: between the statistics and the text.

    study = study_of(folder)                      # a run folder, read
    first, *more = compared_of(study)             # changes by each metric that is compared
    first.compared.wholes[0]                      # a Finding: contrast, interval, verdict, n

A report contains only findings, and text about findings. Which contrasts hold together, and at
which error rate, is fixed before the run (`families`). The room may import `experiment`, `stats`
and `store`. Start in `model.py`, then `changes.py`.
"""

from contend.findings.changes import (
    Analysis,
    Covariates,
    Disturbed,
    Growth,
    Table,
    analyses_of,
    analysis_of,
    compared_of,
    costs_of,
    covariates_of,
    deciding_of,
    disturbed,
    growth_of,
    kinds_over_first,
    leading_cell,
    level_over,
    pairs_of,
    side_by_side,
    table_of,
)
from contend.findings.claims import Claims, claims_of, leading_level, surest
from contend.findings.conditions import Origin, RunCondition, conditions_of
from contend.findings.families import Family, family_of, rule_of
from contend.findings.figures import CellFigures, Read, cell_figures, means_of_repeats, over_repeats
from contend.findings.gate import (
    Gated,
    GateOutcome,
    ReleaseGate,
    Slowdown,
    gate_of,
    judged,
    slowdown_of,
    smallest_slowdown,
)
from contend.findings.goal import (
    GoalFound,
    GoalLevel,
    goal_found,
    rate_run,
    searches_of,
    without_rate,
)
from contend.findings.model import Compared, Contrast, Figure, Finding
from contend.findings.report_text import Constant, ReportText
from contend.findings.screen import (
    LineFound,
    PairNoise,
    ScreenFound,
    TogetherFound,
    costs_by_line,
    crossed_lines,
    left_out_text,
    noise_of_pairs,
    only,
    pairs_in,
    screen_found,
)
from contend.findings.slices import SliceRatios, noise_of
from contend.findings.study import Reading, Study, log_ratio, reading_of, study_of
from contend.findings.unpaired import Side, run_over_run, sessions_before
from contend.findings.waiting import REMEDY, WAITS, cpu_count, is_of_one_kind, waits_for_others
from contend.stats import UNITS_MIN
