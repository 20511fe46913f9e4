"""Status pages are read while ranks come and go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from wirespeed.page import read_pages


def test_a_folder_that_goes_while_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a whole run from its ranks' end: the last one takes the folder away between two looks."""
    folder = tmp_path / "pages"
    folder.mkdir()
    scandir = os.scandir

    def gone(path: Any = ".") -> Any:
        if folder.exists():
            folder.rmdir()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", gone)
    assert read_pages(folder) == []
    assert not folder.exists()
