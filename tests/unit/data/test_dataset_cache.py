"""Kept datasets: keys, manifests, restoring, dropping, and folders whose owner died."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from child_python import import_path

from contend.data import cache as kept
from contend.data.cache import (
    DatasetInUse,
    SnapshotDamaged,
    UnknownDataset,
    dataset_key,
    describe,
    key_inputs,
    workspace,
)
from contend.experiment.model import DataSpec

DATA = DataSpec(engine="MyISAM", rows=1_000_000)


def keep(cache: Path, key: str = "sbtest-myisam-1M-0123456789ab") -> kept.Dataset:
    """Keep a small dataset, as a build does."""
    folder = kept.datasets_root(cache) / key
    (folder / "data" / "sbtest").mkdir(parents=True)
    (folder / "data" / "empty").mkdir()
    (folder / "data" / "ibdata1").write_bytes(b"i" * 5000)
    (folder / "data" / "sbtest" / "sbtest.MYD").write_bytes(b"d" * 3000)
    files = describe(folder / "data", ["ibdata1", "sbtest/sbtest.MYD"])
    loaded = (key, {"rows": 7}, 7, "2026-01-01T00:00:00+00:00", 1.5, ("empty", "sbtest"), files)
    kept.Dataset(folder, *loaded).write()
    dataset = kept.find(cache, key)
    assert dataset is not None
    return dataset


class TestKey:
    def test_the_name_is_readable(self) -> None:
        inputs = key_inputs(DATA, kind="mariadb", version="10.11.19", options={})
        assert dataset_key(inputs).startswith("sbtest-myisam-1M-")

    @pytest.mark.parametrize(
        ("data", "version", "options"),
        [
            pytest.param(replace(DATA, seed=2), "10.11.19", {}, id="seed"),
            pytest.param(replace(DATA, k="random"), "10.11.19", {}, id="k"),
            pytest.param(replace(DATA, table_options="x"), "10.11.19", {}, id="table-options"),
            pytest.param(DATA, "11.8.1", {}, id="version"),
            pytest.param(DATA, "10.11.19", {"innodb-page-size": "8k"}, id="layout"),
        ],
    )
    def test_each_input_makes_another_dataset(
        self, data: DataSpec, version: str, options: dict[str, str]
    ) -> None:
        one = key_inputs(DATA, kind="mariadb", version="10.11.19", options={})
        other = key_inputs(data, kind="mariadb", version=version, options=options)
        assert dataset_key(one) != dataset_key(other)

    def test_options_that_do_not_lay_out_files_share_a_dataset(self) -> None:
        one = key_inputs(DATA, kind="mariadb", version="1.2.3", options={"key_buffer_size": "1G"})
        other = key_inputs(DATA, kind="mariadb", version="1.2.3", options={})
        assert dataset_key(one) == dataset_key(other)


class TestRestore:
    def test_a_restored_folder_is_equal_and_private(self, tmp_path: Path) -> None:
        dataset = keep(tmp_path)
        target = tmp_path / "restored"
        target.mkdir()
        (target / "left.over").write_text("from a server that died")
        done: list[int] = []
        kept.restore(dataset, target, done.append)
        assert (target / "ibdata1").read_bytes() == b"i" * 5000
        assert (target / "sbtest" / "sbtest.MYD").read_bytes() == b"d" * 3000
        assert (target / "empty").is_dir()
        assert not (target / "left.over").exists()
        assert target.stat().st_mode & 0o777 == 0o700
        assert sum(done) == dataset.bytes == 8000

    def test_a_damaged_one_is_refused_and_leaves_nothing(self, tmp_path: Path) -> None:
        dataset = keep(tmp_path)
        (dataset.data / "ibdata1").write_bytes(b"i" * 4999 + b"!")
        with pytest.raises(SnapshotDamaged, match="ibdata1"):
            kept.restore(dataset, tmp_path / "restored")
        assert not (tmp_path / "restored").exists()


class TestManifest:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "{}",
            '{"version": 99}',
            '{"version": 1, "files": [{"path": "a"}], "folders": []}',
            '{"version": 1, "files": [], "folders": [], "surprise": 1}',
        ],
    )
    def test_a_broken_one_is_damage_not_a_crash(self, tmp_path: Path, text: str) -> None:
        dataset = keep(tmp_path)
        (dataset.folder / "manifest.json").write_text(text)
        with pytest.raises(SnapshotDamaged, match=r"manifest\.json"):
            kept.Dataset.read(dataset.folder)
        assert kept.find(tmp_path, dataset.key) is None

    @pytest.mark.parametrize("name", ["/etc/passwd", "../../elsewhere"])
    def test_one_that_points_outside_is_refused(self, tmp_path: Path, name: str) -> None:
        dataset = keep(tmp_path)
        path = dataset.folder / "manifest.json"
        document = json.loads(path.read_text())
        document["files"][0]["path"] = name
        path.write_text(json.dumps(document))
        with pytest.raises(SnapshotDamaged, match="outside"):
            kept.Dataset.read(dataset.folder)

    def test_one_under_another_name_is_not_found(self, tmp_path: Path) -> None:
        dataset = keep(tmp_path)
        dataset.folder.rename(dataset.folder.with_name("other"))
        assert kept.find(tmp_path, "other") is None


class TestListAndDrop:
    def test_none_are_listed_before_the_first(self, tmp_path: Path) -> None:
        assert kept.list_datasets(tmp_path) == []

    def test_kept_ones_are_listed_and_dropped(self, tmp_path: Path) -> None:
        keep(tmp_path, "b")
        keep(tmp_path, "a")
        (kept.datasets_root(tmp_path) / "unfinished").mkdir()
        assert [d.key for d in kept.list_datasets(tmp_path)] == ["a", "b"]
        assert kept.drop(tmp_path, "a") == 8000
        assert [d.key for d in kept.list_datasets(tmp_path)] == ["b"]

    def test_an_unknown_key_names_the_nearest(self, tmp_path: Path) -> None:
        keep(tmp_path, "sbtest-myisam-1M-0123456789ab")
        with pytest.raises(UnknownDataset) as caught:
            kept.drop(tmp_path, "sbtest-myisam-1M-0123456789ac")
        assert "0123456789ab" in (caught.value.hint or "")

    def test_one_in_use_is_not_dropped(self, tmp_path: Path) -> None:
        keep(tmp_path, "a")
        with kept.locked(tmp_path, "a", on_wait=None), pytest.raises(DatasetInUse):
            kept.drop(tmp_path, "a")
        assert kept.find(tmp_path, "a") is not None


def test_a_second_lab_waits_for_the_first(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from contend.data import cache\n"
        f"with cache.locked(Path({str(tmp_path)!r}), 'a', on_wait=None):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | import_path(),
    ) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        waited: list[bool] = []

        def on_wait() -> None:
            waited.append(True)
            holder.stdin.close()  # type: ignore[union-attr]

        with kept.locked(tmp_path, "a", on_wait=on_wait):
            assert waited == [True]


class TestWorkspace:
    def test_it_is_private_and_gone_afterwards(self, tmp_path: Path) -> None:
        with workspace(tmp_path) as folder:
            assert folder.stat().st_mode & 0o777 == 0o700
            (folder / "data").mkdir()
        assert not folder.exists()

    def test_what_a_killed_lab_left_is_removed_by_the_next(self, tmp_path: Path) -> None:
        script = (
            "import os, signal; from pathlib import Path\n"
            "from contend.data.cache import workspace\n"
            f"with workspace(Path({str(tmp_path)!r})) as folder:\n"
            "    print(folder, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        killed = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            check=False,
            env=os.environ | import_path(),
        )
        left = Path(killed.stdout.decode().strip())
        assert left.is_dir()
        with workspace(tmp_path):
            assert not left.exists()

    def test_that_of_a_living_lab_stays(self, tmp_path: Path) -> None:
        with workspace(tmp_path) as one, workspace(tmp_path) as other:
            assert one.is_dir() and other.is_dir()
            assert one != other
            assert [path.name for path in one.iterdir()] == ["lock"]
