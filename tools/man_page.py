"""Write the manual page of contend, of what `--help` says: `tools/man_page.py contend.1`."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

from argparse_manpage.manpage import Manpage

from contend import __version__
from contend.cli.parser import COMMANDS, build_parser


def man_page() -> str:
    """The page, as roff."""
    os.environ["COLUMNS"] = "70"
    parser = build_parser(COMMANDS)
    page = Manpage(parser)
    page.source = f"contend {__version__}"
    page.manual = "User Commands"
    page.description = "would this change make a MariaDB or MySQL server faster?"
    written_s = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    page.date = time.strftime("%Y-%m-%d", time.gmtime(written_s))
    # The date is escaped like prose, which then is none.
    return re.sub(
        r'^(\.TH .*?)"(\d+)\\-(\d+)\\-(\d+)"', r'\1"\2-\3-\4"', str(page), count=1, flags=re.M
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(man_page(), "utf-8")
