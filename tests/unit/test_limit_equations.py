"""Limits word by word: the equation that a user reads, its source, and where its last condition fails."""

from __future__ import annotations

from typing import Any

import pytest
from support.limited import H200, ranks, used, wire

from wirespeed.limits import Ceiling, Used, ceiling
from wirespeed.limits.rates import device_links, gpu_links, memory, pcie, slot_of, table

MI300X = "AMD Instinct MI300X"


def equation(found: Ceiling | None) -> str:
    assert found is not None
    return found.equation


# ---- rates of single wires ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "value", "text"),
    [
        (None, 450e9, "18 NVLink 4 links x 25 GB/s = 450 GB/s"),
        (18, 450e9, "18 NVLink 4 links x 25 GB/s = 450 GB/s"),
        (17, 425e9, "17 of 18 NVLink 4 links x 25 GB/s = 425 GB/s"),
        (1, 25e9, "1 of 18 NVLink 4 link x 25 GB/s = 25 GB/s"),
        (99, 450e9, "18 NVLink 4 links x 25 GB/s = 450 GB/s"),
    ],
)
def test_links_of_a_gpu(count: int | None, value: float, text: str) -> None:
    found = gpu_links(H200, count)
    assert found and (found.rate, found.equation, found.wire, found.stated) == (value, text, "nvlink", False)
    assert found.source == "NVIDIA H100 and H200 data sheets: NVLink 900 GB/s, both ways"


def test_gpus_that_are_not_known() -> None:
    for find in (gpu_links, memory, slot_of, device_links):
        assert find("NVIDIA Z1") is None


@pytest.mark.parametrize(
    ("generation", "width", "to_device", "text"),
    [
        # 8 GT/s x 128/130 / 8 = 0.984615 GB/s a lane; twice that with each generation.
        (3, 16, False, "PCIe 3.0 x16, 15.8 GB/s x 256/280 = 14.4 GB/s"),
        (4, 8, True, "PCIe 4.0 x8, 15.8 GB/s x 256/276 = 14.6 GB/s"),
        (5, 16, True, "PCIe 5.0 x16, 63.0 GB/s x 256/276 = 58.4 GB/s"),
    ],
)
def test_payload_of_a_slot(generation: int, width: int, to_device: bool, text: str) -> None:
    found = pcie(generation, width, to_device=to_device)
    assert found and found.equation == text and found.wire == "pcie"
    lanes = width * 2**generation * 1e9 * 128 / 130 / 8
    assert found.rate == pytest.approx(lanes * 256 / (276 if to_device else 280), rel=1e-6)
    assert found.source.endswith("; 256 bytes of payload a packet, 20 or 24 around it")
    assert pcie(2, width, to_device=to_device) is None


def test_the_slot_that_a_gpu_is_made_for() -> None:
    assert slot_of("Tesla V100-SXM2-16GB") == (3, 16) and slot_of(H200) == (5, 16)


# ---- between GPUs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (
            used(),
            "18 NVLink 4 links x 25 GB/s = 450 GB/s, if all of these links lead to the other GPU",
        ),
        (
            used("halo", count=4),
            "18 NVLink 4 links x 25 GB/s = 450 GB/s out of a GPU, if every GPU reaches every other",
        ),
        (
            used("groups", count=2, width=1),
            "18 NVLink 4 links x 25 GB/s = 450 GB/s out of a group, if every GPU reaches every other",
        ),
        (
            used("groups", count=4, width=2),
            "2 x 18 NVLink 4 links x 25 GB/s = 900 GB/s out of a group, if every GPU reaches every other",
        ),
        (
            used("stream", count=4, width=2),
            "2 x 18 NVLink 4 links x 25 GB/s = 900 GB/s "
            "out of the senders, if all of a GPU's links lead to its receiver",
        ),
        (
            used("stream", count=4, width=2, name=MI300X),
            "2 x 1 of 7 Infinity Fabric link x 64 GB/s = 128 GB/s "
            "out of the senders, each pair of GPUs over links of its own",
        ),
        (
            used("fan", count=8),
            "18 NVLink 4 links x 25 GB/s = 450 GB/s out of a GPU, if every GPU reaches every other",
        ),
        (
            used("fan", count=8, name=MI300X),
            "7 x 1 of 7 Infinity Fabric link x 64 GB/s = 448 GB/s "
            "out of a GPU, over the links to each of its peers",
        ),
        (
            used("ring", count=8, name=MI300X),
            "1 of 7 Infinity Fabric link x 64 GB/s = 64 GB/s from one GPU to the next",
        ),
        (
            used("groups", count=8, width=2, name=MI300X),
            "6 x 1 of 7 Infinity Fabric link x 64 GB/s = 384 GB/s "
            "out of a group: each of its 2 to 3 other GPUs over links of their own",
        ),
        (
            used(transport="staged"),
            # 1 / (1 / 57.614 + 1 / 58.449)
            "b = 29.0 GB/s, one copy after the other: "
            "1/b = 1/b_D2H + 1/b_H2D of 57.6 and 58.4 GB/s (PCIe 5.0 x16)",
        ),
        (
            used("groups", "staged", count=8, width=4),
            "4 x b = 116.1 GB/s, one copy after the other: "
            "1/b = 1/b_D2H + 1/b_H2D of 57.6 and 58.4 GB/s (PCIe 5.0 x16)",
        ),
        (
            used(transport="pipelined"),
            "PCIe 5.0 x16, 63.0 GB/s x 256/280 = 57.6 GB/s, both copies at once",
        ),
        (
            used("copy", "copy", 1, into="device"),
            "4800 GB/s / 2, each byte is read and written = 2400 GB/s",
        ),
        (
            used("copy", "copy", 1, memory="pinned", into="device"),
            "PCIe 5.0 x16, 63.0 GB/s x 256/276 = 58.4 GB/s",
        ),
        (
            used("copy", "copy", 1, memory="pinned", into="device", both_ways=True),
            "2 x PCIe 5.0 x16, 63.0 GB/s x 256/280 = 115.2 GB/s, both ways at once",
        ),
    ],
)
def test_equations(one: Used, text: str) -> None:
    assert equation(ceiling(one)) == text


def test_one_rank_and_all_others_have_no_limit_through_host_memory() -> None:
    """Protects from the sum of two copies of a pair: one rank's copies overlap with those of many."""
    assert ceiling(used("fan", "staged", count=4)) is None
    assert ceiling(used("fan", count=4, into="pageable")) is None


def test_gpus_that_have_no_limit_together() -> None:
    """Protects from a limit of links where two ranks share a GPU, GPUs differ, or one rank has none."""
    shared, mixed, bare = used(), used(), used()
    shared.step["ranks"][1]["device"]["id"] = "G0"
    mixed.step["ranks"][1]["device"]["name"] = MI300X
    bare.step["ranks"][1]["device"] = None
    for one in (shared, mixed, bare, used(name="NVIDIA Z1")):
        assert ceiling(one) is None
    assert bare.devices == [] and mixed.device_name is None
    # Nor with a rate stated: over which links is not known.
    stated = [wire("nvlink", rate=1e9, stated=True)]
    assert ceiling(Used("pingpong", shared.step, wires=stated)) is None
    # Staging asks for the slots alone, and those are alike where a GPU is shared.
    assert equation(ceiling(Used("pingpong", {**shared.step, "transport": "staged"})))
    assert ceiling(Used("pingpong", {**mixed.step, "transport": "staged"})) is None


def test_what_is_no_pattern_of_wires_has_no_limit() -> None:
    assert ceiling(used("custom")) is None
    assert ceiling(used(count=0)) is None and ceiling(Used("pingpong", {"ranks": None})) is None
    odd = used()
    odd.step["ranks"].append("n1")
    assert len(odd.ranks) == 2 and odd.hosts == ["n0"] and ceiling(odd)
    odd.step["ranks"][0]["device"] = "G0"
    assert len(odd.devices) == 1 and ceiling(odd) is None


def test_links_that_the_driver_does_not_tell() -> None:
    """Protects from a limit of nothing: no links told, or none up, are as good as not told."""
    for links in (None, 0):
        assert equation(ceiling(used(wires=[wire("nvlink", links=links)]))).startswith("18 NVLink 4 links")
    # Links of another kind are not these.
    assert equation(ceiling(used(wires=[wire("pcie", links=2)]))).startswith("18 NVLink 4 links")
    # Nor are their ends; and without ends there is no mesh.
    for other in (wire("pcie", ends={"0000:01:00.0": 4}, device="G0"), wire("nvlink", ends={}, device="G0")):
        assert equation(ceiling(used(wires=[other]))).endswith("lead to the other GPU")


def test_only_a_stated_rate_of_the_wire_used_wins() -> None:
    other = [
        wire("pcie", rate=1e9, stated=True),
        wire("nvlink", rate=2e9),
        wire("nvlink", rate=3e9, stated=True),
    ]
    found = ceiling(used(wires=other))
    assert found and (found.rate, found.source, found.stated) == (3e9, "stated with --link", True)
    assert found.equation == "3 GB/s, stated, if all of these links lead to the other GPU"
    # The links of this GPU are called otherwise.
    both = [*other, wire("xgmi", rate=4e9, stated=True)]
    assert equation(ceiling(used(name=MI300X, wires=both))) == "4 GB/s, stated from one GPU to the next"


@pytest.mark.parametrize(
    ("verdict", "transport", "staged"),
    [
        ("direct", "staged", False),
        ("staged", "mpi", True),
        ("pcie", "mpi", True),
        ("unknown", "mpi", False),
        ("unknown", "pipelined", True),
        (None, "staged", True),
        (None, "nccl", False),
    ],
)
def test_staged_by_what_was_seen_then_by_name(verdict: str | None, transport: str, staged: bool) -> None:
    assert used(transport=transport, evidence={"verdict": verdict} if verdict else {}).staged is staged


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"generation": 4, "width": 8}, "PCIe 4.0 x8"),
        ({"generation": 4}, "PCIe 5.0 x16"),
        ({"width": 8}, "PCIe 5.0 x16"),
        ({}, "PCIe 5.0 x16"),
    ],
)
def test_half_a_slot_told_is_none_told(facts: dict[str, Any], text: str) -> None:
    """Protects from a made-up slot; what the GPU is made for is taken then."""
    assert equation(ceiling(used(transport="pipelined", wires=[wire("pcie", **facts)]))).startswith(text)
    unknown = used(transport="pipelined", name="NVIDIA Z1", wires=[wire("pcie", **facts)])
    assert (ceiling(unknown) is not None) == (len(facts) == 2)


def test_copies_of_gpus_that_are_not_known() -> None:
    assert ceiling(used("copy", "copy", 1, name="", into="device")) is None
    slot = [wire("pcie", generation=4, width=8)]
    assert ceiling(used("copy", "copy", 1, name="", memory="pinned", into="device", wires=slot)) is None
    for memory_ in ("device", "pinned"):
        assert ceiling(used("copy", "copy", 1, name="NVIDIA Z1", memory=memory_, into="device")) is None
    mixed = used("copy", "copy", 2, into="device")
    assert ceiling(mixed)
    mixed.step["ranks"][1]["device"]["name"] = MI300X
    assert ceiling(mixed) is None
    # Not told where it goes: it stays where it is.
    assert equation(ceiling(used("copy", "copy", 1))).startswith("4800 GB/s / 2")
    for one in ("managed", "device"):
        other = {"managed": "device", "device": "managed"}[one]
        assert ceiling(used("copy", "copy", 1, memory=one, into=other)) is None


# ---- what is around -------------------------------------------------------------------------------------


def test_a_half_percent_more_than_all_is_rounding() -> None:
    limit = Ceiling(1.0, "1 B/s", "declared", "pcie")
    assert not limit.exceeded(1.005, 8) and limit.exceeded(1.0051, 8)


def test_memories_name_their_caches_and_where_those_are_known_from() -> None:
    """Protects percentages at sizes that caches hold; an H100 has ten of its chip's twelve parts."""
    assert all(one["cache"] and one["cache_source"] for one in table()["memory"])
    h100 = memory("NVIDIA H100 80GB HBM3")
    assert h100 and h100.applies((50 << 20) + 1) and not h100.applies(50 << 20)
    assert "cache" not in h100.source, "a limit's equation is printed with its source"


def test_a_pair_has_one_sender_and_nobody_who_counted() -> None:
    plain = Used("groups", {"ranks": ranks(2), "memory": "device", "transport": "mpi"})
    assert plain.width == 1 and not plain.wires and not plain.evidence
    assert equation(ceiling(plain)).startswith("18 NVLink 4 links x 25 GB/s = 450 GB/s out of a group")
