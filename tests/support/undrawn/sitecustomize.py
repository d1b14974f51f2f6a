"""A Python that has no vl-convert, as where contend is installed without its extras."""

import sys

sys.modules["vl_convert"] = None  # type: ignore[assignment]
