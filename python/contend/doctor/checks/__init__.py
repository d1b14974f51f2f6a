"""All checks, in the order in which they are told. A new one is a `DoctorCheck` in the file of its
subject; a new subject is a file and a line here."""

from contend.doctor.checks import (
    cgroup,
    clock,
    cpu_power,
    cpus,
    disk,
    filesystem,
    kernel,
    limits,
    memory,
    neighbours,
    network,
    numa,
    server_caches,
    server_memory,
    server_watch,
    server_writes,
)
from contend.doctor.model import DoctorCheck

CHECKS: tuple[DoctorCheck, ...] = (
    *neighbours.CHECKS,
    *cpus.CHECKS,
    *cpu_power.CHECKS,
    *cgroup.CHECKS,
    *memory.CHECKS,
    *numa.CHECKS,
    *disk.CHECKS,
    *filesystem.CHECKS,
    *clock.CHECKS,
    *limits.CHECKS,
    *network.CHECKS,
    *kernel.CHECKS,
    *server_watch.CHECKS,
    *server_memory.CHECKS,
    *server_writes.CHECKS,
    *server_caches.CHECKS,
)
