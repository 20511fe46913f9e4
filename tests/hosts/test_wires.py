"""A link of a known rate between two hosts: counters, limit and percent agree with it."""

from __future__ import annotations

import pytest
from support import tools
from support.command import Measure
from support.hosts import Hosts
from support.mpis import InstalledMpi

RATE = 1e9 / 8
SHAPED = ("root", "tbf", "rate", "1gbit", "burst", "128kb", "latency", "20ms")


@pytest.fixture(scope="module")
def shaped(two: Hosts) -> Hosts:
    if why := tools.missing({"tc": "iproute2"}):
        pytest.skip(why)
    for host in two:
        try:
            host.run("tc", "qdisc", "replace", "dev", "eth0", *SHAPED)
        except AssertionError as error:
            pytest.skip(f"this kernel shapes no traffic: {error}")
    return two


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_shaped_link(shaped: Hosts, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the percent of limit across hosts, and the count of bytes that it stands on."""
    done = measure(
        f"stream --window 4 --hosts {shaped.names} --paths host --sizes 8M --max-time 0.5 --warmup 0 --link",
        "eth0=1Gbit/s --explain",
        mpi=mpi,
        before=shaped["n1"].enter(),
        environment=shaped.environment | {"WIRESPEED_NO_EVIDENCE": ""},
    ).ok()
    (evidence,), (entry,) = done.of("evidence"), done.entries
    assert evidence["verdict"] == "network" and evidence["text"].startswith("over eth0 (10")
    wires = {wire["host"]: wire for wire in evidence["wires"] if wire["name"] == "eth0"}
    assert wires["n1"]["expected_sent"] == wires["n2"]["expected_received"] == evidence["payload_bytes"]
    # Segments are cut, and given most of their headers, after they were counted here.
    assert 1 <= wires["n1"]["sent"] / evidence["payload_bytes"] < 1.02
    assert 1 <= wires["n2"]["received"] / evidence["payload_bytes"] < 1.02
    share = entry["bytes_per_second"]["median"] / (RATE * 1448 / 1514)
    assert share < 1.02
    shown = " ".join(done.out.split())
    assert f" {100 * share:.0f} %" in shown
    assert "eth0 0.125 GB/s x 0.956 payload = 0.1196 GB/s out of n" in shown
    # A sample may not be longer than it was: all of them lie within the time that the size took.
    assert entry["iterations"] * entry["seconds"]["mean"] <= entry["elapsed_s"]
