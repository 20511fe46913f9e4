"""What a path writes beyond a message is wrong data, in every check."""

from __future__ import annotations

import pytest
from support.command import Done, Measure
from support.selection import slow_case

from wirespeed.errors import ExitCode


@pytest.mark.parametrize("away", [1, *(slow_case(each) for each in (5, 16, 4096, -1, -16))])
@pytest.mark.parametrize(
    ("pattern", "paths", "device"),
    [
        ("pingpong", "host,host-tcp", "cpu"),
        ("pingpong", "gpu,ipc-write", "emulated"),
        ("allreduce", "host", "cpu"),
        slow_case("alltoall", "host-shared", "cpu"),
        slow_case("blocks", "host,host-tcp", "cpu"),
        slow_case("halo", "host-shared", "cpu"),
        slow_case("ring", "host", "cpu"),
        slow_case("rma", "rma-host,ucx-host", "cpu"),
        slow_case("exchange", "staged,gpu", "emulated"),
    ],
)
def test_a_byte_beyond_a_message_is_found(
    pattern: str, paths: str, device: str, away: int, measure: Measure
) -> None:
    """Protects what lies beside a buffer: no path may write there, and a figure of one that does is none."""
    done = measure(
        *(pattern, f"--paths {paths} --device {device} --max-time 0.01 --no-evidence"),
        *(*(() if pattern == "blocks" else ("--sizes", "8,64K")), "--test", f"fault=beyond{away}"),
    )
    assert done.code == ExitCode.FAILED_ENTRY, done.err + done.out
    assert not done.entries
    side, many = "behind" if away > 0 else "before", "s" * (abs(away) > 1)
    said = f": something was written {abs(away)} byte{many} {side} the "
    assert said in _failures(done), done.out


@pytest.mark.parametrize("program", [slow_case("jacobi"), slow_case("lbm")])
def test_a_byte_beyond_a_field_is_found(program: str, measure: Measure) -> None:
    """Protects programs: what their halos and kernels may not touch lies around all that they use."""
    done = measure(program, "--paths host --device cpu --no-evidence --max-time 0.01 --test fault=beyond3")
    assert done.code == ExitCode.FAILED_ENTRY, done.err + done.out
    assert "something was written 3 bytes behind the buffer of this rank" in _failures(done), done.out


def _failures(done: Done) -> str:
    return "\n".join(record["text"] for record in done.records if record["kind"] == "failure")
