"""What tests of pure parts share, and that they start no ranks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.checks import Check
from support.fake_run import FakeRun

import wirespeed.frontend
from wirespeed.cli.main import main


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRun:
    made = FakeRun()
    module = ModuleType("wirespeed.frontend.session")
    module.measure, module.discover = made.measure, made.discover  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wirespeed.frontend.session", module)
    monkeypatch.setattr(wirespeed.frontend, "session", module, raising=False)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def check_(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Runs the command on a site.toml with this text."""
    monkeypatch.chdir(tmp_path)

    def call(text: str, *words: str | Path) -> tuple[int, list[str], str]:
        Path("site.toml").write_text(text)
        capsys.readouterr()
        code = main(["check", "--require", "site.toml", *map(str, words)])
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), printed.err

    return call


_MPI_LAUNCHERS = ("mpiexec", "mpirun", "srun")
_guarded: list[str] = []
"""The test that runs, if it must start no ranks."""


def _refuse_ranks(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: Python tells it what is about to be started."""
    if event != "subprocess.Popen" or not _guarded:
        return
    words = [str(word) for word in arguments[1]] if isinstance(arguments[1], (list, tuple)) else []
    program = Path(words[0] if words else str(arguments[0]))
    real = Path(sys.prefix, "mpi") in program.parents or program.parent == Path("/usr/bin")
    launches = real and program.name in _MPI_LAUNCHERS and {"-n", "-np"} & set(words)
    if launches or words[1:4] == ["-I", "-m", "wirespeed"]:
        raise AssertionError(f"{_guarded[0]} starts {program.name}: mark it slow, or put it elsewhere")


sys.addaudithook(_refuse_ranks)


@pytest.fixture(autouse=True)
def no_ranks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keeps `make unit` short, and free of whatever starts processes that measure."""
    if request.node.get_closest_marker("slow") is None:
        _guarded.append(request.node.nodeid)
    yield
    _guarded.clear()
