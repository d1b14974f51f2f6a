"""What is wrong with a host or a server, before or beside a measurement.

checks/     a table with a row for each check; functions where there is logic
model       a check, what it looks at, what it can say
measures    small measurements, in which the cost of a finding shows
examine     looks at everything; the document that is kept
compare     what differs between two documents
words       a document as lines
"""

from contend.doctor.checks import CHECKS
from contend.doctor.compare import Difference, compare
from contend.doctor.examine import HostDocument, examine, read_document, seen_server, short_form
from contend.doctor.words import lines_of, lines_of_comparison, lines_of_explanation
