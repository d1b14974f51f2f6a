"""Changes of a session to its host: kernel files, the page cache, a neighbour. All servers of a
session share the host, so there is one such object, which reverts its changes at the end.

The state of the host is sampled before and after every block, and kept with the block's runs. A
sample takes some milliseconds outside the measured time. Its result may mark a block, but removes
none.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from contend import host
from contend.errors import ContendError, RequestError, shielded
from contend.experiment import CellSpec
from contend.experiment.settings import launch_of
from contend.experiment.settings.host import refuse_untouched
from contend.experiment.settings.model import HostRequest, Launch
from contend.host.machine import block_device, mount_of
from contend.host.placement.beside import Neighbour, Spin
from contend.host.placement.groups import real_time_file
from contend.host.tree import Tree
from contend.lab.events import Listener, Notice
from contend.load import LoadFailed
from contend.metrics.probed import CpuState, HostState, RunWarning
from contend.metrics.read import NEAR_NS_MAX, distance_ns, name_of
from contend.servers.undo import (
    Host,
    HostRefused,
    Journal,
    change_file,
    default_folder,
    put_back,
    this_host,
)
from contend.servers.undo.files import require
from contend.store import RunRecord
from contend.units import format_duration

_DROP = "proc/sys/vm/drop_caches"
_EVERYTHING = "3"


class SharedHost:
    """Changes are recorded in the host's journal first.

    Args:
        touch: the user allowed it.
        elsewhere: the server is on a different host, so changes to this one do not affect it.
        disk: a folder on the disk that holds the servers' data.
        root: the folder with /proc and /sys.
        journals: the folder of the host's journal.
    """

    def __init__(
        self,
        listen: Listener,
        disk: Path,
        *,
        touch: bool = False,
        elsewhere: bool = False,
        root: Path = Path("/"),
        journals: Path | None = None,
    ) -> None:
        self._listen = listen
        self._disk = disk
        self._touch = touch
        self._elsewhere = elsewhere
        self._root = root
        self._journals = journals
        self._journal: Journal | None = None
        self._spin: Spin | None = None
        self._neighbour: Neighbour | None = None
        self._rounded: dict[str, RunWarning] = {}

    def refuse(self, cells: Iterable[CellSpec]) -> None:
        """Refuse impossible requests before anything is done; raises RequestError."""
        requests: dict[HostRequest, None] = {}
        for cell in cells:
            launch = launch_of(cell.values)
            if not (launch.host or launch.drop_page_cache):
                continue
            if not self._touch:
                refuse_untouched(cell.values)
            if self._elsewhere:
                raise RequestError(
                    "the experiment changes the host, but the server is on a different host",
                    hint="Remove the table [host], or run contend on the server's host.",
                )
            if launch.drop_page_cache:
                requests[HostRequest("host.page_cache", _DROP, "")] = None
            requests |= dict.fromkeys(launch.host)
        for request in requests:
            for file in self._files(request):
                with _of_setting(request):
                    require(file, request.value or None)
        self._require_some(requests)

    def bring(self, launch: Launch) -> None:
        """Change the host as a cell wants it.

        Raises:
            RequestError: the kernel refuses the value.
            ContendError: the journal is locked or cannot be written.
        """
        self._rounded = {}
        for request in launch.host:
            self._change(request)
        if launch.drop_page_cache:
            os.sync()
            (self._root / _DROP).write_text(_EVERYTHING)
        if launch.neighbour != self._spin:
            self._end_neighbour()
            if launch.neighbour is not None:
                self._neighbour = Neighbour(launch.neighbour)
            self._spin = launch.neighbour

    @property
    def neighbours(self) -> tuple[int, ...]:
        """contend's processes that use CPU time during a run; raises WorkError if one ended."""
        if self._neighbour is None:
            return ()
        self._neighbour.check()
        return tuple(self._neighbour.pids)

    @property
    def warnings(self) -> tuple[RunWarning, ...]:
        return tuple(self._rounded.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except ContendError as stuck:
            self._listen(Notice(stuck.in_full))

    def close(self) -> None:
        with shielded():
            self._end()

    def _end(self) -> None:
        self._end_neighbour()
        if self._journal is None:
            return
        reverted: list[str] = []
        try:
            put_back(self._journal, Host(), tell=reverted.append)
        finally:
            self._journal.close()
            self._journal = None
            if reverted:
                self._listen(Notice(f"reverted on {this_host()}: {', '.join(reverted)}"))

    def _end_neighbour(self) -> None:
        if self._neighbour is not None:
            self._neighbour.close()
        self._neighbour = self._spin = None

    def _change(self, request: HostRequest) -> None:
        journal = self._open()
        refused: HostRefused | None = None
        files = self._files(request)
        for file in files:
            others = [path for pattern in request.others for path in self._root.glob(pattern)]
            try:
                with _of_setting(request):
                    now = change_file(journal, file, request.value, others)
            except HostRefused as error:
                if not request.optional:
                    raise
                refused, files = error, [each for each in files if each != file]
                continue
            if now != request.value:
                message = f"{request.path}: requested {request.value}, but the kernel set {now}"
                self._rounded[request.path] = {"code": "host-rounded", "message": message}
        if refused is not None and not files:
            raise refused

    def _open(self) -> Journal:
        if self._journal is None:
            folder = self._journals or default_folder()
            self._journal = Journal.open(folder, this_host())
            if self._journal.undo:
                put_back(self._journal, Host(), tell=self._tell)
        return self._journal

    def _tell(self, change: str) -> None:
        self._listen(Notice(f"reverted after an earlier command: {change}"))

    def _pattern(self, request: HostRequest) -> str:
        pattern = request.files.partition("?")[0]
        return (
            pattern.replace("{disk}", self._disk_name(request)) if "{disk}" in pattern else pattern
        )

    def _files(self, request: HostRequest) -> list[Path]:
        pattern, only = self._pattern(request), request.files.partition("?")[2]
        if "{group}" in pattern:
            file = real_time_file(self._root)
            return [] if file is None else [file]
        return [file for file in sorted(self._root.glob(pattern)) if _is_meant(file, only)]

    def _disk_name(self, request: HostRequest) -> str:
        tree = Tree(self._root)
        mount = mount_of(tree, self._disk)
        device = None if mount is None else block_device(tree, mount)
        if device is None:
            raise RequestError(
                f"{request.path}: no disk is visible below {self._disk}, the folder of the data",
                hint="Remove the setting in a container or on a filesystem in memory.",
            )
        return device

    def _require_some(self, requests: Iterable[HostRequest]) -> None:
        """Each setting needs a file, though not each of its requests does."""
        files: dict[str, int] = {}
        for request in requests:
            files[request.path] = files.get(request.path, 0) + len(self._files(request))
        for request in requests:
            if files[request.path] == 0 or not (request.optional or self._files(request)):
                raise HostRefused(
                    f"{request.path}: this host has no /{self._pattern(request)}",
                    hint="Remove the setting here: a virtual machine has no frequencies or idle "
                    "states, and a kernel may be built without it.",
                )


@contextlib.contextmanager
def _of_setting(request: HostRequest) -> Iterator[None]:
    try:
        yield
    except ContendError as error:
        error.add_place(request.path)
        raise


def _is_meant(file: Path, only: str) -> bool:
    """Whether a file is meant by a condition such as `latency>100`: decided by the file of that
    name in the same folder."""
    for sign in ("<=", ">"):
        name, found, number = only.partition(sign)
        if found:
            text = Tree(file.parent).text(name) or "0"
            value = int(text) if text.isdigit() else 0
            return value <= int(number) if sign == "<=" else value > int(number)
    return True


CALM_LOOKS = 3
"""Consecutive samples with near CPUs that are needed: a host in a bad state has some too."""

LOOK_EVERY_S = 0.5

FAR_SCATTERS = (4, 9)
"""If the CPUs are far apart, slices scatter two to three times as much, and the time to a given
width grows with the square."""

AskCpus = Callable[[bool], CpuState | None]
"""The present distance between the CPUs; True: measure a load from memory too. None if there is no
measurement."""

REFAULTS = "workingset_refault_file"


class HostWatch:
    """The state of the host around the blocks of a session.

    Args:
        patience_s: the total time it waits for near CPUs.
    """

    def __init__(
        self,
        ask: AskCpus = lambda _memory: None,
        patience_s: float = 0.0,
        listen: Listener = lambda _event: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._ask = ask
        self._patience_s = patience_s
        self._listen = listen
        self._clock = clock
        self._sleep = sleep
        self._repeat: int | None = None
        self._memory_ns: float | None = None
        self._before: CpuState | None = None
        self._refaults: int | None = None

    def begin_repeat(self, repeat: int) -> None:
        """Measure a load from memory if the repeat is new. This empties the caches, so it precedes
        the start of the servers."""
        if repeat == self._repeat:
            return
        self._repeat = repeat
        state = self._look(memory=True)
        self._memory_ns = None if state is None else state["memory_ns"]

    def promise(self, *, is_open: bool) -> None:
        """Warn if the CPUs are far apart before contend starts anything. A run that `is_open` goes
        on until its answer is narrow enough, or its time is up."""
        if not self._is_far(state := self._look()):
            return
        assert state is not None
        low, high = FAR_SCATTERS
        expect = (
            f"a run takes {low} to {high} times as long as with near ones, or is less precise"
            if is_open
            else "intervals are two to three times as wide as with near ones"
        )
        waits = "" if self._patience_s else "; compare.wait_for_calm makes a run wait for near CPUs"
        self._listen(
            Notice(
                "the CPUs of this host are far apart now (cache-line round trip "
                f"{distance_ns([state]):.0f} ns). In measurements on other hosts, where servers "
                f"share locks, {expect}{waits}"
            )
        )

    def wait_for_calm(self) -> float:
        """Wait until the CPUs are near one another, or until patience is used up; returns the
        seconds waited."""
        begun_s = self._clock()
        if self._patience_s <= 0 or not self._is_far(self._look()):
            return 0.0
        left = format_duration(self._patience_s)
        self._listen(Notice(f"waiting up to {left} until the CPUs are near each other"))
        near = 0
        while near < CALM_LOOKS and self._clock() < begun_s + self._patience_s:
            self._sleep(LOOK_EVERY_S)
            near = 0 if self._is_far(self._look()) else near + 1
        waited_s = self._clock() - begun_s
        self._patience_s -= waited_s
        if near < CALM_LOOKS:
            self._listen(
                Notice("the CPUs stayed far apart; the run continues, and the report mentions it")
            )
        return waited_s

    @staticmethod
    def _is_far(state: CpuState | None) -> bool:
        """An unknown state is not a reason to wait."""
        ns = None if state is None else distance_ns([state])
        return ns is not None and ns >= NEAR_NS_MAX

    def before(self) -> None:
        self._before = self._look()
        self._refaults = None if self._before is None else _refaults()

    def after(self, records: Sequence[RunRecord]) -> list[RunRecord]:
        """The records of the completed block, with the state of the host around it."""
        before = self._before
        if before is None:
            return list(records)
        refaults, came_back = _refaults(), None
        if refaults is not None and self._refaults is not None:
            came_back = refaults - self._refaults
        after = self._look()
        if after is None:
            return list(records)
        state: HostState = {
            "before": before,
            "after": after,
            "memory_ns": self._memory_ns,
            "refaults": came_back,
        }
        marks = _marks(state)
        return [
            replace(
                record,
                probes={**record.probes, "state": state},
                warnings=[*record.warnings, *marks],
            )
            for record in records
        ]

    def _look(self, *, memory: bool = False) -> CpuState | None:
        try:
            return self._ask(memory)
        except LoadFailed:
            return None  # Measure even if the state is unknown.


def _refaults() -> int | None:
    return host.pressure().vm.get(REFAULTS)


def _marks(state: HostState) -> list[RunWarning]:
    if name_of(state) != "changed":
        return []
    before, after = (distance_ns([state[when]]) for when in ("before", "after"))
    return [
        {
            "code": "cpus-moved",
            "message": "the host moved its CPUs during the measurement: the cache-line round trip "
            f"took {before:.0f} ns before and {after:.0f} ns after",
        }
    ]
