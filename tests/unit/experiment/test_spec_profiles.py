"""Profiles of server options, and imports, as an experiment file says them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contend.errors import RequestError
from contend.experiment import SpecError, cell_specs, from_dict, load_experiment, to_dict
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.model import Launch

PROFILES = """
[server.profiles.own]
[server.profiles.same.any]
innodb-buffer-pool-size = "256M"
max_connections = 200
[server.profiles.same.mysql]
max_connections = 300
[server]
options = { table_open_cache = 100 }
[factors]
"server.profile" = ["own", "same"]
"""


def experiment(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "x.toml"
    file.write_text(text)
    return load_experiment(str(file))


def launched(cell: Any) -> Launch:
    launch = Launch()
    for setting in SETTINGS:
        setting.launch(cell.values, launch)
    return launch


def test_a_server_gets_what_is_for_any_and_for_its_kind(tmp_path: Path) -> None:
    text = PROFILES.replace("[server]\n", "").replace("options = { table_open_cache = 100 }\n", "")
    own, same = map(launched, cell_specs(experiment(tmp_path, text)))
    assert own.options_of("mysql") == {}
    any_kind = {"innodb_buffer_pool_size": "256M", "max_connections": 200}
    assert same.options_of("mariadb") == any_kind
    assert same.options_of("mysql") == {**any_kind, "max_connections": 300}


def test_options_go_before_the_profile(tmp_path: Path) -> None:
    text = PROFILES.replace("table_open_cache = 100", "max_connections = 10")
    _own, same = map(launched, cell_specs(experiment(tmp_path, text)))
    assert same.options_of("mysql")["max_connections"] == 10


def test_profiles_are_stored_with_the_experiment(tmp_path: Path) -> None:
    made = experiment(tmp_path, PROFILES)
    assert from_dict(to_dict(made)) == made


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["own", "same"]', '["own", "sane"]', r'unknown profile "sane"'),
        ("same.mysql", "same.mysqll", r'unknown kind of server "mysqll"'),
        ("max_connections = 300", "innodb_page_size = 8192", "innodb_page_size decides the layout"),
        ("max_connections = 300", '"max conn" = 1', '"max conn" is not the name'),
        ("[server.profiles.own]", '[server.profiles."o w n"]', '"o w n" is not the name of a prof'),
    ],
)
def test_what_no_profile_can_be_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in PROFILES
    with pytest.raises(SpecError, match=words) as refused:
        experiment(tmp_path, PROFILES.replace(old, new))
    assert "x.toml:" in refused.value.message


def test_a_server_that_is_not_ours_is_started_with_no_profile(tmp_path: Path) -> None:
    _own, same = cell_specs(experiment(tmp_path, PROFILES))
    with pytest.raises(RequestError, match="needs private servers"):
        for setting in SETTINGS:
            setting.refuse(same.values, own=False)


SQL = '[workload]\nkind = "sql"\ntext = "SELECT 1;"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[data]\nschema = "import:"\n', "must be"),
        ('[data]\nschema = "import:a b"\n', "must be"),
        ('[data]\nschema = "import:shop"\n', r'"point_select" queries the tables of sbtest'),
        (f'[data]\nschema = "import:shop"\nrows = 5\n{SQL}', "data.rows has no effect"),
        (f'[data]\nschema = "import:shop"\nengine = "Aria"\n{SQL}', "data.engine has no effect"),
        (
            f'[data]\nschema = "import:shop"\n{SQL}[factors]\n"data.seed" = [1, 2]\n',
            "data.seed has no effect",
        ),
    ],
)
def test_what_says_nothing_of_an_import_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as refused:
        experiment(tmp_path, text)
    assert "x.toml:" in refused.value.message


def test_imports_can_be_compared(tmp_path: Path) -> None:
    made = experiment(
        tmp_path, f'[factors]\n"data.schema" = ["import:shop", "import:shop-myisam"]\n{SQL}'
    )
    assert [cell.data.schema for cell in cell_specs(made)] == ["import:shop", "import:shop-myisam"]
    assert all(cell.data.table_names == () for cell in cell_specs(made))


def test_an_import_is_for_private_servers(tmp_path: Path) -> None:
    (cell,) = cell_specs(experiment(tmp_path, f'[data]\nschema = "import:shop"\n{SQL}'))
    with pytest.raises(RequestError, match="needs a private server"):
        for setting in SETTINGS:
            setting.refuse(cell.values, own=False)


def test_an_option_of_a_profile_can_be_overridden(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(PROFILES)
    made = load_experiment(str(file), sets=["server.profiles.same.mysql.max_connections=7"])
    _own, same = map(launched, cell_specs(made))
    assert same.options_of("mysql")["max_connections"] == 7
