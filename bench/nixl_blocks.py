"""NIXL's prepared lists beside `wirespeed blocks`: the same blocks, turn about; every byte is compared.

pip install --no-deps nixl-cu13 numpy, then: nixl_blocks.py [--device cuda] [--block 4K,32K] [--total 16M].
NIXL's list is one WRITE by its UCX backend, until its sender knows that it is done; ours is half of the time
there and back. `prepare`: both descriptor lists and the request, once; `post`: the call that starts it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import time
from typing import Any

from list_engines import RECEIVER, SENDER, Pool, beside, right, times_of

from wirespeed.patterns.block_list import Blocks


def agent_with(pool: Pool, name: str) -> Any:
    nixl = importlib.import_module("nixl_cu13")

    agent = nixl.nixl_agent(name, nixl.nixl_agent_config(backends=["UCX"]))
    agent.register_memory([(pool.address, pool.size, pool.number if pool.on_gpu else 0, "")], pool.kind)
    return agent


def receive(device: str, size: int, pipe: Any) -> None:
    """The other process: its pool, and what lies in it when asked."""
    pool = Pool(device, RECEIVER, size)
    pool.content = bytes(size)
    agent = agent_with(pool, "receiver")
    pipe.send((agent.get_agent_metadata(), pool.address))
    while pipe.poll(0.0005) is False or pipe.recv():
        agent.get_new_notifs()  # what UCX leaves to the receiver goes on
    pipe.send(pool.content)
    pipe.recv()


def by_nixl(device: str, blocks: Blocks) -> dict[str, float]:
    """Seconds of preparing, of the call that starts a list, and until it is done."""
    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=receive, args=(device, blocks.pool, theirs))
    other.start()
    pool = Pool(device, SENDER, blocks.pool)
    sent = bytes(place * 37 % 251 + 1 for place in range(blocks.pool))
    pool.content = sent
    agent = agent_with(pool, "sender")
    metadata, there = ours.recv()
    peer = agent.add_remote_agent(metadata)
    began = time.perf_counter()
    local = agent.prep_xfer_dlist("", pool.pieces(blocks.places, blocks.bytes), pool.kind)
    number = RECEIVER if pool.on_gpu else 0
    remote_pieces = [(there + place, blocks.bytes, number) for place in blocks.remote_places]
    remote = agent.prep_xfer_dlist(peer, remote_pieces, pool.kind)
    every = list(range(len(blocks)))
    request = agent.make_prepped_xfer("WRITE", local, every, remote, every)
    prepared = time.perf_counter() - began

    def finish(state: str) -> None:
        while state == "PROC":
            state = agent.check_xfer_state(request)
        if state != "DONE":
            raise SystemExit(f"NIXL: the transfer is {state}")

    times = times_of(lambda: agent.transfer(request), finish)
    ours.send(False)
    if not right(ours.recv(), blocks, sent):
        raise SystemExit("NIXL: wrong bytes")
    ours.send(True)
    other.join()
    for handle in (request, local, remote):
        handle.release()
    return {"prepare": prepared, **times}


if __name__ == "__main__":
    beside("NIXL", __doc__, by_nixl)
