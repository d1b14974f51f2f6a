"""TCP: how many connections may wait to be accepted, and from how many ports they come."""

from __future__ import annotations

from contend.doctor.model import TCP, DoctorCheck, Result, Subject, Unseen, fine, found, missing

_SOMAXCONN = "proc/sys/net/core/somaxconn"
_PORTS = "proc/sys/net/ipv4/ip_local_port_range"
_REUSE = "proc/sys/net/ipv4/tcp_tw_reuse"
_PORTS_ENOUGH = 20_000


def _somaxconn(subject: Subject) -> Result:
    value = subject.number(_SOMAXCONN)
    if value is None:
        return missing(subject, _SOMAXCONN)
    wanted = 1024.0
    if subject.server is not None:
        wanted = max(wanted, subject.server.number("back_log") or 0)
    said = f"{value} connections may wait to be accepted"
    if value < wanted:
        return found("warning", f"{said}, and {wanted:.0f} are wanted", somaxconn=value)
    return fine(said, somaxconn=value)


def _ports(subject: Subject) -> Result:
    words = (subject.tree.text(_PORTS) or "").split()
    if len(words) != 2 or not all(word.isdecimal() and len(word) < 6 for word in words):
        return missing(subject, _PORTS)
    low, high = (int(word) for word in words)
    count = max(high - low + 1, 0)
    reuse = subject.number(_REUSE)
    said = f"{count} ports for connections to one server (tcp_tw_reuse {reuse})"
    state = {"ports": count, "tcp_tw_reuse": reuse}
    return found("warning", said, **state) if count < _PORTS_ENOUGH else fine(said, **state)


def _loopback(subject: Subject) -> Result:
    mtu = subject.number("sys/class/net/lo/mtu")
    if mtu is None:
        return Unseen(subject.tree.why_not("sys/class/net/lo/mtu"))
    if mtu < 16_384:
        return found("note", f"loopback has an MTU of {mtu}", loopback_mtu=mtu)
    return fine(f"loopback has an MTU of {mtu}", loopback_mtu=mtu)


CHECKS = (
    DoctorCheck(
        id="somaxconn",
        title="connections that wait to be accepted",
        why="When many connect at once those beyond the limit are dropped, and try again after a "
        "second.",
        costs="A second, at the start of a run or after a failover.",
        mend="sysctl net.core.somaxconn=4096",
        look=_somaxconn,
        touches=(TCP,),
        files=lambda _subject: {_SOMAXCONN: "4096"},
    ),
    DoctorCheck(
        id="tcp-ports",
        title="ports for connections",
        why="A workload that connects anew for each event uses a port each time, and each stays "
        "taken for a minute.",
        costs="Connections fail when none is left.",
        mend="sysctl net.ipv4.ip_local_port_range='10000 65535' net.ipv4.tcp_tw_reuse=1",
        look=_ports,
        touches=(TCP,),
        files=lambda _subject: {_PORTS: "10000 65535"},
    ),
    DoctorCheck(
        id="loopback-mtu",
        title="packets on loopback",
        why="A small MTU cuts large answers into many packets, which a server on the same host "
        "need not pay.",
        costs="CPU time a packet, for large rows only.",
        mend="ip link set lo mtu 65536",
        look=_loopback,
        touches=(TCP,),
    ),
)
