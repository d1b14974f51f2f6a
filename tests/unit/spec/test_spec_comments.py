"""What is hidden in the comments of an experiment file, and that nothing else is touched."""

from __future__ import annotations

import tomllib

import pytest

from contend.spec import hide_in_comments

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
