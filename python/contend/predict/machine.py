"""A machine as a prediction needs it: its CPUs, and what work costs that goes from one to another.

A description is a TOML file. Every cost has a value, the range in which it may be, and a source.
Values are drawn evenly on a logarithmic scale; from a range that begins at 0, evenly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from contend.errors import RequestError, did_you_mean
from contend.experiment import CPUS_MAX, Document
from contend.experiment.settings.values import Bounded, Choice, Key, Text, WholeNumber

BARGING, BARGING_2010 = "barging", "barging_2010"


@dataclass(frozen=True, slots=True)
class Assumed:
    """A figure that is known only within a range.

    Args:
        low, high: of the range; both are `value` if the figure counts as known.
        source: where they come from.
    """

    value: float
    low: float
    high: float
    source: str = ""

    @classmethod
    def known(cls, value: float, source: str = "") -> Self:
        return cls(value, value, value, source)

    @property
    def is_known(self) -> bool:
        return self.low == self.high

    def at(self, share: float) -> float:
        """The figure at a share of its range, 0 to 1."""
        if self.low <= 0:
            return self.low + share * (self.high - self.low)
        return self.low * math.exp(share * math.log(self.high / self.low))


_NS = Bounded(0.0, 1e9)


@dataclass(frozen=True, slots=True)
class MachineCost:
    """A figure of a machine: how it is called in sentences, and its usual range."""

    kind: Bounded
    usual: Assumed
    words: str


def _cost(words: str, value: float, low: float, high: float, kind: Bounded = _NS) -> MachineCost:
    return MachineCost(kind, Assumed(value, low, high, "usual range of servers"), words)


COSTS: Mapping[str, MachineCost] = {
    "work_ratio": _cost(
        "CPU time of the same work, over that of the measured machine",
        *(1.0, 1.0, 1.0),
        Bounded(0.05, 20.0),
    ),
    "core_share": _cost(
        "speed of a CPU while the other one of its core works", 0.62, 0.52, 0.73, Bounded(0.3, 1.0)
    ),
    "handover_near_ns": _cost("hand-over of a cache line between near CPUs", 45.0, 28.0, 75.0),
    "handover_far_ns": _cost("hand-over of a cache line between sockets", 160.0, 105.0, 250.0),
    "wake_ns": _cost("CPU time to wake a thread", 900.0, 500.0, 1_800.0),
    "wake_idle_ns": _cost("time until a thread runs on an idle CPU", 8_000.0, 3_000.0, 30_000.0),
    "switch_ns": _cost("switch between threads", 900.0, 450.0, 1_800.0),
    "syscall_ns": _cost("system call", 130.0, 60.0, 300.0),
    "pause_ns": _cost("pause of a thread that waits for a lock", 14.0, 3.0, 45.0),
    "cold_ns": _cost("cold caches after a switch", 0.0, 0.0, 3_000.0),
    "row_wait_ns": _cost("wait for the disk per row", 0.0, 0.0, 0.0),
}
"""The figures of a machine, by the names of its keys under [assume]. Times are nanoseconds."""

_ONE = WholeNumber(1, CPUS_MAX)
MACHINE = (
    Key("name", Text(r"[\w.-]+", "letters, digits, '.', '_' and '-'"), None, "short name"),
    Key("about", Text(), "", "the machine in a few words"),
    Key("source", Text(), "", "where the description comes from"),
    Key("cpus", _ONE, None, "CPUs of the machine, as its system counts them"),
    Key("sockets", _ONE, 1, "sockets: a cache line takes longer from one to another"),
    Key("core_cpus", WholeNumber(1, 8), 1, "CPUs that share a core"),
    Key("lock", Choice((BARGING, BARGING_2010)), BARGING, "mutex of its C library"),
)
"""The keys of [machine]."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A described machine.

    Args:
        costs: by name in the order of `COSTS`, all of them.
        given: names of those that are the machine's own, not the usual ones.
    """

    name: str
    cpus: int
    about: str = ""
    source: str = ""
    sockets: int = 1
    core_cpus: int = 1
    lock: str = BARGING
    costs: Mapping[str, Assumed] = field(
        default_factory=lambda: {name: cost.usual for name, cost in COSTS.items()}
    )
    given: frozenset[str] = frozenset()

    def unknown(self) -> dict[str, Assumed]:
        """The costs that are not known and have an effect on this machine."""
        return {
            name: one
            for name, one in self.costs.items()
            if not one.is_known and self._has_effect(name)
        }

    def _has_effect(self, name: str) -> bool:
        if name == "handover_far_ns":
            return self.sockets > 1
        return self.core_cpus > 1 if name == "core_share" else True

    def host_costs(self, at: Mapping[str, float]) -> dict[str, float]:
        """The object `host` of `contend-load model-run`.

        Args:
            at: values of costs; the others have their `value`.
        """
        values = {name: at.get(name, one.value) for name, one in self.costs.items()}
        near = self.cpus // self.sockets if self.sockets > 1 else 0
        return {
            "near_cpus": near,
            "core_cpus": self.core_cpus,
            "core_share": values["core_share"] if self.core_cpus > 1 else 1.0,
            "handover_near_ns": values["handover_near_ns"],
            "handover_far_ns": max(values["handover_far_ns"], values["handover_near_ns"]),
            "wake_ns": values["wake_ns"],
            "wake_polling_ns": values["wake_idle_ns"],
            "wake_sleeping_ns": values["wake_idle_ns"],
            "switch_ns": values["switch_ns"],
            "syscall_ns": values["syscall_ns"],
            "pause_ns": values["pause_ns"],
            "cold_ns": values["cold_ns"],
            "warm_ns": WARM_NS,
        }


WARM_NS = 50_000.0
"""After others have run that long on a CPU, the caches hold nothing of a thread's: some hundred kB
at a few GB/s."""


def described() -> dict[str, Path]:
    """The machines that contend describes itself, by name."""
    folder = files("contend.predict") / "machines"
    found = (Path(str(one)) for one in folder.iterdir() if one.name.endswith(".toml"))
    return {one.stem: one for one in sorted(found)}


def find_machine(name: str) -> Machine:
    """The machine of a file, or one of `described`.

    Raises:
        RequestError: there is no such file or machine, or its description has a fault.
    """
    known = described()
    path = Path(name) if name not in known or Path(name).is_file() else known[name]
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        some = ", ".join(known)
        raise RequestError(
            f"cannot read the description of a machine {name}: {error}",
            hint=did_you_mean(name, known) or f"Name a TOML file, or one of {some}.",
        ) from error
    return read_machine(text, path.name if name in known else str(path))


def read_machine(text: str, file: str) -> Machine:
    """A machine from the text of its file, whose name is for messages.

    Raises:
        SpecError: an unknown key, a wrong value, or figures that contradict each other.
    """
    document = Document(text, file)
    document.only((), ("machine", "assume"), "the description of a machine")
    document.only(("machine",), (key.name for key in MACHINE))
    table = document.table(("machine",))
    values: dict[str, Any] = {}
    for key in MACHINE:
        if key.name in table:
            values[key.name] = document.read(("machine", key.name), key, table[key.name])
        elif key.default is None:
            document.refuse(("machine",), f"[machine] has no {key.name}", hint=f"Add {key.name}.")
        else:
            values[key.name] = key.default
    document.only(("assume",), COSTS)
    given = {name: _assumed(document, name) for name in document.table(("assume",))}
    usual = {name: cost.usual for name, cost in COSTS.items()}
    machine = Machine(**values, costs={**usual, **given}, given=frozenset(given))
    _refuse_contradictions(document, machine)
    return machine


def _assumed(document: Document, name: str) -> Assumed:
    place = ("assume", name)
    kind = COSTS[name].kind
    found = document.table(("assume",))[name]
    if not isinstance(found, dict):
        value = document.read(place, Key(name, kind, None, ""), found)
        assert isinstance(value, int | float)
        return Assumed.known(float(value), f"{document.file}")
    document.only(place, ("value", "low", "high", "source"))
    numbers = []
    for part in ("value", "low", "high"):
        if part not in found:
            document.refuse(place, f"{name} has no {part}", hint="Write value, low and high.")
        number = document.read((*place, part), Key(part, kind, None, ""), found[part])
        assert isinstance(number, int | float)
        numbers.append(float(number))
    value, low, high = numbers
    if not low <= value <= high:
        document.refuse(
            place,
            f"the value {value:g} of {name} is not between low {low:g} and high {high:g}",
            hint="Correct one of them.",
        )
    source = document.read(
        (*place, "source"), Key("source", Text(), "", ""), found.get("source", "")
    )
    return Assumed(value, low, high, str(source))


def _refuse_contradictions(document: Document, machine: Machine) -> None:
    cpus, cores = machine.cpus, machine.sockets * machine.core_cpus
    if cpus % cores:
        document.refuse(
            ("machine", "cpus"),
            f"{cpus} CPUs cannot be divided into {machine.sockets} sockets of cores with "
            f"{machine.core_cpus} CPUs each",
            hint="Correct cpus, sockets or core_cpus.",
        )
    near, far = machine.costs["handover_near_ns"], machine.costs["handover_far_ns"]
    if "handover_far_ns" in machine.given and far.value < near.value:
        document.refuse(
            ("assume", "handover_far_ns"),
            f"a hand-over between sockets takes {far.value:g} ns, less than one between near "
            f"CPUs ({near.value:g})",
            hint="Correct one of them.",
        )
    for name, needed in (("handover_far_ns", "sockets"), ("core_share", "core_cpus")):
        if name in machine.given and getattr(machine, needed) == 1:
            document.refuse(
                ("assume", name),
                f"{name} has no meaning on a machine with {needed} = 1",
                hint=f"Remove it, or set {needed} under [machine].",
            )


def with_cpus(machine: Machine, cpus: int) -> Machine:
    """The same machine with a different number of CPUs.

    Raises:
        RequestError: more than `CPUS_MAX`, or not a number its sockets and cores can have.
    """
    if not 1 <= cpus <= CPUS_MAX:
        raise RequestError(f"{cpus} CPUs cannot be predicted", hint=f"Use 1 to {CPUS_MAX}.")
    each = machine.sockets * machine.core_cpus
    if cpus % each:
        raise RequestError(
            f"{machine.name} cannot have {cpus} CPUs: its {machine.sockets} sockets have cores of "
            f"{machine.core_cpus}",
            hint=f"Use a multiple of {each}.",
        )
    return replace(machine, name=f"{cpus} CPUs", cpus=cpus)
