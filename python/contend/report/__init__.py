"""The report of a run folder: in the terminal, as one HTML file, and as data for other programs.

    report = build(folder)              # plain data
    terminal.render(report, console)
    html.write(report, path)
    as_json(report)

The room renders any section. It may import `sections`, `why`, `findings` and the rooms below. Start
in `build.py`; `sentence.py` has the first sentence.
"""

from contend.report.build import build
from contend.report.document import as_json
from contend.report.model import Report
