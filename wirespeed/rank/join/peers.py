"""TCP connections between any two ranks, whatever joined them: for the core's transport `tcp`."""

from __future__ import annotations

import ipaddress
import itertools
import os
import socket
import time
from collections.abc import Collection, Mapping
from contextlib import closing, nullcontext
from typing import NamedTuple

from wirespeed.errors import WirespeedError
from wirespeed.host.core import NativeError
from wirespeed.host.process import network_name
from wirespeed.rank.join.handshake import Claim, Listener, connect, loopback, wrong
from wirespeed.rank.world import Value, World

PATIENCE = 10.0
"""Seconds for the next rank to come, and for one that is called to answer."""
MAX_ADDRESSES = 8
"""Addresses of each family that others are told of."""
_PURPOSE = "tcp"


class ListeningAddress(NamedTuple):
    """Addresses of a rank, and the port at which it listens."""

    addresses: list[str]
    port: int
    """0: nobody calls it."""


def connections(world: World, peers: Collection[int]) -> dict[int, socket.socket]:
    """A connection to each of these ranks, which ask for this one in the same call. Collective.

    Ranks of one host use loopback, and listen nowhere else; others the first address that answers, or that of
    the interface which WIRESPEED_INTERFACE names. They listen in this call alone. Raises NativeError on every
    rank where one fails.
    """
    networks = world.everyone((network_name(), bool(peers)))
    if not any(asks for _, asks in networks):
        return {}
    near = len({network for network, _ in networks}) == 1
    secret = world.share(os.urandom(32))
    come = {peer for peer in peers if peer > world.rank}
    listener, found, why = None, dict[int, socket.socket](), None
    try:
        own = loopback() if near else None
        addresses = [own] if own else own_addresses(os.environ)
        if come:
            listener = Listener(addresses[0] if len(addresses) == 1 else "", 0, secret, world.rank)
    except (WirespeedError, NativeError) as error:
        addresses, why = [], error
    with closing(listener) if listener else nullcontext():
        places = _agreed(world, ListeningAddress(addresses, listener.port if listener else 0), why)
        try:
            for peer in sorted(peers):
                mine = {f"rank {world.rank}": addresses}
                if apart := no_common_family({**mine, f"rank {peer}": places[peer][0]}):
                    raise wrong(apart)
            for peer in sorted({*peers} - come):
                until = time.monotonic() + PATIENCE
                claim = Claim(_PURPOSE, world.rank, peer, world.size)
                found[peer] = connect(*places[peer], secret, until, claim)
            if listener:
                _accept(listener, come, found)
        except WirespeedError as error:
            why = error
    try:
        _agreed(world, None, why)
    except NativeError:
        for opened in found.values():
            opened.close()
        raise
    return found


def _accept(listener: Listener, missing: set[int], found: dict[int, socket.socket]) -> None:
    while waited_for := missing - found.keys():
        came = listener.accept(time.monotonic() + PATIENCE)
        if came is None:
            raise wrong(
                f"rank {min(waited_for)} has not connected within {PATIENCE:g} s{listener.strangers()}"
            )
        claim, opened = came
        if claim.rank in waited_for:
            found[claim.rank] = opened
        else:
            opened.close()


def _agreed(world: World, value: Value, why: WirespeedError | NativeError | None) -> list[Value]:
    """Every rank's value. Raises NativeError on all where one has none but a reason."""
    told = (str(why), isinstance(why, NativeError) and why.lack) if why else None
    all_ = world.everyone((value, told))
    for rank, (_, reason) in enumerate(all_):
        if reason:
            raise NativeError(f"rank {rank}: {reason[0]}", reason[1])
    return [value for value, _ in all_]


def own_addresses(environment: Mapping[str, str]) -> list[str]:
    """This host's addresses that lead to others, IPv4 first. Raises NativeError where there is none."""
    families = _by_family()
    found = [place for family in families for place in family[:MAX_ADDRESSES]]
    if wanted := environment.get("WIRESPEED_INTERFACE"):
        # The first alone, so that nothing else is listened on.
        if of_it := [address for family in families for name, address in family if name == wanted]:
            return of_it[:1]
        names = ", ".join(dict.fromkeys(name for name, _ in found)) or "none"
        text = f"WIRESPEED_INTERFACE={wanted}: no such interface with an address; there are: {names}"
        raise NativeError(text, lack=True)
    if not found:
        raise NativeError("no interface has an address that leads to other hosts", lack=True)
    return [address for _, address in found]


def no_common_family(addresses: Mapping[str, Collection[str]]) -> str:
    """'n1 has only IPv4 addresses and n2 has only IPv6 addresses: ...', of the first two of these for whom
    that is so; empty where it is so for none.
    """
    versions = {
        name: {ipaddress.ip_address(address.partition("%")[0]).version for address in found}
        for name, found in addresses.items()
        if found
    }
    for one, other in itertools.combinations(versions, 2):
        if not versions[one] & versions[other]:
            has = [f"{name} has only IPv{min(versions[name])} addresses" for name in (one, other)]
            return f"{' and '.join(has)}: they cannot reach each other"
    return ""


def by_interface() -> tuple[tuple[str, str], ...]:
    """(interface, address) of this host, as far as they lead to others, IPv4 first."""
    return tuple(place for family in _by_family() for place in family[:MAX_ADDRESSES])


def _by_family() -> list[list[tuple[str, str]]]:
    import psutil

    up, all_ = psutil.net_if_stats(), psutil.net_if_addrs()
    return [
        [
            (name, one.address)
            for name in all_
            if name in up and up[name].isup
            for one in all_[name]
            if one.family == family and _leads_elsewhere(one.address)
        ]
        for family in (socket.AF_INET, socket.AF_INET6)
    ]


def _leads_elsewhere(address: str) -> bool:
    """Not loopback, nor an IPv6 address that needs the name of an interface of the caller's."""
    known = ipaddress.ip_address(address.partition("%")[0])
    return not known.is_loopback and not (known.version == 6 and known.is_link_local)
