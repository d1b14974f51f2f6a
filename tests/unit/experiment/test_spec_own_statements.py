"""The user's own statements, cut out of a script or a list."""

from __future__ import annotations

from contend.experiment.settings.own_statements import OwnStatement, own_statements, share_of

SCRIPT = """-- a comment; with a semicolon
@read weight 9
SELECT c, '{not; one}' /* {n} ; */ FROM t
  WHERE id = {id:zipfian(1, 1_000)} AND k > {id} # ;
;
@move
SET @a = 1;
UPDATE t SET c = {c:text('##;)-@')}, d = {d:choice('x', 2)}, e = '{{' WHERE {{ id = {u};
"""


def test_a_script_is_cut_into_statements_with_examples() -> None:
    read, first, second = own_statements({"kind": "sql", "text": SCRIPT})
    assert (read.event, read.name, read.place) == ("read", "read", "workload.text, line 3")
    begin, end = "SELECT c, '{not; one}' /* {n} ; */ FROM t", "WHERE id = 1 AND k > 1"
    assert [line.strip() for line in read.text.splitlines()] == [begin, end]
    assert (first.event, first.name, first.text) == ("move", "move.1", "SET @a = 1")
    assert second.name == "move.2" and second.place == "workload.text, line 8"
    assert second.text.partition("SET ")[2].split(", ") == [
        *("c = '##;)-@'", "d = 'x'", "e = '{{' WHERE { id = 1"),
    ]


def test_statements_without_names_are_numbered() -> None:
    found = own_statements({"kind": "sql", "text": "SELECT 1;\nSELECT 2;"})
    assert [(one.event, one.name) for one in found] == [
        ("statement_1", "statement_1"),
        ("statement_2", "statement_2"),
    ]
    listed = own_statements({"kind": "list", "statements": ["DO 1", "DO 2"], "names": ["one"]})
    assert listed == (
        OwnStatement("one", "one", "workload.statements, number 1", "DO 1"),
        OwnStatement("statement_2", "statement_2", "workload.statements, number 2", "DO 2"),
    )
    assert own_statements({"kind": "point_select"}) == ()


def test_events_without_a_share_have_the_rest() -> None:
    workload = {"kind": "sql", "text": SCRIPT, "shares": {"read": 100}}
    assert share_of(workload, "read") == 100 and share_of(workload, "move") == 0
    assert share_of({**workload, "shares": {"read": 90}}, "move") is None
