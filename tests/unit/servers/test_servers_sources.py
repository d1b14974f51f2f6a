"""Reading apt's source lists and turning them to another suite."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.servers.apt import Source, for_suite, parse_sources, render

MIRROR = "http://mirror.example/debian"
SECURITY = "http://mirror.example/debian-security"

ONE_LINE = f"""\
# the system
deb {MIRROR} bookworm main contrib  # comment
deb-src {MIRROR} bookworm main
deb [arch=amd64 signed-by=/k/a.gpg,/k/b.gpg] {MIRROR} bookworm-updates main
deb [ trusted=yes ] {SECURITY} bookworm-security main
#deb {MIRROR} bookworm-backports main
deb [broken {MIRROR} bookworm main
deb {MIRROR}
"""

DEB822 = f"""\
# a comment
Types: deb deb-src
URIs: {MIRROR}
Suites: bookworm bookworm-updates
Components: main
# within a stanza
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/
Suites: bookworm
Components: main

Types: deb
URIs: {SECURITY}
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb-src
URIs: {MIRROR}
Suites: bookworm
Components: main
"""


def test_reads_one_line_entries() -> None:
    assert parse_sources(ONE_LINE, deb822=False) == [
        Source(MIRROR, "bookworm", ("main", "contrib")),
        Source(MIRROR, "bookworm-updates", ("main",), signed_by="/k/a.gpg /k/b.gpg"),
        Source(SECURITY, "bookworm-security", ("main",), trusted=True),
    ]


def test_reads_deb822_stanzas() -> None:
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    first, second, third = parse_sources(DEB822, deb822=True)
    assert first == Source(MIRROR, "bookworm", ("main",), signed_by=key)
    assert second == Source(MIRROR, "bookworm-updates", ("main",), signed_by=key)
    assert (third.uri, third.suite) == (SECURITY, "bookworm-security")
    assert third.signed_by is not None
    assert third.signed_by.splitlines()[1] == " -----BEGIN PGP PUBLIC KEY BLOCK-----"


def test_a_key_block_survives_rendering() -> None:
    sources = parse_sources(DEB822, deb822=True)
    assert parse_sources(render(sources, "amd64"), deb822=True) == sources


def test_turns_every_pocket_to_the_wanted_suite() -> None:
    sources = parse_sources(DEB822, deb822=True)
    assert [(s.uri, s.suite) for s in for_suite(sources, "bookworm", "trixie")] == [
        (MIRROR, "trixie"),
        (MIRROR, "trixie-updates"),
        (SECURITY, "trixie-security"),
    ]


def test_a_rolling_suite_has_no_pockets() -> None:
    sources = parse_sources(DEB822, deb822=True)
    assert [(s.uri, s.suite) for s in for_suite(sources, "bookworm", "sid")] == [(MIRROR, "sid")]


def test_the_old_name_of_the_security_pocket_is_known() -> None:
    old = [Source(SECURITY, "buster/updates", ("main",))]
    assert for_suite(old, "buster", "bookworm")[0].suite == "bookworm-updates"
    assert for_suite(old, "buster", "buster")[0].suite == "buster/updates"


def test_archives_of_others_are_left_out() -> None:
    sources = [
        Source(MIRROR, "bookworm", ("main",)),
        Source("http://vendor.example/", "bookworm-vendor", ("main",)),
        Source("http://vendor.example/", "stable", ("main",)),
        Source("http://vendor.example/", "bookworm", ("edge",)),
        Source("cdrom:[Debian 12]/", "bookworm", ("main",)),
    ]
    assert for_suite(sources, "bookworm", "trixie") == [Source(MIRROR, "trixie", ("main",))]


def test_a_machine_that_follows_an_alias_is_understood() -> None:
    sources = [Source(MIRROR, "sid", ("main",))]
    assert for_suite(sources, "forky", "trixie") == [Source(MIRROR, "trixie", ("main",))]
    assert for_suite(sources, "", "sid") == sources


def test_a_mirror_in_a_folder_is_copied_from() -> None:
    text = render([Source("file:/srv/debian", "bookworm", ("main",))], "amd64")
    assert "URIs: copy:/srv/debian\n" in text
    assert "Targets: Packages\n" in text


word = st.text("abcdefghijklmnopqrstuvwxyz0123456789-./:_", min_size=1, max_size=20)
sources_strategy = st.builds(
    Source,
    uri=word.map(lambda w: f"http://{w}"),
    suite=word,
    components=st.lists(word, min_size=1, max_size=3).map(tuple),
    signed_by=st.none() | word,
    trusted=st.booleans(),
)


@given(st.lists(sources_strategy, max_size=4))
def test_what_is_rendered_is_read_back(sources: list[Source]) -> None:
    assert parse_sources(render(sources, "amd64"), deb822=True) == sources


@given(st.text(), st.booleans())
def test_any_text_is_read_without_a_fault(text: str, deb822: bool) -> None:
    for source in parse_sources(text, deb822=deb822):
        assert source.uri
        assert source.suite


@pytest.mark.parametrize("line", ["deb", "deb ", "deb [", "deb []", "deb [] x", "deb x"])
def test_half_a_line_is_no_source(line: str) -> None:
    assert parse_sources(line, deb822=False) == []
