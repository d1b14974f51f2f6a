"""One level against the baseline, said in one sentence: the widest range of the load first.

From 8 connections on, multi-row inserts make 34 % (±12) more new orders a minute than a
statement for each row; at 1 connection it is not certain.
"""

from __future__ import annotations

from contend.findings import Claims, Compared, Finding, claims_of
from contend.metrics import THROUGHPUT, Metric
from contend.report.naming import USE, Naming, as_sentence
from contend.report.places import columns_text, place_of
from contend.report.words import change_of, gain_text, size_text
from contend.spec import Level, Roles


def claim_sentence(naming: Naming, compared: Compared, level: Level) -> str:
    """What is certain of a level by a metric, or that nothing is; without its full stop."""
    whole = next((one for one in compared.wholes if one.level == level), None)
    if whole is None:
        return f"{as_sentence(naming.noun(level))} was not measured beside the baseline yet"
    claims = claims_of(compared, level)
    if whole.tone == "open" or not claims:
        return _uncertain(naming, compared.metric, level, whole)
    if claims.more:
        return _counted(naming, compared, claims, level)
    first, *others = claims.findings
    lead = _first(naming, first, level)
    place = place_of(naming.roles, first)
    if claims.together and place.startswith(("from ", "up to ")):
        place = f"on average {place}"
    parts = [as_sentence(f"{place}, {lead}" if place else lead)]
    parts += [_further(naming.roles, one, first) for one in others]
    if claims.open:
        parts.append(f"{columns_text(naming.roles, claims.open)} it is not certain")
    parts += _contrary(naming.roles, compared, claims, level)
    return "; ".join(parts)


def _first(naming: Naming, one: Finding, level: Level) -> str:
    """`multi-row inserts make 34 % (±12) more new orders a minute than a statement for each
    row`."""
    metric, change = one.metric, naming.change(level)
    subject, plural = _subject(naming, level)
    compared = naming.roles.compared
    is_server = metric.name == THROUGHPUT and compared is not None and compared.path == USE
    if one.tone == "equivalent":
        beside = "" if change else f", compared with {naming.baseline}"
        verb = "make" if plural else "makes"
        if is_server:
            same = f"{'are' if plural else 'is'} as fast as {naming.baseline}"
            return f"{subject} {same}, within ±{one.margin * 100:g} %"
        return f"{subject} {verb} no difference to {change_of(metric)} {_margin(one)}{beside}"
    than = "" if change else f" than {naming.baseline}"
    size = size_text(one.change)
    if metric.noun:
        verb = metric.verb if plural else _singular(metric.verb)
        return f"{subject} {verb} {size} {metric.amount(verdict_of(one))}{than}"
    word = metric.changed(verdict_of(one))
    if is_server and not change:
        return f"{subject} {'are' if plural else 'is'} {size} {word}{than}"
    if metric.name == THROUGHPUT or change:
        return f"{subject} {'make' if plural else 'makes'} {metric.subject} {size} {word}{than}"
    return f"{metric.subject} is {size} {word} with {subject} than with {naming.baseline}"


def _subject(naming: Naming, level: Level) -> tuple[str, bool]:
    """What makes the difference, and whether it is plural."""
    change = naming.change(level)
    return (change, False) if change else (naming.noun(level), naming.is_plural(level))


def _singular(verb: str) -> str:
    return f"{verb}es" if verb.endswith("o") else f"{verb}s"


def verdict_of(one: Finding) -> str:
    assert one.change.verdict is not None
    return one.change.verdict


def _margin(one: Finding) -> str:
    return f"beyond ±{one.margin * 100:g} %"


def _further(roles: Roles, one: Finding, first: Finding) -> str:
    """`at 1 connection, 13 % (±1) slower`."""
    place = place_of(roles, one)
    if one.tone == "equivalent":
        return f"{place}, no difference {_margin(one)}"
    if first.tone == "equivalent":
        return f"{place}, {amount_of(one)}"
    return f"{place}, {amount_of(one).removesuffix(f' {one.metric.noun}')}"


def amount_of(one: Finding) -> str:
    """`34 % (±12) more new orders a minute`, `13 % (±1) slower`."""
    metric, verdict = one.metric, verdict_of(one)
    word = metric.amount(verdict) if metric.noun else metric.changed(verdict)
    return f"{size_text(one.change)} {word}"


def _uncertain(naming: Naming, metric: Metric, level: Level, whole: Finding) -> str:
    """Nothing is decided, or nothing can be."""
    subject, plural = _subject(naming, level)
    beside = "" if naming.change(level) else f" compared with {naming.baseline}"
    place = place_of(naming.roles, whole)
    seen = f"{gain_text(whole.change)} %" + (f" {place}" if place else "")
    verb = "change" if plural else "changes"
    compared = naming.roles.compared
    if whole.tone == "open":
        return as_sentence(f"{subject} {verb} {change_of(metric)} by {seen}{beside}")
    if metric.name == THROUGHPUT and compared is not None and compared.path == USE:
        than = f"faster or slower than {naming.baseline}"
        return f"Whether {subject} {'are' if plural else 'is'} {than} is not certain: {seen}"
    return f"Whether {subject} {verb} {change_of(metric)}{beside} is not certain: {seen}"


def _counted(naming: Naming, compared: Compared, claims: Claims, level: Level) -> str:
    """`… makes this server faster in 3 of 21 cells, and slower in 2`."""
    metric = compared.metric
    own = sum(one.level == level for one in compared.comparisons)
    subject, plural = _subject(naming, level)
    subject = as_sentence(subject)
    verb = "make" if plural else "makes"
    counts = [
        f"{metric.changed(verdict)} in {count} of {own} cells"
        for tone, verdict in (("better", metric.better), ("worse", metric.worse))
        if (count := sum(one.tone == tone for one in claims.more))
    ]
    if not counts:
        return (
            f"{subject} {verb} no difference to {change_of(metric)} that matters in "
            f"{len(claims.more)} of {own} cells"
        )
    return (
        f"{subject} {verb} {metric.subject} {', and '.join(counts)}; over more of them nothing is "
        "certain"
    )


def _contrary(roles: Roles, compared: Compared, claims: Claims, level: Level) -> list[str]:
    """What is certain of the contrary of all that the sentence says: tables, or else how many
    cells."""
    metric, said = compared.metric, {one.tone for one in claims.findings}
    found = []
    for tone, verdict in (("better", metric.better), ("worse", metric.worse)):
        if tone in said:
            continue
        rows = [one for one in compared.rows if (one.level, one.tone) == (level, tone)]
        own = [one for one in compared.comparisons if one.level == level]
        count = sum(one.tone == tone for one in own)
        if rows:
            found += [f"but {place_of(roles, one)}, {amount_of(one)}" for one in rows[:1]]
        elif count:
            found.append(f"but in {count} of {len(own)} cells it is {metric.changed(verdict)}")
    return found
