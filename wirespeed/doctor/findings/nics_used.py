"""NICs that ranks used in a measurement: far from their GPU or CPUs, or one for all ranks of a host."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.nic_choice import farther, farther_lines, one_for_all
from wirespeed.doctor.shell import quoted
from wirespeed.grouping import together
from wirespeed.host.process import span
from wirespeed.results.runs import Run

_SOURCE = (
    "ucx_info -c -f: 'Specifies which network device(s) to use'; "
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-hca"
)
_LISTS = ("UCX_NET_DEVICES", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME")
"""Variables that name NICs. In NCCL's, '=' in front means whole names."""
MAX_LINES = 4
"""Lines of a finding's evidence."""


def find(facts: MachineFacts) -> Iterator[Finding]:
    """Findings of the latest run on several hosts. The PCIe ports of a virtual machine are made up."""
    run = next(
        (run for run in reversed(facts.runs) if any(evidence.nics for evidence in run.evidence.values())),
        None,
    )
    if run:
        listed = [name for name in _LISTS if name in facts.variables and not facts.foreign]
        unset = (f"unset {' '.join(listed)}  # that list may leave out the right NIC",) * bool(listed)
        if not facts.virtual or facts.foreign:
            yield from _far(run, unset)
        yield from _shared(run, unset)


def _far(run: Run, unset: tuple[str, ...]) -> Iterator[Finding]:
    found = {path: far for path in run.paths if (far := [*farther(run, path)])}
    if not found:
        return
    alike = together((words, path) for path, far in found.items() for words in farther_lines(far))
    path, far = next(iter(found.items()))
    first, ends = far[0], dict.fromkeys(one.end for one in far)
    near = f"rank {first.rank}; each rank gets the NIC nearest to its {first.end}"
    yield Finding(
        "nic-far",
        f"{len({one.rank for one in far})} of {len(run.step(path).ranks)} ranks use a NIC that is "
        f"farther from their {' or '.join(ends)} than another one",
        Cost.HIGH if first.distance == "SYS" else Cost.SOME,
        tuple(f"{paths}: {words}" for paths, words in alike[:MAX_LINES]),
        (
            *unset,
            f"{_ucx([first.nearer])} PROGRAM  # {near}",
            f"{_nccl([first.nearer])} PROGRAM  # the same for NCCL",
        ),
        source=_SOURCE,
    )


def _shared(run: Run, unset: tuple[str, ...]) -> Iterator[Finding]:
    found = {one.host: (one, path) for path in run.paths for one in one_for_all(run, path)}
    if not found:
        return
    first, _ = next(iter(found.values()))
    names = [first.nic, *first.others]
    yield Finding(
        "nic-shared",
        f"All ranks of a host use one NIC, {first.nic}, of {len(names)} that are up",
        Cost.HIGH,
        tuple(
            f"{path}: ranks {span(only.ranks)} on {host} by {only.nic}, none by {', '.join(only.others)}"
            for host, (only, path) in [*found.items()][:MAX_LINES]
        ),
        (
            *unset,
            f"export {_ucx(names)}  # all of them; UCX splits large messages over UCX_MAX_RNDV_RAILS NICs",
            f"export {_nccl(names)}  # the same for NCCL",
        ),
        source=_SOURCE,
    )


def _ucx(names: list[str]) -> str:
    return f"UCX_NET_DEVICES={quoted(','.join(names))}"


def _nccl(names: list[str]) -> str:
    """A port has a number, an interface none. A shell such as zsh expands '=' at the beginning of a word."""
    name = _LISTS[1] if any(":" in word for word in names) else _LISTS[2]
    value = "=" + ",".join(names)
    return f"{name}={quoted(value) if quoted(value) != value else repr(value)}"
