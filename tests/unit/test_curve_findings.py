"""Findings about curves with the doctor, and of measured files; golden/report/tables has them on screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import report_files as made

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.findings import curves as doctor_curves
from wirespeed.results.curves import curve_findings
from wirespeed.results.reading import read
from wirespeed.results.runs import Run, collect, resumed

RESULTS = Path(__file__).parents[2] / "results"
HUMP = "64 KiB takes 2.72 times as long as 1 MiB (389 us at 64 KiB against 143 us)"
MICROSECONDS = {8: 5, 4096: 8, 65536: 389, 1 << 20: 143, 16 << 20: 1900}
TRUE = {
    "eight/h200-x8-allreduce.jsonl.gz": ["nccl-stream:best fall"],
    "eight/h200-x8-reducescatter.jsonl.gz": ["nccl-stream:best fall"],
    "h200-x4-groups.jsonl.gz": ["aware fall"],
}
"""Findings about real files, each looked at: their figures fall by a third and more at the largest size."""


def file(folder: Path, *, humped: bool = True) -> str:
    figures = {**MICROSECONDS, 65536: 389 if humped else 14}
    entries = [made.entry("host", size, micro / 1e6, precision=0.01) for size, micro in figures.items()]
    return made.write(folder / "a.jsonl", made.head(), made.step("host"), *entries, made.end())


def run_of(name: str) -> Run:
    (run,) = resumed(collect(read(name).records))
    return run


def test_the_doctor_finds_it(tmp_path: Path) -> None:
    facts = MachineFacts(runs=(run_of(file(tmp_path)),), file="a.jsonl")
    (found,) = doctor_curves.find(facts)
    assert found.key == "curve-hump-host" and HUMP in found.title and not found.sure
    assert not [*doctor_curves.find(MachineFacts(runs=(run_of(file(tmp_path, humped=False)),)))]


@pytest.mark.parametrize("folder", [*sorted(path.name for path in RESULTS.iterdir() if path.is_dir()), "."])
def test_findings_about_measured_files_are_true(folder: str) -> None:
    found: dict[str, list[str]] = {}
    for name in sorted((RESULTS / folder).glob("*.jsonl*")):
        for run in resumed(collect(read(name).records)):
            for path, finding in curve_findings(run):
                found.setdefault(f"{name.relative_to(RESULTS)}", []).append(f"{path} {finding.kind}")
    assert found == {name: kinds for name, kinds in TRUE.items() if str(Path(name).parent) == folder}
