"""Placement and the state of the host on real servers: read back from them, and refused at once."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import needs
import pytest
from run_lab import Lab, wait_for

from contend.errors import RequestError
from contend.experiment.settings import place
from contend.host.placement import Placement
from contend.host.placement.cpus import layout
from contend.servers import PrivateServer, ServerBinary
from contend.store import RunRecord

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

ALLOWED = layout().allowed

SMALL = """
[server]
options = {{ innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M" }}
[data]
rows = 2_000
[load]
connections = 2
warmup = "20ms"
measure = "200ms"
slice = "50ms"
{more}
"""
TWICE = "[compare]\nrepeats = 2\nbaseline = {{ {} }}"


def run(lab: Lab, more: str, *words: str) -> list[RunRecord]:
    lab.file.write_text(SMALL.format(more=more))
    done = lab.run(*words)
    assert done.returncode == 0, done.stderr
    assert lab.servers_alive() == []
    return lab.records()


def refused(lab: Lab, more: str, *words: str | Path) -> str:
    lab.file.write_text(SMALL.format(more=more))
    done = lab.run(*words)
    assert done.returncode == 2, done.stderr
    assert not lab.out.exists()
    return done.stderr


def test_servers_on_other_cpus_are_compared_in_slices(lab: Lab) -> None:
    needs.control_group()
    one, other = needs.two_cpus()[:2]
    path = '"place.server.cpus"'
    records = run(
        lab,
        f'[place.client]\ncpus = "{other}"\nnice = 1\n'
        '[place.server]\nmemory = "local"\nio_class = "best-effort:1"\nopen_files = 5000\n'
        'cpu_quota = 0.9\nhuge_pages = "never"\n'
        f'[factors]\n{path} = ["{one}", "{other}"]\n' + TWICE.format(f'{path} = "{one}"'),
    )
    assert {record.probes.get("place") is not None for record in records} == {True}
    for record in records:
        placed = record.probes["placement"]
        assert placed["server"]["cpus"] == record.cell["place.server.cpus"]
        assert placed["server"]["memory"] in ("local", "default")
        assert placed["server"]["io_class"] == "best-effort:1"
        assert placed["server"]["transparent huge pages"] == "no"
        assert record.probes["throttled_s"] >= 0
        assert (placed["client"]["cpus"], placed["client"]["nice"]) == (str(other), "1")
        codes = {mark["code"] for mark in record.warnings}
        assert "placement-differs" not in codes
        assert ("one-node" in codes) == (len(layout().nodes) == 1)


def test_where_the_client_moves_too_levels_are_runs(lab: Lab) -> None:
    needs.two_cpus()
    path = '"place.server.cpus"'
    records = run(
        lab,
        f'[factors]\n{path} = ["apart", "together", "one-each"]\n'
        + TWICE.format(f'{path} = "apart"'),
    )
    assert {"place" in record.probes for record in records} == {False}
    for record in records:
        assert "throttled_s" not in record.probes
        server, client = (record.probes["placement"][who]["cpus"] for who in ("server", "client"))
        assert (server == client) == (record.cell["place.server.cpus"] == "together")


def test_threads_are_placed_by_role_and_a_real_time_server_is_watched(lab: Lab) -> None:
    needs.real_time()
    first, second = needs.two_cpus()[:2]
    path = '"place.server.threads.connection.class"'
    records = run(
        lab,
        f'[place.server]\ncpus = "{second}"\n'
        f'[place.server.threads.connection]\ncpus = "{first}"\npriority = 7\n'
        f'[place.neighbour]\ncpus = "{first}"\nshare = 0.1\n'
        f'[factors]\n{path} = ["other", "fifo"]\n' + TWICE.format(f'{path} = "other"'),
    )
    for record in records:
        named = record.probes["settings"]["place.server.threads"]["connection"]
        wanted = {"other": "other", "fifo": "fifo 7"}[str(record.cell[path.strip('"')])]
        assert (named["cpus"], named["class"]) == (str(first), wanted)
        # The others are where the server is, and connections that came later where theirs are.
        found = record.probes["placement"]["server"]
        assert {part.split()[0] for part in found["cpus"].split(", ")} == {str(first), str(second)}
        assert wanted in found["class"]
        assert record.probes["variables_that_differ"]["performance_schema"]["value"] == "ON"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('[place.server]\ncpus = "4000"', "this host has no CPU 4000"),
        ('[place.server]\nclass = "fifo"', "would take all CPUs"),
        ('[place.server]\ncpus = "all"\nclass = "rr"', "would take all CPUs"),
        ("[host]\nswappiness = 1", "Add --touch-host"),
        ('[place.server]\ncpus = "apart"\n[place.client]\ncpus = "0"', "conflicts with place"),
        ('[place.server]\ncpu = "0"', 'Did you mean "cpus"'),
    ],
)
def test_what_cannot_be_had_is_refused_at_once(lab: Lab, more: str, says: str) -> None:
    if "apart" in more:
        needs.two_cpus()
    assert says in refused(lab, more)


def test_a_malloc_that_is_not_there(lab: Lab) -> None:
    from contend.experiment.settings.place import find_library

    for malloc, package in (("jemalloc", "libjemalloc2"), ("tcmalloc", "libtcmalloc-minimal4")):
        if find_library(malloc) is None:
            assert package in refused(lab, f'[place.server]\nmalloc = "{malloc}"')


def test_no_server_but_our_own_is_placed(
    lab: Lab, private_server: Callable[..., PrivateServer], mariadb_binary: ServerBinary
) -> None:
    server = f"socket:{private_server(mariadb_binary).socket}"
    said = refused(lab, "[place.server]\nnice = 5", "--server", server)
    assert "a server that it did not start" in said


@pytest.mark.parametrize(
    ("placed", "says"),
    [
        (Placement(cpus=ALLOWED[:1], scheduler="fifo", priority=10), "RLIMIT_RTPRIO is 0"),
        (Placement(nice=-5), "nice = -5 needs root: RLIMIT_NICE allows 20"),
    ],
)
def test_without_root_and_limits_for_it_it_is_refused(placed: Placement, says: str) -> None:
    """As another user, of whom the kernel refuses it."""
    needs.root("it can become another user")
    needs.two_cpus()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE):
                resource.setrlimit(limit, (0, 0))
            os.setgid(65534)
            os.setuid(65534)
            try:
                place.refuse_placement(placed, "place.server", {"host.rt_runtime_us": None})
            except RequestError as error:
                code = 0 if says in error.message and error.hint else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


BUSY = Path("/proc/sys/net/core/busy_read")


def test_what_is_killed_leaves_a_note_and_restore_puts_it_back(lab: Lab) -> None:
    """On the host itself: microseconds that a read of a network card may spin, of which there is
    none here."""
    needs.writable(BUSY)
    before = BUSY.read_text()
    lab.file.write_text(SMALL.format(more=f"[host]\nbusy_read = {int(before) + 1}\n"))
    with lab.start(*lab.arguments("--touch-host")) as process:
        try:
            wait_for(lambda: BUSY.read_text() != before or process.poll() is not None)
        finally:
            process.kill()
            _, said = process.communicate()
    try:
        assert BUSY.read_text() != before, said
        done = lab.contend("restore", "host")
        now = BUSY.read_text()
    finally:
        BUSY.write_text(before)
    assert now == before, done.stderr
    assert "/proc/sys/net/core/busy_read = 0" in done.stdout


POLL = BUSY.with_name("busy_poll")


def test_levels_of_the_host_are_runs_and_it_is_put_back(lab: Lab) -> None:
    needs.writable(POLL)
    before = POLL.read_text()
    path = '"host.busy_poll"'
    records = run(
        lab,
        f'[host]\npage_cache = "dropped"\n[factors]\n{path} = [0, 1]\n'
        + TWICE.format(f"{path} = 0"),
        "--touch-host",
    )
    assert {"place" in record.probes for record in records} == {False}
    assert {record.probes["settings"]["host.page_cache"] for record in records} == {"dropped"}
    assert POLL.read_text() == before
