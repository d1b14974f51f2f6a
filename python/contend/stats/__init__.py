"""Estimates with error and n, comparisons, merged histograms. Arrays in, frozen objects out."""

from contend.stats.change import Change, Verdict
from contend.stats.components import (
    Component,
    Components,
    LayoutSpread,
    estimate_components,
    layout_spread,
)
from contend.stats.contrasts import Place, TableShape
from contend.stats.discovery import UNITS_MIN, discover, pair_counts, picked_change
from contend.stats.estimate import Estimate, estimate, finite
from contend.stats.histogram import HistogramError, Merged, merge, merge_percentiles
from contend.stats.means import Mean, means_of, ratio_of, weighted
from contend.stats.planning import (
    Costs,
    RepeatPlan,
    TooShort,
    plan_for_time,
    plan_for_width,
)
from contend.stats.robust import hodges_lehmann, sign_flip_p
from contend.stats.sessions import (
    SESSIONS_MIN,
    Between,
    LeftOut,
    Session,
    between,
    leave_one_out,
)
from contend.stats.steady import Steadiness, look_for_trend
from contend.stats.stopping import Standing, StoppingRule, progress, units_to_reach
from contend.stats.table import TableAnswer, advantages, answer_table, answer_tables, wholes
from contend.stats.usl import FIT_COLUMNS_MIN, FIT_UNITS_MIN, UslCurve, UslFit, fit_usl
from contend.stats.welch import welch
