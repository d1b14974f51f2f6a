"""The last guard before the disk: a document without passwords and without NaN.

Nothing should bring a password here: plans name environment variables. But an error message or a
comment of the experiment file may quote a DSN, and a folder is made to be shared, so everything
that is written to it passes through `clean`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_SECRET_KEYS = frozenset({"password", "passwd", "pwd", "secret"})
_HIDDEN = "***"
_DSN_PASSWORD = re.compile(
    # A password may hold any sign; the nearest end that leaves the text around it whole counts.
    r"""(\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)(?:[^\s"'/]+|[^\s"']+|\S+)@""",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    rf"""(\b(?:{"|".join(sorted(_SECRET_KEYS))})["']?\s*[=:]\s*)(["'])(?!\2).+?\2""", re.IGNORECASE
)
"""`password = "…"`, as an experiment file has it."""


def clean(document: Any) -> Any:
    """A copy fit to be stored: secrets hidden, and null for numbers that JSON cannot say."""
    if isinstance(document, str):
        without = _DSN_PASSWORD.sub(rf"\g<1>{_HIDDEN}@", document)
        return _ASSIGNED.sub(rf"\g<1>\g<2>{_HIDDEN}\g<2>", without)
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    if isinstance(document, Mapping):
        return {
            str(key): _HIDDEN
            if str(key).lower() in _SECRET_KEYS and isinstance(value, str) and value
            else clean(value)
            for key, value in document.items()
        }
    if isinstance(document, (list, tuple)):
        return [clean(item) for item in document]
    return document
