"""What the programs of a phase open they close, also where a later one cannot be made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.context import Unusable
from wirespeed.rank.ranges import Ranges
from wirespeed.rank.size_run import SizeRun
from wirespeed.statistics.stopping import Stopping


class Library:
    """Programs by number, of which a given one cannot be made."""

    def __init__(self, fails_at: int) -> None:
        self.fails_at, self.opened, self.closed = fails_at, 0, list[int]()

    def ws_program_open(self, *_: object) -> int:
        self.opened += 1
        if self.opened == self.fails_at:
            raise Unusable("no room")
        return self.opened

    def ws_program_close(self, program: int) -> None:
        self.closed.append(program)


def context_of(library: Library, pattern: str, plan: Plan) -> Any:
    core = SimpleNamespace(
        lib=library, ffi=SimpleNamespace(new=lambda _, given: given), check=lambda result: result
    )
    return SimpleNamespace(
        core=core,
        comm=SimpleNamespace(rank=0, size=2),
        device=None,
        plan=plan,
        pattern=find_pattern(pattern),
        shape=Shape(2, {"steps": 4}),
        offset=0,
        fault=None,
        ranges=Ranges(),
        tell=None,
        collectively=lambda call, undo: call(),
    )


def test_the_first_program_is_closed_where_the_second_cannot_be_made() -> None:
    """Protects the same where --loops wants a program of one buffer besides the checked one."""
    library = Library(2)
    context = context_of(library, "pingpong", Plan(stopping=Stopping(loops=5)))
    run = SizeRun(context, find_path("host"), None, None, 4096, {})
    with pytest.raises(Unusable):
        next(run._sampled(None))  # type: ignore[arg-type]
    assert library.closed == [1]
