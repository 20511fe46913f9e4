"""TCP connections between ranks for the transport `tcp`: who gets in, where, and for how long."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from support import socket_ranks
from support.socket_ranks import KEY, environment_in

from wirespeed.errors import WirespeedError
from wirespeed.host.core import NativeError
from wirespeed.rank.join import peers
from wirespeed.rank.join.handshake import Claim, Listener, connect
from wirespeed.rank.join.socket_world import SocketWorld

Address = namedtuple("Address", "family address")


def ranks(size: int, folder: Path, does: Callable[[SocketWorld], Any]) -> list[Any]:
    """What each rank does, or the error that it raised; ranks are threads."""

    def careful(world: SocketWorld) -> Any:
        try:
            return does(world)
        except NativeError as error:
            return error
        finally:
            world.barrier()

    return socket_ranks.ranks(size, environment_in(folder), careful)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Listener]]:
    """The listeners that ranks open, and their addresses."""
    opened: list[tuple[str, Listener]] = []

    def listens(address: str, *words: Any) -> Listener:
        opened.append((address, Listener(address, *words)))
        return opened[-1][1]

    monkeypatch.setattr(peers, "Listener", listens)
    return opened


def test_each_pair_has_a_connection_of_its_own(tmp_path: Path, watched: list[tuple[str, Listener]]) -> None:
    """Protects messages from another pair's; ranks of one host listen at loopback, and in this call alone."""

    def all_pairs(world: SocketWorld) -> dict[int, bytes]:
        assert world.connections([]) == {}
        found = world.connections([rank for rank in range(world.size) if rank != world.rank])
        for peer, opened in found.items():
            assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            opened.sendall(bytes([world.rank, peer]))
        said = {peer: opened.recv(2, socket.MSG_WAITALL) for peer, opened in found.items()}
        for opened in found.values():
            opened.close()
        return said

    for rank, said in enumerate(ranks(5, tmp_path, all_pairs)):
        assert said == {peer: bytes([peer, rank]) for peer in range(5) if peer != rank}
    assert [address for address, _ in watched] == ["127.0.0.1"] * 4
    assert all(listener._socket.fileno() == -1 for _, listener in watched)


def test_ranks_without_peers_take_part(tmp_path: Path) -> None:
    """Protects patterns in which some ranks do nothing."""

    def two_of_three(world: SocketWorld) -> list[int]:
        found = world.connections([1 - world.rank] if world.rank < 2 else [])
        for opened in found.values():
            opened.close()
        return [*found]

    assert ranks(3, tmp_path, two_of_three) == [[1], [0], []]


def test_where_one_rank_fails_all_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from ranks that wait for each other, and from connections that stay."""
    opened: list[socket.socket] = []

    def fails(*words: Any) -> socket.socket:
        if words[-1].rank == 2 and words[-1].to == 1:
            raise WirespeedError("the network is gone")
        opened.append(connect(*words))
        return opened[-1]

    monkeypatch.setattr(peers, "connect", fails)
    monkeypatch.setattr(peers, "PATIENCE", 1.0)
    said = ranks(3, tmp_path, lambda world: world.connections([*({0, 1, 2} - {world.rank})]))
    assert {type(one) for one in said} == {NativeError}
    assert {str(one) for one in said} == {"rank 1: rank 2 has not connected within 1 s"}
    assert len(opened) == 2 and all(each.fileno() == -1 for each in opened)


def test_families_that_do_not_fit_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from ten seconds' silence and 'does not answer': one host has only IPv6 addresses."""
    of_thread: dict[int, int] = {}
    addresses = [["10.0.0.1", "10.1.0.1"], ["fd00::2", "fd01::2"]]
    monkeypatch.setattr(peers, "network_name", lambda: os.urandom(4).hex())
    monkeypatch.setattr(peers, "own_addresses", lambda _: addresses[of_thread[threading.get_ident()]])

    def one(world: SocketWorld) -> Any:
        of_thread[threading.get_ident()] = world.rank
        return world.connections([1 - world.rank])

    words = "rank 0 has only IPv4 addresses and rank 1 has only IPv6 addresses: they cannot reach each other"
    assert [str(said) for said in ranks(2, tmp_path, one)] == [f"rank 0: {words}"] * 2


def test_a_host_without_addresses_is_a_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the table: a path that cannot be measured here is told apart from one that fails."""
    monkeypatch.setattr(peers, "network_name", lambda: os.urandom(4).hex())
    monkeypatch.setattr(psutil, "net_if_addrs", dict)
    said = ranks(2, tmp_path, lambda world: world.connections([1 - world.rank]))
    assert [str(one) for one in said] == ["rank 0: no interface has an address that leads to other hosts"] * 2
    assert all(one.lack for one in said)


@pytest.fixture
def interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two networks, a link that is down, and addresses that lead nowhere else."""
    found = {
        "lo": ["127.0.0.1", "::1"],
        "eth0": ["fe80::1%eth0", "fd00::1", "10.0.0.1"],
        "eth1": ["10.1.0.1", "10.1.0.2"],
        "down": ["10.2.0.1"],
    }
    all_ = {
        name: [Address(socket.AF_INET6 if ":" in one else socket.AF_INET, one) for one in addresses]
        for name, addresses in found.items()
    }
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: all_)
    states = {name: SimpleNamespace(isup=name != "down") for name in all_}
    monkeypatch.setattr(psutil, "net_if_stats", lambda: states)


@pytest.mark.parametrize(
    ("wanted", "addresses"),
    [(None, ["10.0.0.1", "10.1.0.1", "10.1.0.2", "fd00::1"]), ("eth0", ["10.0.0.1"]), ("eth1", ["10.1.0.1"])],
)
@pytest.mark.usefixtures("interfaces")
def test_the_addresses_of_a_host(wanted: str | None, addresses: list[str]) -> None:
    """Protects from addresses that lead nowhere; of an interface that is named one alone is listened at."""
    environment = {"WIRESPEED_INTERFACE": wanted} if wanted else {}
    assert peers.own_addresses(environment) == addresses


@pytest.mark.usefixtures("interfaces")
def test_an_interface_that_is_not_there() -> None:
    """Protects users from a guess: one line names those that there are."""
    with pytest.raises(NativeError) as raised:
        peers.own_addresses({"WIRESPEED_INTERFACE": "ib0"})
    assert str(raised.value) == (
        "WIRESPEED_INTERFACE=ib0: no such interface with an address; there are: eth0, eth1"
    )
    assert raised.value.lack


@pytest.mark.slow
def test_who_stays_away_is_named(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a wait for ever, which strangers cannot make longer either."""
    monkeypatch.setattr(peers, "PATIENCE", 1.5)
    with ExitStack() as strangers:
        for _ in range(3):
            strangers.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
        began = time.monotonic()
        with pytest.raises(WirespeedError) as raised:
            peers._accept(listener, {5, 9}, {})
    assert 1.5 <= time.monotonic() - began < 10
    assert str(raised.value) == (
        "rank 5 has not connected within 1.5 s; of the connections that came, 3 said nothing within 1 s"
    )


CLAIM = Claim("tcp", 5, 3, 10)


def arrival(listener: Listener, until: float) -> Claim | None:
    """Who came first."""
    if found := listener.accept(until):
        found[1].close()
    return found and found[0]


def test_a_rank_comes_while_signals_do(listener: Listener) -> None:
    """Protects host-tcp in a process that signals interrupt every millisecond (a profiler's, say)."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        with ThreadPoolExecutor(1) as threads:
            until = time.monotonic() + 30
            came = threads.submit(arrival, listener, until)
            connect(["127.0.0.1"], listener.port, KEY, until, CLAIM).close()
            assert came.result() == CLAIM
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def silent(came: socket.socket) -> None:
    """Until the other end has gone."""
    came.recv(1)


def banner(came: socket.socket) -> None:
    came.send(b"SSH-2.0-OpenSSH_9.6\r\n")
    came.recv(1)


def false(came: socket.socket) -> None:
    came.send(bytes(32))
    came.recv(4096)
    came.send(os.urandom(33))


@pytest.mark.parametrize(
    "stranger", [None, silent, banner, false], ids=["nobody", "silent", "banner", "false"]
)
def test_an_address_that_is_another_host_s_too(stranger: Callable[[socket.socket], None] | None) -> None:
    """Protects hosts with several networks, some of which others have as well (of a bridge, say)."""
    with ExitStack() as stack, ThreadPoolExecutor(2) as threads:
        real = stack.enter_context(closing(Listener("127.0.0.3", 0, KEY, 3)))
        if stranger:
            server = stack.enter_context(socket.create_server(("127.0.0.2", real.port)))

            def listens(speaks: Callable[[socket.socket], None]) -> None:
                with server.accept()[0] as came:
                    speaks(came)

            threads.submit(listens, stranger)
        until = time.monotonic() + 30
        came = threads.submit(arrival, real, until)
        began = time.monotonic()
        opened = connect(["127.0.0.2", "127.0.0.3"], real.port, KEY, until, CLAIM)
        stack.enter_context(opened)
        assert time.monotonic() - began < 10
        assert opened.getpeername() == ("127.0.0.3", real.port)
        assert came.result() == CLAIM


def test_all_addresses_are_named_where_none_answers() -> None:
    """Protects users whose network lets no connection through: each address, and why."""
    with socket.create_server(("127.0.0.3", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(WirespeedError) as raised:
        connect(["127.0.0.2", "127.0.0.3"], port, KEY, time.monotonic() + 0.2, CLAIM)
    refused = [f"nobody listens at 127.0.0.{n}, port {port}: Connection refused" for n in (2, 3)]
    assert str(raised.value) == f"rank 3 does not answer: {'; '.join(refused)}"
