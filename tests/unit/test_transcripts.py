"""Commands over made-up files, against tests/golden/**/*.transcript (`pytest --accept` takes what is new)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_run import FakeRun
from support.foreign import INPUTS
from support.golden import GOLDEN, Golden
from support.transcripts import cases, told

FILES = sorted(file for file in GOLDEN.rglob("*.transcript") if file.parent.name != "ranks")
"""Without those of tests/ranks, which look at this machine."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_transcript(
    file: Path, fake: FakeRun, tmp_path: Path, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects what the titles of its cases say: whole outputs and exit codes."""

    for name in ("LMOD_SYSTEM_NAME", "NERSC_HOST"):
        monkeypatch.delenv(name, raising=False)
    intro, found = cases(file.read_text())
    texts = [intro]
    for number, case in enumerate(found):
        (folder := tmp_path / str(number)).mkdir()
        (folder / "results").symlink_to(GOLDEN.parents[1] / "results")
        (folder / "inputs").symlink_to(INPUTS)
        monkeypatch.chdir(folder)
        texts.append(case.run(told))
    golden.compare(file, "\n".join(texts))


def test_every_golden_file_is_some_test_s() -> None:
    """Protects from texts that nothing is held against any more."""
    tests = "".join(file.read_text() for file in GOLDEN.parent.rglob("test_*.py"))
    found = [str(file.relative_to(GOLDEN).with_suffix("")) for file in GOLDEN.rglob("*.txt")]
    assert [name for name in found if f'"{name}"' not in tests] == []
