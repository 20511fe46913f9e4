"""The examination as a whole, on a machine made of files: where its figures come from."""

from __future__ import annotations

import dataclasses
import json
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import fake_machine
from support.examples import examples
from support.fake_facts import DEVICES, MPI, SYSTEM
from support.fake_machine import FakeNvml
from support.records import entry

from wirespeed.doctor import job, trials
from wirespeed.doctor.collect import Sources
from wirespeed.doctor.examine import Request, examine
from wirespeed.doctor.facts.model import Limits
from wirespeed.doctor.facts.tree import Tree
from wirespeed.doctor.job import Attempt
from wirespeed.frontend import machine
from wirespeed.frontend.bound import Bound
from wirespeed.frontend.machine import Machine
from wirespeed.job.cause import Cause
from wirespeed.results import environment
from wirespeed.results.parts import Cpu
from wirespeed.results.reading import Results, read
from wirespeed.results.runs import Failure, collect

NAMES = ["cpu", "model", "devices", "kind", "name", "vendor", "version", "pci", "rank", "cpus", "device"]
MEASURE = job.measure
H200 = Path(__file__).parents[2] / "results" / "h200-x2-paths.jsonl.gz"
HOME = ("vm", Cpu(model="Intel(R) Xeon(R) Processor"))
"""Host and CPU in that file."""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    """The machine of H200, healthy but for UCX_TLS; no rank is started."""
    root = fake_machine.tree(tmp_path / "root")
    monkeypatch.setattr(machine, "look", lambda plan: Machine("cuda", DEVICES, [MPI], {}))
    monkeypatch.setattr(environment, "cpu", lambda: HOME[1])
    monkeypatch.setattr(trials, "ask", lambda library, launcher: {"queries": {"MPIX_Query_cuda_support": 1}})
    crash = Failure(
        run="r", path="aware", what="unavailable", cause=Cause("crash", pointer=True, mpi=MPI.title)
    )
    monkeypatch.setattr(job, "measure", lambda *_, **__: Attempt(failures=[crash]))
    system = type(SYSTEM)(("Linux", HOME[0], "6.8.0", "#1", "x86_64"))
    variables = {"UCX_TLS": "sm,cuda_copy"}
    return Sources(
        Tree(root), FakeNvml(), variables, Limits(None, (0, 4)), cma="works", busy=0.0, system=system
    )


def test_what_it_says_against_what_it_did(sources: Sources, tmp_path: Path) -> None:
    said: list[str] = []
    result = examine(Request(folder=tmp_path), said.append, sources)
    keys = [finding.key for finding in result.findings]
    assert keys[0] == "mpi-aware-on-paper"
    assert "variable-UCX_TLS" in keys
    assert len(said) == 3, said
    assert not result.stretches


def test_look_only(sources: Sources, tmp_path: Path) -> None:
    result = examine(Request(folder=tmp_path, start_ranks=False), pytest.fail, sources)
    assert "variable-UCX_TLS" in [finding.key for finding in result.findings]
    assert not [finding for finding in result.findings if finding.key.startswith("mpi-aware")]


def test_no_time_for_trials(sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a verdict on what nobody had time to measure."""
    monkeypatch.setattr(job, "measure", MEASURE)
    said: list[str] = []
    late = Request(folder=tmp_path, try_remedies=True, bound=Bound(10, 0.0, time.monotonic()))
    result = examine(late, said.append, sources)
    begun = [line for line in said if line.startswith("trying")]
    assert said.count("not tried: no time is left of --within 10s") == len(begun) > 1
    assert not any(finding.worth for finding in result.findings) and not result.facts.mpis[0].tried


def test_figures_beside_are_used(sources: Sources, tmp_path: Path) -> None:
    """The newest file of this machine, and what it says a remedy is worth; it also knows what MPI did."""
    shutil.copy(H200, tmp_path / "wirespeed-1.jsonl")
    (tmp_path / "wirespeed-2.jsonl").write_text("no result file\n")
    result = examine(Request(folder=tmp_path, start_ranks=False), pytest.fail, sources)
    assert result.facts.file == "wirespeed-1.jsonl"
    (finding,) = [one for one in result.findings if one.key == "variable-UCX_TLS"]
    assert finding.worth is not None
    assert finding.worth.measured == "wirespeed-1.jsonl"
    assert finding.worth.best is not None
    assert finding.worth.best.ratio == pytest.approx(9.72, abs=0.05)
    assert result.facts.mpis[0].tried == "works"
    assert result.stretches


def test_another_machine_s_figures_say_nothing_of_this_one(sources: Sources, tmp_path: Path) -> None:
    elsewhere = dataclasses.replace(sources, system=SYSTEM)
    request = Request(runs=tuple(collect(read(H200).records)), file=str(H200), start_ranks=False)
    result = examine(request, pytest.fail, elsewhere)
    (finding,) = [one for one in result.findings if one.key == "variable-UCX_TLS"]
    assert finding.worth is None
    assert "another machine" in result.notes[0]
    assert result.facts.mpis[0].tried == ""
    assert result.stretches


WORDS = st.none() | st.integers(-2, 9) | st.text(max_size=3)
ODD = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)


@examples(40)
@given(environment=ODD, ranks=ODD, mpi=ODD, device=ODD)
def test_files_may_hold_anything(
    environment: object, ranks: object, mpi: object, device: object, sources: Sources
) -> None:
    """A result file of another version, or a damaged one, must not stop the examination."""
    rank = {"rank": 0, "host": "vm", "cpus": "0", "device": device}
    records = [
        {"kind": "run", "run": "r", "plan": {"pattern": "pingpong"}, "environment": environment},
        {"kind": "step", "run": "r", "step": 0, "path": "aware", "mpi": mpi, "ranks": ranks},
        {"kind": "step", "run": "r", "step": 1, "path": "host", "mpi": mpi, "ranks": [rank, device]},
        *(entry(path, size, 1e-6 * size) for path in ("host", "aware", "staged") for size in (8, 1 << 23)),
    ]
    results = Results("f")
    for number, record in enumerate(records, 1):
        results.add_line(json.dumps(record).encode() + b"\n", number)
    request = Request(runs=tuple(collect(results.records)), file="f", start_ranks=False)
    assert examine(request, pytest.fail, sources).facts.file == "f"
