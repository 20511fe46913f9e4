"""What is made of NCCL's log: which way the ranks' bytes go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.builds import program as builds_program
from support.command import captured

pytestmark = pytest.mark.slow(after=1)

Read = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def read(native: Path, builds: Path) -> Read:
    """Turns a log into the members that a record shows."""
    sources = (Path(__file__).parent / "ccl_channels.cpp", native / "transports/ccl/channels.cpp")
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover", "-I", native)
    program = builds_program(builds, "channels", *flags, *sources)

    def run(log: str) -> dict[str, Any]:
        done = captured([str(program)], input=log, ok=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


def info(*lines: str) -> str:
    return "".join(f"node-1:4711:4712 [0] NCCL INFO {line}\n" for line in lines)


def channel(origin: int, to: int, via: str, count: int = 1) -> dict[str, Any]:
    return {"from": origin, "to": to, "via": via, "count": count}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM/read", channel(0, 1, "P2P/CUMEM/read")),
        ("Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM", channel(0, 1, "P2P/CUMEM")),
        ("Channel 03/1 : 12[4] -> 3[3] via P2P/IPC", channel(12, 3, "P2P/IPC")),
        ("Channel 00 : 0[1b000] -> 1[1c000] via SHM/direct/direct", channel(0, 1, "SHM/direct/direct")),
        ("Channel 00/1 : 1[0] -> 0[0] [receive] via NET/Socket/0", channel(1, 0, "NET/Socket/0")),
        ("Channel 00/1 : 0[0] -> 1[0] [send] via NET/IB/0(1)/GDRDMA", channel(0, 1, "NET/IB/0(1)/GDRDMA")),
        ("Channel 00/1 : 0[c1000] -> 1[c6000] via P2P/IPC comm 0x55d0 nRanks 02", channel(0, 1, "P2P/IPC")),
        ("Channel 00/1 : 0[0] -> 1[1] via P2P/direct pointer/read", channel(0, 1, "P2P/direct")),
        ("Ring 00 : 0[0] -> 1[1] via P2P/IPC", channel(0, 1, "P2P/IPC")),
        (
            "Channel 00/1 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/0/GDRDMA comm 0x1 nRanks 16",
            channel(8, 0, "NET/AWS Libfabric/0/GDRDMA"),
        ),
    ],
)
def test_each_kind_of_line(read: Read, line: str, expected: dict[str, Any]) -> None:
    """Protects the reading of lines as NCCL and RCCL have written them over the years."""
    found = read(info("NCCL version 2.27.3+cuda12.9", line, "Connected all rings"))
    assert found == {"via": expected["via"], "channels": [expected], "networks": []}


def test_channels_are_counted(read: Read) -> None:
    """Protects the record from a line for each of dozens of channels, and from losing a second way."""
    lines = [f"Channel {n:02}/1 : 0[0] -> 1[1] via P2P/CUMEM" for n in range(24)]
    found = read(info(*lines, "Channel 00/1 : 0[0] -> 2[0] [send] via NET/Socket/0"))
    assert found["via"] == "NET/Socket/0, P2P/CUMEM"
    assert found["channels"] == [channel(0, 1, "P2P/CUMEM", 24), channel(0, 2, "NET/Socket/0")]


def test_collectives_do_not_count(read: Read) -> None:
    """Protects send and receive from being told as the rings are, which this path never uses."""
    ring, own = (
        "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
        "Channel 00/1 : 0[0] -> 1[1] via SHM/direct/direct",
    )
    assert read(info(ring, own))["channels"] == [channel(0, 1, "SHM/direct/direct")]
    assert read(info(ring))["channels"] == [channel(0, 1, "P2P/CUMEM")]


@pytest.mark.parametrize(
    "log",
    [
        "",
        "\n\n",
        info("Using network Socket", "comm 0x1 rank 0 nRanks 2 - Init COMPLETE"),
        "Channel 00/1 : 99999999999999[0] -> 1[1] via P2P/IPC",
        "Channel 00/1 : 0[0] -> 1[1] via",
        "Channel",
    ],
)
def test_a_log_without_channels(read: Read, log: str) -> None:
    """Protects describe() from a log that says nothing, is torn or is no log."""
    assert read(log) == {"via": "unknown (the log names no channel)", "channels": [], "networks": []}


def test_lines_that_number_the_network_devices(read: Read) -> None:
    """Protects the name of a NIC, for which a channel has a number; other lines stay out."""
    using = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB ib0:192.168.11.1<0>"
    merged = "NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=800000 ndevs=2"
    log = info("Bootstrap : Using eth0:10.0.0.1<0>", using, "NET/IB : No device found.", merged)
    assert read(log)["networks"] == [using, merged]
