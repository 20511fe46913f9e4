"""Ranks' pages, read while their folder comes and goes."""

from __future__ import annotations

import threading
from pathlib import Path

from wirespeed.job.status_page import read_pages


def test_a_folder_that_goes_while_it_is_read(tmp_path: Path) -> None:
    """Protects the end of a run from an error of its front end: ranks remove their folder themselves."""
    folder, stop = tmp_path / "pages", threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            folder.mkdir()
            folder.rmdir()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        assert all(read_pages(folder) == [] for _ in range(20_000))
    finally:
        stop.set()
        thread.join()
