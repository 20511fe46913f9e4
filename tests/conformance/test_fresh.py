"""Messages from new memory: each is checked, at offsets that few choose, and its first use is timed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import wirespeed

QUICK = ("--sizes", "8,64K", "--loops", "20", "--no-evidence")


@pytest.mark.parametrize(
    ("device", "paths", "pattern"),
    [
        ("cpu", "host,host-shared,host-tcp", "pingpong"),
        ("emulated", "staged,ipc-write,gpu", "pingpong"),
        ("emulated", "staged", "blocks"),
    ],
)
def test_each_size_has_its_record(device: str, paths: str, pattern: str, tmp_path: Path) -> None:
    """Protects from stale handles: libraries keep what they know of memory that has been freed since."""
    sizes = QUICK if pattern == "pingpong" else ("--block", "4K,64K", "--count", "9", *QUICK[2:])
    words = (pattern, "--device", device, "--paths", paths, *sizes, "--fresh", "6")
    done = wirespeed(*words, out=tmp_path / "r.jsonl")
    assert done.code == 0, done.err
    found = {(one["path"], one["bytes"]): one for one in done.of("fresh")}
    assert found.keys() == {(entry["path"], entry["bytes"]) for entry in done.entries}
    assert len(found) == 2 * len(paths.split(","))
    assert all(one["messages"] == 6 and one["seconds"] > 0 and one["known_s"] > 0 for one in found.values())
    said = " ".join(done.out.split())
    assert "new memory, " in said and "6 messages of each size, all right" in said


def test_a_wrong_byte_from_new_memory(tmp_path: Path) -> None:
    """Protects the figures, which were right, and names the message and its place."""
    words = ("pingpong", "--device", "cpu", "--paths", "host", *QUICK, "--fresh", "6")
    done = wirespeed(*words, "--test", "fault=fresh-drop-byte", out=tmp_path / "r.jsonl")
    assert [entry["bytes"] for entry in done.entries] == [8, 65536] and not done.of("fresh")
    assert done.code == 1 and {failure["what"] for failure in done.failures} == {"mismatch"}
    assert "in message 1 of 6 from new memory, 0 B into it" in done.failures[0]["text"]


def test_a_soak_has_no_such_messages(tmp_path: Path) -> None:
    done = wirespeed("pingpong", "--fresh", "6", "--soak", "1s", out=tmp_path / "r.jsonl")
    assert done.code == 2 and done.err.startswith("wirespeed: --fresh: --soak has no messages")
