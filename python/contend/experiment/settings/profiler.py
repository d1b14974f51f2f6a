"""Whether a profiler samples the server while it is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import RequestError
from contend.experiment.settings.model import Setting, Values
from contend.experiment.settings.values import Key, WholeNumber
from contend.host.profiler import why_no_profiler

HZ_MAX = 4_999


@dataclass(frozen=True)
class ProfilerSetting(Setting):
    """Its cost is not known beforehand: it interrupts working threads, including those that hold a
    lock. A level with it is compared with a level that has it too."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        del own
        if cell[self.path] and (why := why_no_profiler()) is not None:
            raise RequestError(
                f"{self.path} = {cell[self.path]}: servers cannot be profiled here: {why}",
                hint=f"Leave {self.path} (or --profile) out.",
            )


PROFILER_HZ = ProfilerSetting(
    "server",
    Key(
        "profiler_hz",
        WholeNumber(0, HZ_MAX),
        0,
        "perf's samples of the loaded server per second of CPU time, which show its functions; 0: "
        "none. Profiling slows down the server, and may change the comparison",
    ),
)
