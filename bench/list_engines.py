"""What benchmarks of engines for lists of blocks share: pools, the check, and our paths beside them."""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import time
from collections.abc import Callable
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


def right(content: bytes, blocks: Blocks, sent: bytes) -> bool:
    """Every block, and nothing else."""
    expected = bytearray(blocks.pool)
    for source, target in zip(blocks.places, blocks.remote_places, strict=True):
        expected[target : target + blocks.bytes] = sent[source : source + blocks.bytes]
    return content == bytes(expected)


def times_of(post: Callable[[], Any], finish: Callable[[Any], None]) -> dict[str, float]:
    """Seconds of the call that starts a list, and until it is done."""
    posts, lists = [], []
    for _ in range(WARM_UP + TIMES):
        began = time.perf_counter()
        state = post()
        posts.append(time.perf_counter() - began)
        finish(state)
        lists.append(time.perf_counter() - began)
    return {"post": statistics.median(posts[WARM_UP:]), "list": statistics.median(lists[WARM_UP:])}


def beside(name: str, about: str | None, engine: Callable[[str, Blocks], dict[str, float]]) -> None:
    """Lists by this engine and by our paths, turn about. `engine` measures one with this device."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--block", default="4K,32K")
    parser.add_argument("--total", default="16M")
    parser.add_argument("--paths", default="host,host-datatype,host-packed,host-tcp,ucx-host-iov")
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    total = parse_size(given.total)
    for size in parse_sizes(given.block):
        blocks = laid_out(size, total // size, "random", 1)
        whole = laid_out(total, 1, "contiguous", 1)
        for _ in range(given.pairs):
            theirs, contiguous = engine(given.device, blocks), engine(given.device, whole)
            words = ("--device", given.device, "--block", str(size), "--total", str(total))
            with TemporaryDirectory() as folder:
                entries = measured(Path(folder), "blocks", *words, "--paths", given.paths)
            print(
                f"{format_size(size):>8}  {name} {total / theirs['list'] / 1e9:7.3g} GB/s, "
                f"{100 * contiguous['list'] / theirs['list']:3.0f} % of contiguous, "
                f"prepare {theirs['prepare'] * 1e3:.3g} ms, post {theirs['post'] * 1e6:.3g} us; "
                + ", ".join(f"{entry.path} {entry.rate / 1e9:.3g}" for entry in entries),
                flush=True,
            )
    os._exit(0)  # NIXL 1.5.1 crashes when Python frees its agents
