"""Result files made up for reports: every kind of record that a page, a Markdown file or a plot can show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from support import records

Record = dict[str, Any]
SIZES = (8, 1024, 65536, 1 << 20, 1 << 30)
HOSTILE = "</script><script>window.hurt=1</script><img src=x onerror=window.hurt=1>\u2028&amp;\x1b[31m"
"""What nobody is called."""
MEMORY = {"host": "pageable", "h2d-pageable": "pageable", "h2d-pinned": "pinned"}


def write(file: Path, *lines: Record) -> str:
    """Writes the records, a line each; returns the file's name."""
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(file)


def device(index: int) -> Record:
    return {"kind": "cuda", "index": index, "name": "NVIDIA H200", "id": f"GPU-{index}"}


def head(
    run: str = "r",
    pattern: str = "pingpong",
    host: str = "n1",
    ranks: int = 2,
    resume: bool = False,
    **options: Any,
) -> Record:
    made = records.head(pattern=pattern)
    pairs = [[name, value] for name, value in options.items()]
    made["plan"] |= {"sizes": list(SIZES), "ranks": ranks, "resume": resume, "options": pairs}
    made["environment"] |= {
        "host": host,
        "kernel": "Linux",
        "cpu": {"model": "CPU"},
        "devices": [device(index) for index in range(ranks)],
        "python": "3.12",
        "packages": {"mpi4py": "4.1.2"},
        "variables": {"UCX_TLS": "all"},
    }
    clock = {"cost_s": 2e-8, "resolution_s": 1e-9}
    command = ["wirespeed", pattern]
    return {**made, "run": run, "schema": 2, "wirespeed": "0.1.0", "command": command, "clock": clock}


def step(
    path: str,
    run: str = "r",
    host: str = "n1",
    ranks: int = 2,
    without: str | None = None,
    transport: str = "mpi",
    **variables: str,
) -> Record:
    places = [
        {"rank": rank, "host": host, "pid": 1, "cpus": str(rank), "device": device(rank)}
        for rank in range(ranks)
    ]
    mpi = {"vendor": "openmpi", "version": "5.0.11", "string": "", "library": "/lib/libmpi.so"}
    more: Record = {"run": run, "transport": transport, "memory": MEMORY.get(path, "device"), "mpi": mpi}
    more |= {"launcher": "mpiexec", "ranks": places, "startup_s": 0.5, "without": without}
    return records.step(path, variables, **more)


def entry(
    path: str, size: int, seconds: float, run: str = "r", precision: Any = 0.015, **more: Any
) -> Record:
    made = records.entry(path, size, seconds, precision)
    low = seconds * max(1 - precision / 1.5, 0.1)
    made["seconds"] = {"median": seconds, "low": low, "high": low + 2 * precision * seconds, "min": seconds}
    made |= {"run": run, "step": 0, "bandwidth_bytes": size, "checked": {"iterations": 2, "bytes": 2 * size}}
    histogram = {"base": 1.04, "unit_s": 1e-9, "first": 3, "counts": [1] * 40}
    return {**made, "memory": MEMORY.get(path, "device"), "histogram": histogram, **more}


def end(run: str = "r") -> Record:
    return records.end() | {"run": run}


def curve(path: str, latency: float, rate: float, run: str = "r", **more: Any) -> list[Record]:
    """Entries whose time is a latency in seconds and a rate in bytes per second."""
    return [entry(path, size, latency + size / rate, run, **more) for size in SIZES]


def evidence(
    path: str, size: int, verdict: str = "direct", run: str = "r", host: str = "n1", **more: Any
) -> Record:
    """What counters around a measurement saw on a host with two GPUs: of 50 rounds, there and back."""
    payload = 2 * 50 * size
    wires: list[Record] = []
    for index in range(2):
        for kind in ("nvlink", "pcie"):
            busy = (kind == "nvlink") == (verdict == "direct")
            moved = payload // 2 if busy else payload // 500
            counted = {"sent": moved + 100, "received": moved if busy else 0, "background": 100}
            expected = {"expected_sent": payload // 2, "expected_received": payload // 2}
            place = {"host": host, "name": f"GPU {index}", "device": f"GPU-{index}"}
            wires.append({"kind": kind, **place, **counted, "granularity": 1024, **expected, "links": []})
    copied = {"rank": 0, "host_to_device": {"count": 5, "bytes": 5 * 1024}, "peer": {"count": 0, "bytes": 0}}
    words = {
        "direct": "direct over NVLink (100 % of the bytes)",
        "staged": "staged through host memory: 100 % of the bytes copied to the host",
    }
    return {
        "kind": "evidence",
        "run": run,
        "step": 0,
        "pattern": "pingpong",
        "path": path,
        "bytes": size,
        "verdict": verdict,
        "text": words.get(verdict, verdict),
        "suspicious": None,
        "shares": {},
        "uncertainties": {},
        "iterations": 50,
        "payload_bytes": payload,
        "wires": wires,
        "copies": [copied],
        "unread_sources": [],
        **more,
    }


def pingpong(run: str = "r", host: str = "n1") -> list[Record]:
    """Three paths, one of them once more without GPUDirect; evidence with two of them."""
    records = [head(run, host=host), step("host", run, host), step("staged", run, host, transport="staged")]
    records += [step("aware", run, host)]
    records += [step("aware-nogdr", run, host, without="aware", UCX_TLS="^cuda_ipc")]
    records += curve("host", 4e-7, 9e9, run) + curve("aware-nogdr", 9e-6, 4e10, run)
    for size in SIZES:
        records.append(entry("staged", size, 2e-5 + size / 4e9, run))
        records.append(evidence("staged", size, "staged", run, host))
        records.append(entry("aware", size, 8e-6 + size / 3.9e11, run))
        records.append(evidence("aware", size, "direct", run, host))
    return [*records, end(run)]


def on_cpus(run: str = "u", host: str = "n3") -> list[Record]:
    """A machine without GPUs: one path, and nothing that hints at more."""
    first = head(run, host=host)
    first["environment"] |= {"devices": [], "variables": {}}
    place = step("host", run, host)
    for rank in place["ranks"]:
        rank["device"] = None
    return [first, place, *curve("host", 4e-7, 9e9, run), end(run)]


def pairs(ranks: int, run: str = "p", slow: tuple[int, int] = (1, 3)) -> list[Record]:
    """Every pair of ranks, one of them slower."""

    def member(first: int, second: int, seconds: float) -> Record:
        slower = 1.6 if (first, second) == slow else 1 + 0.01 * ((first * 7 + second) % 9)
        times = {"median": seconds * slower, "low": seconds, "high": 2 * seconds, "min": seconds}
        return {"name": f"{first}-{second}", "first": first, "ranks": 2, "seconds": times}

    records = [head(run, "pairs", ranks=ranks), step("nccl", run, ranks=ranks, transport="ccl")]
    for size, seconds in ((8, 1.2e-5), (1 << 28, 8e-4)):
        members = [member(a, b, seconds) for a in range(ranks) for b in range(a + 1, ranks)]
        more = {"pattern": "pairs", "teams": members, "definition": "slowest pair: half"}
        records.append(entry("nccl", size, 1.6 * seconds, run, **more))
    return [*records, end(run)]


def fans(ranks: int, slow: int = 2, run: str = "f") -> list[Record]:
    """One rank to all others, and all to one; one rank is slower to all."""
    records = [head(run, "pairs", ranks=ranks, fan="both"), step("gpu", run, ranks=ranks, transport="gpu")]
    for size, seconds in ((8, 2e-6), (1 << 28, 1e-3)):
        members = []
        for name, factor in (("rank {} to all", 1.4), ("all to rank {}", 1.0)):
            for rank in range(ranks):
                times = {"median": seconds * (factor if rank == slow else 1), "low": seconds, "min": seconds}
                member = {"name": name.format(rank), "first": rank, "ranks": ranks, "seconds": times}
                members.append(member)
        more = {"pattern": "pairs", "teams": members, "definition": "slowest fan: one"}
        records.append(entry("gpu", size, 1.4 * seconds, run, **more))
    return [*records, end(run)]


def groups(shapes: Iterable[tuple[int, int]]) -> list[Record]:
    """Groups of ranks, a run for each (ranks, ranks in a group)."""
    records = []
    for ranks, width in shapes:
        run = f"g{ranks}-{width}"
        records += [head(run, "groups", ranks=ranks, group=width)]
        records += [step("nccl", run, ranks=ranks, transport="ccl")]
        for size in SIZES:
            out = width * (ranks // width - 1) * size
            more = {"pattern": "groups", "bandwidth_bytes": out, "definition": "slowest group: out"}
            records.append(entry("nccl", size, 2e-5 + out / (width * 3.3e11), run, **more))
        records.append(end(run))
    return records


def copies(run: str = "c") -> list[Record]:
    """Copies into the device, alone and together."""
    records = [head(run, "copy")]
    for path, rate in (("h2d-pageable", 9e9), ("h2d-pinned", 5.5e10)):
        records.append(step(path, run, transport="copy"))
        for size in SIZES:
            seconds = 3e-6 + size / rate
            members = [
                {"name": f"rank {rank} {how}", "first": rank, "ranks": 1, "seconds": {"median": by * seconds}}
                for rank in (0, 1)
                for how, by in (("alone", 1.0), ("with all", 1.3))
            ]
            more = {"pattern": "copy", "teams": members, "definition": "copy: one"}
            records.append(entry(path, size, seconds * 1.3, run, **more))
    return [*records, end(run)]


def doctor() -> Record:
    return {
        "kind": "doctor",
        "findings": [
            {
                "title": "UCX without CUDA",
                "cost": "high",
                "evidence": ["libuct_cuda.so is not loaded"],
                "remedy": ["pip install libucx-cu13", "unset UCX_TLS"],
                "worth": {
                    "what": "aware",
                    "points": [{"bytes": 1 << 30, "ratio": 9.72, "low": 9.6, "high": 9.8}, {"bytes": 8}],
                },
            }
        ],
    }


def hostile() -> list[Record]:
    """A run whose host, path, texts and findings want to be more than text."""
    finding = {"title": HOSTILE, "cost": HOSTILE, "evidence": 5, "remedy": None}
    failure = {"kind": "failure", "run": "h", "path": HOSTILE, "bytes": 8, "what": HOSTILE, "text": HOSTILE}
    first = head("h", host=HOSTILE)
    first["environment"]["variables"] = {HOSTILE: HOSTILE}
    odd = {"kind": HOSTILE, "host": HOSTILE, "name": HOSTILE, "sent": HOSTILE}
    named = {**odd, "sent": 5, "received": 5, "expected_sent": 5}
    counted = evidence(HOSTILE, 8, HOSTILE, "h", text=HOSTILE, suspicious=HOSTILE, wires=[odd, named, 7])
    return [
        first,
        step(HOSTILE, "h", HOSTILE),
        step("__proto__", "h", HOSTILE),
        *curve(HOSTILE, 1e-6, 1e9, "h", definition=HOSTILE),
        counted,
        *curve("__proto__", 1e-6, 2e9, "h"),
        failure,
        {"kind": "doctor", "findings": [finding, "x", None]},
        end("h"),
    ]


def everything(folder: Path) -> list[str]:
    """Files with all that a page can show, of two machines."""
    return [
        write(folder / "one.jsonl", *pingpong(), doctor()),
        write(folder / "two.jsonl", *pingpong("s", "n2")),
        write(folder / "many.jsonl", *pairs(8), *groups([(8, 4), (8, 2), (4, 2)]), *copies()),
    ]


def large(file: Path, megabytes: int, runs: int = 4) -> str:
    """A file of at least so many MB, as a long series of runs writes it."""
    paths: Sequence[str] = ("host", "staged", "aware", "nccl", "ipc-write", "gpu")
    sizes = [round(1.02**power) + power for power in range(500)]
    text: list[str] = []
    size = number = 0
    while size < megabytes * 1_000_000:
        run = f"l{number}"
        text.append(json.dumps(head(run, host=f"n{number % runs}")))
        for path in paths:
            text += [
                json.dumps(entry(path, one, 1e-6 + one / 1e10, run, padding="x" * 2000)) for one in sizes
            ]
        text.append(json.dumps(end(run)))
        size = sum(map(len, text))
        number += 1
    file.write_text("\n".join(text) + "\n")
    return str(file)
