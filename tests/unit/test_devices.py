"""Which GPU a rank gets: by number, by UUID, by turns, several to one; and what hides the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
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


class TestNames:
    @pytest.mark.parametrize(
        ("names", "indices"),
        [((), [0, 1]), (("GPU-3f2b",), [1]), ((TWO, "0"), [1, 0]), (("gpu-3F2A",), [0])],
    )
    def test_a_gpu_by_number_uuid_or_prefix(self, names: tuple[str, ...], indices: list[int]) -> None:
        """Protects that --device finds the GPUs that CUDA_VISIBLE_DEVICES would."""
        assert devices.chosen(FakeCore(ONE, TWO), "cuda", names) == indices

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("GPU-3f", "begins the UUIDs of 2 GPUs; write more"),
            ("GPU-9", "no such GPU"),
            ("2", "no such GPU"),
        ],
    )
    def test_a_name_of_none_or_of_several_is_refused(self, name: str, words: str) -> None:
        """Protects from measuring another GPU than the one that was meant."""
        with pytest.raises(WirespeedError, match=words) as error:
            devices.chosen(FakeCore(ONE, TWO), "cuda", (name,))
        assert f"1 = {TWO}" in str(error.value)

    def test_the_word_of_the_command_line(self) -> None:
        """Protects that one kind of device is named, and each device once."""
        assert DEVICE.read("cuda:GPU-3f,GPU-8a") == DEVICE.read("cuda:GPU-3f,cuda:GPU-8a")
        assert devices.names_in(DEVICE.read("cuda:MIG-GPU-3f/1/0,cuda:1")) == ("MIG-GPU-3f/1/0", "1")
        assert devices.kind_of("cuda:GPU-3f") == devices.kind_of("cuda") == "cuda"
        for wrong in ("cuda:", "cuda:GPU-3f,hip:GPU-8a", "cpu:0", "cuda:GPU 3f", "cuda:1,cuda:1", "cuda,hip"):
            with pytest.raises((ValueError, WirespeedError)):
                DEVICE.read(wrong)


class TestTurns:
    def test_in_turn_by_between_and_several_to_one(self) -> None:
        """Protects which GPU each rank of a host drives."""
        assert [devices.turn(2, rank, rank) for rank in range(4)] == [0, 1, 0, 1]
        assert [devices.turn(2, rank, rank, (), 2) for rank in range(4)] == [0, 0, 1, 1]
        assert [devices.turn(2, rank, rank, (1, 0)) for rank in range(2)] == [1, 0]
        # The second host's ranks count from 0 again.
        assert devices.turn(2, 4, 0, (), 2) == 0

    def test_more_ranks_than_the_gpus_hold(self) -> None:
        """Protects from a rank that would silently become the third on a GPU."""
        with pytest.raises(WirespeedError, match="2 GPUs hold 4 ranks of a host, and 5 or more"):
            devices.turn(2, 4, 4, (), 2)
        with pytest.raises(WirespeedError, match="both place the ranks"):
            plan_of({"between": (0, 1), "ranks_per_gpu": 2})


class TestVisible:
    """The documented forms of the lists; the first invalid entry ends one."""

    @pytest.mark.parametrize(
        ("kind", "shown", "variables", "words"),
        [
            ("cuda", 2, {"CUDA_VISIBLE_DEVICES": "0,1"}, None),
            ("cuda", 8, {}, None),
            ("cuda", 2, {"CUDA_VISIBLE_DEVICES": "0,2,-1,1"}, "shows 2 GPUs, not 4: .* no GPU '-1'"),
            ("cuda", 0, {"CUDA_VISIBLE_DEVICES": "7"}, "shows no GPUs, not 1: .* no GPU '7'"),
            ("cuda", 1, {"CUDA_VISIBLE_DEVICES": f"GPU-3f2a,{TWO}"}, f"no GPU '{TWO}'"),
            ("cuda", 0, {"CUDA_VISIBLE_DEVICES": ""}, "is empty, which hides every GPU"),
            ("cuda", 0, {"CUDA_VISIBLE_DEVICES": "0,0"}, "names 0 more than once"),
            # More than one slice is never shown, which is no fault of the list.
            ("cuda", 1, {"CUDA_VISIBLE_DEVICES": "MIG-1,MIG-2"}, None),
            ("cuda", 0, {"CUDA_VISIBLE_DEVICES": "MIG-1"}, "no GPU 'MIG-1'"),
            ("hip", 1, {"HIP_VISIBLE_DEVICES": "4,5", "CUDA_VISIBLE_DEVICES": ""}, "HIP_.*=4,5 sh"),
            ("hip", 1, {"CUDA_VISIBLE_DEVICES": "0,4"}, "CUDA_VISIBLE_DEVICES=0,4 shows 1 GPU,"),
            ("hip", 1, {"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "3"},
             "no GPU '1', counted among those of ROCR_VISIBLE_DEVICES=3"),
            ("hip", 1, {"ROCR_VISIBLE_DEVICES": "0,GPU-dead"}, "no GPU 'GPU-dead'"),
        ],
    )  # fmt: skip
    def test_why_fewer_are_shown(
        self, kind: str, shown: int, variables: dict[str, str], words: str | None
    ) -> None:
        """Protects users from a variable that hides GPUs in silence."""
        found = visible_devices.explained(kind, shown, variables)
        if words is None:
            assert found is None
        else:
            with pytest.raises(WirespeedError, match=words):
                raise WirespeedError(found or "nothing said")

    @pytest.mark.parametrize(
        ("word", "listed", "result"),
        [
            ("auto", "MIG-1,MIG-2", "cuda:MIG-1,cuda:MIG-2"),
            ("cuda", "MIG-1, MIG-2", "cuda:MIG-1,cuda:MIG-2"),
            ("cuda", "MIG-1", "cuda"),
            ("cuda", "0,1", "cuda"),
            ("cpu", "MIG-1,MIG-2", "cpu"),
            ("cuda:MIG-2", "MIG-1,MIG-2", "cuda:MIG-2"),
        ],
    )
    def test_slices_of_a_list_are_dealt_out(self, word: str, listed: str, result: str) -> None:
        """Protects the second slice of a list, which CUDA never shows to a process that sees the first."""
        assert devices.with_slices(word, {"CUDA_VISIBLE_DEVICES": listed}) == result
        assert devices.by_slices(result) == ("MIG" in result)


class TestBoards:
    def test_slices_of_one_gpu_share_its_counters(self) -> None:
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

    def test_no_link_limits_slices_of_one_gpu(self) -> None:
        """Protects from NVLink's limit between two devices that no NVLink joins."""
        links = [wire("nvlink", links=18)]
        two = used(wires=links)
        assert ceiling(two)
        for rank in two.step["ranks"]:
            rank["device"]["pci"] = "0000:01:00.0"
        assert ceiling(replace(two, wires=links)) is None


class TestMps:
    @pytest.mark.parametrize(
        ("process", "pipes", "state"),
        [
            ("/usr/bin/nvidia-cuda-mps-control", True, "running"),
            ("nvidia-cuda-mps-server", True, "running"),
            ("nvidia-cuda-mps-control", False, "elsewhere"),
            ("vim\0nvidia-cuda-mps-control", True, "unseen"),
            ("bash", False, "none"),
        ],
    )
    def test_whether_it_runs(self, process: str, pipes: bool, state: str, tmp_path: Path) -> None:
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
