"""Records what doctor reads in guests, as trees in `tests/support/recorded_hosts/`:
`.venv/bin/python tests/support/guest_record.py [NAME…]`. It takes minutes, and mkfs.ext4.

Each guest is set up with some faults first, so that the trees show hosts with them as the kernel
writes them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from guest import EIGHT_NODES, THREADS, TWO_NODES, UNEVEN, Guest, Topology, with_disk
from guest_image import KERNEL, REPOSITORY, kernel, write_image

RECORDED = REPOSITORY / "tests" / "support" / "recorded_hosts"

_THP = "/sys/kernel/mm/transparent_hugepage/enabled"


@dataclass(frozen=True)
class Recording:
    """A guest, how it is set up, and the device that its disk is there."""

    topology: Topology
    writes: Mapping[str, str] = field(default_factory=dict)
    disk: str = "virtio-blk-pci"


RECORDINGS = {
    "guest-two-nodes": Recording(
        TWO_NODES, {_THP: "always", "/proc/sys/kernel/numa_balancing": "1"}
    ),
    "guest-eight-nodes": Recording(
        EIGHT_NODES,
        {
            _THP: "madvise",
            "/proc/sys/kernel/numa_balancing": "0",
            "/proc/sys/vm/zone_reclaim_mode": "1",
            "/proc/sys/vm/swappiness": "1",
            "/sys/block/nvme0n1/queue/scheduler": "none",
        },
        "nvme,serial=guest",
    ),
    "guest-threads": Recording(
        THREADS,
        {
            _THP: "never",
            "/sys/fs/cgroup/cpu,cpuacct/user.slice/session.scope/cpu.cfs_quota_us": "150000",
            "/sys/fs/cgroup/memory/user.slice/session.scope/memory.limit_in_bytes": "134217728",
            "/sys/block/vda/queue/scheduler": "mq-deadline",
            "/sys/block/vda/queue/read_ahead_kb": "4096",
        },
    ),
    "guest-uneven": Recording(UNEVEN, {_THP: "madvise", "/proc/sys/vm/nr_hugepages": "20"}),
}


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        image = write_image(folder / "image.cpio", ("guest_acts", "guest_host", "doctor_record"))
        for name in sys.argv[1:] or RECORDINGS:
            recording = RECORDINGS[name]
            own = folder / name
            own.mkdir()
            guest = Guest(with_disk(recording.topology, own, recording.disk), own, kernel(), image)
            try:
                tree = guest.call("record", writes=dict(recording.writes))
            finally:
                guest.close()
            text = json.dumps(tree, indent=1, ensure_ascii=False)
            (RECORDED / f"{name}.json").write_text(text + "\n", encoding="utf-8")
            print(f"{name}: {len(tree)} files, {len(text)} bytes")
    said = subprocess.run(
        ["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True
    )
    release = (KERNEL / "release").read_text().strip()
    print(f"kernel {release}, {said.stdout.splitlines()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
