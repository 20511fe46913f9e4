"""wirespeed.measure, and compare --measure with real ranks: results and errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import wirespeed
from wirespeed.cli.from_python import _words
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode


def test_options_as_the_command_has_them() -> None:
    options = {
        "paths": ["host", "rma*"],
        "sizes": (8, "1M"),
        "within": 10,
        "no_evidence": True,
        "resume": False,
    }
    words = ["--paths=host,rma*", "--sizes=8,1M", "--within=10", "--no-evidence"]
    assert _words({**options, "mpi": None, "resume": False}) == words


def test_it_measures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects notebooks: what a file would have is returned, and none is left behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    results = wirespeed.measure("pingpong", paths=["host"], sizes=[8, "64K"], device="cpu")
    assert sorted(entry.bytes for entry in results.entries) == [8, 65536]
    assert all(entry.seconds > 0 and entry.path == "host" for entry in results.entries)
    assert not [*tmp_path.iterdir()]


def test_a_file_that_is_named_stays(tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    results = wirespeed.measure("exchange", paths="host", sizes=8, out=out, device="cpu", no_evidence=True)
    assert len(results.entries) == 1 and len(wirespeed.load(out).entries) == 1
    with pytest.raises(wirespeed.WirespeedError, match="exists") as caught:
        wirespeed.measure("pingpong", paths="host", sizes=8, out=out, device="cpu")
    assert caught.value.results is None, "those are another measurement's"


@pytest.mark.parametrize(
    ("pattern", "options", "code", "text"),
    [
        ("pingpong", {"sizes": "eight"}, ExitCode.USAGE, "--sizes: 'eight' is not a size"),
        ("pingpong", {"colour": "red"}, ExitCode.USAGE, "no such option '--colour'"),
        ("show", {}, ExitCode.USAGE, "there is no pattern called 'show'"),
        ("pingpong", {"sizes": b"8"}, ExitCode.USAGE, "is not a size"),
        ("pingpong", {"dry_run": True}, ExitCode.USAGE, "measured nothing"),
        ("pingpong", {"paths": "nccl", "device": "cpu"}, ExitCode.UNAVAILABLE, "nccl: no GPU"),
    ],
)
def test_an_error_is_the_commands(pattern: str, options: dict[str, Any], code: ExitCode, text: str) -> None:
    with pytest.raises(wirespeed.WirespeedError) as caught:
        wirespeed.measure(pattern, **options)
    assert caught.value.code == code and text in str(caught.value), caught.value
    assert caught.value.results is None


def test_what_was_measured_beside_a_failure_is_not_lost() -> None:
    """Protects the figures of all other sizes and paths from the one that failed."""
    with pytest.raises(wirespeed.WirespeedError) as caught:
        wirespeed.measure("pingpong", paths="host", sizes=[0, 64], device="cpu", test="fault=drop-byte")
    assert caught.value.code == ExitCode.FAILED_ENTRY
    assert str(caught.value).startswith("host at 64 B: wrong data: ")
    assert [entry.bytes for entry in caught.value.results.entries] == [0]


def test_ctrl_c_ends_its_processes(tmp_path: Path) -> None:
    """Protects a notebook whose user stops a cell from ranks that go on."""
    out = tmp_path / "r.jsonl"
    code = f"import wirespeed; wirespeed.measure('pingpong', paths='host', max_time=60, out={str(out)!r})"
    process = subprocess.Popen([sys.executable, "-I", "-c", code], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 200
    while not (out.exists() and out.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=200)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert wirespeed.load(out).ends[-1].status == "interrupted"


@pytest.mark.slow
def test_two_environments_by_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each side's ranks have its variables; launches of both are in files of their own, by turns."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        Path(f"{name}.env").write_text(f"OMPI_MCA_mpi_show_mca_params={name}\n")
    words = ["--env-file", "one.env,two.env", "--paths", "host", "--sizes", "8", "--device", "cpu"]
    command = ["compare", "--measure", *words, "--out", "r.jsonl", "--within", "60", "--json"]
    monkeypatch.setattr("sys.argv", ["wirespeed", *command])
    code = main(command)
    assert code in (ExitCode.OK, ExitCode.WORSE, ExitCode.CANNOT_TELL), capsys.readouterr().err
    moments = []
    for number, name in ((1, "one"), (2, "two")):
        results = wirespeed.load(f"r-{number}.jsonl")
        variables = {head.environment.variables["OMPI_MCA_mpi_show_mca_params"] for head in results.runs}
        assert variables == {name}
        assert [run.command[1:] for run in results.runs] == [command] * len(results.runs)
        moments += [(entry.at, number) for entry in results.entries]
    assert [number for _, number in sorted(moments)][:4] == [1, 2, 2, 1]
