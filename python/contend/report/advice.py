"""What the answer costs, and the one thing to do next: more time, more CPUs, another level."""

from __future__ import annotations

from collections.abc import Sequence

from contend.findings import (
    Analysis,
    Compared,
    Finding,
    Given,
    Said,
    Study,
    claims_of,
    level_over,
)
from contend.report.basis import would_take
from contend.report.bounds import is_full_at
from contend.report.model import Panel
from contend.report.naming import Naming
from contend.report.places import columns_text, place_of
from contend.report.sentence import amount_of
from contend.report.words import factor_label, level_label, size_text
from contend.spec import Level

_CPU = ("server_cpu_us_per_query", "server_cpu_us_per_event")
PRICED = (*_CPU, "response_us_p99")
"""Of what every report looks at, what an answer names; of what an experiment compares, all."""


def price_of(beside: Sequence[Compared], lead: str, level: Level) -> Said:
    """What a change for the better costs in CPU or response time, or that it saves CPU too; of one
    for the worse, what it brings. Empty if nothing of it is certain to matter."""
    found = [
        one for compared in beside for one in compared.wholes if one.level == level and one.is_large
    ]
    contrary = [one for one in found if one.tone != lead]
    if contrary:
        said = {"better": "The price", "worse": "In return"}.get(lead, "Certain beside that")
        return Said("{}: {}.", said, _listed(contrary[:2]))
    saved = [one for one in found if one.metric.name in _CPU and lead == "better"]
    return Said("That also saves CPU: {}.", _size_and_noun(saved[0])) if saved else Said("")


def _listed(found: Sequence[Finding]) -> Said:
    are_nouns = all(one.metric.noun for one in found)
    return Said.joined(" and " if are_nouns else ", and ", map(_size_and_noun, found))


def _size_and_noun(one: Finding) -> Said:
    """`12 % (±3) more server CPU per query`; `the p99 response time is 8 % (±2) longer`."""
    subject, amount = Said.written(one.metric.subject), amount_of(one)
    return amount if one.metric.noun else Said("{} is {}", subject, amount)


def next_step(
    study: Study, naming: Naming, analysis: Analysis, level: Level, panels: Sequence[Panel]
) -> Said:
    """One sentence. It follows from what is certain of the level that the answer is about."""
    compared = analysis.compared
    whole = next((one for one in compared.wholes if one.level == level), None)
    if not study.decides or whole is None:
        return Said("")
    claims = claims_of(compared, level)
    if not claims:
        return Said("Next: {}.", would_take(study, analysis, whole))
    tones = {one.tone for one in (*claims.findings, *claims.more)}
    if tones == {"equivalent"}:
        return Said("Next: try something else; there is nothing to gain here.")
    if "better" not in tones:
        if naming.change(level):
            return Said("Next: do without.")
        return Said("Next: stay with {}.", naming.baseline)
    if claims.open:
        at = columns_text(naming.roles, claims.open)
        return Said("Next: more time (`--for`, `--until`), if the load {} matters to you.", at)
    return (
        _another_level(study, naming, analysis, level)
        or _more_cpus(study, naming, panels, compared)
        or _choose(study, naming, analysis, level)
    )


def _another_level(study: Study, naming: Naming, analysis: Analysis, level: Level) -> Said | None:
    """If the levels are numbers, and the last step of them still gained."""
    levels = study.roles.levels
    numbers = [one for one in levels if isinstance(one, int | float) and not isinstance(one, bool)]
    assert study.roles.compared is not None
    if len(numbers) < len(levels) or len(numbers) < 3:
        return None
    before, last = sorted(numbers)[-2:]
    if level != last or before == study.roles.baseline:
        return None
    step = level_over(study, analysis, last, before)
    if step is None or step.tone != "better":
        return None
    return Said(
        "Next: more than {} {}, since {} still brings {} over {}.",
        level_label(last),
        factor_label(study.roles.compared.path),
        naming.level(last),
        size_text(step.change),
        naming.level(before),
    )


def _more_cpus(
    study: Study, naming: Naming, panels: Sequence[Panel], compared: Compared
) -> Said | None:
    full = is_full_at(study, panels, compared.comparisons)
    if full is None:
        return None
    at = place_of(naming.roles, full[0])
    words = "Next: a machine with more CPUs; all {} of this one were busy{}{}."
    return Said(words, Given(full[1]), " " if at else "", at)


def _choose(study: Study, naming: Naming, analysis: Analysis, level: Level) -> Said:
    """Which level to take, and which others are no better for certain."""
    alike = [
        naming.level(one)
        for one in analysis.table.levels
        if one != level
        and (apart := level_over(study, analysis, one, level)) is not None
        and apart.tone in ("inconclusive", "equivalent")
    ]
    others = Said.joined(" or ", alike)
    but = Said("; that {} is better is not certain", others) if alike else ""
    return Said("Next: try {} on your own server and load{}.", naming.noun(level), but)
