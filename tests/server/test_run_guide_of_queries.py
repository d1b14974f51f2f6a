"""docs/guides/your-own-queries.md, command by command, on a shop of our own."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
import shop
from run_lab import Lab, cache_in
from sql import Factory

from contend.servers import ServerBinary

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "your-own-queries.md"
SHORT = ("--for", "10s", "--yes")


@pytest.mark.timeout(1200)
def test_the_guide_leads_from_the_log_to_the_answer(
    load_program: Path,
    private_server: Factory,
    mariadb_binary: ServerBinary,
    mariadb_new_binary: ServerBinary,
    tmp_path: Path,
) -> None:
    del mariadb_new_binary  # the guide's second server, which has to be there
    # The guide's names belong to other tests in the cache that they share.
    lab = Lab(tmp_path, cache_in(tmp_path), load_program, mariadb_binary.name)
    recorded = shop.record(private_server(mariadb_binary), tmp_path, statements=1500, orders=4_000)
    for file in (recorded.dump, recorded.log):
        with file.open("rb") as plain, gzip.open(f"{file}.gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        file.unlink()
    text = GUIDE.read_text(encoding="utf-8")
    (experiment,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "shop-index.toml").write_text(experiment)
    commands = re.findall(r"^\$ contend (.*)$", text, re.MULTILINE)
    assert [one.split()[0] for one in commands] == ["data", "log", "log", "try", "try", "run"]
    outs = []
    for number, command in enumerate(commands):
        words = command.split()
        more: tuple[str, ...] = ()
        if words[0] in ("try", "run"):
            outs.append(f"out-{number}")
            more = (*SHORT, "--out", outs[-1])
        done = lab.contend(*words, *more)
        assert done.returncode == 0, (command, done.stderr)
    for out in outs:
        shown = json.loads(lab.contend("show", out, "--json").stdout)
        (twins,) = shown["twins"]
        assert len(twins["templates"]) > 20 and twins["repeats"] >= 1
        assert all("text" in one and "plan_differs" in one for one in twins["templates"])
