"""Recordings, and what became of their statements: the types of a run's record."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class TwinTemplate(TypedDict):
    """The statements of one template at one level, as `contend-load recording ask` counts them.
    Times are in microseconds. The keys from `pairs` on are missing at the baseline.

    template: its number in the recording. calls: as recorded. share: of `shares_of`.
    count: statements that were answered. asked, planned: statements sent to all levels, and those
        of the sample.
    one_sided: statements that were answered at some levels only.
    mean_ln_ratio, var_ln_ratio: of ln(time / time of its twin at the baseline).
    """

    template: int
    hash: str
    read: bool
    calls: int
    share: float
    asked: int
    planned: int
    left_out: dict[str, int]
    one_sided: int
    rows_only: int
    not_compared: int
    stopped: NotRequired[str | None]
    count: int
    sum_us: float
    mean_ln_us: float
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float
    rows: int
    rows_logged: int
    rows_as_logged: int
    too_slow: int
    no_database: int
    not_rolled_back: int
    errors: dict[str, int]
    pairs: NotRequired[int]
    mean_ln_ratio: NotRequired[float]
    var_ln_ratio: NotRequired[float]
    rows_differ: NotRequired[int]
    results_differ: NotRequired[int]
    ties_differ: NotRequired[int]


class LeftOutTemplates(TypedDict):
    """Templates that were not asked for one reason. share: of `shares_of`."""

    templates: int
    calls: int
    share: float


class MissingTable(TypedDict):
    table: str
    statements: int


class AskedTwins(TypedDict):
    """Statements of a recording at one level.

    us_mean: mean time of a statement. At the baseline each template counts as often as in the
        recording. The ratio to it is the mean of the templates' ratios, weighted by their time.
    shares_of: `time` or `calls`, as logged.
    rows_logged, rows_as_logged: reads whose rows were logged, and those of them that found as many.
    """

    us_mean: float
    elapsed_s: float
    warm_s: float
    ended: str
    shares_of: str
    asked: int
    planned: int
    left_out: dict[str, LeftOutTemplates]
    missing_tables: list[MissingTable]
    missing_tables_total: int
    missing_tables_share: float
    timestamp_refused: str | None
    rows_logged: int
    rows_as_logged: int
    no_database: int
    not_rolled_back: int
    too_slow: int
    reconnects: int
    templates: list[TwinTemplate]


class RecordedTemplate(TypedDict):
    """A template of a recording, without literals. Times and rows per call as logged; None if none
    were."""

    template: int
    text: str
    calls: int
    mean_us: float | None
    p99_us: float | None
    rows_sent_mean: float | None
    rows_examined_mean: float | None


class RecordingFacts(TypedDict):
    """The recording of an experiment. Times are microseconds since 1970."""

    digest: str
    statements: int
    begin_us: int
    end_us: int
    templates: list[RecordedTemplate]
