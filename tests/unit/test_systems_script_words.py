"""Words of a job script: times as people write them, and names that stay names."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from wirespeed.cli.share.script import minutes
from wirespeed.systems.scripts import BatchJob, write


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30))
@examples(20)
def test_file_names_are_quoted(name: str) -> None:
    """Whatever a result file is called, the shell sees one word: no text of a user's is run as a command."""
    job = BatchJob("pingpong", ("--sizes", "8"), ("host",), name, 1, 2, 2, minutes=30, choose_ranks=False)
    script = write(job, "lsf")
    assignment = script[script.index("\nresults=") : script.index("\n# One resource set")]
    shell = f'set -u{assignment}\nprintf %s "$results"'
    shown = subprocess.run(["bash", "-c", shell], capture_output=True, check=True)
    assert shown.stdout.decode() == name


GOOD = ("30", "0:30", "1:30", "1:30:01", "24:00:00")
BAD = ("", "0", "0:00", "1:2:3:4", "1h", "-5", "99999", "1:-2", "0:90", "99:99:99", "1:00:60")


def test_minutes() -> None:
    assert [minutes(word) for word in GOOD] == [30, 30, 90, 91, 1440]
    for word in BAD:
        with pytest.raises(ValueError, match="minute"):
            minutes(word)
