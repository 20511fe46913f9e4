"""Hosts with two network interfaces each: log and counters name the one that a rank's bytes take."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.command import Done, wirespeed
from support.hosts import Hosts
from support.mpis import InstalledMpi

pytestmark = pytest.mark.slow

OVER_UCX = {
    "MPIR_CVAR_CH4_NETMOD": "ucx",
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
}


@pytest.fixture(scope="module")
def cabled(two: Hosts) -> Hosts:
    """Two hosts: eth0 of each leads to a switch, eth1 straight to the other host."""
    cable = f"link add eth1 netns {two['n1'].pid} type veth peer name eth1 netns {two['n2'].pid}"
    subprocess.run(["ip", *cable.split()], check=True)
    for number, host in enumerate(two, 1):
        host.run("ip", "address", "add", f"10.78.0.{number}/24", "dev", "eth1")
    return two


def measured(there: Hosts, mpi: InstalledMpi, out: Path, *more: str, **variables: str) -> Done:
    return wirespeed(
        *("pingpong", "--hosts", there.names, "--mpi", mpi.mpiexec, "--paths", "host", "--sizes", "1M"),
        *("--max-time", "0.05", *more),
        out=out,
        before=there["n1"].enter(),
        environment=there.environment | OVER_UCX | {"WIRESPEED_NO_EVIDENCE": ""} | variables,
    ).ok()


def set_eth1(there: Hosts, state: str) -> None:
    for host in there:
        host.run("ip", "link", "set", "eth1", state)
    # Both ends of a cable are up before either is usable.
    for host in there:
        host.until("cat", "/sys/class/net/eth1/operstate", gives=f"{state}\n")


def used(done: Done) -> list[tuple[int, str, list[dict[str, Any]], list[str]]]:
    (evidence,) = done.of("evidence")
    assert evidence["nics_differ"] is None
    return [(one["rank"], one["host"], one["nics"], one["by"]) for one in evidence["nics"]]


@pytest.mark.parametrize(
    ("mpi", "chosen"),
    [("mpich", "eth0"), ("mpich", "eth1"), ("openmpi", "eth1"), ("debian", "eth0")],
    indirect=["mpi"],
)
def test_the_interface_of_each_rank(cabled: Hosts, mpi: InstalledMpi, chosen: str, tmp_path: Path) -> None:
    """Protects the line about NICs with the logs of UCX 1.13 and 1.20: both sources name the interface."""
    # Open MPI 4 carries the variable to no other host, where UCX would choose for itself.
    set_eth1(cabled, "down" if mpi.name == "debian" else "up")
    done = measured(cabled, mpi, tmp_path / "r.jsonl", UCX_NET_DEVICES=chosen)
    nic = {"name": chosen, "share": 1.0, "transport": "tcp"}
    assert used(done) == [(rank, f"n{rank + 1}", [nic], ["counters", "log"]) for rank in (0, 1)]
    assert f"NICs: every rank by {chosen}\n" in done.out
    # What UCX was asked for is not shown.
    assert "UCX  INFO" not in done.out + done.err


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_rails(cabled: Hosts, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the shares of two interfaces that UCX uses at the same time."""
    set_eth1(cabled, "up")
    rails = {"UCX_MAX_EAGER_RAILS": "2", "UCX_MAX_RNDV_RAILS": "2", "UCX_NET_DEVICES": "eth0,eth1"}
    done = measured(cabled, mpi, tmp_path / "r.jsonl", **rails)
    for _, _, nics, by in used(done):
        assert by == ["counters", "log"]
        assert {nic["name"]: nic["transport"] for nic in nics} == {"eth0": "tcp", "eth1": "tcp"}
        assert sum(nic["share"] for nic in nics) == pytest.approx(1)
        # UCX takes both to be as fast, and splits a message into halves.
        assert min(nic["share"] for nic in nics) > 0.3
    assert re.search(r"NICs: .*by eth[01] \d+ % and eth[01] \d+ %", done.out)


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_log_that_the_user_wants(cabled: Hosts, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects UCX_LOG_FILE as the user has set it: then the counters alone name the interface."""
    wanted = {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": f"file:{tmp_path / 'ucx.log'}"}
    done = measured(cabled, mpi, tmp_path / "r.jsonl", UCX_NET_DEVICES="eth0", **wanted)
    assert [by for *_, by in used(done)] == [["counters"], ["counters"]]
    assert "UCX  INFO" in (tmp_path / "ucx.log").read_text()
    (step,) = done.of("step")
    assert not wanted.keys() & step["variables"].keys()
