"""wirespeed compare --measure with real ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

import wirespeed
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode


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
