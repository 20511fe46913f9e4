"""Command lines, environments and files that nobody would write: no stack trace, no orphan, nothing executed.

FUZZ=CASES:PROCESSES:SEED says how many and which; FUZZ_CASE=SEED-NUMBER runs a single one (make fuzz).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fuzz import cases, hostile, in_process, processes, verdict

pytestmark = pytest.mark.slow(after=1)

CASES, PROCESSES, SEED = (os.environ.get("FUZZ") or "600:15:1").split(":")
ONE = os.environ.get("FUZZ_CASE")
PARTS = 1 if ONE else 10
HARMLESS = ("wirespeed", "srun", "jsrun", "flux", "mpiexec", "mpirun", "module", "source")


def seeds(count: int, part: int) -> list[str]:
    return [ONE] if ONE else [f"{SEED}-{number}" for number in range(part, count, PARTS)]


def complaint(case: cases.Case, wrong: list[str], err: str) -> str:
    return "\n".join([str(case), *wrong, err[:2000], f"to repeat it: make fuzz CASE={case.seed}"])


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a job script may call: launchers that start nothing, and the program that a canary needs."""
    folder = tmp_path_factory.mktemp("programs")
    for name in HARMLESS:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    for name in ("touch", "env", "date", "grep"):
        (folder / name).symlink_to(shutil.which(name) or "/bin/false")
    return folder


@pytest.mark.parametrize("part", range(PARTS))
def test_in_process(part: int, tmp_path: Path, programs: Path) -> None:
    """Protects from stack traces, and from files written elsewhere; no rank is started."""
    found = []
    for seed in seeds(int(CASES), part):
        case, folder = cases.make(seed), tmp_path / seed
        folder.mkdir()
        try:
            noted = in_process.run_case(case, folder)
        except BaseException as error:
            raise AssertionError(complaint(case, [repr(error)], "")) from error
        if noted.out.startswith("#!/bin/bash") and not any("--set" in word for word in case.words):
            run_script(noted.out, folder, programs)
        if wrong := list(verdict.wrong(case, noted, folder)):
            found.append(complaint(case, wrong, noted.err))
        shutil.rmtree(folder)
    verdict.judged(found)


def run_script(text: str, folder: Path, programs: Path) -> None:
    """A job script, with launchers that start nothing: a text in it that runs leaves its canary."""
    environment = {"PATH": str(programs), "HOSTS": "n1", "COBALT_NODEFILE": "nodes"}
    done = subprocess.run(
        ["/bin/bash"], input=text, env=environment, cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode in (0, 3, 4), done.stderr


@pytest.mark.parametrize("part", range(PARTS))
def test_as_a_process(part: int, tmp_path: Path) -> None:
    """Protects from orphans as well: real ranks run, where anything is measured."""
    found = []
    for seed in seeds(int(PROCESSES), part):
        case, folder = processes.make(seed), tmp_path / seed
        folder.mkdir()
        noted = processes.run_case(case, folder)
        wrong = list(verdict.wrong_ending(case.environment, noted.code, noted.out, noted.err))
        wrong += [f"still runs: {line}" for line in noted.started]
        wrong += verdict.executed(folder)
        if wrong:
            found.append(complaint(case, wrong, noted.err))
    verdict.judged(found)


def test_the_same_seed_is_the_same_case() -> None:
    """Protects the line that says how to repeat a case."""
    for number in range(50):
        assert cases.make(f"3-{number}") == cases.make(f"3-{number}")
    assert len({str(cases.make(f"3-{number}")) for number in range(50)}) > 40


def test_what_it_would_find(tmp_path: Path) -> None:
    """Protects the fuzzer from finding nothing: each of these is a fault."""
    found = list(verdict.wrong_ending({}, 17, "", "Traceback\nwirespeed: unexpected KeyError\n"))
    assert len(found) == 3
    assert list(verdict.wrong_ending({}, 2, "a table", "\x1b[31m")) == [
        "code 2 with 0 lines that say why",
        "a wrong option, and a result",
        "a control character for the terminal",
    ]
    (tmp_path / hostile.CANARY).touch()
    assert len(list(verdict.executed(tmp_path))) == 1
    case = cases.Case("0", ["report", "results.jsonl", "-o", str(tmp_path / "elsewhere.html")], {})
    (tmp_path / "own").mkdir()
    (tmp_path / "own/results.jsonl").write_bytes(cases.whole()["results.jsonl"])
    noted = in_process.run_case(case, tmp_path / "own")
    assert noted.code == 0 and list(verdict.wrong(case, noted, tmp_path / "own"))
