"""The run folders of a history: found, read, put in the order of time.

A folder that is named is read or refused. One that is found inside a named folder is left out if
it cannot be read, or is not of the experiment, and that is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from contend.errors import ContendError, RequestError, WorkError, did_you_mean
from contend.findings import Study, conditions_of, study_of
from contend.runs.host import distance_of, state_of
from contend.runs.model import PastRun
from contend.spec import same_level
from contend.store import RunFolder, find_run

RESULTS = "results.sqlite"


def read_runs(
    names: Sequence[str], experiment: str | None = None, metrics: Sequence[str] = ()
) -> tuple[list[PastRun], list[str]]:
    """The runs, the oldest first, and what was left out.

    Args:
        names: run folders, folders of run folders, or names under ./contend-runs.
        experiment: the name of the one that is wanted, if there are several.

    Raises:
        RequestError: there are fewer than two runs, or they are of different experiments.
        WorkError: there would be two, and nothing was measured in them.
        ContendError: a folder that was named cannot be read.
    """
    found: list[PastRun] = []
    notices: list[str] = []
    others: dict[str, int] = {}
    unmeasured = 0
    for path, named in _folders(names):
        try:
            with RunFolder.open(path) as folder:
                pid = folder.writer_pid()
                if pid is not None:
                    notices.append(f"{path} is left out: a lab writes to it now (pid {pid})")
                    continue
                name = str(folder.meta().experiment.get("name", ""))
                if experiment is not None and name != experiment:
                    others[name] = others.get(name, 0) + 1
                    continue
                study = study_of(folder, metrics, percentiles=False, intervals=False)
        except ContendError as error:
            if named:
                raise
            notices.append(f"{path} is left out: {error.message}")
            continue
        if not study.measured:
            notices.append(f"{path} is left out: nothing in it was measured")
            unmeasured += 1
            continue
        found.append(_past_run(path, study))
    _refuse_several(found)
    _refuse_other_comparisons(found)
    runs = _each_once(sorted(found, key=lambda run: run.began), notices)
    if len(runs) < 2:
        if unmeasured and len(runs) + unmeasured > 1:
            raise WorkError(
                f"a history needs two runs or more, and nothing was measured in {unmeasured} of "
                f"the {len(runs) + unmeasured} here.",
                detail="\n".join(notices),
            )
        raise _too_few(runs, experiment, others, notices)
    for run in runs:
        if not run.study.finished:
            notices.append(
                f"{run.name} was not finished: it has {len(run.study.measured)} of "
                f"{len(run.study.meta.planned)} planned runs"
            )
    return runs, notices


def _folders(names: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """Each folder once, and whether it was named itself."""
    seen: set[Path] = set()
    for name in names:
        given = Path(name)
        inside = [] if (given / RESULTS).is_file() else run_folders_in(given)
        for path in inside or [find_run(name)]:
            if (resolved := path.resolve()) not in seen:
                seen.add(resolved)
                yield path, not inside


def run_folders_in(folder: Path) -> list[Path]:
    """The run folders that lie in a folder, by their names."""
    if not folder.is_dir():
        return []
    return sorted(child for child in folder.iterdir() if (child / RESULTS).is_file())


def _past_run(path: Path, study: Study) -> PastRun:
    return PastRun(
        path=path,
        name=path.resolve().name,
        began=min(record.started_at for record in study.measured),
        study=study,
        conditions=conditions_of(study),
        distance=distance_of(study),
        state=state_of(study),
    )


def _refuse_several(runs: Sequence[PastRun]) -> None:
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.study.experiment.name] = counts.get(run.study.experiment.name, 0) + 1
    if len(counts) > 1:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
        raise RequestError(
            f"these are runs of {len(counts)} experiments: {listed}.",
            hint="A history is of one: name it with --experiment NAME.",
        )


def _refuse_other_comparisons(runs: Sequence[PastRun]) -> None:
    """Runs of one name that compare other things are not runs of one experiment."""
    if not runs:
        return
    first, *later = runs
    for run in later:
        one, other = first.study.roles, run.study.roles
        paths = [role.compared.path if role.compared else "" for role in (one, other)]
        if paths[0] == paths[1] and same_level(one.baseline or "", other.baseline or ""):
            continue
        said = [
            f"{path} with {role.baseline}" if path and role.baseline is not None else "nothing"
            for path, role in zip(paths, (one, other), strict=True)
        ]
        raise RequestError(
            f"{first.name} compares {said[0]}, and {run.name} compares {said[1]}: "
            f"these are two experiments of one name, {run.study.experiment.name}.",
            hint="Name the folders of one of them.",
        )


def _each_once(runs: Sequence[PastRun], notices: list[str]) -> list[PastRun]:
    """Without the copies of a run: what began in the same millisecond and is as long is the
    same."""
    kept: dict[tuple[str, int], PastRun] = {}
    for run in runs:
        key = run.began, len(run.study.measured)
        if key in kept:
            notices.append(f"{run.path} is left out: it is a copy of {kept[key].path}")
        else:
            kept[key] = run
    return list(kept.values())


def _too_few(
    runs: Sequence[PastRun],
    experiment: str | None,
    others: dict[str, int],
    notices: Sequence[str],
) -> RequestError:
    detail = "\n".join(notices) or None
    if runs:
        return RequestError(
            f"a history needs two runs or more, and {runs[0].path} is the only one here.",
            hint="Name further run folders of the same experiment, or the folder they lie in.",
            detail=detail,
        )
    if experiment is not None and others:
        return RequestError(
            f"there is no run of {experiment} here.",
            hint=did_you_mean(experiment, others) or "",
            detail=detail,
        )
    return RequestError(
        "there is no run here that a history can be made of.",
        hint="Name run folders of one experiment, or the folder they lie in.",
        detail=detail,
    )
