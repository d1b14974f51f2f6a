"""Writes: logs, their device and their flushes, and pages."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import (
    STARTED,
    Candidate,
    Pair,
    Proposal,
    Sign,
    Treatment,
    database,
    more_of,
    own,
    per_question,
    setting,
    started,
)

_REDO_USUAL, _REDO_MOST = 96 << 20, 8 << 30
_LOG_BUFFER = 16 << 20
_RESIZE_S = 5.0
"""Measured on two servers, there and back."""

_FOLDER, _IN_MEMORY = "server.redo_log_folder", "/dev/shm"
_MOST, _EARLY = "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"


def _flushes(run: Run) -> float | None:
    """Flushes of InnoDB's files and of its log, for each statement."""
    names = ("Innodb_data_fsyncs", "Innodb_os_log_fsyncs")
    return per_question(run, lambda status: max(0, sum(status.get(name, 0) for name in names)))


def _binary_log_flushes(run: Run) -> float | None:
    """Groups of commits that the binary log was flushed for, for each statement. The server counts
    its groups (MariaDB alone does) and not its flushes: those follow from the setting."""
    differs = run.probes.get("variables_that_differ")
    groups = per_question(run, lambda status: status.get("Binlog_group_commits", 0))
    if groups is None or differs is None:
        return None
    set_to = differs.get("sync_binlog")
    every = 0 if set_to is None else int(set_to["value"] or 0)
    return groups / every if every else 0.0


def _fullness(run: Run) -> float | None:
    """Age of the oldest change whose page is not written, as a share of the log's limit."""
    gauges = run.probes.get("gauges") or {}
    age, most = gauges.get("Innodb_checkpoint_age"), gauges.get("Innodb_checkpoint_max_age")
    return None if age is None or not most else age / most


def _logs(run: Run) -> float | None:
    """How many logs of statements are on."""
    differs = run.probes.get("variables_that_differ")
    if differs is None:
        return None
    found = (differs.get(name) for name in ("general_log", "slow_query_log"))
    return float(sum(str(one["value"]).upper() in ("ON", "1") for one in found if one))


_FLUSHES = Metric("innodb_flushes_per_question", "Flushes of InnoDB per question", "", _flushes)
_BINARY_LOG_FLUSHES = Metric(
    "binary_log_flushes_per_question",
    "Flushes of the binary log per question",
    "",
    _binary_log_flushes,
)
_FULLNESS = Metric("innodb_checkpoint_age_share", "How full the redo log is", "", _fullness)
_LOGS = Metric("statement_logs", "Logs of statements that are on", "", _logs)


def _binary_log(pair: Pair) -> Proposal | str:
    if pair.number("sync_binlog", 0 if pair.is_mariadb else 1) == 0:
        return "the binary log is not flushed at commits (sync_binlog = 0)"
    return Proposal(
        (
            setting("the binary log flushed at every 100th group of commits", sync_binlog=100),
            setting("the binary log flushed when the system likes", sync_binlog=0),
        )
    )


def _log_flush(pair: Pair) -> Proposal | str:
    name = "innodb_flush_log_at_trx_commit"
    if pair.number(name, 1) != 1:
        return f"the log is not flushed at each commit ({name} is not 1)"
    return Proposal(
        (
            setting("the log written at each commit, and flushed once a second", **{name: 2}),
            setting("the log written and flushed once a second", **{name: 0}),
        )
    )


def _log_device(pair: Pair) -> Proposal | str:
    """MariaDB maps a log that is in /dev/shm into its memory and neither writes nor flushes it: the
    calls for both go with the device."""
    if pair.cells["slower"].values.get(_FOLDER) == _IN_MEMORY:
        return "the log is in memory as it is"
    if not pair.host.files_in_memory:
        return f"{_IN_MEMORY} has no room for two logs"
    return Proposal((Treatment("the log in memory", {_FOLDER: _IN_MEMORY}),), STARTED)


def _redo_log(pair: Pair) -> Proposal | str:
    name = "innodb_log_file_size" if pair.is_mariadb else "innodb_redo_log_capacity"
    now = int(pair.number(name, _REDO_USUAL))
    buffer = int(pair.number("innodb_log_buffer_size", _LOG_BUFFER))
    if pair.is_mariadb and now < buffer:
        return (
            f"a log of {now >> 20:,} MiB could not be put back: the server takes none below its "
            f"innodb_log_buffer_size of {buffer >> 20:,} MiB while it runs"
        )
    if now * 4 > _REDO_MOST:
        return f"the log has {now >> 20:,} MiB as it is"
    sizes = (now * 4, min(_REDO_MOST, max(_REDO_USUAL * 4, now * 16)))
    return Proposal(
        tuple(setting(f"a redo log of {size >> 20:,} MiB", **{name: size}) for size in sizes),
        dose_s=_RESIZE_S,
    )


def _dirty_pages(pair: Pair) -> Proposal | str:
    if pair.number(_MOST, 90) >= 90 and pair.number(_EARLY, 0) == 0:
        return "nine of ten pages may be dirty as it is"
    return Proposal(
        tuple(
            setting(f"{percent} % of the pages may be dirty", **{_MOST: percent, _EARLY: 0})
            for percent in (50, 99)
        )
    )


def _doublewrite(pair: Pair) -> Proposal | str:
    if str(pair.option("innodb_doublewrite")).upper() in ("OFF", "0", "FALSE"):
        return "pages are written once as it is (innodb_doublewrite = OFF)"
    once = started("each page written once", innodb_doublewrite="OFF")
    return Proposal((once,), STARTED, least=0.4)


CANDIDATES = (
    Candidate(
        "statement-log",
        title="each statement is written into a log",
        limit="queries a second: as many lines as are written one after the other",
        signature=more_of(_LOGS, 1, 1.5),
        needs=(database,),
        treat=Proposal(
            (
                setting("no log of slow statements", slow_query_log="OFF"),
                setting("no log of statements at all", slow_query_log="OFF", general_log="OFF"),
            )
        ),
        refuted_by="a difference that stays if no statement is written down",
    ),
    Candidate(
        "binary-log-flush",
        title="commits wait until the binary log is on the disk",
        limit="transactions a second: as many groups of commits as the disk flushes",
        signature=(Sign(_BINARY_LOG_FLUSHES, "slower", least=0.001),),
        needs=(database,),
        treat=_binary_log,
        refuted_by="a difference that stays if no commit waits for the binary log",
    ),
    Candidate(
        "log-flush",
        title="commits wait until the log is on the disk",
        limit="transactions a second: as many groups of commits as the disk flushes",
        signature=(Sign(_FLUSHES, "slower", least=0.01),),
        needs=(database,),
        treat=_log_flush,
        refuted_by="a difference that stays if no commit waits for a flush",
    ),
    Candidate(
        "log-device",
        title="commits wait for the device that the redo log is on",
        limit="transactions a second: as many groups of commits as that device takes",
        signature=(Sign(_FLUSHES, "slower", least=0.01),),
        needs=(database, own),
        treat=_log_device,
        refuted_by="a difference that stays if the log is on no device",
    ),
    Candidate(
        "redo-log",
        title="the redo log is full, and pages are written so that it can be written over",
        limit="changes a second: as many as the disk writes pages for",
        signature=(
            Sign(_FULLNESS, "slower", least=0.6),
            Sign("status.Innodb_buffer_pool_pages_flushed_per_query", "over", least=1.2),
        ),
        needs=(database,),
        treat=_redo_log,
        refuted_by="a difference that stays if the log has room for all that is changed",
    ),
    Candidate(
        "dirty-pages",
        title="pages are written again and again, because few may be dirty",
        limit="changes a second: as many as the disk writes pages for",
        signature=more_of("status.Innodb_buffer_pool_pages_flushed_per_query", 0.01, 1.3),
        needs=(database,),
        treat=_dirty_pages,
        refuted_by="a difference that stays if nearly all pages may be dirty",
    ),
    Candidate(
        "doublewrite",
        title="each page is written twice",
        limit="changes a second: as many as the disk writes pages for, twice each",
        signature=more_of("status.Innodb_dblwr_pages_written_per_query", 0.01, 1.2),
        needs=(database, own),
        treat=_doublewrite,
        refuted_by="a difference that stays if pages are written once",
    ),
)
