"""Ranks that take turns on CPUs: from where they may run, and from what the scheduler says."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records import end, entry, figure, head, make_run, step

from wirespeed.cli.guard.check import _learn
from wirespeed.errors import WirespeedError
from wirespeed.frontend import recording
from wirespeed.frontend.shared_cpus import _crowded, sharing
from wirespeed.host.cgroup import cpu_quota, throttled_s
from wirespeed.judge.verdict import NOT_WORSE, UNSURE
from wirespeed.paths import find_path
from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.check.evaluate import FAILED, KEPT, check
from wirespeed.report.check.learn import learn
from wirespeed.report.check.requirements import Requirement, parse_bound
from wirespeed.report.compare.matching import FigurePair, Key, LaunchFigures, Matched
from wirespeed.report.compare.verdicts import median_s, verdicts
from wirespeed.results.recorder import Recorder, StepJob
from wirespeed.results.runs import Entry

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


class TestControlGroups:
    def tree(self, root: Path, files: dict[str, str]) -> Path:
        for name, text in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return root

    @pytest.mark.parametrize(
        ("groups", "files", "quota"),
        [
            ("0::/a/b\n", {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"}, 1.5),
            ("0::/a/b\n", {"a/cpu.max": "400000 100000\n", "a/b/cpu.max": "50000 100000\n"}, 0.5),
            # A container: the group's name is the host's, its files are at the top.
            ("0::/../x\n", {"cpu.max": "200000 100000\n"}, 2.0),
            (
                "3:cpu,cpuacct:/j\n2:memory:/m\n",
                {"cpu,cpuacct/j/cpu.cfs_quota_us": "300000", "cpu,cpuacct/j/cpu.cfs_period_us": "100000"},
                3.0,
            ),
            ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000"}, None),
            ("0::/\n", {}, None),
            ("nonsense\n", {"cpu.max": "broken"}, None),
        ],
    )
    def test_quota(self, groups: str, files: dict[str, str], quota: float | None, tmp_path: Path) -> None:
        """Protects the count of CPUs in containers and batch jobs, of both kinds of control groups."""
        under = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
        assert cpu_quota(self.tree(tmp_path, {"proc/self/cgroup": groups, **under})) == quota
        assert cpu_quota(tmp_path / "nowhere") is None

    @pytest.mark.parametrize(
        ("groups", "files", "seconds"),
        [
            (
                "0::/a\n",
                {"a/cpu.max": "150000 100000\n", "a/cpu.stat": "nr_throttled 3\nthrottled_usec 250000\n"},
                0.25,
            ),
            ("0::/a\n", {"a/cpu.max": "max 100000\n", "a/cpu.stat": "throttled_usec 250000\n"}, 0.0),
            (
                "3:cpu,cpuacct:/j\n",
                {
                    "cpu,cpuacct/j/cpu.cfs_quota_us": "300000",
                    "cpu,cpuacct/j/cpu.cfs_period_us": "100000",
                    "cpu,cpuacct/j/cpu.stat": "nr_periods 9\nthrottled_time 2000000000\n",
                },
                2.0,
            ),
            ("0::/a\n", {"a/cpu.max": "150000 100000\n", "a/cpu.stat": "damaged\n"}, 0.0),
        ],
    )
    def test_throttled(self, groups: str, files: dict[str, str], seconds: float, tmp_path: Path) -> None:
        under = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
        assert throttled_s(self.tree(tmp_path, {"proc/self/cgroup": groups, **under})) == seconds


def cores(waited: float | None, shared: str | None = None) -> dict[str, Any]:
    return {"waited": waited, "rank": 0, "preempted": 9, "shared": shared}


class TestFigures:
    @pytest.mark.parametrize(
        ("bound", "what"),
        [
            ("at most 1 ms", CANNOT_TELL),
            ("at most 5 ms", KEPT),
            # It is too fast although it waited; what seems slow enough may not be.
            ("at least 5 ms", FAILED),
            ("at least 1 ms", CANNOT_TELL),
        ],
    )
    def test_a_check_is_not_sure_of_it(self, bound: str, what: str) -> None:
        """Protects a node from being drained, and a bound from being kept, by what a scheduler did."""
        asked = Requirement(1, "pingpong", "host", 8, parse_bound(bound))
        run = make_run(head(["host"]), step("host"), entry("host", 8, 4e-3, cores=cores(0.5, TURNS)))
        (finding,) = check([asked], [run])
        assert finding.what == what
        assert ("but ranks waited for CPUs" in finding.text) == (what == CANNOT_TELL)

    def test_no_bound_is_learnt_from_it(self) -> None:
        """Protects site.toml from bounds that any node keeps."""
        good = entry("host", 64, 1e-6)
        run = make_run(head(["host"]), step("host"), good, entry("host", 8, 4e-3, cores=cores(0.5, TURNS)))
        text = learn([run], ["r.jsonl"], 0.01).text
        assert '"64" = "at most' in text and '"8" = ' not in text
        assert "ranks waited for CPUs, which makes no bound" in text
        again = make_run(head(["host"]), step("host"), entry("host", 8, 1e-6))
        assert '"8" = "at most' in learn([run, again], ["r.jsonl", "s.jsonl"], 0.01).text

    def test_why_nothing_is_learnt(self, tmp_path: Path) -> None:
        """Protects the reader of a busy machine's file from measuring more samples in vain."""
        file = tmp_path / "r.jsonl"
        records = [head(["host"]), step("host"), entry("host", 8, 4e-3, cores=cores(0.5, TURNS)), end()]
        file.write_text("".join(json.dumps(one) + "\n" for one in records))
        with pytest.raises(WirespeedError, match=r"ranks waited for CPUs, .*measure again"):
            _learn(str(file), None)

    @pytest.mark.parametrize("launches", [3, 5])
    def test_a_comparison_cannot_tell(self, launches: int) -> None:
        """Protects a new library from the blame for a busy machine, however many launches there were."""
        slow = [figure("host", 8, 4e-3, cores=cores(0.5)) for _ in range(launches)]
        fast, key = [figure("host", 8, 1e-6)] * launches, Key("pingpong", "host", 8)

        def what(new: list[Entry]) -> str:
            pair = FigurePair(key, LaunchFigures(list(fast)), LaunchFigures(new))
            return verdicts(Matched([pair], [], [])).figures[0].what

        assert what(slow) == UNSURE
        assert what([*slow, *fast]) == NOT_WORSE
        # The time beside the verdict is of the launches that it is told from.
        assert median_s([*slow, *fast]) == pytest.approx(1e-6) and median_s(slow) == pytest.approx(4e-3)
