"""contend: would this change make the server faster, by how much, at which load, and why?"""

import os

__version__ = "0.1.0"

# Before numpy is loaded. Its tables are small: threads for them take more CPU time waiting for one
# another than they save, and they would wait beside the servers that are measured.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
