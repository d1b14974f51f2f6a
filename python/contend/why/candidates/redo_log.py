"""The redo log is so small that pages have to be written before it can be written over."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import Candidate, Pair, Proposal, Sign
from contend.why.candidates._common import NO_DATABASE, NOTHING, is_database, setting

_USUAL = 96 << 20
_BUFFER = 16 << 20
_MOST = 8 << 30
_RESIZE_S = 5.0
"""Of two servers, there and back, as it was seen."""


def _fullness(run: Run) -> float | None:
    """How old the oldest change is whose page is not written, of what the log allows."""
    gauges = run.probes.get("gauges") or {}
    age, most = gauges.get("Innodb_checkpoint_age"), gauges.get("Innodb_checkpoint_max_age")
    return None if age is None or not most else age / most


FULLNESS = Metric("innodb_checkpoint_age_share", "How full the redo log is", "", _fullness)


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    name = "innodb_log_file_size" if pair.kind == "mariadb" else "innodb_redo_log_capacity"
    now = int(pair.number(name, _USUAL))
    buffer = int(pair.number("innodb_log_buffer_size", _BUFFER))
    if pair.kind == "mariadb" and now < buffer:
        return (
            f"a log of {now >> 20:,} MiB could not be put back: the server takes none below its "
            f"innodb_log_buffer_size of {buffer >> 20:,} MiB while it runs"
        )
    if now * 4 > _MOST:
        return f"the log has {now >> 20:,} MiB as it is"
    sizes = (now * 4, min(_MOST, max(_USUAL * 4, now * 16)))
    return Proposal(
        doses=tuple(setting(f"a redo log of {size >> 20:,} MiB", **{name: size}) for size in sizes),
        placebo=NOTHING,
        least=0.5,
        dose_s=_RESIZE_S,
    )


CANDIDATE = Candidate(
    name="redo-log",
    title="the redo log is full, and pages are written so that it can be written over",
    limit="changes a second: as many as the disk writes pages for",
    signature=(
        Sign(FULLNESS, "slower", least=0.6),
        Sign("status.Innodb_buffer_pool_pages_flushed_per_query", "over", least=1.2),
    ),
    propose=_propose,
    refuted_by="a difference that stays if the log has room for all that is changed",
)
