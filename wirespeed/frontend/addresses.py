"""Addresses of hosts that do not come together: one that two have, families that do not fit."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress

from wirespeed.job.cause import SharedAddress
from wirespeed.rank.join.handshake import loopback
from wirespeed.rank.join.peers import no_common_family

Addresses = Mapping[str, Sequence[tuple[str, str]]]
"""By host: its interfaces with the address of each, none of loopback."""
MAX_NAMED = 3
_NO_IPV4_OF = re.compile(r"(?:unable to get host address for|unable to connect to server) ([^\s:]+)")
_NO_INTERFACE = re.compile(r"unable to find network interfaces|no available +interfaces were found")


def shared(hosts: Addresses) -> tuple[tuple[SharedAddress, ...], str]:
    """Addresses that several hosts have, and an interface whose address no other host has; '': there is none.

    An MPI tells its peers all of its addresses, and who calls the first of them may reach its own host.
    """
    where: dict[str, dict[str, str]] = {}
    for host, found in hosts.items():
        for interface, address in found:
            where.setdefault(address, {})[host] = interface
    twice = {address: there for address, there in where.items() if len(there) > 1}
    if not twice:
        return (), ""
    told = [
        SharedAddress(address, tuple(there), tuple(dict.fromkeys(there.values())))
        for address, there in twice.items()
    ]
    return tuple(told[:MAX_NAMED]), next(iter(_own_interfaces(hosts, twice)), "")


def obstacle(hosts: Addresses, addresses: Sequence[SharedAddress], own: str) -> str:
    """'; 172.17.0.1 is on n1 and n2 (docker0): ...'; empty where nothing is known to be in the way.

    `addresses`, `own`: as shared() found them.
    """
    if addresses:
        better = f"; {own} has a different address on each" if own else ""
        return f"; {'; '.join(map(str, addresses))}: a rank may call itself instead of its peer{better}"
    known = {host: [address for _, address in found] for host, found in hosts.items() if found}
    apart = no_common_family(known) if len(known) > 1 else None
    return f"; {apart}" if apart else ""


def without_ipv4(said: str) -> str:
    """'; n1 has only IPv6 addresses, ...'; empty where that is not why a launcher has said this.

    Hydra looks for IPv4 addresses of its host's name, PMIx for an interface with one, if of loopback.
    """
    if (named := _NO_IPV4_OF.search(said)) and _families(named[1]) == {socket.AF_INET6}:
        other = "take Open MPI (--mpi), whose launcher uses both"
        text = f"{named[1]} has only IPv6 addresses, and this launcher uses IPv4"
        return f"; {text}: give the hosts IPv4 addresses, or {other}"
    if _NO_INTERFACE.search(said) and loopback() != "127.0.0.1":
        other = "or take MPICH (--mpi), whose launcher needs none"
        text = "this host has no IPv4 address, not even 127.0.0.1, and this launcher needs one"
        return f"; {text}: 'ip address add 127.0.0.1/8 dev lo', {other}"
    return ""


def _families(host: str) -> set[int]:
    with suppress(OSError):
        return {family for family, *_ in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    return set()


def _own_interfaces(hosts: Addresses, twice: Mapping[str, object]) -> list[str]:
    """Interfaces that every host has, with addresses that no other host has."""
    hosts = {host: found for host, found in hosts.items() if found}
    each = [
        {name for name, _ in found} - {name for name, a in found if a in twice} for found in hosts.values()
    ]
    first = next(iter(hosts.values()))
    return [name for name in dict.fromkeys(name for name, _ in first) if all(name in names for names in each)]
