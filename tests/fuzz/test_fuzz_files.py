"""Every file that is read back, damaged: nothing executed, nothing written elsewhere, no stack trace.

FUZZ=CASES:PROCESSES:SEED says how many of each format and which; FUZZ_CASE=SEED-NUMBER runs one (make fuzz).
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import click
import pytest
from fuzz import cases, hostile, in_process, verdict
from support.fleet_files import write_fleet
from support.rank_messages import MESSAGES

from wirespeed import systems
from wirespeed.cli.commands import cli
from wirespeed.cli.main import main
from wirespeed.doctor import job as doctor_job
from wirespeed.errors import WirespeedError
from wirespeed.fleet.allocation import NODE_FILES, allocated_hosts, named_hosts
from wirespeed.frontend.rank_messages import MessageReader
from wirespeed.frontend.recording import StepRecorder
from wirespeed.host import mpi
from wirespeed.job.message_lines import MARK, members
from wirespeed.job.messages import Done, PathStart, Picture, RankError, RankReport
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.patterns import all_patterns
from wirespeed.report.export.field_picture import FieldPicture
from wirespeed.report.export.timeline import RangeLog, StepRanges, trace
from wirespeed.report.terminal.progress import make_progress
from wirespeed.results.model import Event
from wirespeed.results.recorder import Recorder, StepJob

pytestmark = pytest.mark.slow(after=1)

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
    "soak": Format(
        "soak.jsonl",
        (
            *("show soak.jsonl", "show soak.jsonl --explain --all-sizes", "show soak.jsonl --format csv"),
            *(
                "report soak.jsonl -o out.html",
                "compare whole.jsonl soak.jsonl",
                "show soak.jsonl --share new.jsonl",
            ),
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
    for name in ("results.jsonl", "soak.jsonl", "site.toml", "mine.csv", "mine.json"):
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
    verdict.judged(found)


@pytest.mark.slow
def test_a_damaged_hang_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects whoever tries remedies for a hang in a file of somebody else's: it chooses no program."""
    failure = {"kind": "failure", "run": "r", "path": "host", "bytes": 8, "what": "hang", "call": "MPI_Recv"}
    file, found, started = tmp_path / "hung.jsonl", [], list[Sequence[str]]()
    own = [str(library.mpiexec) for library in mpi.all_mpis()]
    monkeypatch.chdir(tmp_path)

    def noted(words: Sequence[str], *_: object) -> tuple[str, str]:
        started.append(words)
        return "", "no"

    monkeypatch.setattr(doctor_job, "run_process", noted)
    tried = 0
    for seed in seeds():
        rng = Random(f"hang {seed}")
        pattern = rng.choice([each for each in all_patterns().values() if each.options])
        values = (rng.choice(hostile.TEXTS), "--mpi=/evil", "--mpi", True, 1, None, "--out=/evil")
        plan = Plan(
            pattern=pattern.name,
            mpi=rng.choice((None, None, "/evil", rng.choice(own))),
            options=tuple((option.key, option.default) for option in pattern.options),
        )
        failure["path"] = "host"
        for name in rng.sample(
            ("device", "launcher", "allocator", "hosts", "path", "options"), rng.choice((1, 2))
        ):
            value = rng.choice((values[1], rng.choice(values)))
            if name == "path":
                failure["path"] = str(value)
            elif name == "options":
                kind = type(rng.choice(pattern.options).default)  # those of one kind, for flags are few
                options = (
                    (option.key, value if type(option.default) is kind else option.default)
                    for option in pattern.options
                )
                plan = replace(plan, options=tuple(options))
            else:
                plan = replace(
                    plan, **dict[str, Any]({name: (str(value),) if name == "hosts" else str(value)})
                )
        head = {"kind": "run", "run": "r", "plan": plan.to_dict()}
        text = "\n".join(json.dumps(line, separators=(",", ":")) for line in (head, failure)).encode()
        file.write_bytes(hostile.damaged(rng, text) if rng.random() < 0.3 else text)
        started.clear()
        code = main(["doctor", "--after-hang", str(file), "--try"])
        said = capsys.readouterr()
        lines = [line for line in said.err.splitlines() if " once more as " in line or " trying: " in line]
        errors = [f"{line}\n" for line in said.err.splitlines() if line not in lines]
        wrong = list(verdict.wrong_ending({}, code, said.out, "".join(errors)))
        wrong += [line for line in lines if not line.isprintable()]
        for words in started:
            tried += 1
            with suppress(click.ClickException, WirespeedError):
                command = cli.get_command(click.Context(cli), words[2])
                assert command
                given = command.make_context(words[2], list(words[3:])).params
                wrong += [f"--mpi {given['mpi']}"] if given["mpi"] not in (None, *own) else []
                wrong += [f"--out {given['out']}"] if "evil" in str(given["out"]) else []
        if wrong:
            found.append(f"{seed} {plan} {wrong}\n{said.err[:1500]}")
    assert tried or ONE
    verdict.judged(found)


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
    verdict.judged(found)


def test_damaged_messages_of_ranks(tmp_path: Path) -> None:
    """Protects the front end's terminal and its figures from bytes that broke on their way."""
    whole = b"\n".join(json.dumps(members(message)).encode() for message in MESSAGES)
    found = []
    for seed in seeds():
        rng = Random(f"messages {seed}")
        content = hostile.damaged(rng, whole)
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
    verdict.judged(found)


def _take(lines: list[str], screen: io.StringIO, out: Path) -> None:
    """As a run takes the lines of one path."""
    reader, progress = MessageReader(), make_progress((), screen)
    picture, log = FieldPicture(), RangeLog()
    log.steps.append(StepRanges("host", 1, 0, 1))

    def observe(event: Event) -> None:
        if isinstance(event, Picture):
            picture.take(event)
        elif not log.take(event):
            progress(event)

    recorder = Recorder(Plan(out=str(out)), observe)
    job = StepJob({}, "mpiexec", mpi={"source": "machine"})
    step = StepRecorder(0, find_path("host"), recorder, observe, job)
    for line in lines:
        _, message = reader.read(line)
        if message is None or isinstance(message, (RankReport, RankError, Done, PathStart)):
            continue
        if outcome := step.take(message):
            step.fail(outcome)
    recorder.end("complete")
    trace(log.steps)


def test_a_sound_message_of_each_kind(tmp_path: Path) -> None:
    """Protects the fuzzer from taking nothing: undamaged messages become records."""
    screen = io.StringIO()
    _take([MARK + json.dumps(members(message)) for message in MESSAGES], screen, tmp_path / "r.jsonl")
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert kinds == ["step", "entry", "wires", "evidence", "health", "failure", "fresh", "soak", "end"]
    assert "left out" not in screen.getvalue()
