"""Names of metrics where a user writes them: `compare.metric`, and `--metric` of a command."""

from __future__ import annotations

from contend.errors import did_you_mean
from contend.metrics import FIXED, Run, UnknownMetric, metric_of, names_in
from contend.settings.values import Refused, shown
from contend.spec.model import SpecError

_OTHERS = r"^(status\..+_per_query|(statement|event)\..+\..+)$"
_SOME = ", ".join(f'"{name}"' for name in ("qps", "response_us_p99", "server_cpu_us_per_query"))


class MetricNames:
    """One metric or several by name, the one that decides first; read as a tuple."""

    def read(self, value: object) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Refused(f"must be {self.words()}, not {shown(value)}", hint=f"Write {_SOME}, …")
        if not names:
            raise Refused("must name at least one metric", hint=f"Write {_SOME}, …")
        for index, name in enumerate(names):
            if name in names[:index]:
                raise Refused(f"names {shown(name)} twice")
            try:
                metric_of(name)
            except UnknownMetric as unknown:
                known = unknown.known
                only = f'Did you mean "{known[0]}"?' if len(known) == 1 else None
                raise Refused(
                    f"names {shown(name)}, which is not a metric",
                    hint=only or did_you_mean(name, known) or f"Some are {_SOME}.",
                ) from None
        return tuple(names)

    def words(self) -> str:
        return "the name of a metric, or a list of names"

    def schema(self) -> dict[str, object]:
        name = {"anyOf": [{"enum": list(FIXED)}, {"type": "string", "pattern": _OTHERS}]}
        names = {"type": "array", "items": name, "minItems": 1, "uniqueItems": True}
        return {"anyOf": [name, names]}


def without_metric(name: str, run: Run) -> SpecError:
    """The error for a metric that is named rightly but that a run does not have."""
    had = names_in(run)
    part = name.partition(".")[0]
    same = [one for one in had if one.partition(".")[0] == part]
    why = {
        "seconds": "It is known of runs that end by their number of events (load.events, times of "
        "a list), not by load.measure.",
        "status": "A counter that did not change in a run is not recorded.",
    }.get(part)
    close = did_you_mean(name, same if "." in name else had)
    fallback = f"This run has {', '.join(had[:8])} and {max(0, len(had) - 8)} more."
    hint = " ".join(filter(None, (why, close))) or fallback
    return SpecError(f"no {name} was recorded", hint=hint)
