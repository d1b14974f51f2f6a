"""The machine's own apt and dpkg, with a private state: no root, no change to the system.

apt reads the machine's configuration (proxies, certificates, keyrings), then contend's on top:
separate folders for lists and downloads, an empty record of installed packages, and the given
sources. So every package a server needs, down to the C library, is downloaded from the same suite.

contend knows no mirror: it takes the entries of this machine's apt source lists, in both formats,
and replaces only the suite. If a different suite is requested, entries of other archives (a
vendor's own repository, for example) are left out, because that suite's name would have a different
meaning there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contend.errors import did_you_mean
from contend.servers.binary import run_program
from contend.servers.errors import GetFailed, NotVerified, UnknownServer

_POCKETS = ("", "-updates", "-security", "/updates")
_ROLLING = frozenset({"sid", "unstable", "experimental", "rc-buggy"})
_ALIASES = ("stable", "oldstable", "oldoldstable", "testing", "unstable", "sid")
_OPTION = re.compile(r"(?P<name>[A-Za-z-]+)(?P<sign>[+-]?=)(?P<value>\S+)")


@dataclass(frozen=True, slots=True)
class Source:
    """One archive: its address, suite, components, and accepted signatures.

    `signed_by` comes from the machine's entry: paths or key ids, or a whole key block whose lines
    already have the deb822 format. `trusted` is the administrator's own `trusted=yes`.
    """

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: str | None = None
    trusted: bool = False


def parse_sources(text: str, *, deb822: bool) -> list[Source]:
    """The enabled binary archives of one file (`*.sources` is deb822, `*.list` is one-line)."""
    return _parse_deb822(text) if deb822 else _parse_one_line(text)


def _parse_one_line(text: str) -> list[Source]:
    sources = []
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        kind, _, rest = line.partition(" ")
        if kind != "deb":
            continue
        rest = rest.strip()
        options: dict[str, str] = {}
        if rest.startswith("["):
            inside, closed, rest = rest[1:].partition("]")
            if not closed:
                continue
            options = {m["name"].lower(): m["value"] for m in _OPTION.finditer(inside)}
        words = rest.split()
        if len(words) < 2:
            continue
        sources.append(
            Source(
                uri=words[0],
                suite=words[1],
                components=tuple(words[2:]),
                signed_by=options.get("signed-by", "").replace(",", " ") or None,
                trusted=_is_yes(options.get("trusted", "")),
            )
        )
    return sources


def _parse_deb822(text: str) -> list[Source]:
    sources = []
    for fields in _stanzas(text):
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").strip().lower() in ("no", "false", "0", "off"):
            continue
        sources += [
            Source(
                uri=uri,
                suite=suite,
                components=tuple(fields.get("components", "").split()),
                signed_by=fields.get("signed-by") or None,
                trusted=_is_yes(fields.get("trusted", "")),
            )
            for uri in fields.get("uris", "").split()
            for suite in fields.get("suites", "").split()
        ]
    return sources


def _stanzas(text: str) -> Iterable[Mapping[str, str]]:
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if not line.strip():
            if fields:
                yield fields
            fields, name = {}, ""
        elif line.startswith("#"):
            continue
        elif line[0] in " \t":
            # A continued value, such as a key block, keeps its line breaks.
            if name:
                fields[name] = f"{fields[name]}\n{line}"
        else:
            word, colon, value = line.partition(":")
            if colon:
                name = word.strip().lower()
                fields[name] = value.strip()
    if fields:
        yield fields


def _is_yes(word: str) -> bool:
    return word.strip().lower() in ("yes", "true", "1", "on", "with")


def for_suite(sources: Sequence[Source], codename: str, suite: str) -> list[Source]:
    """The machine's archives with its own suite replaced by `suite`, without duplicates.

    Args:
        codename: the machine's own suite (`VERSION_CODENAME` of os-release).
        suite: the wanted suite; the machine's own leaves the entries unchanged.
    """
    ours = _of_release(sources, [codename]) or _of_release(sources, _ALIASES)
    turned = []
    for source, pocket in ours:
        if (pocket and suite in _ROLLING) or source.uri.startswith("cdrom:"):
            continue
        name = source.suite if suite == codename else f"{suite}{pocket.replace('/', '-')}"
        turned.append(replace(source, suite=name))
    return list(dict.fromkeys(turned))


def _of_release(sources: Sequence[Source], names: Sequence[str]) -> list[tuple[Source, str]]:
    known = {f"{name}{pocket}": pocket for name in names for pocket in _POCKETS}
    return [
        (source, known[source.suite])
        for source in sources
        if source.suite in known and "main" in source.components
    ]


def render(sources: Iterable[Source], architecture: str) -> str:
    """The sources as a deb822 file that requests package lists of one architecture only."""
    stanzas = []
    for source in sources:
        lines = [
            "Types: deb",
            f"URIs: {_copied(source.uri)}",
            f"Suites: {source.suite}",
            f"Components: {' '.join(source.components)}",
            f"Architectures: {architecture}",
            "Targets: Packages",
            "Languages: none",
        ]
        if source.signed_by:
            lines.append(f"Signed-By: {source.signed_by}")
        if source.trusted:
            lines.append("Trusted: yes")
        stanzas.append("\n".join(lines))
    return "\n\n".join(stanzas) + "\n"


def _copied(uri: str) -> str:
    # apt uses packages of `file:` mirrors in place, but contend needs copies of its own.
    return f"copy:{uri.removeprefix('file:')}" if uri.startswith("file:") else uri


OnStep = Callable[[str, float | None], None]
"""Called with a description of the current step, and its progress in percent, if known."""

SUITES = ("bullseye", "bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable")
"""Common suites, to correct misspellings; the mirror decides which ones exist."""

_STATUS = re.compile(r"^dlstatus:[^:]*:(?P<percent>[0-9.]+):", re.MULTILINE)
_UNSIGNED = re.compile(
    r"NO_PUBKEY|is not signed|not authenticated|couldn't be verified|signatures? (?:was|were) "
    r"invalid|EXPKEYSIG|REVKEYSIG|BADSIG|Missing key|Bad OpenPGP|Verifying signature",
    re.IGNORECASE,
)
_NO_SUITE = re.compile(r"does not have a Release file|404\s+Not Found|Failed to stat - stat \(2")
_UNREACHABLE = re.compile(
    r"Could not resolve|Could not connect|Connection (?:refused|timed out|failed)|"
    r"Unable to connect|Temporary failure|Network is unreachable|Failed to fetch|"
    r"Clearsigned file isn't valid"
)
_DISK_FULL = re.compile(r"No space left on device|don't have enough free space", re.IGNORECASE)

_CONFIGURATION = """\
// Hooks of the machine would act on the system; nothing here may.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear APT::Never-MarkAuto-Sections;
Dir::State "{folder}";
Dir::State::lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::State::extended_states "{folder}/extended_states";
Dir::Cache "{folder}/cache";
Dir::Cache::archives "{folder}/archives";
Dir::Log "{folder}";
Dir::Etc::sourcelist "{folder}/wanted.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Default-Release "";
APT::Sandbox::User "{user}";
APT::Get::Assume-Yes "true";
APT::Get::Download-Only "true";
APT::Get::AllowUnauthenticated "false";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Keep-Downloaded-Packages "true";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::Retries "2";
"""


class Apt:
    """apt with a private state in `folder`, which must be new; the caller removes it."""

    def __init__(self, folder: Path, sources: str) -> None:
        self.folder = folder
        for name in ("lists/partial", "archives/partial", "cache"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        (folder / "wanted.sources").write_text(sources, encoding="utf-8")
        # As root, apt would download as a user who may not enter contend's folders.
        user = "root" if os.geteuid() == 0 else ""
        (folder / "apt.conf").write_text(
            _CONFIGURATION.format(folder=folder, architecture=architecture(), user=user),
            encoding="utf-8",
        )

    def update(self, suite: str) -> None:
        """Read the package lists. Failing archives do not matter while one answers."""
        done = self._run("apt-get", "update")
        if any((self.folder / "lists").glob("*_Packages*")):
            return
        output = done.stdout + done.stderr
        detail = _last_lines(output)
        if _UNSIGNED.search(output):
            raise NotVerified(
                f"the package lists of {suite} could not be verified with this machine's keys.",
                hint="Install a newer `debian-archive-keyring`, or accept it with `--unverified`.",
                detail=detail,
            )
        if _DISK_FULL.search(output):
            raise GetFailed("the disk is full.", hint="Free some space.", detail=detail)
        if _NO_SUITE.search(output):
            raise UnknownServer(
                f"this machine's package mirror has no suite {suite}.",
                hint=did_you_mean(suite, SUITES),
                detail=detail,
            )
        raise GetFailed(
            "this machine's package mirror does not answer.",
            hint="Check the network and apt's proxy.",
            detail=detail,
        )

    def candidate(self, package: str) -> str | None:
        done = self._run("apt-cache", "policy", package)
        match = re.search(r"^\s*Candidate:\s*(\S+)", done.stdout, re.MULTILINE)
        return match[1] if match and match[1] != "(none)" else None

    def pretend_installed(self, versions: Mapping[str, str]) -> None:
        """Tell apt that these packages are installed, so that they are not downloaded.

        They are on hold, or apt would replace a stand-in by the real package of the same version.
        """
        stanzas = [
            f"Package: {name}\nStatus: hold ok installed\nVersion: {version}\n"
            f"Architecture: {architecture()}\nMulti-Arch: allowed\n"
            "Maintainer: nobody\nDescription: placeholder; a server program does not need it\n"
            for name, version in versions.items()
        ]
        (self.folder / "status").write_text("\n".join(stanzas), encoding="utf-8")

    def download(self, packages: Sequence[str], on_progress: OnStep) -> list[Path]:
        """Download packages with all dependencies; returns the files, in no special order."""
        done = self._run("apt-get", "install", *packages, on_progress=on_progress)
        output = done.stdout + done.stderr
        if done.returncode != 0:
            detail = _last_lines(output)
            if _DISK_FULL.search(output):
                raise GetFailed("the disk is full.", hint="Free some space.", detail=detail)
            if "unmet dependencies" in output:
                raise GetFailed(
                    f"the suite lacks packages that {' and '.join(packages)} needs.",
                    hint="The suite may be changing: use a different one, or try again later.",
                    detail=detail,
                )
            if _UNREACHABLE.search(output):
                raise GetFailed(
                    "a download from the package mirror was interrupted.",
                    hint="Try again; nothing was stored.",
                    detail=detail,
                )
            raise GetFailed(f"apt could not download {' and '.join(packages)}.", detail=detail)
        return sorted((self.folder / "archives").glob("*.deb"))

    def download_alone(self, package: str) -> Path:
        done = self._run("apt-get", "download", package, folder=self.folder / "archives")
        archives = sorted((self.folder / "archives").glob(f"{package}_*.deb"))
        if done.returncode != 0 or not archives:
            detail = _last_lines(done.stdout + done.stderr)
            raise GetFailed(f"apt could not download {package}.", detail=detail)
        return archives[-1]

    def _run(
        self,
        tool: str,
        *arguments: str,
        on_progress: OnStep | None = None,
        folder: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        command = [tool, "-c", str(self.folder / "apt.conf"), *arguments]
        if on_progress is not None:
            command[1:1] = ["-o", "APT::Status-Fd=1"]
        environment = dict(os.environ, LC_ALL="C.UTF-8", DEBIAN_FRONTEND="noninteractive")
        try:
            with subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=environment,
            ) as child:
                assert child.stdout is not None
                output = []
                for line in child.stdout:
                    status = _STATUS.match(line)
                    if status is None:
                        output.append(line)
                    elif on_progress is not None:
                        on_progress("downloading", float(status["percent"]))
        except FileNotFoundError:
            raise GetFailed(
                f"this machine has no {tool}, so contend has no mirror to download a server from.",
                hint="Install MariaDB or MySQL with the system's package manager.",
            ) from None
        return subprocess.CompletedProcess(command, child.returncode, "".join(output), "")


def architecture() -> str:
    return _ask("dpkg", "--print-architecture").strip()


def unpack(package: Path, into: Path) -> None:
    """Unpack one package file without running its scripts."""
    _ask("dpkg-deb", "--extract", str(package), str(into))


def _ask(tool: str, *arguments: str) -> str:
    if shutil.which(tool) is None:
        raise GetFailed(
            f"this machine has no {tool}, so contend cannot unpack packages.",
            hint="Install MariaDB or MySQL with the system's package manager.",
        )
    done = run_program([tool, *arguments])
    if done.returncode != 0:
        full = _DISK_FULL.search(done.stderr)
        raise GetFailed(
            "the disk is full." if full else f"{tool} failed.",
            hint="Free some space." if full else None,
            detail=_last_lines(done.stderr),
        )
    return done.stdout


def _last_lines(text: str) -> str | None:
    lines = text.splitlines()
    errors = [line.strip() for line in lines if line.startswith("E: ") or " Depends: " in line]
    return "\n".join(errors[-8:] or lines[-8:]) or None
