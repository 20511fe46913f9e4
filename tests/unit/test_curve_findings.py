"""Findings about curves stand on screen and page, in JSON and with the doctor; sound files have none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import report_files as made
from support.records import shown

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.findings import curves as doctor_curves
from wirespeed.report.facts.trust import trust
from wirespeed.report.page import read_sources, render
from wirespeed.results.curves import as_records, curve_findings
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


def file(folder: Path, *, precision: float = 0.01, humped: bool = True) -> str:
    figures = {**MICROSECONDS, 65536: 389 if humped else 14}
    entries = [made.entry("host", size, micro / 1e6, precision=precision) for size, micro in figures.items()]
    return made.write(folder / "a.jsonl", made.head(), made.step("host"), *entries, made.end())


def run_of(name: str) -> Run:
    (run,) = resumed(collect(read(name).records))
    return run


def test_a_hump_stands_on_screen_page_and_in_json(tmp_path: Path) -> None:
    sources, lost = read_sources([file(tmp_path)])
    (run,) = sources[0].runs
    told = trust(run)
    assert told.good and "read its line: host" in told.words
    assert f"host: {HUMP}" in " ".join(shown(run, 150).split())
    assert HUMP in render(sources, lost)
    (record,) = json.loads(json.dumps(as_records(run)))
    assert (record["path"], record["finding"], record["seen"]) == ("host", "hump", HUMP) and record["do"]


def test_a_sound_curve_has_no_line(tmp_path: Path) -> None:
    run = run_of(file(tmp_path, humped=False))
    assert not [*curve_findings(run)] and "line" not in trust(run).words and not as_records(run)


def test_wide_figures_show_nothing(tmp_path: Path) -> None:
    assert not [*curve_findings(run_of(file(tmp_path, precision=0.5)))]


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
