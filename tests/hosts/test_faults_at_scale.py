"""docs/faults.md with 8 ranks on 4 hosts: a line names each fault, and no figure before it is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import hosts, slurm
from support.cluster_faults import FAULTS, STARTS, Cluster, Unstruck, cluster, struck
from support.command import read

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quiet_machine"), pytest.mark.timeout(1200)]

LINES = {
    # Ranks of MPICH may crash where they lose a connection; nothing tells that another had died before.
    "a rank is killed": r"on n2|was killed by SIG[A-Z]+ in MPI_",
    "a rank is stopped": r"on n2 \(pid \d+\) does not answer",
    "a host is cut off": r"none of the 2 ranks on n2 answers",
    "the launcher is killed": r"the launcher (mpiexec|srun) \(pid \d+\) was killed \(signal 9\)",
    "the result file's disk is slow": r"is slow: the run waited for it",
    "the result file's disk is full": r"No space left on device; what was measured is in \S+:",
}
CODES = {"the result file's disk is slow": 0, "the result file's disk is full": 4}
WORDS = (
    "groups --group 2 --paths host --sizes 8,24M --precision 0.0001% --max-time 3 --timeout 10 --no-evidence"
)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        with cluster(4, 2, tmp_path_factory.mktemp("four")) as there:
            if not slurm.speaks_pmix(there.hosts, there.slurm):
                pytest.skip("Slurm's pmix plugin finds no libpmix.so (apt install libpmix-dev)")
            yield there
    except hosts.HostsError as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault(fault: str, start: str, four: Cluster, tmp_path: Path) -> None:
    try:
        seen = struck(four, start, fault, four.disk / "r.jsonl", WORDS.split(), 400)
    except Unstruck as why:
        pytest.fail(str(why))
    finally:
        (four.disk / "r.jsonl").unlink(missing_ok=True)
    assert seen.lines, seen.printed
    assert re.search(LINES[fault], seen.lines[0]), seen.lines
    assert seen.code == CODES.get(fault, 1), seen.printed
    assert seen.before and all(entry in seen.entries for entry in seen.before)
    assert all(len(entry["teams"]) == 4 for entry in seen.entries)
    if moved := re.search(r"what was measured is in (\S+):", seen.lines[0]):
        # A command begins there in a host's namespaces.
        file = Path("/", moved[1])
        rescued = read(file)
        file.unlink()
        assert all(entry in rescued for entry in seen.before)
    assert not seen.left
    assert "Traceback" not in seen.printed
