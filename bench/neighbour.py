"""A busy neighbour: computes half of the time, in bursts of changing length, until it is ended.

python bench/neighbour.py
"""

from __future__ import annotations

import random
import time

BURST_S = 0.1
"""Mean length of a burst, and of the pause after it; both are exponential."""


def main() -> None:
    draw = random.Random()
    while True:
        end = time.monotonic() + draw.expovariate(1 / BURST_S)
        while time.monotonic() < end:
            pass
        time.sleep(draw.expovariate(1 / BURST_S))


if __name__ == "__main__":
    main()
