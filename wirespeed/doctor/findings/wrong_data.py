"""Wrong bytes: whose figures do not count, and what may lose them between two GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import Gpu, MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.results.runs import Run
from wirespeed.results.wrong_data import also_distrusted, over_peer_access, wrong_bytes

MAX_LINES = 4
_IOMMU = "CUDA C++ Programming Guide, 'IOMMU on Linux': peer copies under an IOMMU corrupt memory silently"
_ACS = "NCCL, Troubleshooting, 'PCI Access Control Services'"


def find(facts: MachineFacts) -> Iterator[Finding]:
    """By the latest run in which a path was measured: one whose bytes are right now is not blamed."""
    seen: set[str] = set()
    for run in filter(None, (facts.trial, *reversed(facts.runs))):
        wrong = {path: lines for path, lines in wrong_bytes(run).items() if path not in seen}
        seen |= {path for path, _ in run.entries} | {failure.path for failure in run.failures}
        if wrong:
            yield _finding(facts, run, wrong)


def _finding(facts: MachineFacts, run: Run, wrong: dict[str, list[str]]) -> Finding:
    """`wrong`: what was wrong, by path."""
    names, where = ", ".join(wrong), "tried now" if run is facts.trial else facts.file
    lines = [line for found in wrong.values() for line in found]
    evidence = [f"{where}: {line}" for line in lines[:MAX_LINES]]
    evidence += [f"... {len(lines)} in all"] if len(lines) > MAX_LINES else []
    if others := also_distrusted(run):
        evidence.append(f"also over peer access, and not to be trusted: {', '.join(others)}")
    title = f"Wrong bytes arrived by {names}: no figure of what moved them counts"
    remedy = [f"wirespeed {run.head.plan.pattern} --paths {names.replace(' ', '')}  # does it happen again?"]
    source = "every byte is compared (docs/measuring.md)"
    if any(map(over_peer_access, wrong)):
        translated, redirected = _on_the_way(facts) if not facts.foreign else ([], [])
        if translated:
            title = f"Peer writes are lost: the IOMMU translates; wrong bytes arrived by {names}"
            evidence += [f"{gpu.title}: its IOMMU group is of type {gpu.iommu}" for gpu in translated[:4]]
            remedy.append("cat /proc/cmdline  # add iommu=pt to the kernel's parameters, and restart")
            source = _IOMMU
        if redirected:
            evidence.append(f"PCIe ACS redirects peer traffic at {', '.join(redirected[:8])}")
            remedy += [f"sudo setpci -s {name} ECAP_ACS+6.w=0000  # ACS off" for name in redirected[:4]]
            source = "; ".join(dict.fromkeys((_IOMMU, _ACS))) if translated else _ACS
        remedy.append("wirespeed pingpong --paths staged,staged-pipelined  # until then: through the host")
    return Finding("wrong-data", title, Cost.BREAKS, tuple(evidence), tuple(remedy), source=source)


def _on_the_way(facts: MachineFacts) -> tuple[list[Gpu], list[str]]:
    """GPUs behind an IOMMU that translates, and bridges that redirect, of pairs that have PCIe alone."""
    linked = {number for pair in facts.pairs if pair.nvlinks for number in (pair.first, pair.second)}
    gpus = [gpu for gpu in facts.real_gpus if gpu.index not in linked]
    translated = [gpu for gpu in gpus if gpu.iommu.startswith("DMA")]
    return translated, list(dict.fromkeys(name for gpu in gpus for name in gpu.redirects))
