"""The first process of a guest: mounts what a host has, loads modules, and calls functions that it
is told by lines of JSON on the second serial port, each in a process of its own.

`guest.json` beside it says where Python's modules are, which modules of the kernel there are, and
which control groups are wanted. A guest that is asked nothing for an hour ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import select
import signal
import sys
import traceback
import tty
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PORT = "/dev/ttyS1"
IDLE_S = 3600
FINIT_MODULE = {"x86_64": 313}
RB_AUTOBOOT = 0x01234567
V1 = ("cpu,cpuacct", "cpuset", "memory", "blkio")
GROUP = "user.slice/session.scope"
"""Where the calls run, as those of a user's session do."""


def mount(kind: str, at: str, options: str = "", device: str | None = None) -> None:
    Path(at).mkdir(parents=True, exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount((device or kind).encode(), at.encode(), kind.encode(), 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} at {at}: {options}")


def load(module: str) -> None:
    """Of the kernel; one that it has built in, or has no device for, is none the worse."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(module).open("rb") as file:
        libc.syscall(FINIT_MODULE[os.uname().machine], file.fileno(), b"", 0)


def control_groups(version: int) -> None:
    """As a system has them whose init is systemd: of the older hierarchy one mount for each
    controller, of the unified one controllers down to the slice of users."""
    base = Path("/sys/fs/cgroup")
    if version == 1:
        mount("tmpfs", str(base))
        for controllers in V1:
            mount("cgroup", str(base / controllers), controllers)
        for controller in ("cpu", "cpuacct"):
            (base / controller).symlink_to("cpu,cpuacct")
    else:
        mount("cgroup2", str(base))
    for path in [base / name for name in V1] if version == 1 else [base]:
        own = path
        for name in ("", *GROUP.split("/")):
            own = own / name
            own.mkdir(exist_ok=True)
            if version == 2 and name != "session.scope":
                (own / "cgroup.subtree_control").write_text("+cpu +cpuset +memory +io")
            if path.name == "cpuset":
                for file in ("cpuset.cpus", "cpuset.mems"):
                    (own / file).write_text((own.parent / file).read_text() if name else "")
        (own / "cgroup.procs").write_text("0")


def call(asked: dict[str, Any]) -> dict[str, Any]:
    """Call `module.function(**arguments)` in a process of its own; what it gave or raised. The
    module is imported here, so that the next one does not have to."""
    try:
        function = getattr(importlib.import_module(asked["module"]), asked["function"])
    except Exception:
        return {"raised": traceback.format_exc()}
    ours, theirs = os.pipe()
    if (child := os.fork()) == 0:
        os.close(ours)
        said: dict[str, Any]
        try:
            os.setsid()
            said = {"gave": function(**asked["arguments"])}
        except BaseException:
            said = {"raised": traceback.format_exc()}
        with os.fdopen(theirs, "w") as pipe:
            json.dump(said, pipe)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    reap()
    return dict(json.loads(text)) if text else {"raised": "it ended without a word"}


def reap() -> None:
    """Orphans are the first process's."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def lines(port: int) -> Iterable[str]:
    rest = b""
    while select.select([port], [], [], IDLE_S)[0]:
        rest += os.read(port, 65536)
        *whole, rest = rest.split(b"\n")
        yield from (line.decode() for line in whole)


def main() -> None:
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("devtmpfs", "/dev")
    # Nothing is mounted there: the project itself may lie below it.
    Path("/tmp").mkdir(exist_ok=True)
    config = json.loads(Path("/guest.json").read_text())
    sys.path[:] = config["path"]
    for module in config["modules"]:
        load(module)
    os.environ.update(PATH="/bin:/usr/bin", HOME="/tmp", TMPDIR="/tmp")
    version = 1 if "contend.cgroup=1" in Path("/proc/cmdline").read_text().split() else 2
    control_groups(version)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    port = os.open(PORT, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(port)
    os.write(port, b"ready\n")
    for line in lines(port):
        answer = json.dumps(call(json.loads(line))).encode() + b"\n"
        while answer:
            answer = answer[os.write(port, answer) :]


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
    finally:
        os.sync()
        ctypes.CDLL(None).reboot(RB_AUTOBOOT)
