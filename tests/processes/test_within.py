"""--within bounds the whole command by the shell's clock, whatever its paths do."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest
from support.command import Done, Measure, disturbed
from support.strikes import after, strike

BOUNDED = {"WIRESPEED_BUDGET": ""}


class Timer:
    """Seconds by the clock of whoever starts the command."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def held(self, done: Done, seconds: float) -> None:
        """The bound was held, or the last line says by how much it was missed, as on a busy machine."""
        took = time.monotonic() - self.began
        assert f"--within {seconds:g}s" in done.err.splitlines()[-1] or took <= seconds + max(
            1.0, 0.1 * seconds
        ), (took, done.err)


def left_out(done: Done) -> dict[str, set[int]]:
    """By path, sizes without a figure."""
    found: dict[str, set[int]] = {}
    for end in done.of("end"):
        for part in end["left_out"]:
            found.setdefault(part["path"], set()).update(part["sizes"])
    return found


@pytest.mark.slow
def test_a_shell_that_becomes_the_command(measure: Measure) -> None:
    """Protects make run, which installs first, and then executes the command in its place."""
    words = ("pingpong", "--paths", "host", "--device", "cpu", "--sizes", "8", "--within", "8s")
    shell = ("sh", "-c", 'sleep 9; exec "$@"', "sh")
    done = measure(*words, before=shell, environment=BOUNDED)
    assert done.code == 0 and [entry["bytes"] for entry in done.entries] == [8], done.err


@pytest.mark.slow
def test_a_slow_path(measure: Measure) -> None:
    """Protects a time that was given: each batch takes 0.2 s, and all would take minutes."""
    timer = Timer()
    words = ("--paths", "host,staged", "--device", "emulated", "--sizes", "8:64M", "--test", "late=0.2")
    done = measure("pingpong", *words, "--within 8s", environment=BOUNDED)
    timer.held(done, 8)
    assert not done.failures
    lacking = left_out(done)
    measured = {(entry["path"], entry["bytes"]) for entry in done.entries}
    assert lacking and all((path, size) not in measured for path in lacking for size in lacking[path])
    assert all(entry["checked"]["iterations"] for entry in done.entries)
    assert done.code == (0 if done.entries else 3) and "Left out for --within 8s: " in done.out
    everything = {(path, 8 << power) for path in ("host", "staged") for power in range(24)}
    assert measured | {(path, size) for path in lacking for size in lacking[path]} == everything


@pytest.mark.slow
@pytest.mark.usefixtures("quiet_machine")
def test_no_time_for_a_figure(measure: Measure) -> None:
    """Protects a script from a success without any figure; each batch takes longer than there is."""
    words = ("--paths", "host", "--device", "cpu", "--sizes", "8,64", "--test", "late=20")
    # So short that what is silent until then does not yet hang.
    done = measure("pingpong", *words, "--within 4s", environment=BOUNDED)
    assert (done.code, done.entries, left_out(done)) == (3, [], {"host": {8, 64}})
    assert "all of host; there is no figure: write a longer time, or 0 for no bound." in done.out


@pytest.mark.slow
def test_a_path_that_hangs(tmp_path: Path) -> None:
    """Protects the time from a rank that goes on no more, which else is waited for as long as it takes."""
    timer, out = Timer(), tmp_path / "r.jsonl"
    words = ("--paths", "host", "--sizes", "8,64K,4M", "--loops", "3000", "--timeout", "300")
    act = strike(out, 1, signal.SIGSTOP)
    command = ("pingpong", *words, "--within", "12s")
    done = disturbed(*command, out=out, when=after(1), act=act, environment=BOUNDED)
    timer.held(done, 12)
    if not done.failures:
        pytest.skip("this machine is too busy for a hang to be told from a wait for a CPU")
    (failure,) = done.failures
    assert done.code == 1
    assert (failure["what"], failure["rank"]) == ("hang", 1), failure["text"]
    assert "is stopped (SIGSTOP)" in failure["text"] and "--within 12s was over" in failure["text"]


@pytest.mark.slow
def test_a_list_shares_the_time(measure: Measure) -> None:
    """Protects from a bound for each value of a list."""
    timer = Timer()
    words = ("--ranks", "2,4", "--group", "1,2", "--device", "cpu", "--paths", "host", "--within", "12s")
    done = measure("groups", *words, environment=BOUNDED)
    timer.held(done, 12)
    assert not done.failures
    runs = len(done.of("run"))
    assert 1 <= runs <= 3
    assert runs == 3 or re.search(r"left out for --within 12s: (ranks|group)", done.err)


def test_less_than_a_start(measure: Measure) -> None:
    done = measure("pingpong --within 1")
    (line,) = done.err.splitlines()
    assert done.code == 2
    assert re.fullmatch(r"wirespeed: --within 1s: .* take \d+\.\d s; write \d+s or more, or 0 .*", line), line
