"""Take a picture of a report for the README: `tools/picture_of_report.py PAGE.html OUT.png`.

The head of the page as a reader sees it first, in light colours, 1280 pixels wide.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from browser import Browser, missing_browser

HEIGHT = 1180


def main() -> int:
    page, out = (Path(argument) for argument in sys.argv[1:3])
    missing = missing_browser()
    if missing is not None:
        sys.stderr.write(f"{missing}\n")
        return 1
    with Browser() as browser:
        browser.open(page, width=1280, height=HEIGHT)
        browser.picture(out, whole=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
