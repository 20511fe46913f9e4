"""Status pages are read while ranks come and go."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wirespeed.page import read_pages


def test_a_folder_that_goes_while_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a whole run from its ranks' end: the last one takes the folder away between two looks."""
    folder = tmp_path / "pages"
    folder.mkdir()

    def goes_before(function: Callable[..., Any]) -> Callable[..., Any]:
        def gone(path: Any = ".") -> Any:
            if folder.exists():
                folder.rmdir()
            return function(path)

        return gone

    # Which of the two pathlib asks depends on Python's version.
    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, goes_before(getattr(os, name)))
    assert read_pages(folder) == []
    assert not folder.exists()
