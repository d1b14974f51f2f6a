"""One level against the baseline in one sentence: the widest range of the load first.

From 8 connections on, multi-row inserts make 34 % (±12) more new orders a minute than a
statement for each row; at 1 connection it is not certain.
"""

from __future__ import annotations

from contend.experiment import Level, Roles
from contend.findings import Claims, Compared, Constant, Finding, ReportText, claims_of
from contend.metrics import THROUGHPUT, Metric
from contend.sections.naming import USE, Naming, as_sentence, columns_text, place_of
from contend.sections.words import (
    amount_text,
    change_of,
    change_text,
    is_multiple,
    subject_text,
    verdict_text,
)


def claim_sentence(naming: Naming, compared: Compared, level: Level) -> ReportText:
    """The certain results of a level by a metric, or that there are none; without its full stop."""
    whole = next((one for one in compared.wholes if one.level == level), None)
    if whole is None:
        return ReportText(
            "{} was not measured together with the baseline yet", as_sentence(naming.noun(level))
        )
    claims = claims_of(compared, level)
    if whole.tone == "open" or not claims:
        return _uncertain(naming, compared.metric, level, whole)
    if claims.more:
        return _counted(naming, compared, claims, level)
    first, *others = claims.findings
    lead = _first(naming, first, level)
    place = place_of(naming.roles, first)
    if claims.together and place.startswith(("from ", "up to ")):
        place = ReportText("on average {}", place)
    parts = [as_sentence(ReportText("{}, {}", place, lead) if place else lead)]
    parts += [_further(naming.roles, one, first) for one in others]
    if claims.open:
        parts.append(ReportText("{} it is not certain", columns_text(naming.roles, claims.open)))
    parts += _contrary(naming.roles, compared, claims, level)
    return ReportText.joined("; ", parts)


def _first(naming: Naming, one: Finding, level: Level) -> ReportText:
    """`multi-row inserts make 34 % (±12) more new orders a minute than a statement for each
    row`."""
    metric, change = one.metric, naming.change(level)
    subject, plural = _subject(naming, level)
    be, make = ("are", "make") if plural else ("is", "makes")
    compared = naming.roles.compared
    is_server = metric.name == THROUGHPUT and compared is not None and compared.path == USE
    if one.tone == "equivalent":
        than = "" if change else ReportText(", compared with {}", naming.baseline)
        if is_server:
            margin = Constant(one.margin * 100)
            return ReportText(
                "{} {} as fast as {}, within ±{} %", subject, be, naming.baseline, margin
            )
        of, margin_text = change_of(metric), _margin(one)
        return ReportText("{} {} no difference to {} {}{}", subject, make, of, margin_text, than)
    than = "" if change else ReportText(" than {}", naming.baseline)
    if is_multiple(one) and not change:
        than = ReportText(" as {}", naming.baseline)
    if metric.noun:
        verb = metric.verb if plural else _singular(metric.verb)
        return ReportText("{} {} {}{}", subject, verb, amount_text(one), than)
    amount, of = amount_text(one), subject_text(metric)
    if is_server and not change:
        return ReportText("{} {} {}{}", subject, be, amount, than)
    if metric.name == THROUGHPUT or change:
        return ReportText("{} {} {} {}{}", subject, make, of, amount, than)
    return ReportText("{} is {} with {} than with {}", of, amount, subject, naming.baseline)


def _subject(naming: Naming, level: Level) -> tuple[ReportText, bool]:
    """The cause of the difference, and whether it is plural."""
    change = naming.change(level)
    return (change, False) if change else (naming.noun(level), naming.is_plural(level))


def _singular(verb: str) -> str:
    return f"{verb}es" if verb.endswith("o") else f"{verb}s"


def _margin(one: Finding) -> ReportText:
    return ReportText("beyond ±{} %", Constant(one.margin * 100))


def _further(roles: Roles, one: Finding, first: Finding) -> ReportText:
    """`at 1 connection, 13 % (±1) slower`."""
    place = place_of(roles, one)
    if one.tone == "equivalent":
        return ReportText("{}, no difference {}", place, _margin(one))
    return ReportText("{}, {}", place, amount_text(one, with_noun=first.tone == "equivalent"))


def _uncertain(naming: Naming, metric: Metric, level: Level, whole: Finding) -> ReportText:
    """Nothing is decided, or a decision is impossible."""
    subject, plural = _subject(naming, level)
    baseline = "" if naming.change(level) else ReportText(" compared with {}", naming.baseline)
    place = place_of(naming.roles, whole)
    seen = ReportText("{}{}{}", change_text(whole.change), " " if place else "", place)
    verb = "change" if plural else "changes"
    compared = naming.roles.compared
    if whole.tone == "open":
        template = "{} {} {} by {}{}"
        text = ReportText(template, subject, verb, change_of(metric), seen, baseline)
        return as_sentence(ReportText("{}; {}", text, whole.held) if whole.held else text)
    if metric.name == THROUGHPUT and compared is not None and compared.path == USE:
        verb, than = ("are" if plural else "is"), naming.baseline
        template = "Whether {} {} faster or slower than {} is not certain: {}"
        return ReportText(template, subject, verb, than, seen)
    template = "Whether {} {} {}{} is not certain: {}"
    text = ReportText(template, subject, verb, change_of(metric), baseline, seen)
    return ReportText("{}; {}", text, whole.held) if whole.held else text


def _counted(naming: Naming, compared: Compared, claims: Claims, level: Level) -> ReportText:
    """`… makes this server faster in 3 of 21 cells, and slower in 2`."""
    metric = compared.metric
    own = Constant(sum(one.level == level for one in compared.comparisons))
    subject, plural = _subject(naming, level)
    subject = as_sentence(subject)
    verb = "make" if plural else "makes"
    counts = [
        ReportText(
            "{} in {} of {} cells",
            verdict_text(metric, verdict),
            Constant(count),
            own,
        )
        for tone, verdict in (("better", metric.better), ("worse", metric.worse))
        if (count := sum(one.tone == tone for one in claims.more))
    ]
    if not counts:
        template = "{} {} no difference to {} that matters in {} of {} cells"
        return ReportText(
            template, subject, verb, change_of(metric), Constant(len(claims.more)), own
        )
    template = "{} {} {} {}; nothing is certain over several of them"
    of = subject_text(metric)
    return ReportText(template, subject, verb, of, ReportText.joined(", and ", counts))


def _contrary(roles: Roles, compared: Compared, claims: Claims, level: Level) -> list[ReportText]:
    """The certain results contrary to the whole sentence: tables, or else the number of cells."""
    metric, tones = compared.metric, {one.tone for one in claims.findings}
    found = []
    for tone, verdict in (("better", metric.better), ("worse", metric.worse)):
        if tone in tones:
            continue
        rows = [one for one in compared.rows if (one.level, one.tone) == (level, tone)]
        own = [one for one in compared.comparisons if one.level == level]
        count = sum(one.tone == tone for one in own)
        if rows:
            found += [ReportText("but {}, {}", place_of(roles, rows[0]), amount_text(rows[0]))]
        elif count:
            word = verdict_text(metric, verdict)
            template = "but in {} of {} cells it is {}"
            found.append(ReportText(template, Constant(count), Constant(len(own)), word))
    return found
