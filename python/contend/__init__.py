"""contend: would this change make the server faster, by how much, at which load, and why?"""

import os

__version__ = "0.1.0"

# Before numpy is loaded. contend's tables are small: threads for them waste more CPU time waiting
# for one another than they save, and they would wait next to the measured servers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
