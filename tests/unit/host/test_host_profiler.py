"""What perf says is read into stacks, and a process of ours is sampled by it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from needs import profiler_works

from contend.errors import WorkError
from contend.host import profiler
from contend.host.profiler import OTHERS, Profiler, folded, kept, why_no_profiler, without_arguments

SAMPLES = """mariadbd
\t          5a1b2c row_search_mvcc(unsigned char*, page_cur_mode_t) (/usr/sbin/mariadbd)
\t          5a1b2d ha_innobase::index_read(unsigned char*) (/usr/sbin/mariadbd)
\t          77ffff start_thread (/usr/lib/libc.so.6)

mariadbd
\tffffffff811234 futex_wait ([kernel.kallsyms])
\t          5a1b2c [unknown] (/usr/sbin/mariadbd)

mariadbd
\t               0 [unknown] ([unknown])

mariadbd
\t          5a1b2c row_search_mvcc(unsigned char*, page_cur_mode_t) (/usr/sbin/mariadbd)
\t          5a1b2d ha_innobase::index_read(unsigned char*) (/usr/sbin/mariadbd)
\t          77ffff start_thread (/usr/lib/libc.so.6)
"""


def test_samples_become_stacks_from_the_outermost_function() -> None:
    assert folded(SAMPLES) == {
        "start_thread;ha_innobase::index_read;row_search_mvcc": 2,
        "[mariadbd];futex_wait [kernel]": 1,
        "[unknown]": 1,
    }


@pytest.mark.parametrize("text", ["", "\n\n", "mariadbd\n", "perf: nothing\n", "\t\n"])
def test_of_no_samples_there_are_no_stacks(text: str) -> None:
    assert folded(text) == {}


def test_what_is_cut_off_counts_as_far_as_it_goes() -> None:
    cut = SAMPLES[: SAMPLES.rindex("\t          77ffff")]
    assert folded(cut)["ha_innobase::index_read;row_search_mvcc"] == 1


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("trx_t::commit(mtr_t const*)", "trx_t::commit"),
        (
            "std::function<void (int)>::operator()(int) const",
            "std::function<void (int)>::operator()",
        ),
        ("(anonymous namespace)::wait(int)", "{anonymous}::wait"),
        ("std::less<a<b>(c)>::f(int)", "std::less<a<b>(c)>::f"),
    ],
)
def test_a_function_is_called_by_its_name_alone(symbol: str, name: str) -> None:
    assert without_arguments(symbol) == name


def test_the_rare_stacks_lose_their_callers_and_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiler, "STACKS_MAX", 2)
    stacks = Counter({"a;b": 5, "a;c": 4, "a;d;c": 2, "e;c": 1, "f": 1})
    found = kept(stacks)
    assert found == {"a;b": 5, "a;c": 4, f"{OTHERS};c": 3, f"{OTHERS};f": 1}
    assert sum(found.values()) == stacks.total()


def test_why_there_is_no_profiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert "perf is not installed" in str(why_no_profiler())
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/perf")
    monkeypatch.setattr(profiler.os, "geteuid", lambda: 1000)
    for level, refused in (("2", False), ("3", True), ("-1", False)):
        (tmp_path / "paranoid").write_text(level)
        monkeypatch.setattr(profiler, "PARANOID", tmp_path / "paranoid")
        why = why_no_profiler()
        assert (why is not None and "only root" in why) == refused


def test_a_process_is_sampled_with_all_its_threads() -> None:
    profiler_works()
    busy = "import threading as t\ndef f():\n while 1: sum(range(999))\n"
    busy += "t.Thread(target=f).start(); print(flush=True); f()"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            with Profiler(child.pid, 997) as seen:
                time.sleep(1)
        finally:
            child.kill()
    assert sum(seen.stacks.values()) > 5
    assert not any("\n" in stack for stack in seen.stacks)


def test_a_process_that_is_gone_is_an_error() -> None:
    profiler_works()
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    with pytest.raises(WorkError, match="did not start to sample"), Profiler(child.pid, 99):
        pass
