"""Why one storage engine answers the same statements sooner: the reads of each and their source."""

from contend.why.candidate import Candidate
from contend.why.explain import Evidence, EvidenceTable, Explanation, counted

COUNTERS = {
    "Handler_read_rnd_next": "rows read by scans",
    "Handler_read_next": "rows read along an index",
    "Handler_read_key": "look-ups by key",
    "Innodb_buffer_pool_read_requests": "buffer pool requests",
    "Key_read_requests": "key cache requests",
    "Aria_pagecache_read_requests": "Aria page cache requests",
}
"""Counters of SHOW GLOBAL STATUS, per query; those that stay 0 at all levels are left out."""


def _look(evidence: Evidence) -> Explanation | None:
    if not evidence.compares("data.engine"):
        return None
    levels = evidence.study.roles.levels
    of_each = {
        name: [evidence.figure(counted(name), None, level) for level in levels] for name in COUNTERS
    }
    read = {
        name: of_levels
        for name, of_levels in of_each.items()
        if any(one is not None and one.mean > 0 for one in of_levels)
    }
    if not read:
        return None
    scanned = [one for one in read.get("Handler_read_rnd_next", ()) if one is not None]
    same_plan = (
        evidence.say(
            "Rows that a statement reads by scans: {listed}. Where these agree, the plans agree, "
            "and the difference in time comes from the engines.",
            listed=", ".join(evidence.say("{it:level} {it}", it=one) for one in scanned),
        )
        if scanned
        else evidence.say("No statement of the list scans a table.")
    )
    table = EvidenceTable(
        "Mean reads of a statement of the list (intervals after ±)",
        ("per statement", *(evidence.writer.level(one) for one in levels if one is not None)),
        tuple(
            (f"{COUNTERS[name]} ({name})", *map(evidence.written, of_levels))
            for name, of_levels in read.items()
        ),
    )
    return Explanation(
        evidence.say(LEAD),
        (same_plan, evidence.say(BY_STATEMENT)),
        (table,),
        refuted_by=CANDIDATE.refuted_by,
        certain=evidence.is_certain,
    )


LEAD = (
    "All engines ran the same statements over the same rows. They store rows differently: MyISAM "
    "and Aria leave rows to the system's page cache and keep only index pages (Aria: rows too) in "
    "a cache of their own. InnoDB keeps rows inside the primary key, in its buffer pool, and "
    "checks each row's version before it answers."
)
BY_STATEMENT = (
    '"Each statement" shows which engine wins at which statement: a list may take less time as a '
    "whole although one of its statements takes more."
)

CANDIDATE = Candidate(
    "engines",
    title="Why: the engines read the same rows in different ways",
    look=_look,
    refuted_by="Counters that differ as much as the times would show that the engines used "
    "different plans, and that statistics or indexes made the difference, not the engines.",
)
