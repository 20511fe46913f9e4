"""What tests of the command line share."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

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
