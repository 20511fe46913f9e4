"""A healthy machine has no findings; what a machine lacks is a fact and no error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import fake_machine
from support.fake_facts import facts_of, keys
from support.fake_machine import GPUS, FakeNvml

from wirespeed.doctor.collect import Sources, collect
from wirespeed.doctor.facts.model import Limits, MachineFacts
from wirespeed.doctor.facts.tree import Tree
from wirespeed.doctor.finding import Finding
from wirespeed.frontend.machine import Machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path)


class TestHealthy:
    def test_facts_are_those_of_the_machine(self, root: Path) -> None:
        facts = facts_of(root)
        assert [(node.number, node.socket, node.cpus) for node in facts.nodes] == [
            (0, 0, (0, 1, 2, 3)),
            (1, 1, (4, 5, 6, 7)),
        ]
        assert [(gpu.pci, gpu.node, gpu.near, gpu.number) for gpu in facts.gpus] == [
            (GPUS[0], 0, (0, 1, 2, 3), 0),
            (GPUS[1], 1, (4, 5, 6, 7), 1),
        ]
        assert [(pair.nvlinks, pair.level, pair.peer) for pair in facts.pairs] == [(18, "SYS", "ok")]
        assert [nic.ports[0].rate for nic in facts.nics] == [400, 400]
        assert facts.software["NVIDIA driver"] == "580.159.04"
        assert facts.software["CUDA of the driver"] == "13.0"

    def test_the_fake_nvml_is_no_fiction(self) -> None:
        """Protects these tests from asking for what pynvml does not have."""
        import pynvml

        names = [name for name in vars(FakeNvml) if name.startswith(("nvml", "c_nvml"))]
        assert len(names) > 15
        assert [name for name in names if not hasattr(pynvml, name)] == []

    def test_nvml_is_closed_again(self, root: Path) -> None:
        nvml = FakeNvml()
        facts_of(root, nvml)
        assert nvml.open == 0

    def test_without_anything(self, tmp_path: Path) -> None:
        """What is missing is a fact, not an error: no NVML, no sysfs, no GPUs, no adapters."""
        sources = Sources(Tree(tmp_path), FakeNvml(lacks="NVML Shared Library Not Found"), {}, Limits(), "")
        facts = collect(Machine("host", [], [], {}), sources)
        assert (facts.gpus, facts.nics, facts.nodes, facts.mpis) == ((), (), (), ())
        assert any("NVML Shared Library Not Found" in line for line in facts.lacking)
        assert keys(facts) == ["shm-missing"]


def test_every_module_of_findings_is_found() -> None:
    """A new finding is one file."""
    import wirespeed.doctor.findings as package
    from wirespeed.doctor.findings import all_rules

    files = {file.stem for file in Path(package.__path__[0]).glob("[a-z]*.py")}
    rules: list[Callable[[MachineFacts], Iterator[Finding]]] = list(all_rules())
    assert {rule.__module__.rpartition(".")[2] for rule in rules} == files
