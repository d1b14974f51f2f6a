"""Each page is written twice, so that a torn one can be mended."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOT_OURS, STARTED, is_database, started


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if not pair.own:
        return NOT_OURS
    if str(pair.option("innodb_doublewrite")).upper() in ("OFF", "0", "FALSE"):
        return "pages are written once as it is (innodb_doublewrite = OFF)"
    return Proposal(
        doses=(started("each page written once", innodb_doublewrite="OFF"),),
        placebo=STARTED,
        least=0.4,
    )


CANDIDATE = Candidate(
    name="doublewrite",
    title="each page is written twice",
    limit="changes a second: as many as the disk writes pages for, twice each",
    signature=(
        Sign("status.Innodb_dblwr_pages_written_per_query", "slower", least=0.01),
        Sign("status.Innodb_dblwr_pages_written_per_query", "over", least=1.2),
    ),
    propose=_propose,
    refuted_by="a difference that stays if pages are written once",
)
