"""What UCX says of its protocols: tables in its log, of several versions, and the doctor's finding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of, one
from support.golden import Golden
from support.records import entry, make_run, step

from wirespeed.doctor import job, ucx_choice
from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.job import Base
from wirespeed.doctor.ucx_choice import SIZE, chosen, rows, variables
from wirespeed.results.findings import Conditions

HOST = """
[1.0] [vm:26842:0]   +-------+-----------+-------------------------------------------+-------------+
[1.0] [vm:26842:0]   | perftest intra-node cfg#0                                                   |
[1.0] [vm:26842:0]   | tagged message by ucp_tag_send* from host memory                            |
[1.0] [vm:26842:0]   +-------+-----------+-------------------------------------------+-------------+
[1.0] [vm:26842:0]   | Count |   Range   |                Description                |   Config    |
[1.0] [vm:26842:0]   +-------+-----------+-------------------------------------------+-------------+
[1.0] [vm:26842:0]   |     0 |     0..92 | eager short                               | sysv/memory |
[1.0] [vm:26842:0]   |     0 |  93..5028 | eager copy-in copy-out                    | sysv/memory |
[1.0] [vm:26842:0]   |   131 | 5029..inf | (?) rendezvous zero-copy read from remote | cma/memory  |
[1.0] [vm:26842:0]   +-------+-----------+-------------------------------------------+-------------+
[1.0] [vm:26842:0]   | perftest intra-node cfg#0                                         |
[1.0] [vm:26842:0]   | rendezvous data fetch into host memory from host                  |
[1.0] [vm:26842:0]   |     0 |         0 | no data fetch                   |             |
[1.0] [vm:26842:0]   |   131 | 1728..inf | zero-copy read from remote      | cma/memory  |
"""
"""UCX 1.22 with UCX_PROTO_INFO=used, as it was printed here."""
STAGED = HOST.replace("from host memory", "from cuda/GPU0").replace(
    "zero-copy read from remote", "pipeline through the host"
)
"""In the same layout what a GPU's memory would have: made up."""
OLDER = """
[1.0] [n1:7:0]   | ucp_context_0 self cfg#0     | tagged message by ucp_tag_send* from cuda/GPU1           |
[1.0] [n1:7:0]   |                      0..inf  | eager short                           | self/memory      |
[1.0] [n1:7:0]   +------------------------------+----------------------------------------------------------+
[1.0] [n1:7:0]   | ucp_context_0 intra-node cfg#1 | tagged message by ucp_tag_send* from cuda/GPU1         |
[1.0] [n1:7:0]   +------------------------------+---------------------------------------+------------------+
[1.0] [n1:7:0]   |                      0..8256 | eager copy-in copy-out                | sysv/memory      |
[1.0] [n1:7:0]   |                     8257..2M | (?) rendezvous fragmented copy        | cuda_copy/cuda   |
[1.0] [n1:7:0]   |                 2097153..inf | (?) rendezvous zero-copy read         | cuda_ipc/cuda    |
"""


def test_tables_and_choices(golden: Golden, tmp_path: Path) -> None:
    """Protects the row whose range has the size, of GPU memory alone, and that messages took.

    And older versions, to which 'used' is a pattern that no operation has.
    """
    unused = STAGED.replace("   131 |", "     0 |")
    logs = {
        "1.22": HOST,
        "staged": STAGED,
        "unused": unused,
        "1.20": OLDER,
        "none": "UCX  INFO\n| a | b\n|\n",
    }
    told = {f"tables, {name}": "\n".join(map(str, rows(log))) for name, log in logs.items()}
    for name, log in logs.items():
        found = [f"{size} B: {row.words()}" for size in (1 << 20, SIZE) for row in chosen(log, size)]
        told[f"of GPU memory, {name}"] = "\n".join(found)
    for ucx in ("UCX 1.22.0", "UCX 1.20.1", "UCX", "UCX 2.0"):
        told[f"setting of {ucx}"] = variables(ucx, tmp_path)["UCX_PROTO_INFO"]
    golden("doctor/ucx_choices", told)


@pytest.fixture
def facts(tmp_path: Path) -> MachineFacts:
    """Two GPUs with a link, and an MPI over UCX that staged just now."""
    found = facts_of(fake_machine.tree(tmp_path / "machine"))
    trial = make_run(
        step("aware"),
        entry("aware", SIZE, 1e-3),
        {
            "kind": "evidence",
            "run": "r",
            "path": "aware",
            "bytes": SIZE,
            "verdict": "staged",
            "text": "twice",
        },
    )
    mpi = structs.replace(found.mpis[0], ucx="UCX 1.22.0 with cuda", tried="works")
    return structs.replace(found, mpis=(mpi,), trial=trial)


def asked(log: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[MachineFacts], MachineFacts]:
    def measure(path: str, sizes: Any, base: Any, setting: Conditions) -> None:
        assert (path, sizes) == ("aware", (SIZE,))
        file = setting.variables["UCX_LOG_FILE"].replace("%h", "n1").replace("%p", "7")
        Path(file).write_text(log)

    monkeypatch.setattr(job, "measure", measure)
    return lambda facts: ucx_choice.with_choice(facts, Base(), lambda _: None)


def test_the_finding_has_the_choice(facts: MachineFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects users whose UCX stages over a peer link: the finding says what it chose for which sizes."""
    finding = one(asked(STAGED, monkeypatch)(facts), "mpi-stages")
    assert finding.evidence[-1].startswith("UCX chose for tagged message by ucp_tag_send* from cuda/GPU0, ")
    silent = one(asked("", monkeypatch)(facts), "mpi-stages")
    assert not any("UCX chose" in line for line in silent.evidence)


def test_ucx_is_asked_where_it_matters_alone(facts: MachineFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = asked(STAGED, monkeypatch)
    without_ucx = structs.replace(facts, mpis=(structs.replace(facts.mpis[0], ucx=""),))
    apart = structs.replace(facts, pairs=tuple(structs.replace(p, nvlinks=0, peer="no") for p in facts.pairs))
    for other in (without_ucx, apart, structs.replace(facts, trial=None)):
        assert not ask(other).ucx_choice
