"""Ranks that TCP connects know each other; strangers come in nowhere and keep nobody waiting."""

from __future__ import annotations

import hashlib
import hmac
import os
import random
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from support.builds import program as builds_program

SECRET = bytes([7] * 32)
CASES = int((os.environ.get("FUZZ") or "300").split(":")[0])
WAIT = 60.0


@pytest.fixture(scope="module")
def program(native: Path, builds: Path) -> Path:
    own = [native / "transports/tcp/handshake.cpp", native / "core/sha256.cpp"]
    flags = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-I", native)
    sources = (Path(__file__).parent / "tcp_handshake.cpp", *own)
    return builds_program(builds, "tcp_handshake", *flags, *sources, "-lpthread")


def test_the_hash_is_sha_256(program: Path) -> None:
    """Protects the handshake: FIPS 180-4's vectors, and every length round one and two blocks."""
    texts = [b"", b"abc", b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", b"a" * 100000]
    texts += [os.urandom(size) for size in (1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 121, 128, 1000)]
    assert hashlib.sha256(b"abc").hexdigest().startswith("ba7816bf8f01cfea")
    cases = [*((text, "k") for text in texts), *((b"abc", "k" * length) for length in (64, 65, 200))]
    for text, key in cases:
        done = subprocess.run([program, "hash", key], input=text, capture_output=True, check=True)
        keyed = hmac.new(key.encode(), text, "sha256").hexdigest()
        assert done.stdout.decode().split() == [hashlib.sha256(text).hexdigest(), keyed]


@contextmanager
def listening(program: Path, *missing: int, **variables: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The port of rank 3, which waits for these ranks."""
    command = [str(program), "listen", "3", *map(str, missing)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | variables)
    try:
        assert process.stdout
        yield int(process.stdout.readline()), process
    finally:
        process.kill()
        process.communicate()


def call(program: Path, port: int, rank: int, **variables: str) -> str:
    command = [str(program), "call", str(port), str(rank), "3"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=WAIT, env=os.environ | variables, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("variables", [{}, {"SIGNALS": "1"}])
def test_ranks_connect(variables: dict[str, str], program: Path) -> None:
    """Protects host-tcp, also in a process that signals interrupt every millisecond (a profiler's, say)."""
    with listening(program, 5, 9, **variables) as (port, listener), ThreadPoolExecutor(2) as threads:
        said = list(threads.map(lambda rank: call(program, port, rank, **variables), (5, 9)))
        assert said == ["connected"] * 2
        assert listener.communicate(timeout=WAIT)[0] == "rank 5\nrank 9\n"


def test_strangers_keep_no_rank_waiting(program: Path) -> None:
    """Protects host-tcp from a port scanner: 20 connections say nothing, and one a byte now and then."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with suppress(OSError):
            while not over.wait(0.5):
                connection.send(b"w")

    with (
        listening(program, 5) as (port, listener),
        ExitStack() as strangers,
        ThreadPoolExecutor(1) as threads,
    ):
        connections = [
            strangers.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(21)
        ]
        threads.submit(drip, connections[0])
        try:
            assert call(program, port, 5) == "connected"
            assert listener.communicate(timeout=WAIT)[0] == "rank 5\n"
        finally:
            over.set()


def test_who_stays_away_is_named(program: Path) -> None:
    """Protects from a wait for ever, which strangers cannot make longer either."""
    with listening(program, 5) as (port, listener), ExitStack() as strangers:
        for _ in range(3):
            strangers.enter_context(socket.create_connection(("127.0.0.1", port)))
        said = listener.communicate(timeout=WAIT)[0]
    assert said == "rank 5 has not connected within 10 s; 3 connections of strangers were closed\n"


Answer = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    "answer", [lambda _: b"\1", lambda _: os.urandom(32), lambda hello: hello[-32:], lambda _: SECRET]
)
def test_a_false_listener_is_no_rank(answer: Answer, program: Path) -> None:
    """Protects what ranks send from a program that listens at their port; it never sees the secret."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as false, ThreadPoolExecutor(1) as threads:

        def listens() -> None:
            with suppress(OSError):
                while True:
                    with false.accept()[0] as came:
                        came.send(bytes(32))
                        heard.append(came.recv(4096))
                        came.send(answer(heard[-1]))

        done = threads.submit(listens)
        try:
            said = call(program, false.getsockname()[1], 5)
        finally:
            false.shutdown(socket.SHUT_RDWR)
            done.result()
    refusals = ("another program answers, not a rank", "closed before an answer", "no answer in time")
    assert any(each in said for each in refusals), said
    assert heard and not any(SECRET in hello for hello in heard)


def hello(rank: int, to: int, nonce: bytes, secret: bytes = SECRET) -> bytes:
    """As a rank introduces itself."""
    words = b"wstcp001" + struct.pack("=ii", rank, to) + os.urandom(32)
    return words + hmac.digest(secret, b"c" + words + nonce, "sha256")


@pytest.mark.parametrize(
    ("rank", "to", "comes"), [(5, 3, True), (6, 3, False), (5, 4, False), (-1, 3, False), (3, 3, False)]
)
def test_whom_a_rank_is_for_is_part_of_the_proof(rank: int, to: int, comes: bool, program: Path) -> None:
    """Protects from a connection that is taken for another pair's."""
    with listening(program, 5) as (port, _), socket.create_connection(("127.0.0.1", port), WAIT) as caller:
        nonce = caller.recv(32, socket.MSG_WAITALL)
        caller.sendall(hello(rank, to, nonce))
        assert len(caller.recv(32, socket.MSG_WAITALL)) == (32 if comes else 0)


def damaged(chance: random.Random, nonce: bytes) -> bytes:
    """Noise, a hello cut short, another connection's, one with another secret, or with a bit changed."""
    good = hello(5, 3, nonce)
    kind = chance.randrange(5)
    if kind == 0:
        return chance.randbytes(chance.randrange(200))
    if kind == 1:
        return good[: chance.randrange(len(good))]
    if kind == 2:
        return hello(5, 3, chance.randbytes(32))
    if kind == 3:
        return hello(5, 3, nonce, chance.randbytes(32))
    bit = chance.randrange(8 * len(good))
    changed = bytearray(good)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_nobody_comes_in_without_the_secret(program: Path) -> None:
    """Protects host-tcp: whatever strangers say, each is sent away and the rank comes in after them."""
    seed = random.randrange(1 << 32)
    # A listener waits for ten seconds; those that end meanwhile are followed by the next one.
    for part in range(0, CASES, 50):
        with listening(program, 5) as (port, listener), ThreadPoolExecutor(50) as threads:

            def speaks(number: int, port: int = port) -> bytes:
                chance = random.Random(f"{seed} {number}")
                with socket.create_connection(("127.0.0.1", port), WAIT) as stranger:
                    nonce, said = stranger.recv(32, socket.MSG_WAITALL), b""
                    with suppress(ConnectionError):
                        data = damaged(chance, nonce)
                        cut = chance.randrange(len(data) + 1)
                        stranger.sendall(data[:cut])
                        time.sleep(0.001)
                        stranger.sendall(data[cut:])
                        said = stranger.recv(32)
                    return said

            said = list(threads.map(speaks, range(part, min(part + 50, CASES))))
            assert not any(said), f"seed {seed}"
            assert call(program, port, 5) == "connected", f"seed {seed}"
            assert listener.communicate(timeout=WAIT)[0] == "rank 5\n"
