"""Counter sources read what drivers count: in their units, over wires that are up, and never guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wirespeed.evidence.counters import (
    CannotRead,
    CounterOwner,
    CounterSource,
    Reading,
    find_counter_sources,
    infiniband,
    network,
    nvlink,
    pcie,
)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


def port(folder: Path, name: str, sent: int, *, state: str = "4: ACTIVE", layer: str = "InfiniBand") -> None:
    base = folder / name / "ports/1"
    for file, text in (
        ("state", state),
        ("link_layer", layer),
        ("rate", "400 Gb/sec (4X NDR)"),
        ("counters/port_xmit_data", str(sent)),
        ("counters/port_rcv_data", "7"),
    ):
        write(base / file, text)


def test_infiniband_counts_words_of_four_bytes(tmp_path: Path) -> None:
    """Protects the unit, the rate, and RoCE from the name InfiniBand; a port that is down is none."""
    port(tmp_path, "mlx5_0", 1000)
    port(tmp_path, "mlx5_1", 5, layer="Ethernet")
    port(tmp_path, "mlx5_2", 5, state="1: DOWN")
    found = infiniband.find([], tmp_path)
    assert found
    assert [(wire.kind, wire.name) for wire in found.wires] == [
        ("infiniband", "mlx5_0 port 1"),
        ("roce", "mlx5_1 port 1"),
    ]
    assert found.wires[0].rate == 50e9
    assert [(one.sent, one.received) for one in found.read()] == [(4000, 28), (20, 28)]
    (tmp_path / "mlx5_0/ports/1/counters/port_xmit_data").unlink()
    with pytest.raises(CannotRead, match="port_xmit_data"):
        found.read()
    assert infiniband.find([], tmp_path / "nothing") is None
    assert {wire.granularity for wire in found.wires} == {4}
    assert found.wires[0].facts == {"said": "400 Gb/sec (4X NDR)"}


def test_the_pci_address_of_a_nic(tmp_path: Path) -> None:
    """Protects the distance from a GPU: a port is known by its adapter's address, an interface by its own."""
    card = tmp_path / "devices/0000:18:00.0"
    card.mkdir(parents=True)
    port(tmp_path / "infiniband", "mlx5_0", 1000)
    for file in ("statistics/tx_bytes", "statistics/rx_bytes", "operstate"):
        write(tmp_path / "net/ib0" / file, "up" if file == "operstate" else "1")
    for name in ("infiniband/mlx5_0", "net/ib0"):
        (tmp_path / name / "device").symlink_to(card)
    for found in (infiniband.find([], tmp_path / "infiniband"), network.find([], tmp_path / "net")):
        assert found
        assert found.wires[0].facts["pci"] == "0000:18:00.0"


def test_a_port_that_does_not_tell_its_rate(tmp_path: Path) -> None:
    """Protects from a limit that nobody stated; its counters are good all the same."""
    port(tmp_path, "mlx5_0", 1000)
    (tmp_path / "mlx5_0/ports/1/rate").unlink()
    found = infiniband.find([], tmp_path)
    assert found and found.wires[0].rate is None and found.read()[0].sent == 4000
    port(tmp_path, "mlx5_0", 1000, state="1: DOWN")
    assert infiniband.find([], tmp_path) is None


def test_interfaces(tmp_path: Path) -> None:
    """Protects from counting a byte twice (bridges), from made-up rates (veth), and knows loopback."""
    for name, state, kind, speed, device in (
        ("lo", "unknown", "772", "", False),
        ("eth0", "up", "1", "25000", True),
        ("veth1", "up", "1", "10000", False),
        ("eth1", "down", "1", "-1", True),
        ("br0", "up", "1", "10000", False),
    ):
        base = tmp_path / name
        for file, text in (("operstate", state), ("type", kind), ("speed", speed), ("mtu", "1500")):
            write(base / file, text)
        for file in ("tx_bytes", "rx_bytes"):
            write(base / "statistics" / file, "12")
        if device:
            (base / "device").mkdir()
    (tmp_path / "br0/bridge").mkdir()
    found = network.find([], tmp_path)
    assert found
    assert [(wire.kind, wire.name, wire.rate) for wire in found.wires] == [
        ("network", "eth0", 3.125e9),
        ("loopback", "lo", None),
        ("network", "veth1", None),
    ]
    assert all((one.sent, one.received) == (12, 12) for one in found.read())
    assert {wire.granularity for wire in found.wires} == {1500}, "one foreign packet is not a verdict"
    assert all(wire.facts == {"mtu": 1500} and wire.device is None for wire in found.wires)


@pytest.mark.parametrize(("speed", "rate"), [("1", 125_000.0), ("0", None), ("-1", None), ("", None)])
def test_an_interface_without_a_speed(tmp_path: Path, speed: str, rate: float | None) -> None:
    """Protects from a rate of nothing: drivers say 0 or -1 where they have none."""
    base = tmp_path / "eth0"
    for file, text in (("operstate", "up"), ("speed", speed), ("statistics/tx_bytes", "1")):
        write(base / file, text)
    (base / "device").mkdir()
    found = network.find([], tmp_path)
    assert found
    assert [(one.rate, one.granularity, one.facts) for one in found.wires] == [(rate, 1500, {})]
    with pytest.raises(CannotRead, match=r"rx_bytes: .*No such file"):
        found.read()
    write(base / "statistics/rx_bytes", "many")
    with pytest.raises(CannotRead, match=r"rx_bytes: invalid literal"):
        found.read()


def test_large_packets(tmp_path: Path) -> None:
    """Protects the uncertainty: one foreign packet is as large as the interface lets it be."""
    write(tmp_path / "eth0/operstate", "up")
    write(tmp_path / "eth0/mtu", "9000")
    found = network.find([], tmp_path)
    assert found and [(one.granularity, one.facts) for one in found.wires] == [(9000, {"mtu": 9000})]


def test_an_interface_that_passes_on_what_others_carry(tmp_path: Path) -> None:
    """Protects from counting a bond's bytes twice, and from an interface that is down."""
    for name, state in (("bond0", "up"), ("eth1", "down")):
        write(tmp_path / name / "operstate", state)
    (tmp_path / "bond0/bonding").mkdir()
    assert network.find([], tmp_path) is None


def test_interfaces_of_another_namespace(tmp_path: Path) -> None:
    """Protects the verdict between hosts from the counters of an interface that only has the same name."""
    write(tmp_path / "eth0/operstate", "up")
    write(tmp_path / "eth0/ifindex", "4711")
    table = tmp_path / "dev"
    table.write_text(
        "Inter-|   Receive                     |  Transmit\n"
        " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n"
        "    lo:   12    1 0 0 0 0 0 0   12    1 0 0 0 0 0 0\n"
        "  eth0: 3000    2 0 0 0 0 0 0 7000    5 0 0 0 0 0 0\n"
    )
    found = network.find([], tmp_path, table)
    assert found
    assert [(one.kind, one.name) for one in found.wires] == [("loopback", "lo"), ("network", "eth0")]
    assert [(one.sent, one.received) for one in found.read()] == [(12, 12), (7000, 3000)]
    table.write_text("\n".join(table.read_text().splitlines()[:3]))
    with pytest.raises(CannotRead, match="eth0"):
        found.read()


def test_a_counter_source_that_fails_breaks_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects all ranks from one library's surprise: it is left out, and the others are read."""

    def surprise(devices: Any) -> None:
        raise AttributeError("no such symbol")

    monkeypatch.setattr(nvlink, "find", surprise)
    found, unreadable = find_counter_sources([])
    assert unreadable == ["nvlink: AttributeError: no such symbol"]
    assert all(wire.kind in ("network", "loopback") for one in found for wire in one.wires)


class Steady(CounterSource):
    """Answers always, or never."""

    wires = (CounterOwner("xgmi", "GPU 0"),)

    def __init__(self, answers: bool = True) -> None:
        self._answers = answers

    def read(self, parts: bool = True) -> list[Reading]:
        if not self._answers:
            raise CannotRead("the driver is being updated")
        return [Reading(1, 2)]


def test_a_counter_source_is_read_once_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a run from a source that is there and does not answer: it says why, and the others count."""
    steady, failing = Steady(), Steady(False)
    for module, one in ((infiniband, steady), (network, failing), (nvlink, None), (pcie, None)):
        monkeypatch.setattr(module, "find", lambda devices, one=one: one)
    found, why = find_counter_sources([])
    assert (found, why) == ([steady], ["network: the driver is being updated"])
    assert (steady.wires[0].granularity, steady.wires[0].wraps) == (1, None), "single bytes, for ever"
