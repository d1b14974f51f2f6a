"""What is hidden in the comments of an experiment file, and that nothing else is touched; where a
value says a password."""

from __future__ import annotations

import tomllib

import pytest

from contend.experiment import hide_in_comments, place_of_secret

TEXT = '''\
# The server wants s3cret.
[experiment]
name = "tiny#s3cret" # s3cret, s3cret-too
question = """
# s3cret is no comment here
"""   # "s3cret"
note = 'it # s3cret'
'''


def test_comments_lose_it_and_values_keep_it() -> None:
    hidden = hide_in_comments(TEXT, ["s3cret", "s3cret-too"])
    assert tomllib.loads(hidden) == tomllib.loads(TEXT)
    assert hidden.splitlines() == [
        "# The server wants ***.",
        "[experiment]",
        'name = "tiny#s3cret" # ***, ***',
        'question = """',
        "# s3cret is no comment here",
        '"""   # "***"',
        "note = 'it # s3cret'",
    ]


@pytest.mark.parametrize("secrets", [[], [""], ["elsewhere"]])
def test_where_there_is_none_the_text_stays(secrets: list[str]) -> None:
    assert hide_in_comments(TEXT, secrets) == TEXT


def test_any_sign_may_be_in_a_password() -> None:
    assert hide_in_comments("# it is (a|b)*[", ["(a|b)*["]) == "# it is ***"


def test_what_looks_like_a_password_is_hidden_in_comments_alone() -> None:
    text = """\
[workload]  # asked on mysql://root:hunter2@db.example/test, once mysql://app:hun/ter2@db
# password = "hunter2", secret: 'hunter2'
text = "SELECT 1 HAVING password = 'hunter2' AND url <> 'mysql://a:hunter2@one'"
"""
    hidden = hide_in_comments(text, [])
    assert tomllib.loads(hidden) == tomllib.loads(text)
    first, second, _ = hidden.splitlines()
    assert "//root:***@db.example/test, " in first and first.endswith("//app:***@db")
    assert second == "# password = \"***\", secret: '***'"


SAID = """\
# x1, mariadb
[server]
kind = "mariadb"
options = { init_connect = "SET @x12 = 1" }
[workload]
kind = "sql"
text = '''
@a
SELECT 'x1';
'''
[factors]
"server.options.report_password" = ["", "two words"]
"data.engine" = ["InnoDB", "MyISAM"]
[quick]
"server.options.x" = "in-quick"
"""


@pytest.mark.parametrize(
    ("secret", "place"),
    [
        ("x1", "workload.text (line 7)"),
        ("x12", "server.options.init_connect (line 4)"),
        ("two words", "factors.server.options.report_password.1 (line 12)"),
        ("in-quick", "quick.server.options.x (line 15)"),
        # Not a whole word, in no value, or one of contend's own words.
        *((secret, None) for secret in ("x", "SELEC", "", "mariadb", "MyISAM", "elsewhere")),
    ],
)
def test_where_a_value_says_a_password(secret: str, place: str | None) -> None:
    assert place_of_secret(SAID, [secret]) == place
