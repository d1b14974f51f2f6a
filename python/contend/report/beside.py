"""Two ways of asking, side by side: does a change gain by a script what it gains natively?

Where the kind of workload is a factor, each kind has its own panels. Here the gains of the same
place stand under one another, with what the last kinds gain over the first: the ratio of the two
gains, with Welch's interval on the log-ratios of their pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.report.labels import level_phrase
from contend.report.model import Beside, BesidePanel, BesideRow, CellComparison, Compared
from contend.report.roles import Roles
from contend.report.study import CellKey, Study, cell_key
from contend.spec import SCRIPT, Factor, Level, same_level
from contend.stats import Estimate, ratio_of_ratios

KIND = "workload.kind"


def beside_of(study: Study, labels: Sequence[str], compared: Compared) -> Beside | None:
    """The kinds of workload beside one another; None where there is one, or nothing is compared.

    `labels` are those of the layout's levels, the baseline's first.
    """
    roles = study.roles
    kinds = next((factor for factor in roles.tables if factor.path == KIND), None)
    if kinds is None or roles.baseline is None or len(kinds.levels) < 2:
        return None
    gains = {cell_key(one.cell): one for one in compared.comparisons}
    panels = tuple(
        BesidePanel(
            title=", ".join(level_phrase(path, level) for path, level in context.items()),
            rows=_rows(study, kinds, labels, context, gains),
        )
        for context in _contexts(roles)
    )
    names = tuple(_name(study, kind) for kind in kinds.levels)
    return Beside(
        title=f"{', '.join(names[:-1])} and {names[-1]}, side by side",
        lead=_lead(panels, names),
        panels=panels,
    )


def _contexts(roles: Roles) -> list[Mapping[str, Level]]:
    """The tables of the layout without the kind of workload, each once."""
    found: dict[CellKey, Mapping[str, Level]] = {}
    for context in roles.table_contexts():
        rest = {path: level for path, level in context.items() if path != KIND}
        found.setdefault(cell_key(rest), rest)
    return list(found.values())


def _rows(
    study: Study,
    kinds: Factor,
    labels: Sequence[str],
    context: Mapping[str, Level],
    gains: Mapping[CellKey, CellComparison],
) -> tuple[BesideRow, ...]:
    roles = study.roles
    rows: list[BesideRow] = []
    for label, level in zip(labels, roles.levels, strict=True):
        if level is None or same_level(level, roles.baseline):
            continue
        by_kind = [
            tuple(
                gains.get(cell_key(roles.cell({**context, KIND: kind}, column, level)))
                for column in roles.column_levels
            )
            for kind in kinds.levels
        ]
        for kind, row in zip(kinds.levels, by_kind, strict=True):
            rows.append(BesideRow(f"({label}/{labels[0]}) {_name(study, kind)}", gains=row))
        for kind, row in list(zip(kinds.levels, by_kind, strict=True))[1:]:
            differences = tuple(
                _difference(one, other, study.experiment.compare.confidence)
                for one, other in zip(by_kind[0], row, strict=True)
            )
            rows.append(
                BesideRow(
                    f"{_name(study, kind)} over {_name(study, kinds.levels[0])}",
                    differences=differences,
                )
            )
    return tuple(rows)


def _difference(
    one: CellComparison | None, other: CellComparison | None, confidence: float
) -> Estimate | None:
    """Percent by which the second gain is larger than the first."""
    if one is None or other is None:
        return None
    ratio = ratio_of_ratios(one.comparison, other.comparison, confidence)
    return Estimate(
        (ratio.mean - 1) * 100, (ratio.low - 1) * 100, (ratio.high - 1) * 100, ratio.n, confidence
    )


def _name(study: Study, kind: Level) -> str:
    """`random_points`, or a script by its name."""
    if kind != SCRIPT:
        return str(kind)
    script = study.experiment.base.workload.parameters.get("script")
    return str(script).rpartition("/")[2] if script else SCRIPT


def _lead(panels: Sequence[BesidePanel], names: Sequence[str]) -> str:
    differences = [
        one for panel in panels for row in panel.rows for one in row.differences if one is not None
    ]
    known = [one for one in differences if one.n > 0]
    apart = [one for one in known if one.low > 0 or one.high < 0]
    if not known:
        return "No place has pairs of both kinds yet."
    return (
        f"The same change on the same server and tables, asked for by {' and by '.join(names)} in "
        f"one run. At {len(known) - len(apart)} of {len(known)} places the gains differ by no more "
        "than the error; a difference is the ratio of the two gains, in percent, with its interval "
        "for itself alone."
    )
