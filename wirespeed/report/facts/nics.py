"""By which NICs each rank's bytes left its host, and how far these are from its GPU or CPUs."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.nic_choice import end_of, farther, farther_lines
from wirespeed.host.pci_topology import DISTANCES
from wirespeed.host.process import span
from wirespeed.report.facts.wire_verdicts import of_path
from wirespeed.report.grouping import grouped, together
from wirespeed.results.nics import RankNics, UsedNic
from wirespeed.results.runs import Evidence, Run

MAX_GROUPS = 8
"""Groups of ranks in a line; the result file has all of them."""
OF_HOST = "counters of its host"


def lines(run: Run) -> list[str]:
    """'NICs: every rank by eth0'; a line for each set of paths that differ; none for ranks of one host."""
    told = together((_of_ranks(run, last), path) for path in run.paths if (last := _last(run, path)))
    return [f"NICs{f' of {paths}' if len(told) > 1 else ''}: {words}" for paths, words in told]


def doubts(run: Run) -> Iterator[str]:
    """Contradictions between logs and counters, and NICs farther from a rank than another one."""
    last = [found for path in run.paths if (found := _last(run, path))]
    differ = [(evidence.nics_differ, evidence.path) for evidence in last if evidence.nics_differ]
    far = [(words, path) for path in run.paths for words in farther_lines(farther(run, path))]
    for paths, words in (*together(differ), *together(far)):
        yield f"{paths}: {words}"


def _of_ranks(run: Run, evidence: Evidence) -> str:
    """'rank 0 by mlx5_0:1 (same PCIe switch as its GPU), rank 1 by ...', alike ranks together."""
    ends = {rank.rank: end_of(rank) for rank in run.step(evidence.path).ranks}
    alike = grouped((_words(rank, ends.get(rank.rank, "GPU")), rank.rank) for rank in evidence.nics)
    if len(alike) == 1 and len(evidence.nics) > 1:
        return f"every rank {next(iter(alike))}"
    told = [f"rank{'s' * (len(numbers) > 1)} {span(numbers)} {words}" for words, numbers in alike.items()]
    more = f"; ... {len(told)} groups of ranks in all" if len(told) > MAX_GROUPS else ""
    return "; ".join(told[:MAX_GROUPS]) + more


def _last(run: Run, path: str) -> Evidence | None:
    """Of the largest messages whose NICs are known."""
    return next((evidence for evidence in reversed(of_path(run, path)) if evidence.nics), None)


def _words(rank_nics: RankNics, end: str) -> str:
    """'by mlx5_0:1 50 % and mlx5_1:1 50 % (...)': with shares where there are several."""
    shares = len(rank_nics.nics) > 1
    named = " and ".join(_nic(nic, end, share=shares) for nic in rank_nics.nics)
    # There is no counter per rank and NIC.
    return f"by {named}{', with the other ranks of its host' if shares and OF_HOST in rank_nics.by else ''}"


def _nic(nic: UsedNic, end: str, *, share: bool) -> str:
    amount = f" {100 * nic.share:.0f} %" if share and nic.share is not None else ""
    about = [f"{DISTANCES[nic.distance]} its {end}"] if nic.distance in DISTANCES else []
    if isinstance(nic.gpudirect, bool) and nic.transport != "Socket":
        about.append("GPUDirect RDMA" if nic.gpudirect else "without GPUDirect RDMA")
    return f"{nic.name}{amount}" + (f" ({', '.join(about)})" if about else "")
