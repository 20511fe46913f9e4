"""A folder that every user of the machine can reach, as those of pytest cannot be."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def public_folder() -> Iterator[Path]:
    """A new one, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="test-public-"))
    try:
        folder.chmod(0o1777)
        yield folder
    finally:
        shutil.rmtree(folder)
