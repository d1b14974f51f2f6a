"""Statistics: arrays in; frozen estimates with error and n out.

Comparisons, variance components, merged histograms, stopping rules. The room imports nothing from
other rooms, and knows nothing of servers. Start in `estimate.py` and `change.py`.
"""

from contend.stats.change import Change, Verdict, welch
from contend.stats.components import (
    Component,
    Components,
    LayoutSpread,
    estimate_components,
    layout_spread,
)
from contend.stats.contrasts import Place, TableShape
from contend.stats.crossing import (
    CROSSING_LINES_MAX,
    crossing_pairs,
    together,
)
from contend.stats.discovery import UNITS_MIN, discover, pair_counts, picked_change
from contend.stats.estimate import (
    Estimate,
    Mean,
    estimate,
    finite,
    hodges_lehmann,
    means_of,
    ratio_of,
    sign_flip_p,
    weighted,
)
from contend.stats.fit import fitted, residuals
from contend.stats.goal import GoalAnswer, RateRun, RateSearch, rounded_rate
from contend.stats.histogram import HistogramError, count_above, merge_percentiles
from contend.stats.planning import (
    Costs,
    RepeatPlan,
    Standing,
    StoppingRule,
    TooShort,
    plan_for_time,
    plan_for_width,
    progress,
    units_to_reach,
)
from contend.stats.screen import (
    screen_effects,
    screen_rows,
    sum_of,
)
from contend.stats.sessions import SESSIONS_MIN, Between, Session, between
from contend.stats.statements import StatementChanges, statement_changes
from contend.stats.steady import Steadiness, look_for_trend
from contend.stats.table import TableAnswer, advantages, answer_table, answer_tables, wholes
from contend.stats.usl import FIT_COLUMNS_MIN, FIT_UNITS_MIN, UslCurve, UslFit, fit_usl
