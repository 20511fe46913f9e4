"""What a record says, member by member, of figures, verdicts, failures and the machine."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.golden import Golden
from support.rank_messages import RECORDS
from support.results import DEVICE, RUN, STEP_PATH, line_of, made, run, told

from wirespeed.errors import ExitCode
from wirespeed.evidence.verdict import Counted
from wirespeed.host.processor import cpu_model
from wirespeed.job.messages import Note
from wirespeed.job.outcome import Outcome
from wirespeed.job.plan import Plan
from wirespeed.paths import Switch, TransferPath
from wirespeed.patterns import Derived
from wirespeed.results import environment, recorder, store
from wirespeed.results.decoding import fitted
from wirespeed.results.model import OF_RANKS, Entry
from wirespeed.results.reading import read

SECONDS: dict[str, float | None] = {
    "median": 2e-6,
    "low": 1e-6,
    "high": 4e-6,
    "min": 1e-6,
    "max": 5e-6,
    "p99": 5e-6,
    "mean": 2e-6,
}
DERIVED = (Derived("one way", 4000), Derived("rate", 64, "messages/s"), Derived("lap", 3, "s"))


def entry(seconds: dict[str, float | None], **more: Any) -> dict[str, Any]:
    """1000 bytes in 40 samples of 5 rounds."""
    summary = {"seconds": seconds, "confidence": 0.95, "precision": 0.01, "samples": 40, "batches": 4}
    message = {
        **told(8),
        **summary,
        "bandwidth_bytes": 1000,
        "derived": [vars(one) for one in DERIVED],
        "iterations_per_sample": 5,
        "checked": {"iterations": 1, "batches": 3, "of_batches": 9, "bytes": 32, "wrong": None},
    }
    return made(RUN, 3, {**message, **more})


def lines(record: dict[str, Any], indent: str = "") -> Iterator[str]:
    """A line for each member, without the moment, which must look like one, and the run's name."""
    for name, value in record.items():
        if name == "at":
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", value)
        elif name == "run":
            assert re.fullmatch("[0-9a-f]{12}", value)
        elif isinstance(value, dict) and value:
            yield from (f"{indent}{name}:", *lines(value, indent + "  "))
        else:
            yield f"{indent}{name}: {json.dumps(value)}"


def written(tmp_path: Path, message: dict[str, Any]) -> dict[str, Any]:
    """What a run's recorder makes of a rank's message."""
    seen: list[Any] = []
    file = tmp_path / f"{message['kind']}.jsonl"
    kept = recorder.Recorder(Plan(out=str(file)), seen.append)
    kept.take(fitted(OF_RANKS[message["kind"]], {**message, "run": ""}), 3)
    assert kept.end("complete") == ExitCode.UNAVAILABLE
    results = read(file)
    assert results.records == seen and results.ends[0].entries == 0
    return line_of(results.records[0])


RANK: Any = {"rank": 0, "host": "n1", "pid": 7, "cpus": "0", "cpu_quota": 1.5, "device": None, "visible": []}
RANK |= {"copies": "works", "apart": ["pid"], "cpu_model": "Xeon"}
POINTER = {"rank": 0, "memory": "device", "device": 1, "context": "own", "ipc": True, "rdma": None}
JOB = recorder.StepJob({"UCX_TLS": "all", "HF_TOKEN": "x"}, "mpiexec", "openmp", None, (RANK,), 0.5)
EVIDENCE = {
    "kind": "evidence",
    "pattern": "stream",
    "path": "aware",
    "bytes": 8,
    "verdict": "direct",
    "text": "direct over NVLink",
    "suspicious": "a doubt",
    "shares": {"nvlink": 0.99},
    "uncertainties": {"nvlink": 0.01},
    "iterations": 7,
    "payload_bytes": 56,
    "wires": [vars(Counted("nvlink", "GPU 0", "n1", 10, 20, links=((10, 20),), wraps=1 << 32))],
    "copies": [{"rank": 0, "peer": {"count": 1, "bytes": 8}}],
    "nics": [{"rank": 0, "host": "n1", "nics": [{"name": "eth0", "share": 1.0}], "by": ["counters"]}],
    "nics_differ": "on n1 the log names eth1",
    "unread_sources": ["xgmi"],
}
WIRES = [{"host": "n1", "kind": "nvlink", "name": "GPU 0", "rate": 25e9}]
TEAM = {"name": "0-1", "first": 0, "ranks": 2, "seconds": {"median": 1.0, "low": 1, "high": 2, "min": 1}}
STUCK = ("rank 1\n  hangs", 1, "n1", "MPI_Recv", 8, 3)
OFF = TransferPath(
    "nccl-nop2p", "", "ccl", "device", switch=Switch({"NCCL_P2P_DISABLE": "1"}, without="nccl")
)
COPY = TransferPath("d2h", "", "copy", "device", "into=pinned")


def test_records(tmp_path: Path, golden: Golden) -> None:
    """Protects the figures people quote, what a verdict rests on, and the place of a failure."""
    found: Any = {"details": {"chunk": 8}, "pointers": [POINTER | {"library": "libgomp.so.1"}]}
    hang = Outcome("hang", *STUCK, stacks=[{"rank": 1, "host": "n1"}], log=["bye"])
    nothing = {**SECONDS, "median": 0.0, "low": None, "high": None}
    found = {
        "1000 bytes in 2 us are 500 MB/s; most time, lowest rate": entry(SECONDS),
        "a clock's zero is no rate, nor is there one without an interval": entry(nothing),
        "what a transport chose and what teams measured": entry(
            SECONDS, details={"protocol": "LL"}, teams=[TEAM]
        ),
        "a step says where its bytes go": line_of(recorder.step(RUN, 2, COPY, JOB, **found)),
        "a step carries its counterpart": line_of(recorder.step(RUN, 0, OFF, recorder.StepJob({}))),
        "a path that names no other memory ends where it began": line_of(
            recorder.step(RUN, 0, STEP_PATH, recorder.StepJob({}))
        ),
        "evidence has everything that was counted": written(tmp_path, EVIDENCE),
        "wires": written(tmp_path, {"kind": "wires", "path": "aware", "wires": WIRES}),
        "a failure is one line with its place": line_of(recorder.failure(RUN, STEP_PATH, hang, None)),
    }
    golden("results/records", {title: "\n".join(lines(record)) for title, record in found.items()})


@pytest.mark.parametrize("kind", ["entry", "soak", "fresh"])
def test_a_record_names_its_launch(kind: str, tmp_path: Path) -> None:
    """Protects what several launches found: of one launch the last record counts."""
    events: list[Any] = []
    kept = recorder.Recorder(Plan(out=str(tmp_path / "r.jsonl")), events.append)
    (message,) = (record for record in RECORDS if record["kind"] == kind)
    kept.take(fitted(OF_RANKS[kind], {**message, "run": ""}), 3, launch=2)
    (found,) = events
    assert (found.step, found.launch, found.run) == (3, 2, kept.run)
    kept.close()


def test_the_end_counts_what_went_before(tmp_path: Path) -> None:
    """Protects the exit code and the count of figures; what a machine merely lacks is no failure."""
    made = recorder.Recorder(Plan(out=str(tmp_path / "r.jsonl")), lambda event: None)
    figure = {**told(8), "seconds": SECONDS, "samples": 1, "iterations_per_sample": 1}
    made.take(fitted(Entry, {**figure, "run": ""}), 0)
    made.fail(STEP_PATH, Outcome("unavailable", "no GPU"), None)
    made.fail(STEP_PATH, Outcome("crash", "signal 11"), 0)
    assert made.end("complete") == ExitCode.FAILED_ENTRY
    (end,) = read(tmp_path / "r.jsonl").ends
    assert (end.status, end.entries, end.failures) == ("complete", 1, 1)


def test_a_slow_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a run that seems to measure slowly while it waits for the disk of its file."""
    seen: list[Any] = []
    for limit in (math.inf, 0.01):
        made = recorder.Recorder(Plan(out=str(tmp_path / f"{limit}.jsonl")), seen.append)
        monkeypatch.setattr(store, "SLOW_DISK_S", limit)
        monkeypatch.setattr(os, "fsync", lambda file: time.sleep(0.02))
        made.end("complete")
    (told,) = (one for one in seen if isinstance(one, Note))
    assert told.text.startswith(f"the disk of {tmp_path}/0.01.jsonl is slow: the run waited for it 0.")


def test_a_run_without_a_command_line() -> None:
    """Protects runs that a program has begun: the interpreter may have no arguments at all."""
    made = run(command=())
    (device,) = made["environment"]["devices"]
    assert made["command"] == [] and {name: device[name] for name in DEVICE} == DEVICE
    assert made["clock"] == {"cost_s": 25e-9, "resolution_s": 1e-9}


# ---- the machine ----------------------------------------------------------------------------------------


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """/sys/devices/system of a machine, empty for now."""
    monkeypatch.setattr(environment, "_CPUS", tmp_path / "cpu")
    monkeypatch.setattr(environment, "_NODES", tmp_path / "node")
    return tmp_path


def core(system: Path, cpu: int, package: str, core_id: str) -> None:
    folder = system / f"cpu/cpu{cpu}/topology"
    folder.mkdir(parents=True)
    for name, text in (("physical_package_id", package), ("core_id", core_id)):
        if text:
            (folder / name).write_text(f"{text}\n")


def test_cores_and_sockets_are_counted_once(system: Path) -> None:
    """Protects from hyper-threads as cores, core 0 of one socket as another one, and no sockets at all."""
    nothing = environment.cpu()
    assert (nothing.sockets, nothing.cores, nothing.numa_nodes) == (None, None, None), "as in a container"
    for cpu, (package, core_id) in enumerate([("0", "0"), ("0", "0"), ("0", "1"), ("1", "0"), ("1", "")]):
        core(system, cpu, package, core_id)
    core(system, 9, "", "7")
    for node in range(4):
        (system / f"node/node{node}").mkdir(parents=True)
    found = environment.cpu()
    assert (found.sockets, found.cores, found.numa_nodes) == (2, 3, 4)
    assert found.threads == os.cpu_count()


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("processor\t: 0\nmodel name\t: Xeon(R)   8480\nmodel name\t: other\n", "Xeon(R) 8480"),
        ("processor : 0\ncpu\t\t: POWER9, altivec\n", "POWER9, altivec"),
        ("cpu model\t: Loongson-3A\n", "Loongson-3A"),
        ("processor\t: 0\nmodel name\t:  \nBogoMIPS\t: 50.00\n", None),
        ("", None),
    ],
)
def test_the_name_of_a_processor(tmp_path: Path, text: str, model: str | None) -> None:
    """Protects the line by which people tell machines apart; Arm's kernel names none."""
    (tmp_path / "cpuinfo").write_text(text)
    assert cpu_model(tmp_path / "cpuinfo") == (model or f"linux {os.uname().machine}")


def test_versions() -> None:
    """Protects the environment's figures: Python's three numbers, and installed packages alone."""
    found = environment.environment()
    assert found["host"] == os.uname().nodename and found["kernel"].startswith("Linux ")
    assert re.fullmatch(r"3\.\d+\.\d+", found["python"])
    assert found["packages"]["numpy"] == importlib.metadata.version("numpy")
    assert set(found["packages"]) <= set(environment.PACKAGES)
    assert found["memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert found["devices"] == []
