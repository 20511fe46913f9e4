"""Every file that is read back, damaged: nothing executed, nothing written elsewhere, no stack trace.

FUZZ=CASES:PROCESSES:SEED says how many of each format and which; FUZZ_CASE=SEED-NUMBER runs one (make fuzz).
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import cast

import pytest
from fuzz import cases, hostile, in_process, verdict
from support.fleet_files import write_fleet
from support.rank_messages import MESSAGES

from wirespeed import systems
from wirespeed.cli.main import main
from wirespeed.errors import WirespeedError
from wirespeed.fleet.allocation import NODE_FILES, allocated_hosts, named_hosts
from wirespeed.frontend.rank_messages import MessageReader
from wirespeed.frontend.run_steps import StepRecorder
from wirespeed.job.messages import MARK
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.report.export.field_picture import FieldPicture
from wirespeed.report.export.timeline import trace
from wirespeed.report.facts.path_ranges import RangeLog, StepRanges
from wirespeed.report.terminal.progress import make_progress
from wirespeed.results.recorder import Recorder

CASES, _, SEED = (os.environ.get("FUZZ") or "40:15:1").split(":")
ONE = os.environ.get("FUZZ_CASE")
SHOW_FLEET = ("fleet show fleet --format json", "fleet show fleet", "fleet show fleet --format slurm")
TOPOLOGY = b"SwitchName=s1 Nodes=n0[1-2]\nSwitchName=s2 Nodes=n03,n04\nSwitchName=top Switches=s[1-2]\n"
HOSTS = b"# the allocation\nn01 slots=4\nn02:8\nn03\nn03\n"


@dataclass(frozen=True)
class Format:
    """A kind of file that is read back: an example of it, and commands that read it."""

    file: str
    commands: tuple[str, ...]


FORMATS = {
    "results": Format(
        "results.jsonl",
        (
            "show results.jsonl",
            "show results.jsonl --format csv",
            "check --require site.toml results.jsonl",
            "compare whole.jsonl results.jsonl",
            "doctor --after-hang results.jsonl",
        ),
    ),
    "bounds": Format("site.toml", ("check --require site.toml whole.jsonl",)),
    "steps-csv": Format("mine.csv", ("custom --file mine.csv",)),
    "steps-json": Format("mine.json", ("custom --file mine.json",)),
    "system": Format("systems/summit.toml", ("systems --system summit", "systems")),
    "fleet-run": Format("fleet/fleet-run.json", (*SHOW_FLEET, "fleet show fleet --format pbs")),
    "packed": Format("fleet/packed.json", SHOW_FLEET),
    "parquet": Format("fleet/2026-03-01.parquet", SHOW_FLEET),
    "topology": Format("topology.conf", ("fleet show fleet --topology topology.conf",)),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sound file of each format."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("results.jsonl", "site.toml", "mine.csv", "mine.json"):
        (folder / name).write_bytes(cases.whole()[name])
    (folder / "whole.jsonl").write_bytes(cases.whole()["results.jsonl"])
    (folder / "topology.conf").write_bytes(TOPOLOGY)
    (folder / "systems").mkdir()
    shutil.copy(systems.FOLDER / "summit.toml", folder / "systems")
    write_fleet(folder / "fleet", nodes=4, days=2, rounds=3)
    assert main(["fleet", "pack", str(folder / "fleet")]) == 0
    for file in (folder / "fleet").glob("*-1*.jsonl"):
        file.unlink()
    silent = {"node": "n04", "part": "round 3 of 8", "why": "no answer", "at": "2026-03-02T03:00:00+00:00"}
    run = {"figures": {"sizes": [8]}, "silent": [silent]}
    (folder / "fleet/fleet-run.json").write_text(json.dumps(run))
    assert {format_.file for format_ in FORMATS.values()} <= set(_names(folder))
    return folder


def _names(folder: Path) -> Iterator[str]:
    return (str(file.relative_to(folder)) for file in folder.rglob("*"))


def seeds() -> list[str]:
    return [ONE] if ONE else [f"{SEED}-{number}" for number in range(int(CASES))]


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file(name: str, whole: Path, tmp_path: Path) -> None:
    """Protects whoever reads a file of somebody else's, or one that a full disk has cut."""
    format_, folder, found = FORMATS[name], tmp_path / "folder", []
    shutil.copytree(whole, folder)
    sound = (whole / format_.file).read_bytes()
    for seed in seeds():
        rng = Random(f"{name} {seed}")
        words = rng.choice(format_.commands).split()
        case = cases.Case(seed, words, {}, {format_.file: hostile.damaged(rng, sound)})
        noted = in_process.run_case(case, folder)
        wrong = list(verdict.wrong(case, noted, folder))
        if name in ("steps-csv", "steps-json"):
            for file in folder.glob("wirespeed-*.jsonl"):
                file.unlink()
        if wrong:
            found.append(f"{name} {case} {wrong}\n{noted.err[:1500]}")
    _judge(found)


def test_damaged_lists_of_hosts(tmp_path: Path) -> None:
    """Protects the command lines that hosts go into: a name is one, or the list is refused in one line."""
    file, found = tmp_path / "hosts", []
    variables = [variable for names in NODE_FILES.values() for variable in names]
    for seed in seeds():
        rng = Random(f"hosts {seed}")
        file.write_bytes(hostile.damaged(rng, HOSTS))
        variable = rng.choice([None, *variables])
        try:
            hosts = allocated_hosts({variable: str(file)}) if variable else named_hosts(str(file))
            if not all(host.isprintable() and not set(host) & set(" ;$`'\"\\/&|<>") for host in hosts):
                found.append(f"{seed} {variable}: {hosts}")
        except WirespeedError:
            pass
        except Exception as error:
            found.append(f"{seed} {variable}: {error!r}")
    _judge(found)


def test_damaged_messages_of_ranks(tmp_path: Path) -> None:
    """Protects the front end's terminal and its figures from bytes that broke on their way."""
    lines = [MARK + json.dumps(message) for message in MESSAGES]
    found = []
    for seed in seeds():
        rng = Random(f"messages {seed}")
        content = hostile.damaged(rng, b"\n".join(json.dumps(message).encode() for message in MESSAGES))
        # The mark stays: without it a line is a library's.
        lines = [MARK + line for line in content.decode(errors="replace").split("\n")]
        screen = io.StringIO()
        try:
            _take(lines, screen, tmp_path / f"{seed}.jsonl")
        except Exception as error:
            found.append(f"{seed}: {error!r}")
        if any(not (letter.isprintable() or letter == "\n") for letter in screen.getvalue()):
            found.append(f"{seed}: {screen.getvalue()!r}")
        (tmp_path / f"{seed}.jsonl").unlink(missing_ok=True)
    _judge(found)


def _take(lines: list[str], screen: io.StringIO, out: Path) -> None:
    """As a run takes the lines of one path."""
    reader, progress = MessageReader(), make_progress((), screen)
    picture, log = FieldPicture(), RangeLog()
    log.steps.append(StepRanges("host", 1, 0, 1))

    def observe(event: object) -> None:
        if isinstance(event, dict) and (event["kind"] == "picture" or log.take(event)):
            if event["kind"] == "picture":
                picture.take(event)
            return
        progress(cast("Callable[..., None]", event))  # type: ignore[arg-type]

    recorder = Recorder(Plan(out=str(out)), observe)
    job = {"mpi": {"source": "machine"}, "launcher": "mpiexec", "variables": {}, "allocator": "driver"}
    step = StepRecorder(0, find_path("host"), recorder, observe, job)
    for line in lines:
        _, message = reader.read(line)
        if message is None or message["kind"] in ("stuck", "crash", "error", "done", "turn"):
            continue
        if outcome := step.take(message):
            step.fail(outcome)
    recorder.end("complete")
    trace(log.steps)


def test_a_sound_message_of_each_kind(tmp_path: Path) -> None:
    """Protects the fuzzer from taking nothing: undamaged messages become records."""
    screen = io.StringIO()
    _take([MARK + json.dumps(message) for message in MESSAGES], screen, tmp_path / "r.jsonl")
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert kinds == ["step", "entry", "wires", "evidence", "health", "failure", "soak", "end"]
    assert "left out" not in screen.getvalue()


def _judge(found: list[str]) -> None:
    assert not found, f"{len(found)} cases of seed {SEED}:\n\n" + "\n\n".join(found[:10])
