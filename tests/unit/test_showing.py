"""show: every way to name results, every form of them; list: a line for each file."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from pathlib import Path

import pytest
from support import report_files as made

from wirespeed.cli.common.showing import PLOTS, TEXTS
from wirespeed.cli.main import main
from wirespeed.results.runs import Run, remembered

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files, the second one newer, and another folder with a third."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    for number, name in enumerate(("wirespeed-a.jsonl", "wirespeed-b.jsonl", "more/c.jsonl")):
        records = made.pingpong(f"r{number}", f"n{number}")
        made.write(tmp_path / name, *records)
        os.utime(tmp_path / name, (time.time() - 100 + number,) * 2)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "hosts"),
    [
        (["wirespeed-a.jsonl", "wirespeed-b.jsonl"], ["n0", "n1"]),
        (["wirespeed-*.jsonl", "wirespeed-a.jsonl"], ["n0", "n1"]),
        ([".", "more"], ["n0", "n1", "n2"]),
        (["--last"], ["n1"]),
    ],
)
def test_files_folders_and_wildcards(
    folder: Path, words: list[str], hosts: list[str], capsys: Captured
) -> None:
    """Each file once, in the order named; a head for each where there are several."""
    assert main(["show", *words]) == 0
    said = capsys.readouterr().out
    found = [line.split()[2].rstrip(",") for line in said.splitlines() if line.startswith("pingpong on ")]
    assert found == hosts and said.count("== ") == (len(hosts) if len(hosts) > 1 else 0)
    assert main(["show", *words, "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["summary"]["runs"]
    assert [run["host"] for run in runs] == hosts


def test_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("more/c.jsonl").read_bytes())))
    assert main(["show", "-"]) == 0 and "pingpong on n2" in capsys.readouterr().out


@pytest.mark.parametrize("ending", [".html", ".md", *TEXTS])
def test_a_file_of_each_form(folder: Path, ending: str, capsys: Captured) -> None:
    """Protects `show -o`: the form is that of the name, and of two files both are in it."""
    assert main(["show", "wirespeed-a.jsonl", "more/c.jsonl", "-o", f"out{ending}"]) == 0
    assert capsys.readouterr().out == f"out{ending}\n"
    text = Path(f"out{ending}").read_text()
    assert ending == ".csv" or ("n0" in text and "n2" in text)


def test_a_list_of_files(folder: Path, capsys: Captured) -> None:
    """Protects who looks for yesterday's file: date, host, command and verdict of each."""
    made.write(folder / "d.jsonl", made.doctor())
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("2026-01-01 12:00" in line for line in lines) == 2 and "n0" in "".join(lines)
    assert sum("trust: yes, 20 figures" in line for line in lines) == 2
    assert any("no figures; the doctor found 1 fault" in line for line in lines)


def test_report_and_plot_are_names_of_show(folder: Path, capsys: Captured) -> None:
    assert main(["report", ".", "-o", "one.html"]) == main(["show", ".", "-o", "two.html"]) == 0
    assert Path("one.html").read_text() == Path("two.html").read_text()
    assert main(["plot", "."]) == 0 and Path("figure.pdf").exists() and ".pdf" in PLOTS


def test_what_was_remembered_is_forgotten_with_a_new_record() -> None:
    """Protects a run that is shown while it grows."""
    asked = []

    @remembered
    def number(run: Run, word: str) -> int:
        asked.append(word)
        return len(run.figures)

    run = Run("r")
    assert [number(run, "a"), number(run, "a"), number(run, "b")] == [0, 0, 0] and asked == ["a", "b"]
    from support.records import as_read, entry

    run.add(as_read([{**entry("host", 8, 1e-6), "run": "r"}])[0])
    assert number(run, "a") == 1
