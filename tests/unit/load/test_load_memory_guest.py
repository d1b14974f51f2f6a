"""Memory of two nodes in a guest: contend-load places it, and the kernel there says that it did.
QEMU emulates the guest, so its figures mean nothing."""

from __future__ import annotations

from pathlib import Path

from guest import Guest, GuestNode, Topology
from guest_image import kernel, write_image

NODES = Topology((GuestNode(2, 512), GuestNode(2, 512)))


def test_memory_of_each_of_two_nodes_is_read_from_both(tmp_path: Path, load_program: Path) -> None:
    of_kernel = kernel()
    image = write_image(tmp_path / "image.cpio", programs=(load_program,))
    guest = Guest(NODES, tmp_path, of_kernel, image)
    try:
        found = guest.call("nodes_of_memory", program=str(load_program))
    finally:
        guest.close()
    assert [(one["no_cpus"], one["no_memory"]) for one in found["nodes"]] == [(None, None)] * 2
    pairs = {(one["cpus_of"], one["memory_of"]) for one in found["pairs"]}
    assert pairs == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert all(one["bandwidth_gb_s"] > 0 for one in found["pairs"])
