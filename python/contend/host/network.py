"""Network settings that bear on a client and a server that talk over loopback or TCP."""

from __future__ import annotations

from contend.host.tree import Facts

_CORE = ("somaxconn", "netdev_max_backlog", "rmem_max", "wmem_max", "busy_poll")
_TCP = (
    "ip_local_port_range",
    "tcp_congestion_control",
    "tcp_max_syn_backlog",
    "tcp_rmem",
    "tcp_wmem",
    "tcp_tw_reuse",
)


def record_network(facts: Facts) -> None:
    """Everything below `network.`."""
    facts.read("network.loopback_mtu", "sys/class/net/lo/mtu", int)
    for name in _CORE:
        facts.read(f"network.{name}", f"proc/sys/net/core/{name}", int)
    for name in _TCP:
        facts.read(f"network.{name}", f"proc/sys/net/ipv4/{name}", _spaced)


def _spaced(text: str) -> str:
    """The kernel separates several numbers by tabs."""
    return " ".join(text.split())
