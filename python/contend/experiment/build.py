"""Builds a validated Experiment from the raw tables of a document."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from contend.errors import did_you_mean
from contend.experiment.build_goal import make_open, read_goal
from contend.experiment.build_metrics import check_metrics, check_shares
from contend.experiment.build_screen import read_screen
from contend.experiment.build_workload import (
    Levels,
    check_script,
    kinds_of,
    read_tagged,
    with_data_of_schema,
    with_data_of_script,
)
from contend.experiment.document import Document
from contend.experiment.for_report import read_published, read_words
from contend.experiment.gate import limits_of, rate_of
from contend.experiment.keys import (
    PLAIN_TABLES,
    PathTarget,
    factor_paths,
    known_paths,
    names_by_table,
    top_level,
)
from contend.experiment.model import (
    CellSpec,
    CompareSpec,
    Experiment,
    Factor,
    GoalSpec,
    PredictSpec,
    same_level,
)
from contend.experiment.order import CellError, cell_spec, each_combination
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.equal_load import ALONE, EQUAL, RATE
from contend.experiment.settings.model import Setting
from contend.experiment.settings.tables import Tagged
from contend.experiment.settings.values import (
    AnyLevel,
    Level,
    Refused,
    attribute_name,
    level_word,
    shown,
)

_CHECKED_MAX = 10_000
"""Cells checked when a file is read: an experiment too large to run need not take minutes."""

_SUBTABLES = {"compare": ("baseline",)}

_GATE = ("compare", "fail_if_slower")


def build(document: Document, *, variant: str, overrides: tuple[str, ...]) -> Experiment:
    """The experiment in `document`; raises SpecError at the first fault."""
    _check_top_level(document)
    about = _fixed(document, "experiment")
    for section, names in names_by_table().items():
        document.only(tuple(section.split(".")), names)
    factors = _factors(document)
    levels = {factor.path: factor.levels for factor in factors}
    goal = read_goal(document, _fixed(document, "goal"), levels)
    predict = _fixed(document, "predict")
    values = {setting.path: _value(document, setting, levels) for setting in SETTINGS}
    if goal is not None:
        make_open(document, goal, values, levels)
    check_script(document, values, levels)
    values = with_data_of_script(document, values, levels)
    values = with_data_of_schema(document, values, levels)
    _refuse_idle(document, values, levels)
    compare = _compare(document, factors, str(values["workload"]["kind"]), goal)
    screened, all_old = read_screen(document, values, levels)
    if screened:
        factors, compare = screened, replace(compare, baseline=all_old)
    experiment = Experiment(
        name=about["name"] or _name_of_file(document.file),
        question=about["question"],
        base=CellSpec(values),
        factors=factors,
        compare=compare,
        published=read_published(document),
        words=read_words(document),
        explain=about["explain"],
        why=about["why"],
        goal=goal,
        predict=PredictSpec(**{key: tuple(each) for key, each in predict.items()}),
        variant=variant,
        source=document.text,
        overrides=overrides,
    )
    _check_compare(document, experiment)
    _check_cells(document, experiment)
    return experiment


GATE_TIME_S = 600.0
"""Maximum time of a gate, if the file gives none."""


def _compare(
    document: Document, factors: tuple[Factor, ...], kind: str, goal: GoalSpec | None
) -> CompareSpec:
    values = _fixed(document, "compare")
    rate = rate_of(kinds_of(kind, {factor.path: factor.levels for factor in factors}))
    if values["metric"] is None:
        values["metric"] = (rate,)
    if goal is not None:
        values["metric"] = tuple(dict.fromkeys((goal.metric, *values["metric"])))
    values["adjust"] = tuple(values["adjust"])
    if (limits := values["fail_if_slower"]) is not None:
        try:
            limits = limits_of(limits, values["metric"][0], rate)
        except Refused as refused:
            document.refuse_value(_GATE, refused)
        values["fail_if_slower"] = limits
        values["metric"] = tuple(dict.fromkeys((*values["metric"], *limits)))
    compare = CompareSpec(**values, baseline=_baseline(document, factors))
    if limits is None:
        return compare
    limit = min(limits.values())
    if compare.margin > limit:
        if "margin" in document.table(("compare",)):
            document.refuse(
                ("compare", "margin"),
                f"compare.margin is {compare.margin:g}, but compare.fail_if_slower {limit:g}: a "
                "gate cannot fail within the margin",
                hint="Lower compare.margin, or leave it out.",
            )
        compare = replace(compare, margin=limit)
    is_open = compare.until is not None or compare.at_most_s is not None
    return compare if is_open else replace(compare, at_most_s=GATE_TIME_S)


def _check_compare(document: Document, experiment: Experiment) -> None:
    """Refuse options of comparing if nothing is compared."""
    compare = experiment.compare
    options = {
        "by": compare.by == "slices",
        "until": compare.until,
        "layout": compare.layout,
        "fail_if_slower": compare.fail_if_slower,
    }
    for name, wanted in options.items():
        if wanted and not compare.baseline:
            document.refuse(
                ("compare", name),
                f"compare.{name} needs a baseline to compare with",
                hint="Give [compare] a baseline: one level of a factor.",
            )
    if not compare.baseline and experiment.base[RATE] == EQUAL:
        document.refuse(
            ("load", "rate"),
            f'{RATE} = "{EQUAL}" needs a baseline: it offers two levels the same load',
            hint="Give [compare] a baseline: one level of a factor.",
        )
    if not compare.baseline and experiment.base[ALONE]:
        document.refuse(
            ("load", "alone"),
            f"{ALONE} = true needs a baseline: it compares two levels kind by kind",
            hint="Give [compare] a baseline: one level of a factor.",
        )
    if compare.layout is not None and compare.by == "runs":
        document.refuse(
            ("compare", "layout"), 'compare.layout needs slices, but compare.by is "runs"'
        )


def _check_top_level(document: Document) -> None:
    alone = {setting.path for setting in SETTINGS if not setting.section}
    for name, value in document.tree.items():
        if name not in top_level():
            paths = [path for path in known_paths() if path.endswith(f".{name}")]
            close = f'Did you mean "{paths[0]}"?' if paths else did_you_mean(name, top_level())
            document.refuse((name,), f'unknown table or key "{name}"', hint=close)
        if not isinstance(value, dict) and name not in alone:
            document.refuse((name,), f"[{name}] must be a table, not {shown(value)}")


def _fixed(document: Document, section: str) -> dict[str, Any]:
    """The values of a table without settings: the given ones, and defaults for the rest."""
    keys = {key.name: key for key in PLAIN_TABLES[section]}
    table = document.table((section,))
    document.only((section,), (*keys, *_SUBTABLES.get(section, ())))
    return {
        attribute_name(key): document.read((section, name), key, table[name])
        if name in table
        else key.default
        for name, key in keys.items()
    }


def _value(document: Document, setting: Setting, levels: Levels) -> Any:
    """The value of a setting in the base: the given one, or its default."""
    key, table = setting.key, document.table(setting.steps[:-1])
    if isinstance(key.kind, Tagged):
        return read_tagged(document, key, setting.steps, levels)
    if key.name not in table:
        return key.default
    return document.read(setting.steps, key, table[key.name])


def _refuse_idle(document: Document, values: dict[str, Any], levels: Levels) -> None:
    """A factor that a different setting overrides would compare a cell with itself."""
    for setting in SETTINGS:
        if values[setting.path] is None and setting.path not in levels:
            continue
        for path in levels.keys() & set(setting.decides):
            sentence = f'factor "{path}" has no effect: {setting.path} overrides it'
            document.refuse(("factors", path), sentence)


def _check_cells(document: Document, experiment: Experiment) -> None:
    """Refuse values that are impossible on any server, in every cell."""
    cells: list[CellSpec] = []
    for cell in itertools.islice(each_combination(experiment.factors), _CHECKED_MAX):
        try:
            spec = cell_spec(experiment, cell)
        except CellError as error:
            document.refuse(("factors", error.path), error.sentence, hint=error.hint)
        for setting in SETTINGS:
            try:
                setting.check(spec.values)
            except Refused as refused:
                varied = [path for path in cell if path.startswith(setting.path)]
                place = ("factors", varied[0]) if varied else setting.steps
                sentence = refused.reason if refused.whole else f"{setting.path} {refused.reason}"
                document.refuse(place, sentence, hint=refused.hint)
        cells.append(spec)
    check_shares(document, cells)
    check_metrics(document, experiment, cells)


def _factors(document: Document) -> tuple[Factor, ...]:
    factors: dict[str, Factor] = {}
    for path, value in document.table(("factors",)).items():
        target = _factor_target(document, path, value)
        if target.path in factors:
            document.refuse(("factors", path), f'factor "{target.path}" is given twice')
        factors[target.path] = Factor(target.path, _levels(document, path, target, value))
    return tuple(factors.values())


def _factor_target(document: Document, path: str, value: object) -> PathTarget:
    place = ("factors", path)
    if isinstance(value, dict):
        inner = next(iter(value), "…")
        document.refuse(
            place,
            f'the path of factor "{path}.{inner}" must be in quotes',
            hint=f'Write "{path}.{inner}" = […].',
        )
    target = document.target(place, path, "factor ")
    if not target.can_vary:
        hint = did_you_mean(path, factor_paths())
        document.refuse(place, f'"{path}" cannot be a factor: no cell depends on it', hint=hint)
    return target


def _levels(document: Document, path: str, target: PathTarget, value: object) -> tuple[Level, ...]:
    place = ("factors", path)
    if not isinstance(value, list):
        document.refuse(
            place,
            f'factor "{path}" must be a list of levels, not {shown(value)}',
            hint=f"Write [{shown(value)}, …], or set {target.path} itself.",
        )
    if not value:
        document.refuse(place, f'factor "{path}" has no levels', hint="Give at least one level.")
    levels: list[Level] = []
    read: list[object] = []
    for index, level in enumerate(value):
        try:
            scalar = AnyLevel().read(level)
            meant = target.key.level.read(scalar)
        except Refused as refused:
            sentence = f'level {shown(level)} of factor "{path}" {refused.reason}'
            document.refuse((*place, index), sentence, hint=refused.hint)
        # A switch may be written in two ways.
        meant = level_word(meant) if isinstance(meant, bool) else meant
        if any(same_level(meant, earlier) for earlier in read):
            document.refuse((*place, index), f'factor "{path}" has level {shown(level)} twice')
        levels.append(scalar)
        read.append(meant)
    return tuple(levels)


def _baseline(document: Document, factors: tuple[Factor, ...]) -> dict[str, Level]:
    place = ("compare", "baseline")
    table = document.table(place)
    if not table:
        return {}
    if len(table) > 1:
        document.refuse(
            place,
            f"compare.baseline must name one factor, not {len(table)}",
            hint="It is compared at every combination of the other factors.",
        )
    ((path, value),) = table.items()
    if isinstance(value, dict):
        inner = next(iter(value), "…")
        document.refuse(
            (*place, path),
            "the path in compare.baseline must be in quotes",
            hint=f'Write baseline = {{ "{path}.{inner}" = … }}.',
        )
    known = {factor.path: factor for factor in factors}
    target = document.target((*place, path), path, "compare.baseline: ", known)
    factor = known.get(target.path)
    if factor is None:
        document.refuse(
            (*place, path),
            f'compare.baseline names "{path}", which is not a factor',
            hint="Give it levels in [factors]"
            + (f", or compare {', '.join(known)}." if known else "."),
        )
    return {target.path: _baseline_level(document, (*place, path), target, factor, value)}


def _baseline_level(
    document: Document, place: tuple[str, ...], target: PathTarget, factor: Factor, value: object
) -> Level:
    try:
        meant = target.key.kind.read(value)
    except Refused as refused:
        sentence = f'the baseline of "{factor.path}" {refused.reason}'
        document.refuse(place, sentence, hint=refused.hint)
    same = [x for x in factor.levels if same_level(target.key.kind.read(x), meant)]
    if not same:
        levels = ", ".join(shown(level) for level in factor.levels)
        sentence = f'the baseline {shown(value)} is not a level of "{factor.path}"'
        document.refuse(place, sentence, hint=f"Its levels are {levels}.")
    if len(factor.levels) == 1:
        sentence = f'nothing to compare: "{factor.path}" has only the baseline as a level'
        document.refuse(place, sentence, hint="Give it a second level.")
    return same[0]


def _name_of_file(file: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(file).stem).lstrip("._-")
    return name or "experiment"
