"""The comments of an experiment file: prose that no run needs, and that may say too much."""

from __future__ import annotations

import re
from collections.abc import Collection

from contend.spec.document import STRING

_STRING_OR_COMMENT = re.compile(rf"(?:{STRING.pattern})|(?P<comment>#[^\n]*)", re.DOTALL)
_HIDDEN = "***"


def hide_in_comments(text: str, secrets: Collection[str]) -> str:
    """`text`, which must be valid TOML, with none of the secrets in its comments.

    Its keys and values stay as they are: a run needs them, and a weak password may be the same
    word as one of them.
    """
    known = sorted(filter(None, secrets), key=len, reverse=True)
    if not known:
        return text
    secret = re.compile("|".join(map(re.escape, known)))

    def hidden(part: re.Match[str]) -> str:
        return secret.sub(_HIDDEN, part[0]) if part["comment"] else part[0]

    return _STRING_OR_COMMENT.sub(hidden, text)
