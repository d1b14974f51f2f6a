"""How the way to a server is guarded, and what a password may be given away for.

The names are those of the servers' own clients, in a DSN as in an option file. contend-load has
the same rule: see docs/decisions/0088-passwords-on-the-wire.md.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from contend.errors import did_you_mean
from contend.plan import Server, TlsMode
from contend.servers.errors import DsnError

SSL_MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")

_YES = ("", "1", "on", "true", "yes")
_NO = ("0", "off", "false", "no")
_SWITCHES = ("enable_cleartext_plugin", "get_server_public_key")


@dataclass(frozen=True, slots=True)
class Security:
    """What a DSN or an option file says of it. What is None was not said."""

    ssl_mode: str | None = None
    """Whether to encrypt, and what to verify."""
    ssl_ca: Path | None = None
    """PEM file with whom to believe that a certificate is the server's."""
    ssl_cert: Path | None = None
    """PEM file with a certificate of our own, for a server that asks for one."""
    ssl_key: Path | None = None
    """PEM file with its key."""
    enable_cleartext_plugin: bool | None = None
    """Send the password as it is, whoever listens, if the server asks for that."""
    get_server_public_key: bool | None = None
    """Believe the RSA key that a server sends, whoever it is."""
    server_public_key_path: Path | None = None
    """PEM file with the server's RSA key."""

    @classmethod
    def of(cls, said: Mapping[str, str], where: str) -> Security:
        """Read the keys that are among these; `where` is where they stand."""
        found: dict[str, Any] = {}
        for key in KEYS:
            if key not in said:
                continue
            if key == "ssl_mode":
                found[key] = _mode(said[key], where)
            elif key in _SWITCHES:
                found[key] = _switch(key, said[key], where)
            elif said[key]:
                found[key] = Path(said[key]).expanduser().absolute()
        return cls(**found)

    @classmethod
    def of_file(cls, said: Mapping[str, str], where: str) -> Security:
        """Read an option file's, which may say the mode by the switches of older clients too."""
        found = cls.of(said, where)
        if found.ssl_mode is not None:
            return found
        ssl_is_on = _switch("ssl", said["ssl"], where) if "ssl" in said else None
        if ssl_is_on is False or any(name in said for name in ("skip_ssl", "disable_ssl")):
            return replace(found, ssl_mode="disabled")
        verify = said.get("ssl_verify_server_cert")
        if verify is not None and _switch("ssl_verify_server_cert", verify, where):
            return replace(found, ssl_mode="verify_identity")
        return replace(found, ssl_mode="required") if ssl_is_on and not found.ssl_ca else found

    def over(self, other: Security) -> Security:
        """What this says, and where it says nothing, what the other does."""
        said = {key: getattr(self, key) for key in KEYS if getattr(self, key) is not None}
        return replace(other, **said)

    @property
    def mode(self) -> str:
        """What holds where no mode is named."""
        if self.ssl_mode is not None:
            return self.ssl_mode
        if self.ssl_ca is not None:
            return "verify_ca"
        return "preferred" if self.ssl_cert is None else "required"

    def check(self, where: str) -> None:
        """Refuse what cannot work."""
        if self.mode.startswith("verify") and self.ssl_ca is None:
            raise DsnError(
                f"{where}: ssl_mode={self.mode} needs to know whom to believe.",
                hint="Name a PEM file: ssl_ca=/path/ca.pem.",
            )
        if (self.ssl_cert is None) != (self.ssl_key is None):
            raise DsnError(f"{where}: ssl_cert and ssl_key go together; one of them is missing.")

    def context(self) -> ssl.SSLContext:
        """The settings of a connection that is encrypted."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.mode == "verify_identity"
        is_verified = self.mode.startswith("verify")
        context.verify_mode = ssl.CERT_REQUIRED if is_verified else ssl.CERT_NONE
        try:
            if is_verified:
                context.load_verify_locations(self.ssl_ca)
            if self.ssl_cert is not None:
                # Without a password of the key it would be asked for on the terminal.
                context.load_cert_chain(self.ssl_cert, self.ssl_key, password="")
        except (OSError, ValueError) as error:
            named = ", ".join(str(p) for p in (self.ssl_ca, self.ssl_cert, self.ssl_key) if p)
            reason = getattr(error, "strerror", None) or str(error)
            raise DsnError(f"TLS cannot be set up with {named}: {reason}.") from error
        return context

    def public_key(self) -> bytes | None:
        """The server's RSA key, if it is known."""
        if self.server_public_key_path is None:
            return None
        try:
            return self.server_public_key_path.read_bytes()
        except OSError as error:
            raise DsnError(
                f"the key {self.server_public_key_path} cannot be read: {error.strerror}."
            ) from error

    def in_query(self) -> dict[str, str]:
        """As a DSN says it."""
        found = {}
        for key in KEYS:
            value = getattr(self, key)
            if value is not None:
                found[key] = str(int(value)) if isinstance(value, bool) else str(value)
        return found

    def in_plan(self) -> Server:
        """As the plan of a run says it; nothing for what nobody asked for."""
        server: Server = {}
        if self.ssl_mode or self.ssl_ca or self.ssl_cert:
            server["tls"] = {"mode": cast(TlsMode, self.mode.replace("_", "-"))}
            if self.ssl_ca:
                server["tls"]["ca"] = str(self.ssl_ca)
            if self.ssl_cert:
                server["tls"]["certificate"] = str(self.ssl_cert)
                server["tls"]["key"] = str(self.ssl_key)
        if self.enable_cleartext_plugin:
            server["enable_cleartext_plugin"] = True
        if self.get_server_public_key:
            server["get_server_public_key"] = True
        if self.server_public_key_path:
            server["server_public_key_path"] = str(self.server_public_key_path)
        return server


KEYS = tuple(field.name for field in fields(Security))


def _mode(text: str, where: str) -> str:
    mode = text.lower()
    if mode not in SSL_MODES:
        raise DsnError(
            f"{where}: ssl_mode={text} is not a mode.", hint=did_you_mean(mode, SSL_MODES)
        )
    return mode


def _switch(key: str, text: str, where: str) -> bool:
    if text.lower() not in _YES + _NO:
        raise DsnError(f"{where}: {key}={text} is neither 1 nor 0.")
    return text.lower() in _YES
