"""Tables that grow old: until when servers are maintained, and kernels with a regression.

Each has the date of the day on which it was written; what is told of it says that date.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from contend.doctor.model import Severity

WRITTEN = date(2026, 11, 25)

MARIADB_SOURCE = "https://mariadb.org/about/#maintenance-policy"
MYSQL_SOURCE = "https://www.oracle.com/us/support/library/lifetime-support-technology-069183.pdf"

_ENDS: dict[str, dict[str, str]] = {
    "mariadb": {
        "5.5": "2020-04-11",
        "10.0": "2019-03-31",
        "10.1": "2020-10-17",
        "10.2": "2022-05-23",
        "10.3": "2023-05-25",
        "10.4": "2024-06-18",
        "10.5": "2025-06-24",
        "10.6": "2026-07-06",
        "10.7": "2023-02-09",
        "10.8": "2023-05-20",
        "10.9": "2023-08-22",
        "10.10": "2023-11-17",
        "10.11": "2028-02-16",
        "11.0": "2024-06-06",
        "11.1": "2024-08-21",
        "11.2": "2024-11-21",
        "11.3": "2024-05-29",
        "11.4": "2029-05-29",
        "11.5": "2024-11-21",
        "11.6": "2025-02-13",
        "11.7": "2025-05-12",
        "11.8": "2028-06-04",
        "12.0": "2025-11-18",
        "12.1": "2026-02-13",
        "12.2": "2026-05-13",
    },
    "mysql": {
        "5.5": "2018-12-31",
        "5.6": "2021-02-28",
        "5.7": "2023-10-31",
        "8.0": "2026-04-30",
        "8.1": "2023-10-25",
        "8.2": "2023-12-14",
        "8.3": "2024-04-10",
        "8.4": "2032-04-30",
        "9.0": "2024-10-15",
        "9.1": "2025-01-21",
        "9.2": "2025-04-15",
        "9.3": "2025-07-22",
        "9.4": "2025-10-21",
        "9.5": "2026-01-20",
        "9.6": "2026-04-21",
        "9.7": "2034-04-21",
    },
}
"""Of series that have ended, or whose end was known on `WRITTEN`. An innovation release of MySQL
and a rolling one of MariaDB end with the next. Of a MySQL with long-term support it is the end of
extended support, eight years after its first release."""

SOURCES = {"mariadb": MARIADB_SOURCE, "mysql": MYSQL_SOURCE}


def end_of(kind: str, version: str) -> date | None:
    """The day until which a version's series is maintained; None if this table does not know."""
    found = re.match(r"([0-9]{1,2}\.[0-9]{1,2})\b", version)
    text = _ENDS.get(kind, {}).get(found.group(1)) if found else None
    return None if text is None else date.fromisoformat(text)


class Regression(NamedTuple):
    """Kernels from `first` on and before `fixed`; of `fixed` None it is not known to be fixed.

    series: the one stable series that it is in; None if it is in all of them from `first` on.
    """

    first: tuple[int, ...]
    fixed: tuple[int, ...] | None
    series: tuple[int, int] | None
    severity: Severity
    what: str
    source: str


REGRESSIONS = (
    Regression(
        (6, 1, 64),
        (6, 1, 66),
        (6, 1),
        "severe",
        "direct writes that extend a file on ext4 can land at the wrong place",
        "https://bugs.debian.org/1057843",
    ),
    *(
        Regression(
            (5, minor),
            fixed,
            (5, minor),
            "severe",
            "asynchronous writes by io_uring can hang, and MariaDB 10.6 and later with them "
            "(MDEV-26674)",
            "https://github.com/MariaDB/server/pull/1953",
        )
        for minor, fixed in (
            (11, None),
            (12, None),
            (13, None),
            (14, (5, 14, 19)),
            (15, (5, 15, 3)),
        )
    ),
    Regression(
        (5, 19),
        None,
        (5, 19),
        "warning",
        "the mitigation of retbleed by IBRS slows system calls and virtual machines down on Intel "
        "CPUs up to Skylake (VMware: compute by up to 70 %, storage 13 %)",
        "https://lkml.iu.edu/hypermail/linux/kernel/2209.1/02248.html",
    ),
    Regression(
        (6, 6),
        None,
        None,
        "note",
        "with the EEVDF scheduler, Amazon measured 12 to 17 % less throughput of MySQL under "
        "HammerDB with 6.6 to 6.12 than with 6.5; later kernels are not in that table",
        "https://lore.kernel.org/lkml/20241017052000.99200-1-cpru@amazon.com/",
    ),
)


def kernel_version(release: str) -> tuple[int, ...] | None:
    """`(6, 1, 64)` of `6.1.64-1-amd64`; None if the text does not begin so."""
    found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?", release)
    return tuple(int(part or 0) for part in found.groups()) if found else None


def regressions_of(release: str) -> list[Regression]:
    version = kernel_version(release)
    if version is None:
        return []
    return [
        one
        for one in REGRESSIONS
        if version >= one.first
        and (one.series is None or version[:2] == one.series)
        and (one.fixed is None or version < one.fixed)
    ]
