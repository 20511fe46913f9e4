"""What a part of a pattern opens it closes, also where a later program cannot be made."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from wirespeed.job.plan import Plan
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.context import Unusable
from wirespeed.rank.sampler import OnePart
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

    ws_chain_open = ws_program_open

    def ws_program_close(self, program: int) -> None:
        self.closed.append(program)


def part_of(library: Library, pattern: str, plan: Plan) -> OnePart:
    core: Any = SimpleNamespace(
        lib=library, ffi=SimpleNamespace(new=lambda _, given: given), check=lambda result: result
    )
    setting: Any = SimpleNamespace(
        core=core,
        world=SimpleNamespace(rank=0, size=2),
        plan=plan,
        pattern=find_pattern(pattern),
        shape=Shape(2, {"steps": 4}),
        offset=0,
        lie=None,
        together=lambda call, undo: call(),
    )
    progress: Callable[..., None] = lambda *_: None  # noqa: E731
    nothing: Any = None
    return OnePart(setting, nothing, nothing, 4096, 0, nothing, progress)


@pytest.mark.parametrize(
    ("pattern", "plan", "fails_at"),
    [
        pytest.param("ring", Plan(), 2, id="a later link"),
        pytest.param("ring", Plan(), 3, id="the chain"),
        pytest.param("pingpong", Plan(stopping=Stopping(loops=5)), 2, id="the program of one buffer"),
    ],
)
def test_what_was_opened_is_closed(pattern: str, plan: Plan, fails_at: int) -> None:
    """Protects memory and streams of a rank that goes on with the next size."""
    library = Library(fails_at)
    with pytest.raises(Unusable):
        part_of(library, pattern, plan).measure(None)  # type: ignore[arg-type]
    # The last opened first: a chain uses its links.
    assert library.closed == list(range(fails_at - 1, 0, -1))
