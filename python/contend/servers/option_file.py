"""The option files of MySQL and MariaDB clients (`~/.my.cnf`): where to connect, and as whom.

Only the groups and keys that a client's connection needs are read. `!include` is not followed.
"""

from __future__ import annotations

from pathlib import Path

from contend.servers.errors import DsnError

GROUPS = frozenset({"client", "client-mariadb", "client-server", "mysql", "mariadb-client"})
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " "}


def read_option_file(path: Path) -> dict[str, str]:
    """The connection's options in the file. Later lines win, as the clients have it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DsnError(f"there is no option file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DsnError(f"the option file {path} cannot be read: {_reason(error)}.") from error
    return parse_option_file(text)


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is no UTF-8 text"
    return error.strerror or str(error)


def parse_option_file(text: str) -> dict[str, str]:
    """The options of the client groups, names with underscores."""
    options: dict[str, str] = {}
    group = ""
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;!":
            continue
        if line.startswith("["):
            group = line[1:].partition("]")[0].strip().lower()
        elif group in GROUPS:
            name, _, value = line.partition("=")
            options[name.strip().lower().replace("-", "_")] = _value(value)
    return options


def _value(raw: str) -> str:
    text = raw.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        text = text[1:end] if end > 0 else text[1:]
    else:
        # A comment may follow a value; it begins at a `#` after a space.
        text = text.partition(" #")[0].rstrip()
    return _unescape(text)


def _unescape(text: str) -> str:
    parts, rest = [], iter(text)
    for letter in rest:
        if letter != "\\":
            parts.append(letter)
            continue
        code = next(rest, "")
        parts.append(_ESCAPES.get(code, f"\\{code}"))
    return "".join(parts)
