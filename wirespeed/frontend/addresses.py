"""Addresses of hosts whose ranks do not come together: one that two have, families that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wirespeed.rank.join.peers import no_common_family

Addresses = Mapping[str, Sequence[tuple[str, str]]]
"""By host: its interfaces with the address of each, none of loopback."""
MAX_NAMED = 3


def obstacle(hosts: Addresses) -> str:
    """'; 172.17.0.1 is on n1 and n2 (docker0): ...'; empty where nothing is known to be in the way.

    An MPI tells its peers all of its addresses, and who calls the first of them may reach its own host.
    """
    known = {host: found for host, found in hosts.items() if found}
    if len(known) < 2:
        return ""
    where: dict[str, dict[str, str]] = {}
    for host, found in known.items():
        for interface, address in found:
            where.setdefault(address, {})[host] = interface
    twice = {address: there for address, there in where.items() if len(there) > 1}
    if twice:
        told = [
            f"{address} is on {' and '.join(there)} ({', '.join(dict.fromkeys(there.values()))})"
            for address, there in list(twice.items())[:MAX_NAMED]
        ]
        own = _own_interfaces(known, twice)
        better = f"; {own[0]} has an address of its own on each" if own else ""
        return f"; {'; '.join(told)}: a rank may call itself instead of its peer{better}"
    apart = no_common_family({host: [address for _, address in found] for host, found in known.items()})
    return f"; {apart}" if apart else ""


def _own_interfaces(hosts: Addresses, twice: Mapping[str, object]) -> list[str]:
    """Interfaces that every host has, with addresses that no other host has."""
    each = [
        {name for name, _ in found} - {name for name, a in found if a in twice} for found in hosts.values()
    ]
    first = next(iter(hosts.values()))
    return [name for name in dict.fromkeys(name for name, _ in first) if all(name in names for names in each)]
