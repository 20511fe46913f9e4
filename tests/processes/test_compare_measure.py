"""wirespeed compare --measure with real ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.checks import write
from support.records import entry

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
    code = main(["compare", "--measure", *words, "--out", "r.jsonl", "--within", "60", "--json"])
    assert code in (ExitCode.OK, ExitCode.WORSE, ExitCode.CANNOT_TELL), capsys.readouterr().err
    moments = []
    for number, name in ((1, "one"), (2, "two")):
        results = wirespeed.load(f"r-{number}.jsonl")
        variables = {head.environment.variables["OMPI_MCA_mpi_show_mca_params"] for head in results.runs}
        assert variables == {name}
        moments += [(entry.at, number) for entry in results.entries]
    assert [number for _, number in sorted(moments)][:4] == [1, 2, 2, 1]


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["--mpi", "/nowhere"], ExitCode.USAGE, "/nowhere: --mpi /nowhere: there is no such MPI"),
        (["--out", "old.jsonl"], ExitCode.CANNOT_WRITE, "now: old.jsonl exists: name another file"),
    ],
)
def test_why_nothing_is_measured(
    words: list[str],
    code: ExitCode,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Protects the old file, and a user from a comparison with nothing."""
    monkeypatch.chdir(tmp_path)
    old = write(Path("old.jsonl"), entry("host", 8, 1e-6), plan={"device": "cpu"})
    before = old.read_bytes()
    assert main(["compare", "--measure", str(old), *words]) == code
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"wirespeed: {why}")
    assert old.read_bytes() == before
