"""A run-time compiler that ends its process costs one line, and no rank."""

from __future__ import annotations

from pathlib import Path

from support.command import wirespeed
from support.stand_ins import aborting_hiprtc, fake_driver


def test_a_compiler_that_aborts(builds: Path, tmp_path: Path) -> None:
    """Protects ranks on AMD GPUs newer than their hipRTC, which ends the process instead of an error."""
    environment = {**fake_driver(builds, "hip"), **aborting_hiprtc(builds), "XDG_CACHE_HOME": str(tmp_path)}
    words = ("--device", "hip", "--paths", "host,ipc-kernel", "--sizes", "8", "--max-time", "0.005")
    done = wirespeed("pingpong", *words, out=tmp_path / "r.jsonl", environment=environment)
    done.no_stack_trace()
    assert {entry["path"] for entry in done.entries} == {"host"}
    (failure,) = done.failures
    assert failure["path"] == "ipc-kernel" and failure["what"] == "unavailable" and not failure["stacks"]
    said = "hipRTC 9.0 ended its process when it compiled for gfx90a (Aborted): a newer ROCm has one"
    assert said in failure["text"]
