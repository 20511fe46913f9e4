"""Strangers at a job's ports: other programs of the network, and what they may not cost."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from support.socket_ranks import KEY, environment_in, place, secret_in

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.rank.join import handshake, socket_world
from wirespeed.rank.join.handshake import Claim, Listener, connect
from wirespeed.rank.join.socket_world import SocketWorld


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A job whose ranks wait for less time than the strangers would like to take."""
    return environment_in(tmp_path, timeout=15)


def called(environment: dict[str, str]) -> socket.socket:
    """A stranger's connection to rank 0."""
    while True:
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", int(environment["WIRESPEED_PORT"])))
        time.sleep(0.01)


def world(
    rank: int, size: int, environment: dict[str, str], say: Callable[[str], None] | None = None
) -> SocketWorld:
    return SocketWorld(place(rank, size), environment, say)


@pytest.mark.parametrize(("crowd", "timeout"), [(20, 15), (600, 3)])
def test_strangers_keep_no_rank_waiting(environment: dict[str, str], crowd: int, timeout: int) -> None:
    """Protects a job from a port scanner: many say nothing for a second each, and one a byte now and then."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with suppress(OSError):
            while not over.wait(0.5):
                connection.send(b"w")

    with ThreadPoolExecutor(2) as threads, ExitStack() as strangers:
        quick = environment | {"WIRESPEED_RENDEZVOUS_TIMEOUT": str(timeout)}
        first = threads.submit(world, 0, 2, quick)
        for _ in range(crowd):
            strangers.enter_context(called(environment))
        threads.submit(drip, strangers.enter_context(called(environment)))
        try:
            world(1, 2, quick).close()
            first.result().close()
        finally:
            over.set()


@pytest.mark.slow
def test_what_happened_is_named(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects users from a search for a wrong secret where something else went wrong, and from silence."""
    monkeypatch.setattr(socket_world, "_WORD", 1.0)
    said: list[str] = []
    other = secret_in(tmp_path / "other", "not the characters of the job")
    quick = environment | {"WIRESPEED_RENDEZVOUS_TIMEOUT": "3"}
    with ThreadPoolExecutor(1) as threads, ExitStack() as strangers:
        first = threads.submit(world, 0, 4, quick, said.append)
        for _ in range(3):
            strangers.enter_context(called(environment))
        strangers.enter_context(called(environment)).send(b"GET / HTTP/1.1\r\n\r\n")
        strangers.enter_context(called(environment)).send(b"wire")
        must = "rank 0 has another secret: WIRESPEED_SECRET_FILE must hold the same text on every host"
        with pytest.raises(WirespeedError, match=must):
            world(1, 4, quick | {"WIRESPEED_SECRET_FILE": str(other)})
        port = environment["WIRESPEED_PORT"]
        with pytest.raises(WirespeedError) as raised:
            first.result()
    assert str(raised.value) == (
        f"ranks 1, 2, 3 of 4 did not come to 127.0.0.1, port {port}, within 3.00 s; of the connections that "
        "came, 3 said nothing within 1 s, 1 had not finished after 1 s, 1 had another secret, "
        "1 spoke another protocol"
    )
    assert raised.value.code == ExitCode.WRONG_WORLD
    assert f"waiting for ranks 1, 2, 3 of 4 to come to 127.0.0.1, port {port}, for 2 s more" in said[0]


_FIRST = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (32, int(sys.argv[1])))
import os
from wirespeed.errors import WirespeedError
from wirespeed.launchers import LaunchedRank
from wirespeed.rank.join.socket_world import SocketWorld
try:
    SocketWorld(LaunchedRank("torchrun", 0, 40, 0), os.environ).leave()
    print("joined")
except WirespeedError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("most", "says"), [(32, "no file descriptor is left"), (1024, "joined")])
def test_a_low_limit_of_files(most: int, says: str, environment: dict[str, str]) -> None:
    """Protects from blame on a secret: the soft limit is raised, and the hard one is named."""
    command = [sys.executable, "-I", "-c", _FIRST, str(most)]
    first = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    others = environment | {"WIRESPEED_RENDEZVOUS_TIMEOUT": "5"} if most == 32 else environment

    def joins(rank: int) -> None:
        with suppress(WirespeedError), closing(world(rank, 40, others)) as joined:
            joined.leave()

    with ThreadPoolExecutor(39) as threads:
        list(threads.map(joins, range(1, 40)))
    assert first.communicate(timeout=60)[0].startswith(says)


def test_no_more_strangers_than_a_bound(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects rank 0's memory and descriptors: further strangers wait, and a rank comes through them."""
    monkeypatch.setattr(handshake, "_MAX_NEWCOMERS", 8)
    with ExitStack() as strangers, ThreadPoolExecutor(1) as threads:
        for _ in range(20):
            strangers.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
        most = []
        until = time.monotonic() + 60
        rank = threads.submit(connect, ["127.0.0.1"], listener.port, KEY, until, Claim("join", 1, 3, 4))
        while (came := listener.accept(time.monotonic() + 0.05)) is None:
            most.append(len(listener._newcomers))
            assert time.monotonic() < until
        came[1].close()
        rank.result().close()
    assert max(most) == 8 and came[0] == Claim("join", 1, 3, 4)


def test_whom_a_rank_is_for_is_part_of_the_proof(listener: Listener) -> None:
    """Protects from a connection that is taken for another pair's: who wants rank 4 is no rank here."""
    with ThreadPoolExecutor(1) as threads:
        came = threads.submit(listener.accept, time.monotonic() + 3)
        with pytest.raises(WirespeedError, match="does not answer as rank 4 does"):
            connect(["127.0.0.1"], listener.port, KEY, time.monotonic() + 1, Claim("join", 1, 4, 5))
        connect(["127.0.0.1"], listener.port, KEY, time.monotonic() + 30, Claim("join", 2, 3, 5)).close()
        found = came.result()
        assert found and found[0] == Claim("join", 2, 3, 5)
        found[1].close()
    assert "wanted another rank" in listener.strangers()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("answers", ["nothing", "garbage", "a repeated answer", "one byte"])
def test_a_false_listener_is_no_rank(answers: str) -> None:
    """Protects a rank from a program that has taken rank 0's port."""
    with socket.create_server(("127.0.0.1", 0)) as false, ThreadPoolExecutor(1) as threads:

        def listens() -> None:
            with suppress(OSError):
                while True:
                    with false.accept()[0] as came:
                        came.send(bytes(32))
                        said = came.recv(4096)
                        came.send(
                            {
                                "nothing": b"",
                                "garbage": b"\1" + os.urandom(32),
                                "a repeated answer": b"\1" + said[-32:],
                                "one byte": b"\1",
                            }[answers]
                        )

        done = threads.submit(listens)
        port = false.getsockname()[1]
        try:
            with pytest.raises(WirespeedError, match="does not answer as rank 0 does: another program"):
                connect(["127.0.0.1"], port, KEY, time.monotonic() + 2, Claim("join", 1, 0, 2))
        finally:
            false.shutdown(socket.SHUT_RDWR)
            done.result()
