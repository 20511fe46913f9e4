"""Ranks that take turns on CPUs: from where they may run, and from what the scheduler says."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden
from support.records import figure

from wirespeed.frontend import recording
from wirespeed.frontend.shared_cpus import _crowded, sharing
from wirespeed.host.cgroup import cpu_quota, throttled_s
from wirespeed.paths import find_path
from wirespeed.results.recorder import Recorder, StepJob

TURNS = "ranks 0-1 on n1 share CPU 0"


def rank(number: int, cpus: str, host: str = "n1", quota: float | None = None) -> dict[str, Any]:
    return {"rank": number, "host": host, "cpus": cpus, "cpu_quota": quota}


class TestPlaces:
    @pytest.mark.parametrize(
        ("cpus", "said"),
        [
            (["0", "0"], TURNS),
            (["0-1", "0-1"], None),
            (["0", "0-1"], None),
            (["0-1", "0-1", "0-1"], "ranks 0-2 on n1 share CPUs 0-1"),
            # The third may run elsewhere, and two of all four pairs are alike.
            (["0", "0", "0-7"], TURNS),
            (["0,2", "0,2", "0,2", "5", "5"], "ranks 0-2 on n1 share CPUs 0,2; ranks 3-4 on n1 share CPU 5"),
            # Only moving rank 0 from CPU 0 leaves one for rank 1.
            (["0-1", "0"], None),
            (["", ""], None),
        ],
    )
    def test_ranks_of_a_host(self, cpus: list[str], said: str | None) -> None:
        """Protects from silence where ranks must take turns, and from alarms where each has a CPU."""
        assert sharing([rank(number, own) for number, own in enumerate(cpus)]) == said

    def test_hosts_have_cpus_of_their_own(self) -> None:
        """Protects CPU 0 of two hosts from being taken for one."""
        assert sharing([rank(0, "0", "n1"), rank(1, "0", "n2")]) is None
        assert sharing([]) is None

    def test_a_control_group_gives_less_time(self) -> None:
        """Protects containers: all CPUs are allowed there, but not at the same time."""
        two = [rank(number, "0-7", quota=1.5) for number in (0, 1)]
        assert sharing(two) == "2 ranks on n1 may use 1.5 CPUs' time (control group)"
        assert sharing([one | {"cpu_quota": 2.0} for one in two]) is None

    def test_many_hosts_take_as_long_as_they_are(self) -> None:
        """Protects the front end of 4,000 hosts, which hears nobody meanwhile: each rank is read once."""

        class Counted(dict[str, Any]):
            reads = 0

            def __getitem__(self, name: str) -> Any:
                Counted.reads += 1
                return super().__getitem__(name)

        many = [Counted(rank(number, "0-1", f"n{number // 2}", quota=8)) for number in range(8000)]
        assert sharing(many) is None
        assert Counted.reads <= 5 * len(many)

    def test_a_path_asks_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects the time between figures, however many there are."""
        asked: list[int] = []
        monkeypatch.setattr(recording, "sharing", lambda ranks: asked.append(len(ranks)))
        taken = cast(Recorder, SimpleNamespace(take=lambda *_: None))
        ranks: Any = [rank(0, "0")]
        recorded = recording.StepRecorder(
            0, find_path("host"), taken, lambda _: None, StepJob({}, ranks=ranks)
        )
        for size in (8, 64, 512):
            recorded.take(figure("host", size, 1e-6))
        assert asked == [1]

    @given(st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=5))
    def test_a_crowded_group_is_larger_than_its_cpus(self, masks: list[set[int]]) -> None:
        """Protects the rule: no group where everybody can have a CPU; groups are larger than their CPUs."""
        allowed = dict(enumerate(masks))
        found = _crowded(allowed)
        fits = any(
            all(cpu in mask for cpu, mask in zip(order, masks, strict=False))
            for order in permutations(range(4), len(masks))
        )
        assert bool(found) != fits
        for group, cpus in found:
            assert len(group) > len(cpus)
            assert all(allowed[number] <= cpus for number in group)


V1 = "3:cpu,cpuacct:/j\n2:memory:/m\n"
HALF = {"a/cpu.max": "400000 100000\n", "a/b/cpu.max": "50000 100000\n"}
V1_FILES = {"cpu,cpuacct/j/cpu.cfs_quota_us": "300000", "cpu,cpuacct/j/cpu.cfs_period_us": "100000"}
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "the outer group's": ("0::/a/b\n", {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"}),
    "the least of both": ("0::/a/b\n", HALF),
    "a container: the group's name is the host's, its files are at the top": (
        "0::/../x\n",
        {"cpu.max": "200000 100000\n"},
    ),
    "version 1": (V1, V1_FILES | {"cpu,cpuacct/j/cpu.stat": "nr_periods 9\nthrottled_time 2000000000\n"}),
    "version 1 without a limit": (
        "3:cpu:/\n",
        {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000"},
    ),
    "no files": ("0::/\n", {}),
    "nonsense": ("nonsense\n", {"cpu.max": "broken"}),
    **{
        f"a limit of {most}, throttled: {stat!r}": (
            "0::/a\n",
            {"a/cpu.max": f"{most} 100000\n", "a/cpu.stat": stat},
        )
        for most, stat in (
            *((most, "nr_throttled 3\nthrottled_usec 250000\n") for most in ("150000", "max")),
            ("150000", "damaged\n"),
        )
    },
}


def test_control_groups(golden: Golden, tmp_path: Path) -> None:
    """Protects the CPUs and waits of containers and batch jobs, of both kinds of control groups."""
    told: dict[str, object] = {}
    for number, (title, (groups, files)) in enumerate(GROUPS.items()):
        under = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
        for name, text in {"proc/self/cgroup": groups, **under}.items():
            file = tmp_path / str(number) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        root = tmp_path / str(number)
        told[title] = f"{cpu_quota(root)} CPUs, throttled for {throttled_s(root)} s"
    told["nowhere"] = cpu_quota(tmp_path / "nowhere")
    golden("frontend/control_groups", told)
