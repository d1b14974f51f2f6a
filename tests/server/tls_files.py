"""Certificates for a test server: an authority, and a certificate of 127.0.0.1 that it signed."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. Servers and clients can show the same certificate."""

    ca: Path
    certificate: Path
    key: Path

    @property
    def arguments(self) -> tuple[str, ...]:
        """Of a server that has them: as options they would lie outside its folder."""
        return (f"--ssl-ca={self.ca}", f"--ssl-cert={self.certificate}", f"--ssl-key={self.key}")


def make(folder: Path) -> TlsFiles:
    """Write the files into `folder`."""
    ca_key, key = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    ca_name = _name("contend test authority")
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.DNSName("localhost"),
    ]
    certificate = (
        _builder(_name("contend test server"), ca_name, key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    files = TlsFiles(folder / "ca.pem", folder / "certificate.pem", folder / "key.pem")
    files.ca.write_bytes(ca.public_bytes(pem))
    files.certificate.write_bytes(certificate.public_bytes(pem))
    # MariaDB reads keys of this older format in all its versions.
    older = serialization.PrivateFormat.TraditionalOpenSSL
    files.key.write_bytes(key.private_bytes(pem, older, serialization.NoEncryption()))
    return files


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: rsa.RSAPublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
    )
