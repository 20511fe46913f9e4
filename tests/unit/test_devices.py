"""Which GPU a rank gets: by number, by UUID, by turns, several to one; and what hides the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.golden import Golden
from support.limited import used, wire

from wirespeed.cli.common.options import plan_of
from wirespeed.cli.common.words import DEVICE
from wirespeed.errors import WirespeedError
from wirespeed.host import devices, mps, visible_devices
from wirespeed.host.core import Core
from wirespeed.limits import ceiling

ONE, TWO = "GPU-3f2a0001-0000-0000-0000-000000000001", "GPU-3f2b0002-0000-0000-0000-000000000002"


class FakeCore(Core):
    """A driver with these devices."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def device_count(self, kind: str) -> int:
        return len(self.ids)

    def identity_of(self, kind: str, index: int) -> dict[str, Any]:
        return {"kind": kind, "index": index, "id": self.ids[index], "pci": f"0000:0{index}:00.0"}


def said(make: Callable[..., object], *given: object) -> str:
    """What comes of it, or what is refused."""
    try:
        return f"{make(*given)}"
    except (ValueError, WirespeedError) as error:
        return f"refused: {error}"


NAMES = ((), ("GPU-3f2b",), (TWO, "0"), ("gpu-3F2A",), ("GPU-3f",), ("GPU-9",), ("2",))
WORDS = (
    *("cuda:GPU-3f,GPU-8a", "cuda:GPU-3f,cuda:GPU-8a", "cuda:MIG-GPU-3f/1/0,cuda:1", "cuda", "cuda:"),
    *("cuda:GPU-3f,hip:GPU-8a", "cpu:0", "cuda:GPU 3f", "cuda:1,cuda:1", "cuda,hip"),
)
TURNS: tuple[tuple[Any, ...], ...] = (
    *((2, rank, rank) for rank in range(4)),
    *((2, rank, rank, (), 2) for rank in range(5)),
    *((2, rank, rank, (1, 0)) for rank in range(2)),
    # The second host's ranks count from 0 again.
    (2, 4, 0, (), 2),
)
SLICES = (
    *(("auto", "MIG-1,MIG-2"), ("cuda", "MIG-1, MIG-2"), ("cuda", "MIG-1"), ("cuda", "0,1")),
    *(("cpu", "MIG-1,MIG-2"), ("cuda:MIG-2", "MIG-1,MIG-2")),
)
SHOWN: tuple[tuple[str, int, dict[str, str]], ...] = (
    *(("cuda", count, {"CUDA_VISIBLE_DEVICES": listed}) for count, listed in (
        *((2, "0,1"), (2, "0,2,-1,1"), (0, "7"), (1, f"GPU-3f2a,{TWO}"), (0, ""), (0, "0,0")),
        # More than one slice is never shown, which is no fault of the list.
        *((1, "MIG-1,MIG-2"), (0, "MIG-1")),
    )),
    ("cuda", 8, {}),
    ("hip", 1, {"HIP_VISIBLE_DEVICES": "4,5", "CUDA_VISIBLE_DEVICES": ""}),
    ("hip", 1, {"CUDA_VISIBLE_DEVICES": "0,4"}),
    ("hip", 1, {"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "3"}),
    ("hip", 1, {"ROCR_VISIBLE_DEVICES": "0,GPU-dead"}),
)  # fmt: skip
"""A kind, how many devices a driver shows, and lists, of which the first invalid entry ends one."""


def test_which_gpu(golden: Golden) -> None:
    """Protects a rank from another GPU than the one that was meant, and from variables that hide some."""
    drivers = FakeCore(ONE, TWO)
    texts = {f"named {names}": said(devices.chosen, drivers, "cuda", names) for names in NAMES}
    for word in WORDS:
        texts[f"--device {word}"] = said(_read, word)
    for turn in TURNS:
        texts[f"turn{turn}"] = said(devices.turn, *turn)
    texts["--between beside --ranks-per-gpu"] = said(plan_of, {"between": (0, 1), "ranks_per_gpu": 2})
    for kind, count, variables in SHOWN:
        found = visible_devices.explained(kind, count, variables)
        texts[f"{count} {kind} devices, {variables}"] = found or "no variable is to blame"
    for word, listed in SLICES:
        result = devices.with_slices(word, {"CUDA_VISIBLE_DEVICES": listed})
        texts[f"{word}, CUDA_VISIBLE_DEVICES={listed}"] = f"{result}, by slices: {devices.by_slices(result)}"
    golden("host/devices", texts)


def _read(word: str) -> tuple[str, str, tuple[str, ...]]:
    found = DEVICE.read(word)
    return found, devices.kind_of(found), devices.names_in(found)


def test_slices_of_one_gpu_share_its_counters() -> None:
    """Protects the evidence of slices: one set of counters, which must not be added up twice."""
    slices = [{"id": f"MIG-{n}", "pci": "0000:01:00.0"} for n in range(2)]
    other = {"id": "GPU-9", "pci": "0000:02:00.0"}
    emulated = [{"id": "EMULATED-0", "pci": ""}, {"id": "EMULATED-1", "pci": ""}]
    found = devices.by_board([*slices, other, *emulated])
    assert {name: one["id"] for name, one in found.items()} == {
        "MIG-0": "MIG-0",
        "MIG-1": "MIG-0",
        **{name: name for name in ("GPU-9", "EMULATED-0", "EMULATED-1")},
    }


def test_no_link_limits_slices_of_one_gpu() -> None:
    """Protects from NVLink's limit between two devices that no NVLink joins."""
    links = [wire("nvlink", links=18)]
    two = used(wires=links)
    assert ceiling(two)
    for rank in two.step["ranks"]:
        rank["device"]["pci"] = "0000:01:00.0"
    assert ceiling(replace(two, wires=links)) is None


@pytest.mark.parametrize(
    ("process", "pipes", "state"),
    [
        *(("/usr/bin/nvidia-cuda-mps-control", True, "running"), ("nvidia-cuda-mps-server", True, "running")),
        *(("nvidia-cuda-mps-control", False, "elsewhere"), ("bash", False, "none")),
        ("vim\0nvidia-cuda-mps-control", True, "unseen"),
    ],
)
def test_whether_mps_runs(process: str, pipes: bool, state: str, tmp_path: Path) -> None:
    """Protects what is said of MPS: it is asked, by what it leaves behind, and never started."""
    proc, folder = tmp_path / "proc", tmp_path / "pipes"
    (proc / "17").mkdir(parents=True)
    (proc / "17/cmdline").write_text(f"{process}\0-d\0")
    (proc / "18").mkdir()  # a process that has just ended
    folder.mkdir()
    if pipes:
        (folder / "control").touch()
    assert mps.state({"CUDA_MPS_PIPE_DIRECTORY": str(folder)}, proc) == state
    assert mps.PIPES == "/tmp/nvidia-mps"
