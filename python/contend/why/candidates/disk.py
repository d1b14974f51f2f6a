"""Writes: logs, their device and their flushes, and pages."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import (
    START_PLACEBO,
    Candidate,
    Pair,
    Proposal,
    Sign,
    Treatment,
    at_start,
    database,
    more_of,
    own,
    per_question,
    setting,
)

_REDO_USUAL, _REDO_MOST = 96 << 20, 8 << 30
_LOG_BUFFER = 16 << 20
_RESIZE_S = 5.0
"""Measured on two servers, there and back."""

_FOLDER, _IN_MEMORY = "server.redo_log_folder", "/dev/shm"
_MOST, _EARLY = "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"


def _flushes(run: Run) -> float | None:
    """Flushes of InnoDB's files and of its log per statement."""
    names = ("Innodb_data_fsyncs", "Innodb_os_log_fsyncs")
    return per_question(run, lambda status: max(0, sum(status.get(name, 0) for name in names)))


def _binary_log_flushes(run: Run) -> float | None:
    """Flushes of the binary log per statement. MariaDB counts groups of commits, not flushes: those
    follow from the setting. MySQL counts neither."""
    differs = run.probes.get("variables_that_differ")
    groups = per_question(run, lambda status: status.get("Binlog_group_commits", 0))
    if groups is None or differs is None:
        return None
    set_to = differs.get("sync_binlog")
    every = 0 if set_to is None else int(set_to["value"] or 0)
    return groups / every if every else 0.0


def _fullness(run: Run) -> float | None:
    """Age of the oldest change whose page is not yet written, as a share of the log's limit."""
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
_FULLNESS = Metric("innodb_checkpoint_age_share", "Fullness of the redo log", "", _fullness)
_LOGS = Metric("statement_logs", "Statement logs that are on", "", _logs)


def _binary_log(pair: Pair) -> Proposal | str:
    if pair.number("sync_binlog", 0 if pair.is_mariadb else 1) == 0:
        return "the binary log is not flushed at commits (sync_binlog = 0)"
    return Proposal(
        (
            setting("the binary log flushed for every 100th group of commits", sync_binlog=100),
            setting("the binary log flushed when the operating system decides", sync_binlog=0),
        )
    )


def _log_flush(pair: Pair) -> Proposal | str:
    name = "innodb_flush_log_at_trx_commit"
    if pair.number(name, 1) != 1:
        return f"the log is not flushed at each commit ({name} is not 1)"
    return Proposal(
        (
            setting("the log written at each commit and flushed once per second", **{name: 2}),
            setting("the log written and flushed once per second", **{name: 0}),
        )
    )


def _log_device(pair: Pair) -> Proposal | str:
    """MariaDB maps a log in /dev/shm into its memory and neither writes nor flushes it: both calls
    disappear along with the device."""
    if pair.cells["slower"].values.get(_FOLDER) == _IN_MEMORY:
        return "the log is already in memory"
    if not pair.host.files_in_memory:
        return f"{_IN_MEMORY} has no room for two logs"
    return Proposal((Treatment("the log in memory", {_FOLDER: _IN_MEMORY}),), START_PLACEBO)


def _redo_log(pair: Pair) -> Proposal | str:
    name = "innodb_log_file_size" if pair.is_mariadb else "innodb_redo_log_capacity"
    now = int(pair.number(name, _REDO_USUAL))
    buffer = int(pair.number("innodb_log_buffer_size", _LOG_BUFFER))
    if pair.is_mariadb and now < buffer:
        return (
            f"a log of {now >> 20:,} MiB could not be restored: a running server accepts none "
            f"below innodb_log_buffer_size ({buffer >> 20:,} MiB)"
        )
    if now * 4 > _REDO_MOST:
        return f"the log already has {now >> 20:,} MiB"
    sizes = (now * 4, min(_REDO_MOST, max(_REDO_USUAL * 4, now * 16)))
    return Proposal(
        tuple(setting(f"a redo log of {size >> 20:,} MiB", **{name: size}) for size in sizes),
        dose_s=_RESIZE_S,
    )


def _dirty_pages(pair: Pair) -> Proposal | str:
    if pair.number(_MOST, 90) >= 90 and pair.number(_EARLY, 0) == 0:
        return "the server already allows at least 90 % dirty pages"
    return Proposal(
        tuple(
            setting(f"up to {percent} % dirty pages", **{_MOST: percent, _EARLY: 0})
            for percent in (50, 99)
        )
    )


def _doublewrite(pair: Pair) -> Proposal | str:
    if str(pair.option("innodb_doublewrite")).upper() in ("OFF", "0", "FALSE"):
        return "pages are already written only once (innodb_doublewrite = OFF)"
    once = at_start("each page written only once", innodb_doublewrite="OFF")
    return Proposal((once,), START_PLACEBO, least=0.4)


CANDIDATES = (
    Candidate(
        "statement-log",
        title="each statement is written to a log",
        limit="queries per second: the rate at which lines are written, one after the other",
        signature=more_of(_LOGS, 1, 1.5),
        needs=(database,),
        treat=Proposal(
            (
                setting("no slow query log", slow_query_log="OFF"),
                setting(
                    "neither slow nor general query log", slow_query_log="OFF", general_log="OFF"
                ),
            )
        ),
        refuted_by="a difference that remains when no statement is logged",
    ),
    Candidate(
        "binary-log-flush",
        title="commits wait until the binary log is on disk",
        limit="transactions per second: the rate at which the disk flushes groups of commits",
        signature=(Sign(_BINARY_LOG_FLUSHES, "slower", least=0.001),),
        needs=(database,),
        treat=_binary_log,
        refuted_by="a difference that remains when no commit waits for the binary log",
    ),
    Candidate(
        "log-flush",
        title="commits wait until the redo log is on disk",
        limit="transactions per second: the rate at which the disk flushes groups of commits",
        signature=(Sign(_FLUSHES, "slower", least=0.01),),
        needs=(database,),
        treat=_log_flush,
        refuted_by="a difference that remains when no commit waits for a flush",
    ),
    Candidate(
        "log-device",
        title="commits wait for the device that holds the redo log",
        limit="transactions per second: the rate at which that device takes groups of commits",
        signature=(Sign(_FLUSHES, "slower", least=0.01),),
        needs=(database, own),
        treat=_log_device,
        refuted_by="a difference that remains when the log is in memory",
    ),
    Candidate(
        "redo-log",
        title="the redo log is full, so pages are written to make room in it",
        limit="changes per second: the rate at which the disk writes pages",
        signature=(
            Sign(_FULLNESS, "slower", least=0.6),
            Sign("status.Innodb_buffer_pool_pages_flushed_per_query", "over", least=1.2),
        ),
        needs=(database,),
        treat=_redo_log,
        refuted_by="a difference that remains when the log has room for all changes",
    ),
    Candidate(
        "dirty-pages",
        title="pages are written again and again because few may be dirty",
        limit="changes per second: the rate at which the disk writes pages",
        signature=more_of("status.Innodb_buffer_pool_pages_flushed_per_query", 0.01, 1.3),
        needs=(database,),
        treat=_dirty_pages,
        refuted_by="a difference that remains when nearly all pages may be dirty",
    ),
    Candidate(
        "doublewrite",
        title="each page is written twice",
        limit="changes per second: the rate at which the disk writes pages, each one twice",
        signature=more_of("status.Innodb_dblwr_pages_written_per_query", 0.01, 1.2),
        needs=(database, own),
        treat=_doublewrite,
        refuted_by="a difference that remains when each page is written only once",
    ),
)
