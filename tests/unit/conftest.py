"""What tests of the command line share."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.fake_run import FakeRun

import wirespeed.frontend


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRun:
    made = FakeRun()
    module = ModuleType("wirespeed.frontend.session")
    module.measure, module.discover = made.measure, made.discover  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wirespeed.frontend.session", module)
    monkeypatch.setattr(wirespeed.frontend, "session", module, raising=False)
    monkeypatch.chdir(tmp_path)
    return made
