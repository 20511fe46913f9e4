"""wirespeed fleet show and pack on the result files of a small fleet, from the command line to the output."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.fleet_files import START, write_fleet, write_run

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.fleet.history import read_history

SLOW = "n05"
Captured = pytest.CaptureFixture[str]


def slow(_: int, one: str, other: str) -> float:
    return 1.15 if SLOW in (one, other) else 1.0


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three days of 16 nodes, of which one is slow."""
    write_fleet(tmp_path / "fleet", factor=slow)
    return tmp_path / "fleet"


def shown(capsys: Captured, *words: object) -> tuple[int, str]:
    code = main(["fleet", "show", *map(str, words)])
    return code, capsys.readouterr().out


def as_json(capsys: Captured, *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shown(capsys, *words, "--format", "json")[1])
    return found


def names(found: dict[str, Any]) -> list[str]:
    return [one["name"] for one in found["findings"]]


def without_results(folder: Path) -> Path:
    """The packed days alone."""
    for file in folder.glob("*.jsonl"):
        file.unlink()
    return folder


def test_the_slow_node_is_named_and_none_of_its_partners(fleet: Path, capsys: Captured) -> None:
    code, text = shown(capsys, fleet)
    assert code == ExitCode.WORSE
    assert text.splitlines()[0] == "1 node is slow, in a fleet of 16 nodes"
    assert "sbatch --exclude=n05" in text and "partners" in text
    (finding,) = as_json(capsys, fleet)["findings"]
    figures = {one["figure"]: one for one in finding["evidence"]}
    assert set(figures) == {"pingpong host 8 B, GPU", "pingpong host 8 B, GPU, between nodes"}
    for one in figures.values():
        assert one["low"] < 1.15 < one["high"] and one["ratio"] == pytest.approx(1.15, abs=0.03)


def test_a_sound_fleet_is_said_to_be_sound(tmp_path: Path, capsys: Captured) -> None:
    write_fleet(tmp_path)
    code, text = shown(capsys, tmp_path)
    assert code == ExitCode.OK
    assert text.startswith("No node or link stands out, in a fleet of 16 nodes")
    assert "would have been named in 90 % of the cases: a node from 1." in text
    assert shown(capsys, tmp_path, "--format", "slurm") == (ExitCode.OK, "")


def _t3(dice: random.Random) -> float:
    return dice.gauss(0, 0.01) / math.sqrt(sum(dice.gauss(0, 1) ** 2 for _ in range(3)) / 3)


NOISES: dict[str, Callable[[random.Random], float]] = {
    "t3": _t3,
    "exponential": lambda dice: dice.expovariate(100),
    "late": lambda dice: dice.gauss(0, 0.01) + (dice.expovariate(20) if dice.random() < 0.05 else 0.0),
    "two modes": lambda dice: dice.gauss(0, 0.005) + 0.05 * (dice.random() < 0.3),
}


@pytest.mark.parametrize("name", NOISES)
def test_noise_that_machines_have_names_nobody(name: str, tmp_path: Path, capsys: Captured) -> None:
    """Protects sound nodes from skewed, late and two-valued times; one that is 30 % slower is still named."""

    def written(seed: int, slower: float) -> Path:
        dice = random.Random(seed)

        def factor(_: int, one: str, other: str) -> float:
            return (slower if SLOW in (one, other) else 1.0) * math.exp(NOISES[name](dice))

        folder = tmp_path / f"{seed}-{slower}"
        write_fleet(folder, days=2, seed=seed, factor=factor)
        return folder

    sound = [shown(capsys, written(seed, 1.0))[0] for seed in range(4)]
    assert sound == [ExitCode.OK] * 4
    assert names(as_json(capsys, written(9, 1.3))) == [SLOW]


def test_one_node_is_no_plural(tmp_path: Path, capsys: Captured) -> None:
    """Protects the answer from the words '1 nodes', of the fleet and of those that cannot be told apart."""
    write_fleet(tmp_path / "one", nodes=1, rounds=0)
    code, text = shown(capsys, tmp_path / "one")
    assert code == ExitCode.CANNOT_TELL and text.startswith("Cannot tell: nothing could be judged")
    assert "n01: only 1 node to compare, 4 are needed" in text
    write_fleet(tmp_path / "more")
    write_run(tmp_path / "more/new.jsonl", START, ["n01", "n99"], 1e-5, random.Random(1), driver="580.1")
    code, text = shown(capsys, tmp_path / "more")
    assert code == ExitCode.CANNOT_TELL
    assert "n99: measured with 1 other, 3 are needed" in text


def test_schedulers_get_one_line(fleet: Path, capsys: Captured) -> None:
    assert shown(capsys, fleet, "--format", "slurm")[1] == "--exclude=n05\n"
    assert shown(capsys, fleet, "--format", "pbs")[1] == "pbsnodes -o n05\n"


def test_prometheus_reads_the_scrape(fleet: Path, capsys: Captured) -> None:
    text = shown(capsys, fleet, "--format", "prometheus")[1]
    families = {one.name: one for one in text_string_to_metric_families(text)}
    (slowest,) = (one for one in families["wirespeed_fleet_slow"].samples if one.labels["kind"] == "node")
    assert slowest.value == 1
    ratios = {one.labels["node"]: one.value for one in families["wirespeed_fleet_node_ratio"].samples}
    assert len(ratios) == 16 and max(ratios, key=lambda node: ratios[node]) == SLOW
    (newest,) = families["wirespeed_fleet_newest_timestamp_seconds"].samples
    assert newest.value == pytest.approx(datetime.fromisoformat("2026-03-03T03:00+00:00").timestamp(), abs=1)


@pytest.mark.parametrize("style", ["table", "json", "prometheus", "slurm", "pbs"])
@pytest.mark.parametrize(
    ("nodes", "odd", "judged"),
    [(1, 0, 0), (3, 0, 0), (16, 2, 14)],
    ids=["one", "three", "two of another kind"],
)
def test_what_cannot_be_judged_stops_no_output(
    nodes: int, odd: int, judged: int, style: str, tmp_path: Path, capsys: Captured
) -> None:
    """Protects from max() of nothing, and from an exit code 8 without a word."""
    others = {f"n{number:02d}" for number in range(1, odd + 1)}
    write_fleet(
        tmp_path, nodes=nodes, rounds=6 if nodes % 2 == 0 else 0, cpu=lambda node: str(node in others)
    )
    assert main(["fleet", "show", str(tmp_path), "--format", style]) == ExitCode.CANNOT_TELL
    said = capsys.readouterr()
    assert bool(said.out) == (style not in ("slurm", "pbs"))
    if style == "prometheus":
        families = {one.name: one.samples for one in text_string_to_metric_families(said.out)}
        told = {one.labels["node"]: one.value for one in families["wirespeed_fleet_node_judged"]}
        assert len(told) == nodes and sum(told.values()) == judged
        ratios = families["wirespeed_fleet_node_ratio"] if judged else []
        assert {one.labels["node"] for one in ratios} == {node for node, one in told.items() if one}
    elif not said.out:
        (line,) = said.err.splitlines()
        assert line.startswith("wirespeed: Cannot tell") and f"fleet show {tmp_path}" in line


def test_a_repaired_node_is_not_named_today(tmp_path: Path, capsys: Captured) -> None:
    """Protects from a history that never forgets: the latest days count."""
    write_fleet(tmp_path, days=10, factor=lambda day, one, other: slow(day, one, other) if day < 5 else 1.0)
    assert names(as_json(capsys, tmp_path, "--last", 4)) == []


def test_a_node_that_was_slow_on_some_days_is_named_instead_of_its_links(
    tmp_path: Path, capsys: Captured
) -> None:
    """Protects from a list of links where one node is the cause."""
    write_fleet(tmp_path, days=7, factor=lambda day, one, other: slow(day, one, other) if day < 2 else 1.0)
    found = as_json(capsys, tmp_path, "--last", 7)
    assert names(found) == [SLOW]
    (evidence,) = found["findings"][0]["evidence"]
    assert 3 <= evidence["slow_times"] < evidence["measured"]


def test_drift_since_a_date_and_what_changed_with_it(tmp_path: Path, capsys: Captured) -> None:
    """One node gets slower on the day when all get a new driver, which makes pairs slower for all."""

    def factor(day: int, one: str, other: str) -> float:
        own = 1.2 if day >= 6 and "n09" in (one, other) else 1.0
        return own * (1.06 if day >= 6 and other else 1.0) * slow(day, one, other)

    write_fleet(tmp_path, days=9, factor=factor, driver=lambda day: "580.1" if day < 6 else "590.2", rounds=8)
    drift = as_json(capsys, tmp_path, "--since", "2026-03-07", "--last", 3)["drift"]
    assert [one["name"] for one in drift["findings"]] == ["n09"]
    assert drift["changed"] == {"n09": ["driver 580.1 -> 590.2"]}
    assert drift["changed_of_fleet"] == ["driver 580.1 -> 590.2 on 16 of 16 nodes"]
    (all_nodes,) = {one["figure"]: one["ratio"] for one in drift["fleet"]}.items()
    assert all_nodes[0].endswith("between nodes") and all_nodes[1] == pytest.approx(1.06, abs=0.01)
    code, text = shown(capsys, tmp_path, "--since", "2026-03-07", "--last", 3)
    assert code == ExitCode.WORSE and "changed meanwhile: driver 580.1 -> 590.2" in text


def test_packed_days_give_the_same_answer(fleet: Path, capsys: Captured) -> None:
    before = as_json(capsys, fleet)
    assert main(["fleet", "pack", str(fleet)]) == ExitCode.OK
    assert "into 3 days" in capsys.readouterr().out
    assert as_json(capsys, fleet) == before
    packed = fleet.parent / "packed"
    packed.mkdir()
    for file in fleet.glob("*.parquet"):
        shutil.copy(file, packed)
    assert as_json(capsys, packed) == {**before, "folder": str(packed)}


def test_a_new_day_and_a_grown_file_count_once(fleet: Path, capsys: Captured) -> None:
    """Protects the truth of result files: what is added after packing is read, and nothing counts twice."""
    main(["fleet", "pack", str(fleet)])
    capsys.readouterr()
    assert main(["fleet", "pack", str(fleet)]) == ExitCode.OK
    assert capsys.readouterr().out == "all result files are packed already\n"
    plain = fleet.parent / "plain"
    write_fleet(fleet, days=1, first_day=3, factor=slow)
    grown = fleet / "n01-0.jsonl"
    write_run(fleet / "more.jsonl", START, ["n01", "n01"], 2e-3, random.Random(9), driver="580.1")
    grown.write_text(grown.read_text() + (fleet / "more.jsonl").read_text())
    (fleet / "more.jsonl").unlink()
    shutil.copytree(fleet, plain, ignore=shutil.ignore_patterns("*.parquet", "packed.json"))
    wanted = {**as_json(capsys, plain), "folder": str(fleet)}
    assert as_json(capsys, fleet) == wanted
    main(["fleet", "pack", str(fleet)])
    assert "into 2 days" in capsys.readouterr().out
    assert as_json(capsys, fleet) == wanted
    main(["fleet", "pack", "--again", str(fleet)])
    capsys.readouterr()
    assert as_json(capsys, fleet) == wanted


def test_without_duckdb_packed_days_say_what_to_install(
    fleet: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["fleet", "pack", str(fleet)])
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["fleet", "show", str(fleet)]) == ExitCode.UNAVAILABLE
    assert "pip install 'wirespeed[fleet]'" in capsys.readouterr().err


def test_a_quote_in_a_folder_s_name_is_a_name(fleet: Path, tmp_path: Path, capsys: Captured) -> None:
    """Protects from paths that are put into queries as text."""
    odd = tmp_path / "it's; DROP [x] {y}"
    fleet.rename(odd)
    assert main(["fleet", "pack", str(odd)]) == ExitCode.OK
    capsys.readouterr()
    for file in odd.glob("*.jsonl"):
        file.unlink()
    assert names(as_json(capsys, odd)) == [SLOW]


def test_pairs_of_a_pairs_run_and_gpus_are_told_apart(tmp_path: Path) -> None:
    """Teams of one run: a pair on two nodes, a pair of GPUs in a node, a GPU alone; three nodes are none."""
    ranks = [{"rank": n, "host": "ab"[n // 2], "device": {"index": n % 2, "name": "H"}} for n in range(4)]
    times = {"median": 1e-5, "low": 9e-6, "high": 2e-5}
    teams = [
        {"name": name, "first": first, "ranks": count, "seconds": times}
        for name, first, count in (("0-2", 0, 2), ("2-3", 2, 2), ("rank 1 alone", 1, 1), ("all", 0, 9))
    ]
    file = tmp_path / "run.jsonl"
    write_run(file, START, ["a", "b"], 1e-5, random.Random(1), more={"teams": teams})
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["ranks"] = ranks
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = {(one.one, one.other, one.part) for one in read_history(str(tmp_path)).loose}
    assert found == {("a", "b", ""), ("b", "", "GPU 0-1"), ("a", "", "GPU 1")}


@pytest.mark.parametrize(
    ("words", "why", "code"),
    [
        (["nowhere"], "is no folder", ExitCode.CANNOT_WRITE),
        (["."], "no figure of one node", ExitCode.CANNOT_WRITE),
        ([".", "--since", "yesterday"], "write a date", ExitCode.USAGE),
        ([".", "--last", "0"], "number of days", ExitCode.USAGE),
        ([".", "--fdr", "1"], "above 0 and below 1", ExitCode.USAGE),
        ([".", "--topology", "none.conf"], "cannot read none.conf", ExitCode.USAGE),
        ([".", "--page", "map.txt"], "ends in .html", ExitCode.USAGE),
    ],
)
def test_bad_input_gets_one_line(
    words: list[str],
    why: str,
    code: ExitCode,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["fleet", "show", *words]) == code
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and why in said[0]


def test_figures_of_ranks_that_waited_for_cpus_do_not_count(tmp_path: Path, capsys: Captured) -> None:
    busy = {"cores": {"waited": 0.5, "rank": 1}}
    write_run(tmp_path / "busy.jsonl", START, ["a", "b"], 1e-5, random.Random(1), more=busy)
    assert main(["fleet", "show", str(tmp_path)]) == ExitCode.CANNOT_WRITE
    assert "1 of ranks that waited for CPUs" in capsys.readouterr().err


def test_a_rank_that_waited_spoils_its_own_pair_alone(tmp_path: Path, capsys: Captured) -> None:
    """Protects a round of thousands of pairs from one node whose CPUs are busy."""
    ranks = [{"rank": n, "host": host} for n, host in enumerate("abcd")]
    times = {"median": 1e-5, "low": 9e-6, "high": 2e-5}
    teams = [
        {"name": name, "first": first, "ranks": 2, "seconds": times, "waited": waited}
        for name, first, waited in (("0-1", 0, 0.01), ("2-3", 2, 0.7))
    ]
    more = {"teams": teams, "cores": {"waited": 0.7, "rank": 3}}
    file = tmp_path / "run.jsonl"
    write_run(file, START, ["a", "b"], 1e-5, random.Random(1), more=more)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["ranks"] = ranks
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [(one.one, one.other) for one in read_history(str(tmp_path)).loose] == [("a", "b")]
    both = [(one.one, one.other) for one in read_history(str(tmp_path), contended=True).loose]
    assert both == [("a", "b"), ("c", "d")]
    assert as_json(capsys, tmp_path)["not_judged"] == ["c", "d"]
    assert "c,d: ranks waited for CPUs" in shown(capsys, tmp_path)[1]


def test_a_node_alone_whose_ranks_waited_never_counts(tmp_path: Path) -> None:
    busy = {"cores": {"waited": 0.5, "rank": 1}}
    write_run(tmp_path / "run.jsonl", START, ["a", "a"], 1e-5, random.Random(1), more=busy)
    assert not read_history(str(tmp_path), contended=True).loose


def test_a_file_dated_ahead_is_named_and_hides_nothing(fleet: Path, capsys: Captured) -> None:
    """Protects from a clock that is wrong: the latest days were those of that one file alone."""
    ahead = datetime.now() + timedelta(days=3)
    write_run(fleet / "ahead.jsonl", ahead, ["n01", "n02"], 1e-5, random.Random(1), driver="580.1")
    code, text = shown(capsys, fleet)
    assert code == ExitCode.WORSE and text.startswith("1 node is slow, in a fleet of 16 nodes")
    assert "ahead.jsonl: dated ahead" in " ".join(text.split())


def test_a_run_that_did_not_end_is_named_until_another_one_has(tmp_path: Path, capsys: Captured) -> None:
    """Protects from a fleet that is sound only as far as its run came."""
    write_fleet(tmp_path)
    assert shown(capsys, tmp_path)[0] == ExitCode.OK
    file = tmp_path / "cut.jsonl"
    write_run(file, START + timedelta(days=2), ["n01", "n02"], 1e-5, random.Random(5), plan={"sizes": [8, 9]})
    whole = file.read_text()
    file.write_text("".join(whole.splitlines(keepends=True)[:-1]))
    code, text = shown(capsys, tmp_path)
    assert code == ExitCode.CANNOT_TELL and text.startswith("Cannot tell about some of it; no node")
    assert "cut.jsonl: the run did not end, and lacks figures; finish it" in " ".join(text.split())
    assert shown(capsys, tmp_path, "--strict")[0] == ExitCode.WORSE
    # The same, measured again.
    (tmp_path / "cut-2.jsonl").write_text(re.sub('"run": "[0-9a-f]{12}"', '"run": "0123456789ab"', whole))
    assert shown(capsys, tmp_path)[0] == ExitCode.OK


def test_a_run_that_did_not_end_is_not_hidden_by_an_earlier_one(tmp_path: Path) -> None:
    """Protects from a fleet that measures the same every day: yesterday's whole run is not today's."""

    def run(name: str, day: int, whole: bool) -> None:
        file = tmp_path / name
        plan = {"sizes": [8, 9], "out": name, "debug": whole}
        write_run(file, START + timedelta(days=day), ["n01", "n02"], 1e-5, random.Random(day), plan=plan)
        if not whole:
            file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))

    def left() -> list[str]:
        found = read_history(str(tmp_path)).unfinished(datetime.min, datetime.max)
        return [Path(name).name for name in found]

    run("a.jsonl", 1, True)
    run("b.jsonl", 2, False)
    assert left() == ["b.jsonl"]
    run("c.jsonl", 3, False)
    assert left() == ["c.jsonl"]
    run("d.jsonl", 4, True)
    assert left() == []


def test_what_was_measured_once_names_nobody(tmp_path: Path, capsys: Captured) -> None:
    """Protects sound nodes from one late time: another launch is needed, and the exit code says so."""
    write_fleet(tmp_path, days=1, rounds=8, factor=lambda _, one, other: 1.0 if other else slow(0, one, ""))
    code, text = shown(capsys, tmp_path)
    assert code == ExitCode.CANNOT_TELL
    assert "node n05: once slow, 1.1" in text and "measure again: wirespeed fleet run --hosts n05" in text
    assert as_json(capsys, tmp_path)["exclude"] == []
    assert shown(capsys, tmp_path, "--strict")[0] == ExitCode.WORSE


@pytest.mark.parametrize(
    ("nodes", "code"), [(2, ExitCode.CANNOT_TELL), (3, ExitCode.CANNOT_TELL), (4, ExitCode.WORSE)]
)
def test_a_node_ten_times_slower_passes_in_no_small_fleet(
    nodes: int, code: ExitCode, tmp_path: Path, capsys: Captured
) -> None:
    """Of two or three nodes nobody can say which is slow, and nothing is said to be sound."""
    write_fleet(tmp_path, nodes=nodes, factor=lambda _, one, other: 10.0 if "n01" in (one, other) else 1.0)
    assert shown(capsys, tmp_path)[0] == code


def test_a_fault_of_the_latest_days_is_found_among_seven(tmp_path: Path, capsys: Captured) -> None:
    """Protects a new fault from the days before it, which are judged with it by default."""

    # Alone: with partners, it would be named as slow in some of its times.
    def alone(day: int, one: str, other: str) -> float:
        return slow(day, one, "") if day >= 4 and not other else 1.0

    write_fleet(tmp_path, days=7, factor=alone)
    assert names(as_json(capsys, tmp_path)) == [SLOW]
    assert "in the latest 3 days" in " ".join(shown(capsys, tmp_path)[1].split())


def test_older_hardware_is_judged_among_its_own(tmp_path: Path, capsys: Captured) -> None:
    """A kind that is slower is one line, and none of its nodes is named; one that is slow among them is."""
    old = {"n01", "n02", "n03", "n04", "n05"}

    def factor(_: int, one: str, other: str) -> float:
        return (1.15 if old & {one, other} else 1.0) * (1.3 if SLOW in (one, other) else 1.0)

    write_fleet(tmp_path, factor=factor, cpu=lambda node: "Old" if node in old else "New")
    code, text = shown(capsys, tmp_path)
    assert code == ExitCode.WORSE and names(as_json(capsys, tmp_path)) == [SLOW]
    assert "hardware: Old (5 nodes) takes 1.1" in text


def test_another_driver_is_no_kind_and_is_said(tmp_path: Path, capsys: Captured) -> None:
    """Protects nodes with an old driver: they are slow, and the line says what most others have."""
    old = {"n03", "n09"}

    def factor(_: int, one: str, other: str) -> float:
        return 1.2 if old & {one, other} else 1.0

    write_fleet(tmp_path, factor=factor)
    assert as_json(capsys, tmp_path)["software"] == []
    for file in tmp_path.glob("*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for rank in lines[1]["ranks"]:
            if rank["host"] in old:
                rank["device"]["driver"] = "570.1"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    line = "driver 570.1 on n[03,09], which stand out; 580.1 on 14 of 16 nodes"
    code, text = shown(capsys, tmp_path)
    assert code == ExitCode.WORSE and line in " ".join(text.split())
    assert main(["fleet", "pack", str(tmp_path)]) == ExitCode.OK
    capsys.readouterr()
    found = as_json(capsys, without_results(tmp_path))
    assert {*names(found)} == old and found["software"] == [line]
