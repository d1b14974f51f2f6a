"""Why one storage engine answers the same statements sooner: what each reads, and from where."""

from collections.abc import Iterable

from contend.findings.model import Figure
from contend.findings.sentence import AtLevel, Sentence, joined, say
from contend.why.evidence import Cause, Evidence, EvidenceTable, per_question, written

COUNTERS = {
    "Handler_read_rnd_next": "rows read by scans",
    "Handler_read_next": "rows read along an index",
    "Handler_read_key": "look-ups by key",
    "Innodb_buffer_pool_read_requests": "buffer pool requests",
    "Key_read_requests": "key cache requests",
    "Aria_pagecache_read_requests": "Aria page cache requests",
}
"""Of SHOW GLOBAL STATUS, per query; what stays 0 at all levels is left out."""

_SCANS = "Handler_read_rnd_next"


def _read(evidence: Evidence) -> dict[str, list[Figure | None]]:
    """By counter, level by level; those that were 0 throughout are left out."""
    found = {
        counter: [evidence.figure(counter, None, level) for level in evidence.study.roles.levels]
        for counter in COUNTERS
    }
    return {
        counter: of_levels
        for counter, of_levels in found.items()
        if any(one is not None and one.mean > 0 for one in of_levels)
    }


def _lead(evidence: Evidence) -> Sentence | None:
    if not _read(evidence):
        return None
    return say(
        "All engines were asked the same statements over the same rows. What differs is how they "
        "keep them: MyISAM and Aria leave rows to the page cache of the system and keep only index "
        "pages (Aria: rows too) in a cache of their own; InnoDB keeps rows inside the primary key, "
        "in its buffer pool, and looks at each row's version before it answers."
    )


def _same_plan(evidence: Evidence) -> Sentence:
    scanned = [one for one in _read(evidence).get(_SCANS, ()) if one is not None]
    if not scanned:
        return say("No statement of the list scans a table.")
    return say(
        "Rows that a statement reads by scans: {listed}. As far as these agree, the plans do, and "
        "the difference in time is the engines' own.",
        listed=joined([say("{it:level} {it}", it=one) for one in scanned], ", "),
    )


def _by_statement(evidence: Evidence) -> Sentence:
    del evidence
    return say(
        'Which engine wins at which statement stands under "Each statement": a list may be '
        "shorter as a whole although one of its statements is not."
    )


def _table(evidence: Evidence) -> Iterable[EvidenceTable]:
    levels = [AtLevel(level) for level in evidence.study.roles.levels if level is not None]
    rows = [
        (f"{COUNTERS[counter]} ({counter})", *map(written, of_levels))
        for counter, of_levels in _read(evidence).items()
    ]
    caption = "What a statement of the list reads, on average (intervals after ±)"
    yield EvidenceTable(caption, ("per statement", *levels), tuple(rows))


ENGINES = Cause(
    name="engines",
    title="Why: the engines read the same rows along different ways",
    looks={counter: per_question(counter) for counter in COUNTERS},
    only_with="data.engine",
    lead=_lead,
    says=(_same_plan, _by_statement),
    tables=(_table,),
    refuted_by="Counters that differ by as much as the times do would say that the engines were "
    "given different plans, and that statistics or indexes, not the engines, made the difference.",
)
