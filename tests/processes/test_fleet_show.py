"""wirespeed fleet show on a small fleet's files; what is printed lies in tests/golden/fleet."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.fleet_files import SLOW, START, slow, write_fleet, write_run

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.fleet.history import read_history
from wirespeed.results.reading import read

Captured = pytest.CaptureFixture[str]
RESULTS = Path(__file__).parents[2] / "results"
MOMENTS = ("started", "ended", "at")


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


def test_a_fleet_of_gpus_alone(tmp_path: Path, capsys: Captured) -> None:
    """Copies judge GPUs, no nodes: that one of ten is slow is no third of the fleet."""
    write_copies(tmp_path / "slow", lambda number: 1.6 if number == 4 else 1.0)
    code, said = shown(capsys, tmp_path / "slow")
    assert code == ExitCode.WORSE, said
    assert "1 GPU is slow, in a fleet of 10 nodes" in said and "--exclude=n04" in said
    write_copies(tmp_path / "old", lambda number: 1.1 if number > 5 else 1.0, "driver 550.90")
    said = shown(capsys, tmp_path / "old")[1]
    assert "driver 550.90 on 5 nodes" in said, said


def write_copies(folder: Path, slower: Callable[[int], float], driver: str = "driver 580.159.04") -> None:
    """Real copies of ten launches on one H200, thrice, as of ten nodes; `driver`: slower ones have it."""
    folder.mkdir()
    for number in range(1, 11):
        host = f"n{number:02d}"
        launch = read(f"{RESULTS}/one-gpu/h200-copy-launch-{number:02d}.jsonl.gz").records
        for time in range(3):
            lines = []
            for record in launch:
                one = json.loads(msgspec.json.encode(record))
                at = timedelta(minutes=20 * time + number)
                one = {key: _later(value, at) if key in MOMENTS else value for key, value in one.items()}
                one["run"] = f"{number:04d}{time:08d}"
                if one["kind"] == "run":
                    one["environment"]["host"] = host
                if one["kind"] == "step":
                    one["ranks"] = [{**rank, "host": host} for rank in one["ranks"]]
                if one["kind"] == "entry":
                    one["seconds"] |= {
                        key: slower(number) * one["seconds"][key] for key in ("median", "low", "high")
                    }
                lines.append(json.dumps(one))
            text = "\n".join([*lines, ""])
            text = text.replace("driver 580.159.04", driver) if slower(number) > 1 else text
            (folder / f"{host}-{time}.jsonl").write_text(text)


def _later(moment: str, by: timedelta) -> str:
    return (datetime.fromisoformat(moment) + by).isoformat() if moment else moment


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


def test_prometheus_reads_the_scrape(fleet: Path, capsys: Captured) -> None:
    """Protects the syntax; tests/golden/fleet has what is said."""
    text = shown(capsys, fleet, "--format", "prometheus")[1]
    families = {one.name: one for one in text_string_to_metric_families(text)}
    ratios = {one.labels["node"]: one.value for one in families["wirespeed_fleet_node_ratio"].samples}
    assert len(ratios) == 16 and max(ratios, key=lambda node: ratios[node]) == SLOW


def write_team_run(folder: Path, ranks: list[dict[str, Any]], more: dict[str, Any]) -> None:
    """A run of these ranks, whose one figure has these members."""
    file = folder / "run.jsonl"
    write_run(file, START, ["a", "b"], 1e-5, random.Random(1), more=more)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["ranks"] = ranks
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_pairs_of_a_pairs_run_and_gpus_are_told_apart(tmp_path: Path) -> None:
    """Teams of one run: a pair on two nodes, a pair of GPUs in a node, a GPU alone; three nodes are none."""
    ranks = [{"rank": n, "host": "ab"[n // 2], "device": {"index": n % 2, "name": "H"}} for n in range(4)]
    times = {"median": 1e-5, "low": 9e-6, "high": 2e-5}
    teams = [
        {"name": name, "first": first, "ranks": count, "seconds": times}
        for name, first, count in (("0-2", 0, 2), ("2-3", 2, 2), ("rank 1 alone", 1, 1), ("all", 0, 9))
    ]
    write_team_run(tmp_path, ranks, {"teams": teams})
    found = {(one.one, one.other, one.part) for one in read_history(str(tmp_path)).loose}
    assert found == {("a", "b", ""), ("b", "", "GPU 0-1"), ("a", "", "GPU 1")}


def test_a_rank_that_waited_spoils_its_own_pair_alone(tmp_path: Path, capsys: Captured) -> None:
    """Protects a round of thousands of pairs from one node whose CPUs are busy."""
    ranks = [{"rank": n, "host": host} for n, host in enumerate("abcd")]
    times = {"median": 1e-5, "low": 9e-6, "high": 2e-5}
    teams = [
        {"name": name, "first": first, "ranks": 2, "seconds": times, "waited": waited}
        for name, first, waited in (("0-1", 0, 0.01), ("2-3", 2, 0.7))
    ]
    more = {"teams": teams, "cores": {"waited": 0.7, "rank": 3}}
    write_team_run(tmp_path, ranks, more)
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
