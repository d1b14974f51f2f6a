"""What contend may do to a server and to files: each line of the guide has its tests."""

from __future__ import annotations

import re

import pytest
from tree import ROOT

GUIDE = ROOT / "docs/guides/servers.md"
HEADING = "## What contend may do to a server and to files"

PROMISES: dict[str, list[str]] = {
    "It creates only tables that it names.": [
        "tests/server/test_run_existing.py::test_nothing_is_loaded_unless_somebody_agrees",
        "tests/unit/data/test_dataset_existing.py::test_a_new_table_is_asked_for_made_and_marked",
    ],
    "It touches no table, view, routine or schema that it did not create.": [
        "tests/server/test_run_existing.py::test_a_table_of_theirs_is_refused_and_not_touched",
        "tests/server/test_fill_datasets.py::test_a_table_made_after_a_broken_load_is_its_maker_s",
        "tests/server/test_fill_datasets.py::test_a_view_of_theirs_is_not_replaced",
        "tests/unit/data/test_dataset_existing.py::test_a_copy_and_another_case_are_somebody_s",
        "tests/server/test_server_mysqlslap_live.py::test_a_schema_without_tables_is_somebodys_too",
    ],
    "It measures only completely loaded tables.": [
        "tests/server/test_interruptions.py::test_a_load_of_the_lab",
        "tests/server/test_interruptions.py::test_a_load_of_contend_load_alone",
        "tests/server/test_run_existing.py"
        "::test_a_table_that_is_replaced_in_the_middle_is_noticed_and_left_alone",
    ],
    "It asks before a script may write to your tables, and before it drops its own.": [
        "tests/server/test_run_existing.py"
        "::test_a_script_that_writes_asks_for_the_tables_that_are_theirs",
        "tests/unit/data/test_dataset_existing.py::test_nothing_is_dropped_after_a_refusal",
    ],
    "It restores every variable and file that it changed.": [
        "tests/server/test_interruptions_of_changes.py::test_all_is_as_it_was",
        "tests/server/test_interruptions_of_changes.py"
        "::test_three_stops_in_a_moment_leave_nothing_changed",
    ],
    "One contend at a time changes a server.": [
        "tests/server/test_interruptions_of_changes.py"
        "::test_of_two_runs_by_two_names_the_second_is_refused",
        "tests/server/test_interruptions_of_changes.py"
        "::test_every_command_that_changes_something_is_refused",
        "tests/server/test_servers_hold_live.py"
        "::test_it_is_one_server_by_every_name_and_locked_by_one",
    ],
    "A dump stays in its database.": [
        "tests/server/test_dump_confined.py::test_no_trick_reaches_out_of_the_server",
        "tests/server/test_dump_confined.py::test_no_mutant_of_a_trick_does",
        "tests/server/test_dump_confined.py::test_the_account_has_its_database_and_nothing_else",
    ],
    "A password reaches only the server that you named.": [
        "tests/server/test_hostile.py::test_every_answer_is_met_with_words",
        "tests/server/test_run_existing.py::test_the_password_is_in_no_file_and_no_process_list",
        "tests/server/test_server_mysqlslap_live.py::test_the_password_is_hidden_at_once",
        "tests/unit/cli/test_cli_secrets.py::test_no_password_stays_in_the_process_list",
        "tests/unit/cli/test_cli_main.py::test_secrets_of_a_refused_line_are_hidden",
    ],
    "A hostile server or script ends one command.": [
        "tests/server/test_hostile.py::test_every_command_ends_in_words",
        "tests/server/test_hostile.py::test_every_answer_is_met_with_words",
        "tests/server/test_hostile.py::test_what_waits_for_a_server_ends_by_a_signal",
        "tests/unit/cli/test_cli_outside.py::test_a_foreign_run_folder",
        "load/tests/run/broken_scripts.rs::no_script_ends_the_program_by_a_signal",
        "load/crates/sysbench/src/lua/state/tests.rs::whatever_is_broken_of_the_interface_is_an_error_at_most",
    ],
    "It writes only to its own folders and to files that you name.": [
        "tests/unit/store/test_store_broken.py::test_nothing_is_written_through_a_link",
        "tests/unit/store/test_store_broken.py::test_an_output_is_replaced_only_by_a_whole_one",
    ],
}
"""The beginning of a line, and the tests that hold it."""


def test_each_promise_of_the_guide_has_its_tests() -> None:
    section = GUIDE.read_text().partition(HEADING)[2].partition("\n## ")[0]
    assert re.findall(r"(?m)^\d+\. \*\*(.+?)\*\*", section) == list(PROMISES)


@pytest.mark.parametrize("test", sorted({test for tests in PROMISES.values() for test in tests}))
def test_a_test_that_holds_a_promise_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    assert re.search(rf"(?m)^\s*(def|fn) {name}\(", (ROOT / file).read_text())
