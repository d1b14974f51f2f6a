"""The program's client protocol against each kind of server.

The checks are Rust tests, which a server must be started for: this starts it, with TLS on, TCP on
loopback and local files allowed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from needs import missing
from tls_files import make

from contend.servers import PrivateServer, ServerBinary

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(1200)
def test_client_protocol(
    any_binary: ServerBinary, private_server: Callable[..., PrivateServer], tmp_path: Path
) -> None:
    cargo = shutil.which("cargo") or missing("no cargo to build the Rust tests with")
    files = make(tmp_path)
    # A statement of 40 MB is one of the tests.
    options = {"max_allowed_packet": "64M"}
    if any_binary.kind == "mariadb":
        options["performance_schema"] = "ON"
    server = private_server(any_binary, options, tcp=True, arguments=files.arguments)
    where = {
        "socket": str(server.socket),
        "port": server.port,
        "ca": str(files.ca),
        "certificate": str(files.certificate),
        "key": str(files.key),
    }
    ran = subprocess.run(
        [
            cargo,
            "test",
            "--locked",
            "--test",
            "wire_live",
            "--",
            "--test-threads=1",
            "--show-output",
        ],
        cwd=REPOSITORY,
        env=os.environ | {"CONTEND_TEST_SERVER": json.dumps(where)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert "skipped: CONTEND_TEST_SERVER" not in ran.stdout
