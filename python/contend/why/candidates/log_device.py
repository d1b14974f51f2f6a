"""The device of the redo log is slow, however seldom it is asked to flush.

MariaDB maps a log that is in /dev/shm into its memory and neither writes nor flushes it: the calls
for both go with the device."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NO_DATABASE, NOT_OURS, STARTED, is_database
from contend.why.candidates.log_flush import FLUSHES

_FOLDER = "server.redo_log_folder"
_IN_MEMORY = "/dev/shm"


def _propose(pair: Pair) -> Proposal | str:
    if not is_database(pair):
        return NO_DATABASE
    if not pair.own:
        return NOT_OURS
    if pair.cells["slower"].values.get(_FOLDER) == _IN_MEMORY:
        return "the log is in memory as it is"
    if not pair.host.files_in_memory:
        return f"{_IN_MEMORY} has no room for two logs"
    in_memory = Treatment("the log in memory", {_FOLDER: _IN_MEMORY})
    return Proposal(doses=(in_memory,), placebo=STARTED, least=0.5)


CANDIDATE = Candidate(
    name="log-device",
    title="commits wait for the device that the redo log is on",
    limit="transactions a second: as many groups of commits as that device takes",
    signature=(Sign(FLUSHES, "slower", least=0.01),),
    propose=_propose,
    refuted_by="a difference that stays if the log is on no device",
)
