"""How far a NIC is from a GPU, by the folders of sysfs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.host.pci_topology import DISTANCES, address_of, distance, distances

GPU = "0000:05:00.0"
SWITCH = "pci0000:00/0000:00:01.0/0000:01:00.0"
"""Host bridge, root port and the upstream port of a PCIe switch; behind each downstream port is a device."""
GPU_AT = f"{SWITCH}/0000:02:00.0"


def device(root: Path, address: str, below: str, node: str = "0") -> Path:
    """A PCI device as sysfs has it: its folder lies in those of the bridges above it."""
    folder = root / "sys/devices" / below / address
    folder.mkdir(parents=True)
    (folder / "numa_node").write_text(f"{node}\n")
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True, exist_ok=True)
    (devices / address).symlink_to(folder)
    return folder


@pytest.mark.parametrize(
    ("below", "node", "expected"),
    [
        (f"{SWITCH}/0000:02:01.0", "0", "PIX"),  # beside it at the same switch
        ("pci0000:00/0000:00:01.0", "0", "PXB"),  # at the same root port, above the switch
        (f"{SWITCH}/0000:02:01.0/0000:06:00.0/0000:07:00.0", "0", "PXB"),  # at a switch behind the switch
        ("pci0000:00/0000:00:03.0", "0", "PHB"),  # at another root port
        ("pci0000:40/0000:40:01.0", "0", "NODE"),  # at another host bridge
        ("pci0000:80/0000:80:01.0", "1", "SYS"),
        ("pci0000:80/0000:80:01.0", "-1", None),  # the kernel does not know its node
    ],
)
def test_each_distance(tmp_path: Path, below: str, node: str, expected: str | None) -> None:
    """Protects the words of every report: a NIC at the other socket must not pass for one at the same switch.

    The definitions are those of the legend of `nvidia-smi topo -m`.
    """
    device(tmp_path, GPU, GPU_AT)
    device(tmp_path, "0000:0a:00.0", below, node)
    assert distance(GPU, "0000:0a:00.0", tmp_path) == expected
    assert distance("0000:0A:00.0", GPU, tmp_path) == expected
    # As on cards that hold both, such as a converged accelerator without a switch of its own.
    device(tmp_path, "0000:0a:00.1", below, node)
    assert distance("0000:0a:00.0", "0000:0a:00.1", tmp_path) == "PIX"


def test_of_a_nic_to_all_gpus(tmp_path: Path) -> None:
    """Protects the record of wires: a GPU for each rank, and an emulated one without any address."""
    device(tmp_path, GPU, GPU_AT)
    device(tmp_path, "0000:06:00.0", f"{SWITCH}/0000:02:01.0")
    device(tmp_path, "0000:84:00.0", "pci0000:80/0000:80:01.0", "1")
    found = distances("0000:06:00.0", [GPU, "0000:84:00.0", "emulated-0"], tmp_path)
    assert found == {GPU: "PIX", "0000:84:00.0": "SYS"}
    assert distances("", [GPU], tmp_path) == {}


def test_what_sysfs_does_not_show(tmp_path: Path) -> None:
    """Protects a container without /sys, and an emulated GPU, from a made-up distance."""
    device(tmp_path, GPU, GPU_AT)
    assert distance(GPU, "0000:99:00.0", tmp_path) is None
    assert distance(GPU, "", tmp_path) is None
    assert distance(GPU, "emulated", tmp_path / "nowhere") is None


def test_the_address_of_a_class_device(tmp_path: Path) -> None:
    """Protects virtio, whose class device lies below the PCI device, and interfaces without any."""
    folder = device(tmp_path, GPU, GPU_AT)
    (folder / "virtio0").mkdir()
    for name, target in (("eth0", folder), ("eth1", folder / "virtio0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "device").symlink_to(target)
    assert [address_of(tmp_path / name / "device") for name in ("eth0", "eth1", "veth0")] == [GPU, GPU, ""]


PLACES = st.lists(st.integers(0, 2), min_size=0, max_size=4)


@given(first=PLACES, second=PLACES, hosts=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_any_two_places(first: list[int], second: list[int], hosts: tuple[int, int]) -> None:
    """Protects against a distance that depends on who is asked first, or on how deep a device lies.

    A device never seems nearer because another switch is put above it alone.
    """
    order = [*DISTANCES]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def place(address: str, host: int, ports: list[int]) -> None:
            bridges = [f"0000:{depth:02x}:{port:02x}.0" for depth, port in enumerate(ports)]
            device(root, address, "/".join([f"pci{host:04x}:00", *bridges]), str(host // 2))

        place("0000:aa:00.0", hosts[0], first)
        place("0000:bb:00.0", hosts[1], second)
        place("0000:cc:00.0", hosts[1], [*second, 9, 9])
        found = distance("0000:aa:00.0", "0000:bb:00.0", root)
        deeper = distance("0000:aa:00.0", "0000:cc:00.0", root)
        assert found == distance("0000:bb:00.0", "0000:aa:00.0", root)
        assert found in order
        assert deeper in order
        assert order.index(deeper) >= order.index(found)
        if hosts[0] != hosts[1]:
            assert found == ("NODE" if hosts[0] // 2 == hosts[1] // 2 else "SYS")
