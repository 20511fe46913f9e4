"""Made-up answers to a listener of a job: nobody comes in, and nobody keeps a rank out.

FUZZ=CASES:... says how many (make fuzz).
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from support.socket_ranks import KEY

from wirespeed.rank.join import handshake
from wirespeed.rank.join.handshake import Claim, Listener, connect

CASES = int((os.environ.get("FUZZ") or "300").split(":")[0])


def answer(secret: bytes, claim: Claim, nonce: bytes) -> bytes:
    """As a rank answers a listener's nonce."""
    packed, own = claim.packed(), os.urandom(32)
    mac = handshake._mac(secret, b"caller", packed, nonce + own)
    return b"wirespd1" + packed + own + mac


def damaged(chance: random.Random, nonce: bytes) -> bytes:
    """Noise, an answer cut short, another's, one for another rank, one with a bit changed."""
    good = answer(KEY, Claim("join", 1, 3, 4), nonce)
    kind = chance.randrange(7)
    if kind == 0:
        return chance.randbytes(chance.randrange(200))
    if kind == 1:
        return good[: chance.randrange(len(good))]
    if kind == 2:
        return answer(KEY, Claim("join", 1, 3, 4), os.urandom(32))
    if kind == 3:
        return answer(chance.randbytes(20), Claim("join", 1, 3, 4), nonce)
    if kind == 4:
        return b"wirespd1" + chance.randbytes(len(good) - 8)
    if kind == 5:
        return answer(KEY, Claim("join", 1, chance.choice([0, 1, 2, 4, 1 << 31]), 4), nonce)
    bit = chance.randrange(8 * len(good))
    changed = bytearray(good)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_nobody_comes_in_without_the_secret(listener: Listener) -> None:
    """Protects a job's ranks: whatever strangers say, each is sent away and the next rank comes in."""
    seed = random.randrange(1 << 32)
    over = threading.Event()
    came: list[Claim] = []

    def serves() -> None:
        while not over.is_set():
            if accepted := listener.accept(time.monotonic() + 0.05):
                came.append(accepted[0])
                accepted[1].close()

    def speaks(number: int) -> bool:
        """Is sent away: its connection is closed, and no rank's answer has come before."""
        case = random.Random(f"{seed} {number}")
        with socket.create_connection(("127.0.0.1", listener.port), 30) as stranger:
            nonce = b""
            while len(nonce) < 32:
                nonce += stranger.recv(32 - len(nonce))
            said = b""
            with suppress(ConnectionError):
                for part in halves(case, damaged(case, nonce)):
                    stranger.sendall(part)
                while part := stranger.recv(4096):
                    said += part
        return said in (b"", b"\0" + bytes(32))

    with ThreadPoolExecutor(40) as threads:
        serving = threads.submit(serves)
        try:
            turned_away = list(threads.map(speaks, range(CASES)))
            until = time.monotonic() + 30
            connect(["127.0.0.1"], listener.port, KEY, until, Claim("join", 2, 3, 4)).close()
        finally:
            over.set()
        serving.result()
    assert all(turned_away) and came == [Claim("join", 2, 3, 4)], f"seed {seed}"
    assert sum(listener._strangers.values()) == CASES


def halves(chance: random.Random, data: bytes) -> list[bytes]:
    cut = chance.randrange(len(data) + 1)
    return [data[:cut], data[cut:]]
