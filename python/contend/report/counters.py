"""What else differs: the counters that certainly do, in words and a table a level."""

from __future__ import annotations

from contend.findings import UNITS_MIN, CounterDifference, CounterList, Given, Said, Study
from contend.report.model import CounterSection, TextTable
from contend.report.naming import Naming
from contend.report.words import cell_phrase, gain_text, significant
from contend.spec import Level

LISTED = 12
"""Counters of a level that the page has; the rest is in the JSON."""

_BY_RATE = (
    "A row marked “by the clock” did not change a second: it moved as the time that a query takes, "
    "which may be all that there is to it."
)


def counter_section(
    study: Study, naming: Naming, found: CounterList | None
) -> CounterSection | None:
    """The section; None if no counter was compared."""
    if found is None:
        return None
    baseline = study.roles.baseline
    assert baseline is not None
    tables = [
        _table(study, naming, level, baseline, found.of(level))
        for level in study.roles.others
        if found.of(level)
    ]
    return CounterSection("What else differs", _lead(found), _notes(found), tuple(tables), found)


def _lead(found: CounterList) -> str:
    if found.units < UNITS_MIN:
        few = "1 repeat" if found.units == 1 else f"{found.units} repeats"
        return (
            f"Nothing can be said of {found.counters} counters by {few}: among so many, "
            f"it takes {UNITS_MIN} at least to tell a difference from chance."
        )
    count = len({one.finding.metric.name for one in found.found})
    differ = "1 differs" if count == 1 else f"{count or 'none'} differ{'' if count else 's'}"
    return (
        f"Of {found.counters} counters ({', '.join(found.per_level)}) {differ} somewhere by more "
        f"than the margin ({found.tested} comparisons"
        + ("; 5 % of those listed may be chance)." if count else ").")
    )


def _notes(found: CounterList) -> str:
    said = []
    if found.found:
        said.append(
            "Counters are compared by the query, gauges as they are at the end. The list is apart "
            "from the claims of the report, and cannot tell a cause from a consequence."
        )
    if any(one.by_rate for one in found.found):
        said.append(_BY_RATE)
    if found.per_block:
        said.append(
            "In slices these tell of a whole block and of no level, and are left out: "
            f"{', '.join(found.per_block)}."
        )
    return " ".join(said)


def _table(
    study: Study, naming: Naming, level: Level, baseline: Level, of_level: list[CounterDifference]
) -> TextTable:
    """A row a counter, where it differs most certainly; the first rows are the largest."""
    places: dict[str, list[CounterDifference]] = {}
    for one in of_level:
        places.setdefault(one.finding.metric.name, []).append(one)
    contexts = len(study.roles.table_contexts()) * len(study.roles.column_levels)
    rows = []
    for differences in list(places.values())[:LISTED]:
        first = differences[0]
        where = cell_phrase(_context(study, first)) or "all"
        row = [
            first.finding.metric.title + (" (by the clock)" if first.by_rate else ""),
            *([where, f"{len(differences)} of {contexts}"] if contexts > 1 else []),
            significant(first.baseline, 3),
            significant(first.level, 3),
            change_text(first),
        ]
        rows.append(tuple(row))
    more = len(places) - len(rows)
    at = ("at", "in cells") if contexts > 1 else ()
    caption = f"{naming.level(level)} against {naming.level(baseline)}, the largest certain first"
    if more > 0:
        caption += f" ({more} more in `contend show --json`)"
    heads = (str(naming.level(baseline)), str(naming.level(level)))
    return TextTable(caption, ("counter", *at, *heads, "change"), tuple(rows))


def change_text(one: CounterDifference) -> Said:
    """`+82 ±6`; what only one side has is no share of anything."""
    change = one.finding.change
    if change.ratio == float("inf"):
        return Said("only here (n = {})", Given(change.n))
    if change.ratio == 0:
        return Said("no more (n = {})", Given(change.n))
    return Said("{} % (n = {})", gain_text(change), Given(change.n))


def _context(study: Study, one: CounterDifference) -> dict[str, Level]:
    compared = study.roles.compared
    assert compared is not None
    return {path: value for path, value in one.finding.cell.items() if path != compared.path}
