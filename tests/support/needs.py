"""What a test needs that the package does not bring: a program to compare with, a browser."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip for want of something; fail where CONTEND_TEST_ALL=1 says that nothing is missing."""
    if os.environ.get("CONTEND_TEST_ALL") == "1":
        pytest.fail(what)
    pytest.skip(what)


def program(name: str) -> str:
    """The path of a program of PATH, which `make test-needs` gets."""
    return shutil.which(name) or missing(f"{name} is missing: `make test-needs` gets it")
