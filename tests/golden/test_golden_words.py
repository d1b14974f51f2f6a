"""The sentences of each built-in recipe for its first level: better, with its price in the other
metrics, and worse.

The findings are made up: 21 % ±5 better from the second column on, inconclusive at the first; and
8 % ±2 worse in all of them. Read your changes aloud.
"""

from __future__ import annotations

from collections.abc import Iterator

from made_up_findings import compared_of
from transcripts import check

from contend.experiment import Experiment, load_experiment, recipes, roles_of
from contend.metrics import metric_of
from contend.report.answer import price_of
from contend.report.sentence import claim_sentence
from contend.sections.naming import naming_of


def sentences_of(experiment: Experiment) -> Iterator[str]:
    roles = roles_of(experiment)
    naming = naming_of(experiment)
    columns = len(roles.column_levels)
    first, *others = map(metric_of, experiment.compare.metric)
    level = roles.others[0]
    at = {"first": "inconclusive", "rest": "better"} if columns > 1 else {"rest": "better"}
    yield claim_sentence(naming, compared_of(experiment, first, level, 1.21, **at), level)
    for metric in others:
        compared = compared_of(experiment, metric, level, 1.08, first="worse", rest="worse")
        yield f"  {price_of([compared], 'better', level)}"
    compared = compared_of(experiment, first, level, 1.08, first="worse", rest="worse")
    yield claim_sentence(naming, compared, level)


def test_words_of_each_recipe() -> None:
    lines = []
    for name in recipes():
        experiment = load_experiment(name)
        if experiment.compared is not None:
            lines += [f"{name}: {experiment.question}", *sentences_of(experiment), ""]
    check("words", "\n".join(lines))
