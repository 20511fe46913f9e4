"""Everything that is said of a log: each curve with its wire, findings, and what would tell more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirespeed.errors import ExitCode, gravest
from wirespeed.foreign.definitions import rate_of, rates_of
from wirespeed.foreign.findings import find, worst_first
from wirespeed.foreign.findings.told import told
from wirespeed.foreign.question import CurveWire, Question, gpu_of, limit_of, named, reference_of, wire_of
from wirespeed.foreign.shapes import Curve, Finding, Log
from wirespeed.judge.between import odd_copies
from wirespeed.judge.curve import find as judged
from wirespeed.judge.series import is_wrong
from wirespeed.systems.reference import Reference
from wirespeed.units import format_rate, format_size

WIRES = ("links", "nvlink", "ports", "ucx")
"""Parts of a topology that name wires."""
FAR = 0.6
"""Share of the lowest figure of others below which another way, or another setting, is to blame."""
FAR_BELOW_WIRE, LONG = 1 / 3, 1_000_000
"""The same of a wire's rate, which one stream of sockets may half fill; and bytes of a long message."""
STREAMS, LONG_S = ("bandwidth", "both-ways"), 40e-6
"""Operations with several messages under way; seconds at the wire's rate of a long message of the others."""
MESSAGES = ("pingpong", "bandwidth", "both-ways", "sendrecv", "exchange")
RDMA = ("rc", "dc", "ud", "ib")
"""Beginnings of UCX's names for transports of InfiniBand and RoCE."""
SLOWEST_ADAPTER, FILLING = 1e9, 64 << 10
"""Bytes per second of InfiniBand SDR, and bytes of messages of which several fill an adapter's wire."""
ETHERNET = {"1GbE": 0.125e9, "10GbE": 1.25e9}
"""Rates, one way, that sockets nearly fill."""


@dataclass(frozen=True)
class Explained:
    """A curve and what it can be held against."""

    curve: Curve
    wire: CurveWire | None
    limit: float | None
    """The most that its rate can be, bytes per second."""
    reference: Reference | None

    @property
    def bound(self) -> float | None:
        """The limit, if nothing sound can be beyond it."""
        return None if self.beyond else self.limit

    @property
    def beyond(self) -> str:
        """What may carry an operation of all ranks beyond the limit; '': nothing."""
        curve = self.curve
        if curve.direction != "bus" or curve.ranks == 2:
            return ""
        # Of several GPUs of a host, each may have a NIC of its own.
        nics = curve.hosts != 1 and curve.ranks != curve.hosts
        sums = curve.operation == "all-reduce" and (self.wire is None or self.wire.sums)
        words = "several NICs at once" * nics, "switches that form sums (NVLink SHARP, SHARP)" * sums
        return " or ".join(filter(None, words))


@dataclass(frozen=True)
class Explanation:
    """All that is printed of a log."""

    log: Log
    curves: tuple[Explained, ...]
    findings: tuple[Finding, ...]
    """Worst first."""
    missing: tuple[str, ...]

    @property
    def told_of_wires(self) -> bool:
        """Does the text itself name the wires, or the ways that a library takes?"""
        return bool(self.log.transports or any(self.log.topology.get(name) for name in WIRES))

    @property
    def code(self) -> ExitCode:
        """Exit code of the command."""
        impossible = any(finding.impossible for finding in self.findings)
        worse = any(finding.severity >= 2 for finding in self.findings)
        judged = self.findings or any(one.limit or one.reference for one in self.curves)
        return gravest(
            ExitCode.IMPOSSIBLE if impossible else ExitCode.OK,
            ExitCode.WORSE if worse else ExitCode.OK,
            ExitCode.OK if judged or self.told_of_wires else ExitCode.CANNOT_TELL,
        )


def explain(log: Log, question: Question) -> Explanation:
    """Raises WirespeedError for a system that is not known."""
    curves = []
    for curve in log.curves:
        wire = wire_of(curve, log, question)
        reference = reference_of(curve, wire, log, question)
        curves.append(Explained(curve, wire, limit_of(curve, wire), reference))
    limits = {at: one.bound for at, one in enumerate(curves) if one.bound}
    found: list[Finding] = [*judged(log.curves, log.topology.get("links"), limits), *find(log)]
    found += _far_below(curves, found, _by_rdma(log))
    if any(one.kind == "staged-faster" for one in found):
        found = [one for one in found if one.kind != "variable-NCCL_P2P_DISABLE"]
    # A copy that is far below others' is not told again as one below its slot's rate.
    far = {_test(one.curve) for one in found if one.kind == "below-others"}
    found = [one for one in found if one.kind != "narrow" or _test(one.curve) not in far]
    return Explanation(log, tuple(curves), tuple(worst_first(found)), tuple(_missing(log, curves, question)))


def _test(curve: Curve | None) -> tuple[str, ...]:
    return (curve.tool, curve.name, curve.memory) if curve else ()


def _by_rdma(log: Log) -> str:
    """'UCX_TLS=rc,cuda_copy', where it names a transport of adapters; ''."""
    value = log.settings.get("UCX_TLS", "")
    named = any(name.partition("_")[0] in RDMA for name in value.split(","))
    return f"UCX_TLS={value}" if named else ""


def _far_below(curves: list[Explained], found: list[Finding], by_rdma: str) -> Iterator[Finding]:
    """Of each test without a finding of its own, the first figure that is far below the others' range, or the
    wire's rate."""
    blamed = {(one.curve.tool, one.curve.name) for one in found if one.curve and one.severity >= 2}
    odd = {id(curve) for group in odd_copies([one.curve for one in curves]).values() for curve in group}
    for one in curves:
        test, reference = (one.curve.tool, one.curve.name), one.reference
        if test in blamed or id(one.curve) in odd:
            continue
        if reference and 0 < reference.rate < FAR * reference.lowest:
            blamed.add(test)
            advice = "below-others-copy" if one.curve.operation == "copy" else ""
            yield told("below-others", 2, reference.words, advice, curve=one.curve)
        elif seen := _far_below_wire(one) or (_below_adapters(one, by_rdma) if by_rdma else ""):
            blamed.add(test)
            advice = "below-wire-gpu" if "D" in one.curve.memory else ""
            yield told("below-wire", 2, seen, advice, curve=one.curve)


def _far_below_wire(one: Explained) -> str:
    """'1.35 GB/s at 64 MiB are 3 % of what the wire carries both ways'; ''."""
    curve, wire = one.curve, one.wire
    # One message after the other has to outlast what each of them costs.
    fewest = LONG if curve.operation in STREAMS else max(LONG, LONG_S * (one.limit or 0.0))
    long = [at for at, point in enumerate(curve.points) if point.bytes >= fewest and not is_wrong(point)]
    if curve.operation not in MESSAGES or not one.limit or not wire or not long:
        return ""
    size, rate = curve.points[long[-1]].bytes, rate_of(curve, long[-1])
    if not rate or rate >= FAR_BELOW_WIRE * one.limit:
        return ""
    ways = " both ways" if curve.direction == "both" else ""
    share = f"{100 * rate / one.limit:.0f} % of what {wire.name} carries{ways}"
    return f"{format_rate(rate)} GB/s at {format_size(size)} are {share} ({format_rate(one.limit)} GB/s)"


def _below_adapters(one: Explained, by_rdma: str) -> str:
    """'0.33 GB/s at 256 KiB are less than any adapter carries, and UCX_TLS=rc names one'; ''."""
    curve = one.curve
    rates = [
        (point.bytes, rate)
        for at, point in enumerate(curve.points)
        if (rate := rate_of(curve, at)) and point.bytes >= FILLING and not is_wrong(point)
    ]
    if one.wire or curve.operation != "bandwidth" or not rates or max(rates)[1] >= SLOWEST_ADAPTER:
        return ""
    size, rate = max(rates)
    than = f"less than any adapter carries ({format_rate(SLOWEST_ADAPTER)} GB/s)"
    return f"{format_rate(rate)} GB/s at {format_size(size)} are {than}, and {by_rdma} names their transport"


def _like_ethernet(rated: list[Explained]) -> str:
    """'. Its best rate, 0.118 GB/s, would be 94 % of 1GbE', where sockets over it reach so much."""
    plain = [one.curve for one in rated if one.curve.operation == "bandwidth" and "D" not in one.curve.memory]
    best = max((max(rates_of(curve)) for curve in plain), default=0.0)
    for name, rate in ETHERNET.items():
        if 0.85 < best / rate < 0.98:
            return f". The best rate, {format_rate(best)} GB/s, would be {100 * best / rate:.0f} % of {name}"
    return ""


def _missing(log: Log, curves: list[Explained], question: Question) -> Iterator[str]:
    """What would tell more."""
    models = named(question.gpu) if question.gpu else [""]
    if not models:
        yield f"--gpu: nothing is known of '{question.gpu}'; write it as its driver does, or short: H200"
    elif len(models) > 1 and gpu_of(log, question) == question.gpu:
        yield f"--gpu {question.gpu}: which of them? {', '.join(models)}"
    rated = [one for one in curves if rates_of(one.curve) and one.curve.operation != "local-copy"]
    if rated and not any(one.wire for one in rated):
        yield (
            "which wire is it? The text names none: --link HDR (or NDR200, 10GbE, NVLink4x18, NAME=RATE), "
            f"--gpu H200, --system perlmutter{_like_ethernet(rated)}"
        )
    tools = {curve.tool for curve in log.curves}
    if tools & {"nccl-tests", "rccl-tests"} and not log.transports:
        yield "NCCL_DEBUG=INFO: its lines name the transport of each channel, and NCCL's version"
    mpi = any(tool.startswith(("OSU", "IMB", "MPIBenchmarks")) for tool in tools)
    if mpi and not log.commands:
        yield "the command line: which hosts, how many ranks, which variables"
    if mpi and not log.versions:
        yield "the MPI and its version (mpirun --version), and UCX's (ucx_info -v)"
    if any(_of_nvidia(curve, log) for curve in log.curves) and not log.topology.get("links"):
        yield "nvidia-smi topo -m: which GPU and NIC are near each other"


def _of_nvidia(curve: Curve, log: Log) -> bool:
    """GPU memory, of another vendor's GPUs by no word."""
    tool, models = curve.tool.lower(), log.topology.get("models", ())
    amd = tool.startswith(("rccl", "rocm", "transferbench")) or tool.endswith("rocm")
    return "D" in curve.memory and not amd and not any("AMD" in str(model) for model in models)
