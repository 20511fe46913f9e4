"""What patterns say of themselves: to the command line, to ranks and to reports."""

from __future__ import annotations

import struct

from wirespeed.frontend.order import completed
from wirespeed.job.plan import Plan
from wirespeed.patterns import Shape, Team, find_pattern
from wirespeed.patterns.rma import Rma


def test_one_sided_operations() -> None:
    """Protects who is active in each, and the words of a fetch-and-add: what was, and one more."""
    rma = find_pattern("rma")
    active = {}
    for operation in ("put", "get", "fetch-add"):
        shape = Shape(2, {"operation": operation})
        here = rma.at(shape)
        (origin,), (target,) = here.steps(0, 8), here.steps(1, 8)
        assert origin.sends == target.receives[:0] or origin.sends[0].bytes == target.receives[0].bytes == 8
        active[operation] = bool(origin.sends)
        assert isinstance(job := here, Rma)
        assert here.team(0) == Team("", range(1)) and here.team(1) is None
        assert here.figure(8).definition.split(":")[0] in (operation, "fetch-and-add")
        assert here.size_rule.fixed == ((8,) if operation == "fetch-add" else None)
        assert (job.checking.sums is None) == (operation != "fetch-add")
        assert job.checking.links is None and job.size_rule.chosen()[-1] in (8, 1 << 20)
    assert active == {"put": True, "get": False, "fetch-add": True}
    fetched, word = (Rma.sums(rank, 8) for rank in (0, 1))
    assert fetched.after == word.before and word.after == word.before + 1
    many = [Rma.sums(rank, 8, iterations=7) for rank in (0, 1)]
    assert [one.after - word.before for one in many] == [6, 7]
    load = rma.at(Shape(2, {"operation": "load"}))
    assert load.checking.links == Rma.links
    assert [Rma.links(size) for size in (1, 383, 384, 1 << 20)] == [2, 2, 3, 8192]
    assert [load.extent(1, size) for size in (1, 1000)] == [256, 1000]
    assert load.checking.sums is None and load.size_rule.fixed is None
    assert load.size_rule.chosen() == tuple(4**step << 16 for step in range(8))
    # To add 1 to the bits is to add 1 to the number, also after thousands of checked iterations.
    for start in (word.before, word.before + 100_000):
        (bits,) = struct.unpack("<q", struct.pack("<d", start))
        assert struct.unpack("<d", struct.pack("<q", bits + 1)) == (start + 1,)


def test_sizes_take_turns_where_iterations_leave_nothing_behind() -> None:
    """Protects a chain, a word that counts and a field from another size's bytes between two batches."""
    for name, options, together in (
        ("pingpong", {}, True),
        ("rma", {"operation": "put"}, True),
        ("rma", {"operation": "load"}, False),
        ("rma", {"operation": "fetch-add"}, False),
        ("jacobi", {}, False),
        ("pairs", {}, False),
    ):
        assert find_pattern(name).at(Shape(4, options)).timing.takes_turns == together, (name, options)


def test_defaults_of_programs_depend_on_the_device() -> None:
    """Protects a CPU from a field that takes it minutes; what the user says stands."""
    for kind, expected in (("cuda", ("4096x4096", 1000)), ("host", ("1024x1024", 200))):
        plan = completed(Plan(pattern="jacobi"), 1, kind)
        assert (dict(plan.options)["size"], dict(plan.options)["steps"]) == expected
    plan = completed(Plan(pattern="jacobi", options=(("size", "64x64"), ("steps", 8))), 1, "cuda")
    assert (dict(plan.options)["size"], dict(plan.options)["steps"]) == ("64x64", 8)
