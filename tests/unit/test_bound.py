"""A bound on the whole command: what fits into it, what is left out, and by how much it was missed."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from wirespeed.errors import WirespeedError
from wirespeed.frontend import bound as module
from wirespeed.frontend.bound import LEAST_S, Bound
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.path.open_path import Item, OpenPath
from wirespeed.rank.path.size_run import SizeResult
from wirespeed.rank.path_time import PathTime, telling
from wirespeed.units import parse_time, time_word


class Clock:
    """A monotonic clock that somebody sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def bound(seconds: float, began: float = 100.0) -> Bound:
    made = Bound.of(seconds, began)
    assert made
    return made


class TestTheCommand:
    def test_its_start_counts(self, clock: Clock) -> None:
        clock.now = 100.4
        assert bound(10).end + module.PRINT_S == 110.0

    def test_0_is_none(self) -> None:
        assert Bound.of(0, 0.0) is None

    def test_one_below_a_start_is_refused_with_the_figure(self, clock: Clock) -> None:
        with pytest.raises(WirespeedError, match=r"--within 2s: .* take 3\.3 s; write 4s or more, or 0"):
            Bound.of(2, 100.0)

    def test_plans_share_what_is_left(self, clock: Clock) -> None:
        """Protects from a list whose values each take the whole time."""
        whole = bound(30)
        first = whole.part(3)
        assert first.left == pytest.approx(whole.left / 3)
        clock.now += 2.0
        assert whole.part(2).left == pytest.approx(whole.left / 2), (
            "what the first one leaves is for the others"
        )
        clock.now = whole.end - 0.1
        assert whole.part(1).end == whole.end

    def test_the_first_of_many_gets_what_a_start_needs(self, clock: Clock) -> None:
        assert bound(10).part(50).left == pytest.approx(LEAST_S)

    @pytest.mark.parametrize(
        ("seconds", "took", "missed"),
        [(5, 5.9, None), (5, 6.1, "1.1 s"), (60, 65.9, None), (60, 66.5, "6.5 s")],
    )
    def test_what_is_missed(self, clock: Clock, seconds: float, took: float, missed: str | None) -> None:
        made = bound(seconds)
        made.part(2).late(0.5, "a path was late")
        clock.now = 100.0 + took
        said = made.missed()
        assert said is None if missed is None else said and said.endswith(f"{missed}: a path was late")


class TestAPath:
    def test_what_fits(self, clock: Clock) -> None:
        """Protects the bound from a message that is begun and cannot end."""
        path = PathTime(104.0)
        sizes = [1 << power for power in range(31)]
        assert sizes[path.fitting(sizes) - 1] == 128 << 20
        path.took(1 << 20, 1e-3)
        assert sizes[path.fitting(sizes) - 1] == 64 << 20
        clock.now = 103.9
        assert path.fitting(sizes) == 0 and path.over

    @pytest.mark.parametrize(("seconds", "held"), [(4.0, [8]), (60.0, [8, 1 << 30])])
    def test_no_buffers_for_what_has_no_time(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch, seconds: float, held: list[int]
    ) -> None:
        """Protects the paths that follow: pages of 1 GiB of host memory take a second and more to get."""
        context = SimpleNamespace(
            time=PathTime(clock.now + seconds),
            comm=SimpleNamespace(share=lambda value: value),
            plan=Plan(),
            pattern=find_pattern("pingpong").at(Shape(2, {})),
        )
        opened = OpenPath(*cast("Any", (context, None, find_path("host"), None, None, None)))
        hold: list[int] = []
        monkeypatch.setattr(OpenPath, "_hold", lambda _, item, first: hold.append(item.size))
        items = [Item(size, place, (8, 1 << 30)) for place, size in enumerate((8, 1 << 30))]
        groups = []
        for group in opened._groups(items):
            groups += [item.size for item in group]
            opened._measured |= {item.size: SizeResult() for item in group}
        assert groups == [8, 1 << 30], "its failure or lack is told where it is measured"
        assert hold == held

    def test_bytes_are_not_counted_in_a_moment(self, clock: Clock) -> None:
        """Protects figures from their evidence, where there is no time for both."""
        assert PathTime(101.9).figures_end == 101.9
        assert PathTime(104.0).figures_end == 103.0 and PathTime(160.0).figures_end == 158.4

    def test_short_messages_leave_half_to_long_ones(self, clock: Clock) -> None:
        path = PathTime(104.0)
        path.begin(last=False)
        clock.now = 101.6
        assert path.over
        path.begin(last=True)
        assert not path.over

    @given(count=st.integers(0, 200))
    @examples(30)
    def test_what_tells_most_comes_first(self, count: int) -> None:
        order = telling(range(count))
        assert sorted(order) == list(range(count))
        assert order[:3] == [0, count - 1, (count - 1) // 2] if count > 2 else True


TIMES = {"10": 10.0, "0.5s": 0.5, "2m": 120.0, "1 h": 3600.0, "0": 0.0, ".5": 0.5}


def test_times_as_people_write_them() -> None:
    assert {word: parse_time(word) for word in TIMES} == TIMES
    assert [parse_time(time_word(seconds)) for seconds in TIMES.values()] == [*TIMES.values()]
    for word in ("", "-1", "10 days", "24h", "1e3", "nan", "s"):
        with pytest.raises(ValueError, match="write a time below a day"):
            parse_time(word)
