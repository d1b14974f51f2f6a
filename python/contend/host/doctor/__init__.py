"""Problems of a host or a server, before or during a measurement.

checks/     a table with a row for each check; functions for those with logic
model       a check, its input, its possible results
measures    small measurements that show the cost of a finding
document    runs all checks; the stored document; differences between two of them
text        a document as lines
"""

from contend.host.doctor.checks import CHECKS
from contend.host.doctor.document import (
    Difference,
    HostDocument,
    compare,
    examine,
    read_document,
    short_form,
)
from contend.host.doctor.text import lines_of, lines_of_comparison, lines_of_explanation
