"""Mooncake's transfer engine beside `wirespeed blocks`: the same blocks, turn about; every byte is compared.

pip install --no-deps mooncake-transfer-engine-non-cuda (or mooncake-transfer-engine-cuda13), then:
mooncake_blocks.py [--device cuda] [--block 4K,32K] [--total 16M].
Mooncake's list is a batch of writes by its TCP transport, until its sender knows that all are done; ours is
half of the time there and back. By default its queue refuses long batches. It prepares nothing.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import time
from typing import Any

from list_engines import RECEIVER, SENDER, Pool, beside, right, times_of

from wirespeed.patterns.block_list import Blocks

HOST = "127.0.0.1"
QUEUES = {"MC_TCP_MAX_QUEUED_TRANSFERS_PER_PEER": "4096", "MC_TCP_MAX_PENDING_ADMISSIONS_PER_PEER": "16384"}
"""By default a batch of 2048 blocks may fail; larger values than these are not taken (version 0.3.13)."""


def engine_with(pool: Pool) -> Any:
    os.environ |= QUEUES
    engine = importlib.import_module("mooncake.engine").TransferEngine()
    if engine.initialize(HOST, "P2PHANDSHAKE", "tcp", "") or engine.register_memory(pool.address, pool.size):
        raise SystemExit("Mooncake: no engine over TCP")
    return engine


def receive(device: str, size: int, pipe: Any) -> None:
    """The other process: its pool, and what lies in it when asked."""
    pool = Pool(device, RECEIVER, size)
    pool.content = bytes(size)
    engine = engine_with(pool)
    pipe.send((engine.get_rpc_port(), pool.address))
    pipe.recv()
    pipe.send(pool.content)
    pipe.recv()


def by_mooncake(device: str, blocks: Blocks) -> dict[str, float]:
    """Seconds of preparing, of the calls, and until a list is done."""
    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=receive, args=(device, blocks.pool, theirs))
    other.start()
    pool = Pool(device, SENDER, blocks.pool)
    sent = bytes(place * 37 % 251 + 1 for place in range(blocks.pool))
    pool.content = sent
    engine = engine_with(pool)
    port, there = ours.recv()
    began = time.perf_counter()
    batch = (
        [pool.address + place for place in blocks.places],
        [there + place for place in blocks.remote_places],
        [blocks.bytes] * len(blocks),
    )
    prepared = time.perf_counter() - began

    def write() -> None:
        if code := engine.batch_transfer_sync_write(f"{HOST}:{port}", *batch):
            other.kill()
            raise SystemExit(f"Mooncake: a batch of {len(blocks)} failed with {code}")

    times = times_of(write, lambda _: None)
    ours.send(False)
    if not right(ours.recv(), blocks, sent):
        raise SystemExit("Mooncake: wrong bytes")
    ours.send(True)
    other.join()
    return {"prepare": prepared, **times}


if __name__ == "__main__":
    beside("Mooncake", __doc__, by_mooncake)
