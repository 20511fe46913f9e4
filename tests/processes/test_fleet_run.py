"""wirespeed fleet run over a fleet that is simulated launch by launch: pairs, silent nodes, going on."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_fleet import FakeFleet

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.allocation import allocated_hosts, named_hosts
from wirespeed.fleet.parts import pairs_of
from wirespeed.frontend import session
from wirespeed.frontend.machine import Machine
from wirespeed.job.plan import Plan
from wirespeed.patterns import Shape, find_pattern

Captured = pytest.CaptureFixture[str]


def names(count: int) -> list[str]:
    return [f"n{number:02d}" for number in range(1, count + 1)]


@given(count=st.integers(2, 40), seed=st.integers(0, 1000), data=st.data())
def test_rounds_are_disjoint_and_nobody_meets_twice_before_meeting_all(
    count: int, seed: int, data: st.DataObject
) -> None:
    """Protects the fit of pairs, which needs many different partners of each node."""
    hosts = names(count)
    cycle = count - 1 + count % 2
    first = data.draw(st.integers(0, 2)) * cycle
    met, waited = Counter[tuple[str, ...]](), Counter[str]()
    for number in range(first, first + cycle):
        pairs = pairs_of(number, hosts, seed)
        assert pairs == pairs_of(number, list(hosts), seed), "it follows from hosts, round and seed alone"
        measured = [host for pair in pairs for host in pair]
        assert len(measured) == len(set(measured)) == count - count % 2
        met.update(tuple(sorted(pair)) for pair in pairs)
        waited.update({*hosts} - {*measured})
    assert set(met.values()) == {1} and len(met) == count * (count - 1) // 2
    assert set(waited.values()) == ({1} if count % 2 else set()), "of an odd number each waits by turns"


@given(count=st.integers(4, 30), seed=st.integers(0, 9), number=st.integers(0, 50), data=st.data())
def test_silent_nodes_cost_their_own_pairs_alone(
    count: int, seed: int, number: int, data: st.DataObject
) -> None:
    hosts = names(count)
    silent = data.draw(st.sets(st.sampled_from(hosts), max_size=count))
    every = pairs_of(number, hosts, seed)
    assert pairs_of(number, hosts, seed, silent) == [pair for pair in every if not silent & {*pair}]


def test_seeds_make_other_pairs() -> None:
    assert len({str(pairs_of(0, names(16), seed)) for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("text", "phases"),
    [
        (None, [{(0, 1), (2, 3)}]),
        ("0-3,1-2", [{(0, 3), (1, 2)}]),
        ("3-0/1-2,0-3", [{(0, 3)}, {(1, 2), (0, 3)}]),
    ],
)
def test_the_named_pairs_are_measured_and_no_other(
    text: str | None, phases: list[set[tuple[int, int]]]
) -> None:
    pattern, shape = find_pattern("pairing"), Shape(4, {"rank_pairs": text})
    job = pattern.at(shape)
    assert job.timing.phases == len(phases)
    for number, pairs in enumerate(phases):
        teams = [job.team(rank, number) for rank in range(4)]
        assert {tuple(team.ranks) for team in teams if team} == pairs
        for rank, team in enumerate(teams):
            assert bool(job.steps(rank, 8, number)) == (team is not None)


def test_at_most_so_many_pairs_at_once() -> None:
    pattern, shape = find_pattern("pairing"), Shape(10, {"at_once": 2})
    job = pattern.at(shape)
    sizes = [
        sum(job.partner(rank, number) is not None for rank in range(10)) // 2  # type: ignore[attr-defined]
        for number in range(job.timing.phases)
    ]
    assert sizes == [2, 2, 1]


TWICE = "n1\nn1\nn2\nn2\n"


@pytest.mark.parametrize(
    ("variable", "text", "hosts"),
    [
        *(("", text, "a b c") for text in ("a\nb slots=2\n# c\n\nc:4\na\n", "a b\nb\nc")),
        ("PBS_NODEFILE", TWICE, "n1 n2"),
        *(("LSB_DJOB_HOSTFILE", text, "n1 n2") for text in (TWICE, f"batch5\n{TWICE}")),
        ("PE_HOSTFILE", "n1 8 all.q UNDEFINED\nn2 8 all.q UNDEFINED\n", "n1 n2"),
        ("OMPI_MCA_orte_default_hostfile", "n1 slots=8\nn2 slots=8\n", "n1 n2"),
        ("HYDRA_HOST_FILE", "n1:8\nn2:8\n", "n1 n2"),
    ],
)
def test_hosts_of_a_file(variable: str, text: str, hosts: str, tmp_path: Path) -> None:
    """That a user names, or a batch system by its variable."""
    file = tmp_path / "hosts.txt"
    file.write_text(text)
    found = allocated_hosts({variable: str(file)}) if variable else named_hosts(str(file))
    assert found == tuple(hosts.split())


def test_hosts_of_a_list() -> None:
    assert named_hosts("a,b,c") == named_hosts("a, b,c,a") == ("a", "b", "c")
    assert named_hosts("n[01-03,7]") == ("n01", "n02", "n03", "n7")
    for word in ("a", "a,$(b)", "-o,b", "n[1", "a,,b"):
        with pytest.raises(WirespeedError):
            named_hosts(word)


def test_hosts_of_slurm_and_flux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2],m1"}
    assert allocated_hosts(slurm) == ("n1", "n2", "m1")
    flux = tmp_path / "flux"
    flux.write_text("#!/bin/sh\ntest \"$*\" = 'getattr hostlist' && echo 'n[1-3]'\n")
    flux.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert allocated_hosts({"FLUX_URI": "local:///x"}) == ("n1", "n2", "n3")
    with pytest.raises(WirespeedError, match="no allocation of a batch system here: name the hosts"):
        allocated_hosts({})


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> FakeFleet:
    found = FakeFleet()
    monkeypatch.setattr(session, "measure", found)
    return found


def ran(folder: Path, *words: str, hosts: int = 12) -> int:
    given = ("--hosts", f"n[01-{hosts:02d}]", "--out", str(folder), "--device", "cpu", "--rounds", "8")
    return main(["fleet", "run", *given, *words])


def state(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "fleet-run.json").read_text())["silent"]
    return found


def test_a_slow_node_is_named(fleet: FakeFleet, tmp_path: Path, capsys: Captured) -> None:
    """Protects the way from the command to the answer, which is that of `fleet show` on the folder."""
    fleet.slow = {"n05": 1.3}
    assert ran(tmp_path / "f") == ExitCode.WORSE
    said = capsys.readouterr()
    assert said.out.startswith("1 node is slow, in a fleet of 12 nodes") and "--exclude=n05" in said.out
    assert "at most 6 pairs at the same time" in said.err
    assert main(["fleet", "show", str(tmp_path / "f")]) == ExitCode.WORSE
    assert [plan.pattern for plan in fleet.launches] == ["copy", *["pairing"] * 9], "a launch for each part"
    assert [len(pairs) for pairs in fleet.rounds()] == [6] * 8
    files = sorted(file.name for file in (tmp_path / "f").glob("*.jsonl"))
    assert files == ["node-copies.jsonl", "node-links.jsonl", *(f"round-0{n}.jsonl" for n in range(1, 9))]


def test_a_sound_fleet(fleet: FakeFleet, tmp_path: Path, capsys: Captured) -> None:
    assert ran(tmp_path / "f", "--page", str(tmp_path / "p.html")) == ExitCode.OK
    assert capsys.readouterr().out.startswith("No node stands out, in a fleet of 12 nodes")
    assert "No node" in (tmp_path / "p.html").read_text()


@pytest.mark.slow
def test_what_a_bound_leaves_no_time_for(fleet: FakeFleet, tmp_path: Path, capsys: Captured) -> None:
    """Protects a maintenance window: what was not measured is named, and --resume measures it."""
    fleet.lasts_s = 1.8
    assert ran(tmp_path / "f", "--within", "5s") == ExitCode.CANNOT_TELL
    first = len(fleet.launches)
    assert first < 10
    said = capsys.readouterr().err
    assert "left out for --within 5s: " in said and "more of the launches; --resume --out" in said
    fleet.lasts_s = 0.0
    assert ran(tmp_path / "f", "--resume") == ExitCode.OK
    assert len(fleet.launches) == 10 and "left out" not in capsys.readouterr().err


def test_every_gpu_is_judged_alone_and_with_the_others_of_its_node(
    fleet: FakeFleet, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects nodes with GPUs: their copies, their links, and paths of one host that run on all of them."""
    discovered = session.discover

    def with_four(plan: Plan) -> Machine:
        found = discovered(plan)
        return replace(found, devices=4 * found.devices[:1])

    monkeypatch.setattr(session, "discover", with_four)
    fleet.slow_gpus = {("n05", 2): 1.3}
    fleet.unavailable = {"aware": "this MPI takes no device pointers"}
    assert ran(tmp_path / "f", "--device", "emulated", "--rounds", "2") == ExitCode.WORSE
    said = capsys.readouterr()
    assert "GPU n05 GPU 2" in " ".join(said.out.split()) and "--exclude=n05" in said.out
    copies, links, *rounds = fleet.launches[:4]
    assert copies.ranks == links.ranks == 48 and copies.pattern == "copy"
    assert links.paths == ("host", "aware", "gpu") and dict(links.options)["within_hosts"] is True
    assert [(plan.ranks, plan.paths) for plan in rounds] == [(12, ("host", "aware"))] * 2
    again = fleet.launches[4:]
    assert [plan.pattern for plan in again] == ["copy", "copy", "pairing", "pairing"]
    assert all("n05" in plan.hosts and len(plan.hosts) == 9 for plan in again), "with others that are sound"
    lacking = [line for line in said.err.splitlines() if "aware is not measured" in line]
    assert [line.partition(":")[0] for line in lacking] == ["every node by itself, messages", "round 1 of 2"]


def test_a_pair_that_was_slow_once_is_measured_again_before_it_is_named(
    fleet: FakeFleet, tmp_path: Path, capsys: Captured
) -> None:
    """Protects sound links from one late time, and finds a bad one in the same run."""
    met = tuple(sorted(pairs_of(0, names(12), 1)[0]))
    fleet.slow_pairs = {(met[0], met[1]): 1.6}
    assert ran(tmp_path / "f") == ExitCode.WORSE
    said = capsys.readouterr()
    assert said.out.startswith("1 link is slow, in a fleet of 12 nodes") and " - ".join(met) in said.out
    assert "1 suspect, slow in too few launches to be named: measured again with others" in said.err
    assert len(fleet.launches) == 10 + 2 and "leave out" not in said.out
    fleet.launches.clear()
    fleet.late = {(met[0], met[1], 2): 1.6}
    fleet.slow_pairs = {}
    assert ran(tmp_path / "g") == ExitCode.OK
    assert len(fleet.launches) == 10 + 2, "late in one launch"


def test_the_load_is_the_stated_one(fleet: FakeFleet, tmp_path: Path, capsys: Captured) -> None:
    assert ran(tmp_path / "f", "--at-once", "2") == ExitCode.OK
    assert "at most 2 pairs at the same time" in capsys.readouterr().err
    assert {dict(plan.options)["at_once"] for plan in fleet.launches if plan.ranks == 12} == {2}


def test_pairs_are_those_meant_where_a_batch_system_sorts_its_hosts(fleet: FakeFleet, tmp_path: Path) -> None:
    fleet.sorts = True
    hosts = ["n09", "n01", "n05", "n03", "n07", "n02"]
    words = ["--hosts", ",".join(hosts), "--rounds", "5", "--device", "cpu", "--out", str(tmp_path / "f")]
    assert main(["fleet", "run", *words]) == ExitCode.OK
    meant = [{tuple(sorted(pair)) for pair in pairs_of(number, hosts, 1)} for number in range(5)]
    assert [{*pairs} for pairs in fleet.rounds()] == meant


@pytest.mark.parametrize(
    ("how", "probes"), [("hang", 0), ("named", 1), ("start", 6), ("crash", 1), ("blamed", 8)]
)
def test_a_round_that_dies_is_repeated_without_the_silent_node(
    fleet: FakeFleet, how: str, probes: int, tmp_path: Path, capsys: Captured
) -> None:
    """Protects a night on a fleet from one dead node: it costs its own pairs, and is named."""
    fleet.silent, fleet.dies_in = {"n04": how}, 4
    assert ran(tmp_path / "f") == ExitCode.WORSE
    said = capsys.readouterr()
    (silent,) = state(tmp_path / "f")
    assert (silent["node"], silent["part"]) == ("n04", "round 3 of 8")
    assert said.out.startswith("1 node fell silent; no node")
    assert "silent: n04, since round 3 of 8: " in said.out
    assert "--exclude=n04" in said.out
    assert "n04 is silent and left out from now on; round 3 of 8 is repeated without it" in said.err
    assert (tmp_path / "f" / "round-03-2.jsonl").exists(), "what died keeps its file"
    assert len(fleet.launches) == 2 + 8 + 1 + probes
    for pairs in fleet.rounds()[3:]:
        assert len(pairs) == 5 and "n04" not in {node for pair in pairs for node in pair}
    code = main(["fleet", "show", str(tmp_path / "f"), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert code == ExitCode.WORSE and found["exclude"] == ["n04"] and found["silent"] == [silent]
    assert main(["fleet", "show", str(tmp_path / "f"), "--page", str(tmp_path / "p.html")]) == ExitCode.WORSE
    assert "1 node fell silent" in (tmp_path / "p.html").read_text()


def test_nodes_that_fall_silent_together_cost_one_repetition(fleet: FakeFleet, tmp_path: Path) -> None:
    """Protects a fleet whose switch dies from one hang after another."""
    fleet.silent, fleet.dies_in = {"n04": "hang", "n07": "hang", "n08": "hang"}, 5
    assert ran(tmp_path / "f") == ExitCode.WORSE
    assert [one["node"] for one in state(tmp_path / "f")] == ["n04", "n07", "n08"]
    assert len(fleet.launches) == 2 + 8 + 1


def test_a_node_that_answers_alone_is_left_out_when_it_breaks_a_round_twice(
    fleet: FakeFleet, tmp_path: Path
) -> None:
    fleet.moody = "n09"
    assert ran(tmp_path / "f") == ExitCode.WORSE
    (silent,) = state(tmp_path / "f")
    assert silent["node"] == "n09" and silent["why"].endswith("(twice)")


def test_a_fleet_that_hardly_answers_is_given_up(fleet: FakeFleet, tmp_path: Path, capsys: Captured) -> None:
    fleet.silent = dict.fromkeys(names(7), "start")
    assert ran(tmp_path / "f") == ExitCode.FAILED_ENTRY
    assert "7 of 12 nodes do not answer" in capsys.readouterr().err


def test_what_is_there_is_not_measured_again(
    fleet: FakeFleet, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects --resume: the missing launches alone, with the pairs of a run that was never stopped."""
    fleet.stops_in = 5
    assert ran(tmp_path / "f") == ExitCode.INTERRUPTED
    assert "go on with --resume" in capsys.readouterr().err
    fleet.stops_in = None
    assert ran(tmp_path / "f") == ExitCode.USAGE
    assert "go on with --resume, or name another folder" in capsys.readouterr().err
    assert ran(tmp_path / "f", "--resume") == ExitCode.OK
    assert len(fleet.launches) == 10 + 1
    whole = FakeFleet()
    monkeypatch.setattr(session, "measure", whole)
    assert ran(tmp_path / "g") == ExitCode.OK
    rounds = fleet.rounds()
    assert [*rounds[:3], *rounds[4:]] == whole.rounds()


def test_silent_nodes_stay_left_out_of_what_is_gone_on_with(fleet: FakeFleet, tmp_path: Path) -> None:
    fleet.silent, fleet.dies_in, fleet.stops_in = {"n04": "hang"}, 2, 6
    assert ran(tmp_path / "f") == ExitCode.INTERRUPTED
    fleet.stops_in = None
    assert ran(tmp_path / "f", "--resume") == ExitCode.WORSE
    assert len(state(tmp_path / "f")) == 1 and len(fleet.launches) == 10 + 1 + 1


def test_another_fleet_is_not_mixed_into_a_folder(fleet: FakeFleet, tmp_path: Path, capsys: Captured) -> None:
    assert ran(tmp_path / "f") == ExitCode.OK
    assert ran(tmp_path / "f", "--resume", "--sizes", "8", "--seed", "2") == ExitCode.USAGE
    assert "begun with another --seed, --sizes" in capsys.readouterr().err
    count = len(fleet.launches)
    assert ran(tmp_path / "f", "--resume", "--rounds", "9") == ExitCode.OK, "more rounds are welcome"
    assert len(fleet.launches) == count + 1
