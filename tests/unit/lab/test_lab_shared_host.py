"""The host as a session changes it: on made-up trees of /proc and /sys, killed at every line, and
once on the host itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import needs
import pytest
from killed import in_a_process_of_its_own
from lab_fakes import experiment

from contend.errors import RequestError
from contend.experiment import Experiment, cell_spec, cell_specs
from contend.experiment.settings import launch_of
from contend.host.tree import Tree
from contend.lab.shared_host import SharedHost
from contend.servers.undo import HostRefused, Journal, change_file, this_host

CPUS = 2

FILES = {
    "sys/block/vda/queue/scheduler": "none [mq-deadline] kyber bfq",
    "sys/block/vda/queue/read_ahead_kb": "8192",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/devices/system/cpu/smt/control": "on",
    "sys/devices/system/cpu/cpufreq/boost": "1",
    "sys/fs/cgroup/cpuset/box/cpuset.cpus": "0-1",
    "sys/fs/cgroup/cpu/cpu.rt_runtime_us": "0",
    "sys/fs/cgroup/cpu/cpu.shares": "1024",
    "proc/self/cgroup": "1:cpu:/",
    "proc/sys/vm/swappiness": "60",
    "proc/sys/vm/zone_reclaim_mode": "0",
    "proc/sys/vm/dirty_ratio": "20",
    "proc/sys/vm/dirty_background_ratio": "10",
    "proc/sys/vm/dirty_bytes": "0",
    "proc/sys/vm/dirty_background_bytes": "0",
    "proc/sys/vm/dirty_expire_centisecs": "3000",
    "proc/sys/vm/dirty_writeback_centisecs": "500",
    "proc/sys/vm/nr_hugepages": "0",
    "proc/sys/vm/drop_caches": "0",
    "proc/sys/kernel/numa_balancing": "1",
    "proc/sys/kernel/sched_autogroup_enabled": "1",
    "proc/sys/net/core/busy_poll": "0",
    "proc/sys/net/core/busy_read": "0",
    "proc/irq/24/smp_affinity_list": "0-1",
    "proc/irq/25/smp_affinity_list": "0",
    **{
        f"sys/devices/system/cpu/cpu{cpu}/{path}": text
        for cpu in range(CPUS)
        for path, text in {
            "cpufreq/scaling_governor": "powersave",
            "cpufreq/scaling_available_governors": "performance powersave",
            "cpuidle/state0/latency": "0",
            "cpuidle/state0/disable": "0",
            "cpuidle/state1/latency": "133",
            "cpuidle/state1/disable": "0",
        }.items()
    },
}

SETTINGS: dict[str, object] = {
    "governor": '"performance"',
    "smt": "false",
    "boost": "false",
    "idle_latency_us": 10,
    "io_scheduler": '"none"',
    "read_ahead_kb": 128,
    "transparent_hugepage": '"never"',
    "huge_pages": 16,
    "swappiness": 1,
    "zone_reclaim_mode": 1,
    "numa_balancing": 0,
    "autogroup": "false",
    "dirty_ratio": 5,
    "dirty_background_ratio": 3,
    "dirty_bytes": 100000000,
    "dirty_background_bytes": 50000000,
    "dirty_expire_centisecs": 100,
    "dirty_writeback_centisecs": 100,
    "busy_poll": 50,
    "busy_read": 50,
    "irq_cpus": '"1"',
    "rt_runtime_us": 950000,
    "page_cache": '"dropped"',
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/254:0").symlink_to(root / "sys/block/vda")
    (root / "proc/self/mountinfo").write_text("1 0 254:0 / / rw,relatime - ext4 /dev/root rw\n")
    return root


MakeHost = Callable[..., SharedHost]


@pytest.fixture
def make(root: Path, tmp_path: Path) -> MakeHost:
    def make(**more: object) -> SharedHost:
        given = {"touch": True, "root": root, "journals": tmp_path / "undo", **more}
        return SharedHost(lambda _event: None, tmp_path, **given)  # type: ignore[arg-type]

    return make


def asking(tmp_path: Path, **settings: object) -> Experiment:
    lines = "\n".join(f"{name} = {value}" for name, value in settings.items())
    return experiment(tmp_path, f"[host]\n{lines}\n")


def bring(host: SharedHost, experiment: Experiment) -> None:
    host.refuse(cell_specs(experiment))
    host.bring(launch_of(cell_spec(experiment, {}).values))


def said(root: Path) -> dict[str, str]:
    """What every file that contend may have written says."""
    tree = Tree(root)
    return {path: (tree.text(path) or "") for path in FILES if "drop_caches" not in path}


def test_every_setting_of_the_host_is_tried_here() -> None:
    from contend.experiment.settings.host import HOST

    assert {setting.key.name for setting in HOST} == SETTINGS.keys()


@pytest.mark.parametrize("name", SETTINGS)
def test_it_is_brought_about_and_put_back(
    root: Path, tmp_path: Path, make: MakeHost, name: str
) -> None:
    before = said(root)
    host = make()
    bring(host, asking(tmp_path, **{name: SETTINGS[name]}))
    if name == "page_cache":
        assert (root / "proc/sys/vm/drop_caches").read_text() == "3"
        assert said(root) == before
    else:
        changed = {path for path, text in said(root).items() if text != before[path]}
        assert changed
    host.close()
    after = said(root)
    for path, text in before.items():
        chosen = text[text.find("[") + 1 : text.find("]")] if "[" in text else text
        assert after[path] in (text, chosen), path
    assert not list((tmp_path / "undo").glob("*.json"))


def test_the_idle_states_that_take_longer_are_off(
    root: Path, tmp_path: Path, make: MakeHost
) -> None:
    bring(make(), asking(tmp_path, idle_latency_us=10))
    states = root / "sys/devices/system/cpu/cpu1/cpuidle"
    assert (states / "state0/disable").read_text() == "0\n"
    assert (states / "state1/disable").read_text() == "1"


KILLED = """
import sys, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from killed import killed_at_every_step
from test_lab_shared_host import SharedHost, asking, said, SETTINGS
from contend.experiment.settings import launch_of
from contend.experiment import cell_spec
from contend.servers.undo import Host, Journal, files, put_back, this_host

def write(path, value):  # As the kernel does: all of it, or nothing.
    new = path.with_name(path.name + ".new")
    new.write_text(value)
    new.replace(path)

files._write = write

def plain(texts):
    return {p: t[t.find("[") + 1 : t.find("]")] if "[" in t else t for p, t in texts.items()}

root, tmp = map(Path, sys.argv[1:3])
memory = Path("/dev/shm")
undo = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else tmp))
before = plain(said(root))
for place, name in enumerate(sorted(SETTINGS.keys() - {"page_cache"})):
    launch = launch_of(cell_spec(asking(tmp, **{name: SETTINGS[name]}), {}).values)

    def work():
        host = SharedHost(lambda event: None, tmp, touch=True, root=root, journals=undo)
        host.bring(launch)
        host.close()

    changed, step = 0, 0
    steps = killed_at_every_step(
        work, ("contend/servers/undo/",), ("call", "return"), first=1 + place % 3, by=3
    )
    for step in steps:
        now = plain(said(root))
        changed += now != before
        with Journal.open(undo, this_host()) as journal:
            put_back(journal, Host(), lambda question: False)
        assert plain(said(root)) == before, (name, step)
    assert step > 30 and changed > 1, (name, step, changed)
    print(name, step, changed)
for file in undo.iterdir():
    file.unlink()
undo.rmdir()
"""


def test_killed_at_steps_of_every_setting_the_host_is_as_before(root: Path, tmp_path: Path) -> None:
    """Nobody is asked: whatever is there then is contend's own. A step is what calls and returns
    in the room of the journal, whose lines have a test of their own. Settings take the same steps,
    so each is killed at a third of them, another third than the one before."""
    out = in_a_process_of_its_own(KILLED, root, tmp_path, Path(__file__).parent)
    assert len(out.splitlines()) == len(SETTINGS) - 1


def test_idle_states_that_are_all_quick_enough_are_on(
    root: Path, tmp_path: Path, make: MakeHost
) -> None:
    state = root / "sys/devices/system/cpu/cpu0/cpuidle/state1/disable"
    state.write_text("1\n")
    bring(make(), asking(tmp_path, idle_latency_us=1000))
    assert state.read_text() == "0"


def test_nothing_is_touched_unless_told(root: Path, tmp_path: Path, make: MakeHost) -> None:
    before = said(root)
    for name, value in (("swappiness", 1), ("page_cache", '"dropped"')):
        with pytest.raises(RequestError, match=rf"host\.{name} changes this host") as refused:
            make(touch=False).refuse(cell_specs(asking(tmp_path, **{name: value})))
        assert refused.value.hint is not None and "--touch-host" in refused.value.hint
    assert said(root) == before


def test_a_server_on_another_host_is_not_touched_by_what_is_done_here(
    tmp_path: Path, make: MakeHost
) -> None:
    with pytest.raises(RequestError, match="on a different host"):
        make(elsewhere=True).refuse(cell_specs(asking(tmp_path, swappiness=1)))


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("governor", '"schedutil"', "It offers performance, powersave."),
        ("io_scheduler", '"deadline"', "It offers none, mq-deadline, kyber, bfq."),
    ],
)
def test_what_is_not_offered_is_refused_before_anything_is_changed(
    root: Path, tmp_path: Path, make: MakeHost, name: str, value: str, hint: str
) -> None:
    before = said(root)
    with pytest.raises(HostRefused, match=rf"host\.{name}: .* does not offer") as refused:
        make().refuse(cell_specs(asking(tmp_path, **{name: value})))
    assert refused.value.hint == hint
    assert said(root) == before


def test_smt_that_the_cpus_do_not_have(root: Path, tmp_path: Path, make: MakeHost) -> None:
    (root / "sys/devices/system/cpu/smt/control").write_text("notsupported\n")
    with pytest.raises(HostRefused, match="does not offer 'off'"):
        make().refuse(cell_specs(asking(tmp_path, smt="false")))


def test_a_host_without_frequencies(root: Path, tmp_path: Path, make: MakeHost) -> None:
    for file in root.glob("sys/devices/system/cpu/cpu*/cpufreq/*"):
        file.unlink()
    (root / "sys/devices/system/cpu/cpufreq/boost").unlink()
    for name in ("governor", "boost"):
        with pytest.raises(HostRefused, match=rf"host\.{name}: this host has no /sys") as refused:
            make().refuse(cell_specs(asking(tmp_path, **{name: SETTINGS[name]})))
        assert refused.value.hint is not None and "virtual machine" in refused.value.hint


def test_intel_has_boost_the_other_way_round(root: Path, tmp_path: Path, make: MakeHost) -> None:
    (root / "sys/devices/system/cpu/cpufreq/boost").unlink()
    no_turbo = root / "sys/devices/system/cpu/intel_pstate/no_turbo"
    no_turbo.parent.mkdir()
    no_turbo.write_text("0\n")
    bring(make(), asking(tmp_path, boost="false"))
    assert no_turbo.read_text() == "1"


def test_data_on_no_disk(root: Path, tmp_path: Path, make: MakeHost) -> None:
    (root / "proc/self/mountinfo").write_text("1 0 0:9 / / rw - overlay overlay rw\n")
    with pytest.raises(RequestError, match=r"host\.io_scheduler: no disk is visible"):
        make().refuse(cell_specs(asking(tmp_path, io_scheduler='"none"')))


def test_a_value_that_the_kernel_rounds_is_said(
    root: Path, tmp_path: Path, make: MakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "contend.servers.undo.files._write",
        lambda path, value: path.write_text(str(int(value) // 4 * 4)),
    )
    host = make()
    bring(host, asking(tmp_path, read_ahead_kb=6))
    (mark,) = host.warnings
    assert mark["code"] == "host-rounded"
    assert "read_ahead_kb: requested 6, " in mark["message"] and "set 4" in mark["message"]
    host.close()
    assert (root / "sys/block/vda/queue/read_ahead_kb").read_text() == "8192"


def test_what_an_earlier_command_left_is_put_back_first(
    root: Path, tmp_path: Path, make: MakeHost
) -> None:
    file = root / "proc/sys/vm/swappiness"
    with Journal.open(tmp_path / "undo", this_host()) as journal:
        change_file(journal, file, "33")
    told: list[object] = []
    host = SharedHost(told.append, tmp_path, touch=True, root=root, journals=tmp_path / "undo")
    bring(host, asking(tmp_path, swappiness=1))
    assert any(f"{file} = 60" in getattr(event, "text", "") for event in told)
    host.close()
    assert file.read_text() == "60"


def test_the_kernel_itself_rounds(tmp_path: Path) -> None:
    """Of a disk that nobody uses."""
    file = Path("/sys/block/loop7/queue/read_ahead_kb")
    needs.writable(file)
    before = file.read_text()
    with Journal.open(tmp_path, this_host()) as journal:
        assert change_file(journal, file, "6") == "4"
        assert journal.undo[0]["ours"] == ["4"]
        from contend.servers.undo import Host, put_back

        put_back(journal, Host())
    assert file.read_text() == before
