"""NIXL's prepared lists beside `wirespeed blocks`: the same blocks, turn about; every byte is compared.

pip install --no-deps nixl-cu13 numpy, then: nixl_blocks.py [--device cuda] [--block 4K,32K] [--total 16M].
NIXL's list is one WRITE by its UCX backend, until its sender knows that it is done; ours is half of the time
there and back. `prepare`: both descriptor lists and the request, once; `post`: the call that starts it.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import multiprocessing
import os
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import measured

from wirespeed.patterns.block_list import Blocks, laid_out
from wirespeed.units import format_size, parse_size, parse_sizes

WARM_UP, TIMES = 5, 30
SENDER, RECEIVER = 0, 1


class Pool:
    """Memory of the host, or of the GPU of that number."""

    def __init__(self, device: str, number: int, size: int) -> None:
        self.size, self.on_gpu, self.number = size, device == "cuda", number
        self.kind = "cuda" if self.on_gpu else "cpu"
        self._here = ctypes.create_string_buffer(size)
        self.address = ctypes.addressof(self._here)
        if not self.on_gpu:
            return
        self._cuda = ctypes.CDLL("libcuda.so.1")
        context, found = ctypes.c_void_p(), ctypes.c_uint64()
        self._check("cuInit", 0)
        self._check("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self._check("cuCtxSetCurrent", context)
        self._check("cuMemAlloc_v2", ctypes.byref(found), ctypes.c_size_t(size))
        self.address = found.value

    def _check(self, call: str, *arguments: Any) -> None:
        if code := getattr(self._cuda, call)(*arguments):
            raise SystemExit(f"{call}: error {code}")

    def _copy(self, call: str, to: Any, source: Any) -> None:
        self._check(call, to, source, ctypes.c_size_t(self.size))

    @property
    def content(self) -> bytes:
        if self.on_gpu:
            self._check(
                "cuMemcpyDtoH_v2", self._here, ctypes.c_uint64(self.address), ctypes.c_size_t(self.size)
            )
        return self._here.raw

    @content.setter
    def content(self, content: bytes) -> None:
        ctypes.memmove(self._here, content, self.size)
        if self.on_gpu:
            self._check(
                "cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), self._here, ctypes.c_size_t(self.size)
            )

    def pieces(self, places: Any, size: int) -> list[tuple[int, int, int]]:
        return [(self.address + place, size, self.number if self.on_gpu else 0) for place in places]


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


def right(content: bytes, blocks: Blocks, sent: bytes) -> bool:
    """Every block, and nothing else."""
    expected = bytearray(blocks.pool)
    for source, target in zip(blocks.places, blocks.remote_places, strict=True):
        expected[target : target + blocks.bytes] = sent[source : source + blocks.bytes]
    return content == bytes(expected)


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
    posts, lists = [], []
    for _ in range(WARM_UP + TIMES):
        began = time.perf_counter()
        state = agent.transfer(request)
        posts.append(time.perf_counter() - began)
        while state == "PROC":
            state = agent.check_xfer_state(request)
        lists.append(time.perf_counter() - began)
        if state != "DONE":
            raise SystemExit(f"NIXL: the transfer is {state}")
    ours.send(False)
    if not right(ours.recv(), blocks, sent):
        raise SystemExit("NIXL: wrong bytes")
    ours.send(True)
    other.join()
    for handle in (request, local, remote):
        handle.release()
    return {
        "prepare": prepared,
        "post": statistics.median(posts[WARM_UP:]),
        "list": statistics.median(lists[WARM_UP:]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--block", default="4K,32K")
    parser.add_argument("--total", default="16M")
    parser.add_argument("--paths", default="host,host-datatype,host-packed,ucx-host-iov")
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    total = parse_size(given.total)
    for size in parse_sizes(given.block):
        blocks = laid_out(size, total // size, "random", 1)
        whole = laid_out(total, 1, "contiguous", 1)
        for _ in range(given.pairs):
            theirs, contiguous = by_nixl(given.device, blocks), by_nixl(given.device, whole)
            words = ("--device", given.device, "--block", str(size), "--total", str(total))
            with TemporaryDirectory() as folder:
                entries = measured(Path(folder), "blocks", *words, "--paths", given.paths)
            print(
                f"{format_size(size):>8}  NIXL {total / theirs['list'] / 1e9:7.3g} GB/s, "
                f"{100 * contiguous['list'] / theirs['list']:3.0f} % of contiguous, "
                f"prepare {theirs['prepare'] * 1e3:.3g} ms, post {theirs['post'] * 1e6:.3g} us; "
                + ", ".join(f"{entry.path} {entry.rate / 1e9:.3g}" for entry in entries),
                flush=True,
            )
    os._exit(0)  # NIXL 1.5.1 crashes when Python frees its agents


if __name__ == "__main__":
    main()
