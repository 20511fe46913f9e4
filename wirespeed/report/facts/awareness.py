"""Device pointers given to an MPI: are they refused, copied directly, or staged unnoticed?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from wirespeed.report.facts import figures, outcome
from wirespeed.report.facts.machine import is_cpu, mpi_title
from wirespeed.report.facts.markers import doubts, sign
from wirespeed.report.facts.shares import exceeds
from wirespeed.report.facts.statement import GOOD, NOTE, WARNING
from wirespeed.results.runs import Entry, Failure, Run, remembered
from wirespeed.units import format_rate, format_size

AWARE = "aware"
STAGED = "staged"
DIRECT = ("direct", "network", "loopback", "inside", "pcie")
"""Verdicts that agree with an MPI that takes device pointers."""


@dataclass(frozen=True)
class Awareness:
    """Facts about the MPI that gave the path's figures."""

    mpi: str
    last: Entry
    """Its figure at the largest size."""
    how: str
    """'direct over NVLink', or why it is not known."""
    good: bool | None
    """False: the bytes went through the host; None: a figure is impossible."""
    counted: bool = False
    """Counters say `how`."""


def awareness(run: Run) -> Awareness | None:
    """None where no MPI was given device pointers with success."""
    if is_cpu(run):
        return None
    measured = (entry for path in run.paths if _is_aware(path) for entry in reversed(run.of_path(path)))
    last = next((entry for entry in measured if entry.amount), None)
    if last is None:
        return None
    path = last.path
    mpi = run.step(path).mpi
    name = mpi_title(mpi) if mpi else "MPI"
    seen = run.evidence.get((path, last.bytes))
    through = run.ceiling_through_host(path)
    impossible = any(name == path and size > last.bytes for name, size in run.impossible)
    if impossible or exceeds(last, run.ceiling(path)):
        return Awareness(name, last, "", None)
    if seen is not None and seen.verdict != "unknown":
        return Awareness(name, last, seen.text, seen.verdict in DIRECT, counted=True)
    if through is None:
        return Awareness(name, last, "", True)
    most = f"{format_rate(through.rate)} GB/s"
    if last.rate > through.rate:
        return Awareness(
            name, last, f"staging through host memory gives at most {most}: the copies are direct", True
        )
    how = f"staging through host memory could give as much ({most}): this MPI may stage unnoticed"
    return Awareness(name, last, how, False)


def refusal(run: Run) -> Failure | None:
    """Why no figure came of the first MPI that was given device pointers.

    A collective operation may fail for other reasons (MPI adds no fp16), so that only messages tell; and so
    may a path that was not tried (two ranks, one GPU).
    """
    tried = (one for one in run.failures if one.what != "unavailable" or one.cause.pointer)
    failed = (failure for failure in tried if _is_aware(failure.path) and failure.whole_path)
    own = not run.traits.kind.of_all_ranks
    return next((failure for failure in failed if own or failure.path != AWARE), None)


def _is_aware(path: str) -> bool:
    """Also of an algorithm's entry, as "aware:best"."""
    return path.partition(":")[0] == AWARE


class Answer(NamedTuple):
    """Does the MPI take device pointers and copy directly?"""

    good: bool | None
    """None: a figure is impossible."""
    words: str
    """'yes, Open MPI 5.0.11; direct over NVLink from 4 KiB'."""
    brief: str
    """yes, stages, not sure, no."""
    mpi: str
    """The one that was asked, or why it refused."""

    @property
    def level(self) -> str:
        return {True: GOOD, False: WARNING, None: NOTE}[self.good]


@remembered
def answer(run: Run) -> Answer | None:
    """None: not tried."""
    if is_cpu(run):
        return None
    known, refused = awareness(run), refusal(run)
    if known:
        how = outcome.wires_words(run, known.last.path) if known.counted else known.how
        stages = known.good is False
        word = f"{known.mpi} takes device pointers" if stages else f"yes, {known.mpi}"
        replaced = reason(refused).split(", so ")[0] if refused and figures.other_mpi(refused) else ""
        brief = "yes" if not stages else "stages" if known.counted else "not sure"
        return Answer(known.good, "; ".join(filter(None, (word, how, replaced))), brief, known.mpi)
    # A soak alone has no figures: the other MPI moved its messages.
    if refused and run.head.environment.devices and (run.figures or not figures.other_mpi(refused)):
        words, other = reason(refused), figures.other_mpi(refused)
        first = words.split(";")[0].split(", so ")[0]
        if other:
            words = f"{first}; {other} gave no figure"
        return Answer(False, f"no; {words if other else first}", "no", words)
    return None


def against_staged(run: Run) -> Iterator[tuple[str, str]]:
    """('aware', '8.98 times as fast as staged at 1 GiB')."""
    known = awareness(run)
    if known and (staged := run.entries.get((STAGED, known.last.bytes))):
        fast, slow = sorted((known.last, staged), key=lambda entry: entry.seconds)
        times = doubts(sign(run, fast), sign(run, slow)) + figures.ratio(slow.seconds / fast.seconds)
        yield fast.path, f"{times} times as fast as {slow.path} at {format_size(fast.bytes)}"


def reason(failure: Failure) -> str:
    """'Open MPI 4.1.6 crashed on a device pointer, so Open MPI 5.0.11 was used'."""
    text = figures.CRASH_SITE.sub("", figures.failure_text(failure))
    return text.removeprefix(f"{figures.WHAT['unavailable']}: ")
