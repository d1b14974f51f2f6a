"""`python -m contend` is `contend`."""

import sys

from contend.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
