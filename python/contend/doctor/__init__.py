"""What is wrong with a host or a server, before or beside a measurement.

checks/     a table with a row for each check; functions where there is logic
model       a check, what it looks at, what it can say
measures    small measurements, in which the cost of a finding shows
document    looks at everything; the document that is kept; what differs between two of them
words       a document as lines
"""

from contend.doctor.checks import CHECKS
from contend.doctor.document import (
    Difference,
    HostDocument,
    compare,
    examine,
    read_document,
    short_form,
)
from contend.doctor.words import lines_of, lines_of_comparison, lines_of_explanation
