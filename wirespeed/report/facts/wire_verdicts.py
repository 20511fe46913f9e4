"""Wires and NICs that the bytes travelled over, and what a path declares and its wires deny."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from wirespeed.doctor.nic_choice import end_of, farther, farther_lines
from wirespeed.grouping import ends, grouped, size_range, size_ranges, together
from wirespeed.host.pci_topology import DISTANCES
from wirespeed.host.process import span
from wirespeed.limits import Ceiling
from wirespeed.report.facts.shares import exceeds
from wirespeed.results.parts import Copied, RankNics, UsedNic
from wirespeed.results.runs import Entry, Evidence, Run
from wirespeed.units import format_rate, format_size

SMALL_COPY = 16 << 10
"""Bytes up to which a copy of a path's larger messages is no message."""


def counted(run: Run) -> list[tuple[str, str]]:
    """('aware, gpu', 'direct over NVLink ...') by the counters; nothing where nothing was counted."""
    told = together((_spans(found), path) for path in run.paths if (found := run.evidence_of(path)))
    copies = "; ".join(_copies(run))
    return [*told, *([("copies per iteration and rank", copies)] if copies else [])]


def _spans(found: Sequence[Evidence]) -> str:
    """'direct over NVLink (100 % of the bytes) from 4 KiB; up to 2 KiB too few bytes ...'."""
    *spans, last = [list(span) for _, span in groupby(found, key=lambda evidence: evidence.verdict)]
    parts = [f"up to {format_size(span[-1].bytes)} {span[-1].text}; " for span in spans]
    where = f"from {format_size(last[0].bytes)} " if spans else ""
    return f"{''.join(parts)}{where}{last[-1].text}"


COPIES = {
    "device_to_host": "to the host",
    "host_to_device": "from the host",
    "on_device": "on a GPU",
    "peer": "to a peer",
}
"""Name in the record -> name for people."""


def _copies(run: Run) -> Iterator[str]:
    """Copies by the driver per iteration, on the rank that did most: at each path's largest size."""
    for evidence in (found[-1] for path in run.paths if (found := run.evidence_of(path))):
        copies = {kind: [getattr(rank, kind) for rank in evidence.copies] for kind in COPIES}
        busiest = {kind: max(ranks, key=lambda copy: copy.count) for kind, ranks in copies.items() if ranks}
        if evidence.iterations and any(copied.count for copied in busiest.values()):
            # A few more than none are set-up.
            told = [kind for kind, copied in busiest.items() if 2 * copied.count >= evidence.iterations]
            words = ", ".join(f"{_number(busiest[kind], evidence)} {COPIES[kind]}" for kind in told)
            yield f"{evidence.path} {words or 'none'}"


def _number(copied: Copied, of: Evidence) -> str:
    """'4', or '4 of 16 B': what a GPU is told, and what it answers, are copies, too."""
    most, each = copied.count / of.iterations, copied.bytes / copied.count
    number = f"{most:.0f}" if most >= 9.5 else f"{most:.2g}"
    return f"{number} of {each:.0f} B" if each < SMALL_COPY < of.bytes else number


def suspicions(run: Run) -> list[tuple[str, bool]]:
    """Each said once, with the sizes it is true of; is it true of its path's largest size?

    A library may well send a few bytes another way than many.
    """
    doubted = [evidence for evidence in run.evidence.values() if evidence.suspicious and evidence.bytes]
    sizes = grouped(((evidence.path, _suspicion(evidence)), evidence.bytes) for evidence in doubted)
    return [
        (f"{size_range(found)}: {text}", max(found) == run.evidence_of(path)[-1].bytes)
        for (path, text), found in sizes.items()
    ]


def _suspicion(evidence: Evidence) -> str:
    """'aware staged through host memory: 100 % of the bytes ...', of whichever version wrote the file."""
    staged = evidence.verdict == "staged" and evidence.text.startswith("staged ")
    return f"{evidence.path} {evidence.text}" if staged else evidence.suspicious or ""


def misnamed(run: Run) -> list[str]:
    """Wires that --link named, and that are not here."""
    given = [name for name, _ in run.head.plan.links]
    wires = [wire for record in run.wires for wire in record.wires]
    names = {wire.name.split(" port ")[0] for wire in wires} | {wire.kind for wire in wires}
    return [
        f"--link {name}: no wire here is called so; there are: {', '.join(sorted(names))}"
        for name in dict.fromkeys(given)
        if wires and name not in names | {wire.name for wire in wires}
    ]


def beyond(run: Run) -> list[str]:
    """Figures above their limit and yet possible, a line a path: why, by the wire that the limit is of."""
    lines = []
    for path in run.paths:
        limit = run.ceiling(path)
        rated = [entry for entry in run.of_path(path) if entry.amount]
        over = [entry for entry in rated if exceeds(entry, limit)]
        if limit and over:
            most = max(over, key=lambda entry: entry.rate)
            lines.append(
                f"{path}: {format_rate(most.rate)} GB/s at {format_size(most.bytes)} is "
                f"{100 * most.rate / limit.rate:.0f} % of the limit: {_reason(limit, over, rated[-1])}"
            )
    return lines


def _reason(limit: Ceiling, over: Sequence[Entry], largest: Entry) -> str:
    too_low = "the rate given with --link is too low"
    if limit.wire == "network":
        burst = "a shaper or a buffer lets bursts pass faster than the rate of the link"
        if over[-1] is not largest:
            return burst
        return f"{burst}, or {too_low if limit.stated else 'the driver states less than the real rate'}"
    if limit.stated:
        return too_low
    if limit.wire == "memory":
        return "the rate measured for memory is too low (state the right one: --link memory=RATE)"
    return (
        "the figure or the known rate of the links is a little wrong: a bug in wirespeed, please report it "
        "(--link NAME=RATE supplies the right rate)"
    )


TO_DEVICE, FROM_DEVICE = "host_to_device", "device_to_host"
MAX_COUNTS = 2
"""Different counts of a path that stand with their sizes; of more only the range is told."""


def host_copies(run: Run) -> str:
    """'staged 1000 to device, 1000 from device; aware none; besides, once: 1 to device, ...'.

    Of each rank in an iteration, and what filling and comparing the buffers takes; empty where nobody
    counted.
    """
    found = {path: [seen for seen in run.evidence_of(path) if seen.copies] for path in run.paths}
    known = {path: seen for path, seen in found.items() if seen}
    if not run.traits.shown.counts_copies or not known:
        return ""
    each = [f"{path} {_by_size(seen)}" for path, seen in known.items()]
    setup = dict.fromkeys(_both_ways(seen[-1:], "setup_") for seen in known.values())
    once = (f"to fill and compare buffers, once: {words}" for words in setup if words != "none")
    return "; ".join([*each, *once])


def _by_size(found: Sequence[Evidence]) -> str:
    """'2 to device, 2 from device at 8 B to 64 KiB, and none at 16 MiB'; a range of more counts."""
    alike = grouped((_both_ways([seen]), seen.bytes) for seen in found)
    if len(alike) == 1:
        return next(iter(alike))
    if len(alike) > MAX_COUNTS:
        return _both_ways(found)
    sizes = [seen.bytes for seen in found]
    return ", and ".join(f"{words} at {size_ranges(of, sizes)}" for words, of in alike.items())


def _both_ways(found: Sequence[Evidence], prefix: str = "") -> str:
    counts = [
        [count for seen in found for count in seen.copies_of(prefix + kind)]
        for kind in (TO_DEVICE, FROM_DEVICE)
    ]
    if not any(map(any, counts)):
        return "none"
    return ", ".join(f"{ends(ranks)} {way} device" for ranks, way in zip(counts, ("to", "from"), strict=True))


MAX_GROUPS = 8
"""Groups of ranks in a line; the result file has all of them."""
OF_HOST = "counters of its host"


def nic_lines(run: Run) -> list[str]:
    """'NICs: every rank by eth0'; a line for each set of paths that differ; none for ranks of one host."""
    told = together(
        (_of_ranks(run, last), path) for path in run.paths if (last := _last_with_nics(run, path))
    )
    return [f"NICs{f' of {paths}' if len(told) > 1 else ''}: {words}" for paths, words in told]


def nic_doubts(run: Run) -> Iterator[str]:
    """Contradictions between logs and counters, and NICs farther from a rank than another one."""
    last = [found for path in run.paths if (found := _last_with_nics(run, path))]
    differ = [(evidence.nics_differ, evidence.path) for evidence in last if evidence.nics_differ]
    far = [(words, path) for path in run.paths for words in farther_lines(farther(run, path))]
    for paths, words in (*together(differ), *together(far)):
        yield f"{paths}: {words}"


def _of_ranks(run: Run, evidence: Evidence) -> str:
    """'rank 0 by mlx5_0:1 (same PCIe switch as its GPU), rank 1 by ...', alike ranks together."""
    ends = {rank.rank: end_of(rank) for rank in run.step(evidence.path).ranks}
    alike = grouped((_nic_words(rank, ends.get(rank.rank, "GPU")), rank.rank) for rank in evidence.nics)
    if len(alike) == 1 and len(evidence.nics) > 1:
        return f"every rank {next(iter(alike))}"
    told = [f"rank{'s' * (len(numbers) > 1)} {span(numbers)} {words}" for words, numbers in alike.items()]
    more = f"; ... {len(told)} groups of ranks in all" if len(told) > MAX_GROUPS else ""
    return "; ".join(told[:MAX_GROUPS]) + more


def _last_with_nics(run: Run, path: str) -> Evidence | None:
    """Of the largest messages whose NICs are known."""
    return next((evidence for evidence in reversed(run.evidence_of(path)) if evidence.nics), None)


def _nic_words(rank_nics: RankNics, end: str) -> str:
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
