"""No sentence names a best or fastest figure that another cell of the same table beats."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.records import entry, make_run, step

from wirespeed.report.facts.outcome import by_domain, greatest_rate, quickest
from wirespeed.report.facts.trust import headline, trust
from wirespeed.results.model import FAR
from wirespeed.results.runs import Entry, Run

SLOWED = {"waited": 0.4, "rank": 0, "preempted": 9, "shared": None}
PATHS, SIZES = ("host", "aware", "ipc-write", "gpu"), (8, 1024, 4096, 1 << 20)
FIGURE = st.tuples(st.floats(1e-7, 1e-4), st.sampled_from([0.002, 0.05, 0.3, 1.5]), st.booleans())
TABLE = st.dictionaries(st.tuples(st.sampled_from(PATHS), st.sampled_from(SIZES)), FIGURE, min_size=1)


def run_of(table: dict[tuple[str, int], tuple[float, float, bool]]) -> Run:
    """Times, half widths of their intervals, and whether ranks waited for CPUs."""
    found: list[dict[str, Any]] = [step(path) for path in dict.fromkeys(path for path, _ in table)]
    for (path, size), (seconds, share, slowed) in table.items():
        found.append(entry(path, size, seconds, share) | ({"cores": SLOWED} if slowed else {}))
    return make_run(*found)


def sound(entries: list[Entry]) -> list[Entry]:
    """Those whose time is known; a wide one may be lucky."""
    return [entry for entry in entries if entry.precision is not None and entry.precision <= FAR]


@given(TABLE)
def test_the_best_figures_are_beaten_by_no_cell(
    table: dict[tuple[str, int], tuple[float, float, bool]],
) -> None:
    run = run_of(table)
    entries = [*run.entries.values()]
    quick, wide = quickest(run, entries), greatest_rate(run, entries)
    known = sound(entries)
    short = [entry.seconds for entry in known if entry.bytes <= 4096]
    assert all(quick.seconds <= seconds for seconds in short)
    long = [entry.rate for entry in known if entry.bytes > 4096]
    assert all(wide.rate >= rate for rate in long)


@given(TABLE)
def test_the_fastest_path_is_beaten_by_no_cell_without_a_word(
    table: dict[tuple[str, int], tuple[float, float, bool]],
) -> None:
    """What is faster in the table is called as fast, or cannot be told."""
    run = run_of(table)
    for domain, spans in by_domain(run):
        for span in spans:
            as_fast = {(path, size) for path, sizes in span.partly for size in sizes}
            doubted = {(path, size) for path, sizes in span.in_doubt for size in sizes}
            for named in span.entries:
                for other in run.entries.values():
                    where = other.path, other.bytes
                    if where[1] != named.bytes or other.memory_domain != domain or other.path in span.equals:
                        continue
                    beats = other.seconds < named.seconds
                    assert not beats or where in as_fast | doubted, (named, other)
                    if other.contended and other.path != span.path:
                        assert where in as_fast | doubted, "it may be faster than it was"


def test_a_slowed_figure_that_is_the_fastest_is_named_with_its_mark() -> None:
    run = run_of(
        {
            ("gpu", 8): (2e-6, 0.002, False),
            ("ipc-write", 8): (1e-6, 0.002, True),
            ("host", 8): (0.13e-6, 0.002, True),
            ("host", 4096): (2.08e-6, 0.002, False),
        }
    )
    ((_, (span,)),) = by_domain(run)
    assert span.name == "&ipc-write" and not span.in_doubt
    assert "&0.13 us at 8 B by host" in headline(run)


def test_a_slowed_figure_behind_a_sure_one_is_in_doubt() -> None:
    """It bounds its path from one side: without the wait it may be the fastest."""
    run = run_of({("gpu", 8): (1e-6, 0.002, False), ("ipc-write", 8): (9e-6, 0.002, True)})
    ((_, (span,)),) = by_domain(run)
    assert span.words == "gpu for 8 B (cannot tell of ipc-write at 8 B)"


def test_trust_names_only_what_the_figures_depend_on() -> None:
    """Protects from "ranks share GPUs" of a path whose bytes touch none."""
    gpu = {"id": "0000:01:00.0", "name": "made", "kind": "cuda", "index": 0}
    ranks = [{"rank": rank, "host": "n1", "device": gpu} for rank in (0, 1)]
    for path, memory in (("host", "pageable"), ("aware", "device")):
        run = make_run(step(path, ranks=ranks, memory=memory), entry(path, 8, 1e-6))
        assert ("ranks share GPUs" in trust(run).words) == (memory == "device")
