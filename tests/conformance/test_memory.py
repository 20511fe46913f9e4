"""Messages from new memory, and what a path writes beyond a message: wrong data is found in every check."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Done, Measure, wirespeed
from support.selection import slow_case

from wirespeed.errors import ExitCode

QUICK = ("--sizes", "8,64K", "--loops", "20", "--no-evidence")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("device", "paths", "pattern"),
    [
        ("cpu", "host,host-shared,host-tcp", "pingpong"),
        ("emulated", "staged,ipc-write,gpu", "pingpong"),
        ("emulated", "staged", "blocks"),
    ],
)
def test_each_size_has_its_record(device: str, paths: str, pattern: str, measure: Measure) -> None:
    """Protects from stale handles: libraries keep what they know of memory that has been freed since."""
    sizes = QUICK if pattern == "pingpong" else ("--block", "4K,64K", "--count", "9", *QUICK[2:])
    words = (pattern, "--device", device, "--paths", paths, *sizes, "--fresh", "6")
    done = measure(*words).ok()
    found = {(one["path"], one["bytes"]): one for one in done.of("fresh")}
    assert found.keys() == {(entry["path"], entry["bytes"]) for entry in done.entries}
    assert len(found) == 2 * len(paths.split(","))
    assert all(one["messages"] == 6 and one["seconds"] > 0 and one["known_s"] > 0 for one in found.values())
    said = " ".join(done.out.split())
    assert "new memory, " in said and "6 messages of each size, all right" in said


def test_a_wrong_byte_from_new_memory(measure: Measure) -> None:
    """Protects the figures, which were right, and names the message and its place."""
    words = ("pingpong", "--device", "cpu", "--paths", "host", *QUICK, "--fresh", "6")
    done = measure(*words, "--test fault=fresh-drop-byte")
    assert [entry["bytes"] for entry in done.entries] == [8, 65536] and not done.of("fresh")
    assert done.code == 1 and {failure["what"] for failure in done.failures} == {"mismatch"}
    assert "in message 1 of 6 from new memory, 0 B into it" in done.failures[0]["text"]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("words", "paths"),
    [
        (("pingpong", "--device", "emulated", "--sizes", "8,64K"), ["host", "staged", "gpu"]),
        (("blocks", "--device", "cpu", "--block", "13,4K", "--count", "9", "--allocations", "4"), ["host"]),
        slow_case(("exchange", "--device", "cpu", "--sizes", "8,64K"), ["host", "host-tcp", "host-shared"]),
    ],
)
def test_soaks_in_new_memory(
    words: tuple[str, ...], paths: list[str], measure: Measure, tmp_path: Path
) -> None:
    """Protects soaks whose buffers are freed and allocated again, and that a planted fault is found there."""
    command = (*words, "--paths", ",".join(paths), "--soak", "0.3", "--fresh", "4")
    done = measure(*command)
    assert done.code == 0, done.err + str(done.failures)
    last = {(one["path"], one["bytes"]): one for one in done.of("soak")}
    assert len(last) == 2 * len(paths)
    for one in last.values():
        assert one["complete"] and one["fresh"] == 4 and not any(one["wrong"].values())
        assert one["messages"] >= 4 * 10
    assert "their memory was new 4 times" in " ".join(done.out.split())
    planted = wirespeed(
        *command, "--test", "fault=soak-damaged", "--test", "soak-every=7", out=tmp_path / "p.jsonl"
    )
    wrong = {(one["path"], one["bytes"]): one["wrong"]["damaged"] for one in planted.of("soak")}
    assert planted.code == 1 and wrong.keys() == last.keys() and all(wrong.values())


@pytest.mark.slow
def test_a_list_in_several_allocations(measure: Measure) -> None:
    """Protects lists whose blocks lie in as many allocations as there are blocks, on each path that can."""
    paths = ["host", "host-datatype", "host-packed", "host-tcp"]
    words = ("blocks", "--device", "cpu", "--block", "13,4097", "--count", "9", "--loops", "2")
    more = ("--warmup", "0", "--allocations", "9", "--fresh", "3", "--no-evidence")
    done = measure(*words, *more, "--paths", ",".join([*paths, "host-shared"])).ok()
    places = {(entry["path"], entry["bytes"]) for entry in done.entries}
    assert places == {(path, size) for path in paths for size in (13, 4097)}
    assert {(one["path"], one["bytes"]) for one in done.of("fresh")} == places
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("host-shared", "unavailable")
    assert "takes no list in several allocations" in failure["text"]
    assert "random in 9 allocations" in " ".join(done.out.split())


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("fault", ["drop-byte", "stray-byte"])
def test_a_wrong_byte_in_one_of_several_allocations(fault: str, measure: Measure) -> None:
    """Protects the blocks, and what lies between them in each allocation."""
    words = ("blocks", "--device", "cpu", "--paths", "host", "--block", "4K", "--count", "9", "--loops", "2")
    done = measure(*words, "--allocations 3 --test", f"fault={fault}")
    assert done.code == 1 and [failure["what"] for failure in done.failures] == ["mismatch"]
    said = done.failures[0]["text"]
    assert ("of block" if fault == "drop-byte" else "outside of all 9 blocks") in said


@pytest.mark.slow(after=1)
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
