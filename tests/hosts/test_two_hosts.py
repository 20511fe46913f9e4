"""Two hosts: the network is measured, and what happens over there is named here."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from support.command import (
    PATIENCE,
    WIRESPEED,
    Done,
    Measure,
    Record,
    captured,
    disturbed,
    ranks_of,
    read,
    whole_lines,
    wirespeed,
)
from support.hosts import Hosts
from support.mpis import InstalledMpi
from support.selection import slow_case

pytestmark = pytest.mark.slow(after=1)

FAST = ("--sizes", "8,64K", "--max-time", "0.02")
SLOW = ("--sizes", "8,2M,4M", "--loops", "300", "--timeout", "2")


@pytest.fixture
def pair(two: Hosts) -> Iterator[Hosts]:
    """The hosts, plugged in again and empty after each test."""
    yield two
    for host in two:
        two.link(host.name, up=True)
    assert not [line for host in two for line in host.emptied()]


def carried(entry: Record) -> int:
    """Bytes that one rank sent the other for an entry, checked iterations included."""
    return int(entry["bytes"] * (entry["iterations"] + entry["checked"]["iterations"]))


def across(mpi: InstalledMpi) -> tuple[str | Path, ...]:
    """An mpiexec with a rank on each host."""
    if mpi.abi == "openmpi":
        return (mpi.mpiexec, "--host", "n1:1,n2:1", "--bind-to", "none", "-n", "2")
    return (mpi.mpiexec, "-hosts", "n1,n2", "-ppn", "1", "-n", "2")


def is_sane(done: Done, sent: int) -> None:
    """Both hosts are in the record, and the figures are those of a network."""
    assert done.code == 0, done.err + done.out
    (step,) = done.of("step")
    assert [rank["host"] for rank in step["ranks"]] == ["n1", "n2"]
    assert [entry["bytes"] for entry in done.entries] == [8, 65536]
    for entry in done.entries:
        assert entry["seconds"]["min"] > 1e-6
        assert entry["bytes_per_second"]["median"] < 50e9
    # Every round of each size crossed the wire, and little else did.
    payload = sum(map(carried, done.entries))
    assert sent > payload


@pytest.mark.slow(after=1)
def test_the_front_end_starts_a_rank_on_each(pair: Hosts, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects --hosts: nothing but the remote shell carries the environment to the other host."""
    before = pair["n1"].sent_bytes()
    done = measure("pingpong", *FAST, mpi=mpi, hosts=pair)
    is_sane(done, pair["n1"].sent_bytes() - before)


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_lists_of_blocks_go_to_the_other_host(pair: Hosts, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects lists between hosts: one message each where a path has a way, else one for each block."""
    paths = "host,host-datatype,host-packed,host-tcp,ucx-host,ucx-host-iov"
    words = ("--block", "13,4097", "--count", "9", "--loops", "2", "--warmup", "0", "--paths", paths)
    before = pair["n1"].sent_bytes()
    done = measure("blocks", *words, mpi=mpi, hosts=pair).ok()
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == [
        (path, size) for path in paths.split(",") for size in (13, 4097)
    ]
    assert all([rank["host"] for rank in step["ranks"]] == ["n1", "n2"] for step in done.of("step"))
    assert all(entry["baseline"]["seconds"]["median"] > 0 for entry in done.entries)
    # Each list, and each contiguous message, was sent in the timed and in the checked iterations.
    payload = 9 * sum(map(carried, done.entries))
    assert pair["n1"].sent_bytes() - before > payload


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "start"),
    [
        ("pingpong", None),
        ("halo", {"by": "dissemination", "samples": 0, "skew_s": None, "skew_max_s": None, "why": None}),
    ],
)
def test_ranks_that_no_mpi_joins(pair: Hosts, pattern: str, start: Record | None, tmp_path: Path) -> None:
    """Protects torchrun on several hosts: a secret from a file, and TCP whose bytes the wire counts.

    Clocks of two hosts cannot tell how far apart ranks start.
    """
    before = pair["n1"].sent_bytes()
    first = joined_by_sockets(pair, pattern, tmp_path)
    is_sane(first, pair["n1"].sent_bytes() - before)
    assert all(entry["start"] == start for entry in first.entries)
    (step,) = first.of("step")
    assert step["details"]["address"] == pair["n1"].address


@pytest.mark.slow
def test_addresses_at_which_nobody_answers(pair: Hosts, tmp_path: Path) -> None:
    """Protects hosts with several networks: three dead addresses took longer than a rank waits."""
    called, caller = pair["n1"], pair["n2"]
    dead = [f"10.78.0.{number}" for number in (1, 2, 3)]
    try:
        # The first that the host lists are those that it has had the longest.
        called.run("ip", "address", "del", f"{called.address}/24", "dev", "eth0")
        for address in dead:
            called.run("ip", "address", "add", f"{address}/32", "dev", "eth0")
        called.run("ip", "address", "add", f"{called.address}/24", "dev", "eth0")
        caller.run("ip", "route", "add", "10.78.0.0/24", "dev", "eth0")
        for address in dead:
            nobody = f"{address} lladdr 02:00:00:00:00:99 dev eth0"
            caller.run("ip", "neighbour", "add", *nobody.split())
        done = joined_by_sockets(pair, "pingpong", tmp_path)
    finally:
        for address in dead:
            called.run("ip", "address", "del", f"{address}/32", "dev", "eth0", check=False)
            caller.run("ip", "neighbour", "del", address, "dev", "eth0", check=False)
        caller.run("ip", "route", "del", "10.78.0.0/24", "dev", "eth0", check=False)
    assert done.code == 0 and done.entries, done.out + done.err
    (step,) = done.of("step")
    assert step["details"]["address"] == called.address


@contextmanager
def ipv6_alone(pair: Hosts) -> Iterator[list[str]]:
    """The hosts with an IPv6 address each, and no other one but 127.0.0.1."""
    addresses = [f"fd77::{number}" for number, _ in enumerate(pair, 1)]
    file = pair.folder / "hosts"
    before = file.read_text()
    try:
        for host, address in zip(pair, addresses, strict=True):
            host.run("ip", "address", "del", f"{host.address}/24", "dev", "eth0")
            host.run("ip", "address", "add", f"{address}/64", "dev", "eth0", "nodad")
        names = "".join(f"{a} {host.name}\n" for host, a in zip(pair, addresses, strict=True))
        file.write_text(f"127.0.0.1 localhost\n{names}")
        yield addresses
    finally:
        file.write_text(before)
        for host, address in zip(pair, addresses, strict=True):
            host.run("ip", "address", "del", f"{address}/64", "dev", "eth0", check=False)
            host.run("ip", "address", "add", f"{host.address}/24", "dev", "eth0", check=False)


def test_hosts_with_ipv6_alone(pair: Hosts, tmp_path: Path) -> None:
    """Protects host-tcp where no interface has an IPv4 address; a link-local one leads nowhere."""
    with ipv6_alone(pair) as addresses:
        before = pair["n1"].sent_bytes()
        done = joined_by_sockets(pair, "pingpong", tmp_path, addresses[0])
        is_sane(done, pair["n1"].sent_bytes() - before)
    (step,) = done.of("step")
    assert step["details"]["address"] == addresses[0]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "impi"], indirect=True)
def test_launchers_between_hosts_with_ipv6_alone(pair: Hosts, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects figures by Open MPI's launcher, and the reason why Hydra starts nobody there."""
    words = ("pingpong", "--hosts", pair.names, "--mpi", mpi.mpiexec, "--paths", "host,host-tcp", *FAST)
    with ipv6_alone(pair):
        done = measure(*words, before=pair["n1"].enter(), environment=pair.environment)
    if mpi.name == "openmpi":
        assert done.code == 0 and len(done.entries) == 4, done.err
        return
    assert done.code == 1 and not done.entries
    for failure in done.failures:
        assert "n1 has only IPv6 addresses, and this launcher uses IPv4: give the" in failure["text"]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_a_host_without_ipv4_loopback(
    pair: Hosts, mpi: InstalledMpi, measure: Measure, tmp_path: Path
) -> None:
    """Protects ranks of one host that has ::1 alone, joined by MPICH or by sockets, and Open MPI's line."""
    words = ("pingpong", "--device", "cpu", "--paths", "host-tcp", *FAST)
    host = pair["n1"]
    with ipv6_alone(pair) as addresses:
        host.run("ip", "address", "del", "127.0.0.1/8", "dev", "lo")
        try:
            done = measure(*words, mpi=mpi, before=host.enter())
            apart = tmp_path / "sockets"
            apart.mkdir()
            joined = joined_by_sockets(pair, "pingpong", apart, f"[{addresses[0]}]", ("n1", "n1"))
        finally:
            host.run("ip", "address", "add", "127.0.0.1/8", "dev", "lo")
    assert joined.code == 0 and joined.of("step")[0]["details"]["address"] == "::1", joined.err
    if mpi.name == "mpich":
        assert done.code == 0 and done.of("step")[0]["details"]["address"] == "::1", done.err
        return
    assert done.code == 1
    assert "no IPv4 address, not even 127.0.0.1, and this launcher needs one" in done.failures[0]["text"]


def joined_by_sockets(
    pair: Hosts, pattern: str, folder: Path, address: str = "", on: Sequence[str] = ("n1", "n2")
) -> Done:
    """What rank 0 said and recorded, of two ranks that a secret in a file and TCP bring together."""
    secret, out = folder / "secret", folder / "r.jsonl"
    secret.write_text("sixteen random characters")
    secret.chmod(0o600)
    variables = {"WORLD_SIZE": "2", "WIRESPEED_SECRET_FILE": str(secret)}
    variables["MASTER_ADDR"] = address or pair["n1"].address
    ranks = [
        subprocess.Popen(
            [*pair[on[rank]].enter(WIRESPEED, pattern, *FAST, "--paths", "host-tcp", "--out", out)],
            env={**os.environ, **pair.environment, **variables, "RANK": str(rank), "LOCAL_RANK": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    first, _ = [Done(rank.wait(PATIENCE), *rank.communicate()) for rank in ranks]
    first.records = read(out)
    return first


# Debian's Open MPI 4, and MPICH's Hydra, which is also Intel's; Open MPI 5's is stopped further below.
@pytest.mark.parametrize("mpi", ["mpich", "debian"], indirect=True)
def test_inside_a_launcher(pair: Hosts, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects `mpiexec --host n1,n2 wirespeed pingpong`."""
    before = pair["n1"].sent_bytes()
    done = measure(
        "pingpong",
        *FAST,
        before=pair["n1"].enter(*across(mpi)),
        environment={**mpi.variables, **pair.environment},
    )
    is_sane(done, pair["n1"].sent_bytes() - before)


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_ranks_of_several_hosts_leave_a_barrier_of_mpi(
    pair: Hosts, mpi: InstalledMpi, measure: Measure
) -> None:
    """Protects ranks that share no clock from agreeing on a moment; those of a host are compared."""
    done = measure(
        "halo --ranks 4 --oversubscribe --paths host --sizes 8 --max-time 0.1", mpi=mpi, hosts=pair
    ).ok()
    (entry,) = done.entries
    assert entry["start"]["by"] == "MPI_Barrier" and entry["start"]["samples"] >= entry["samples"]
    assert 0 < entry["start"]["skew_s"] <= entry["start"]["skew_max_s"]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_chunks_between_hosts(pair: Hosts, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects staging in chunks where ranks share no memory: MPI carries them, and both are told apart."""
    before = pair["n1"].sent_bytes()
    done = measure(
        "pingpong --device emulated --paths staged-pipelined --sizes 0,8,65537,4M --max-time 0.02",
        mpi=mpi,
        hosts=pair,
    ).ok()
    (step,) = done.of("step")
    assert [rank["host"] for rank in step["ranks"]] == ["n1", "n2"]
    assert step["details"]["through"] == "MPI"
    assert [entry["bytes"] for entry in done.entries] == [0, 8, 65537, 4 << 20]
    assert all(entry["details"]["by"] == "host" for entry in done.entries)
    moved = sum(map(carried, done.entries))
    assert pair["n1"].sent_bytes() - before > moved


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_chunks_to_near_and_far_peers_in_one_step(pair: Hosts, mpi: InstalledMpi) -> None:
    """Protects steps whose peers are reached in both ways at once: two ranks on each host."""
    words = {
        "openmpi": ("--host", "n1:2,n2:2", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"),
        "mpich": ("-hosts", "n1,n2", "-ppn", "2"),
    }
    script = Path(__file__).parents[1] / "support" / "peer_patterns.py"
    command = (str(mpi.mpiexec), *words[mpi.name], "-n", "4", sys.executable, str(script), "pipelined")
    done = captured(
        pair["n1"].enter(*command, "device", "emulated", ""),
        env={**mpi.environment(), **pair.environment},
        ok=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])[""]
    assert found["transport"]["through"] == "shared memory ring and MPI"


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_paths_within_a_host(pair: Hosts, mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the rest of a run from paths that need one host: each of them is one line, and none hangs."""
    within = ["ipc-write", "ipc-read", "ipc-kernel", "gpu"]
    done = measure(
        "pingpong --device emulated --paths", ",".join(["staged", *within]), *FAST, mpi=mpi, hosts=pair
    ).ok()
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == [("staged", 8), ("staged", 65536)]
    assert sorted(failure["path"] for failure in done.failures) == sorted(within)
    for failure in done.failures:
        name = "ipc-write" if failure["path"] == "ipc-kernel" else failure["path"]
        assert failure["what"] == "unavailable"
        assert f"{name} works within one host; rank 1 is on another" in failure["text"]
        assert "\n" not in failure["text"]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_each_host_measures_its_own_gpus(pair: Hosts, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the links between a node's GPUs in a fleet: paths of one host, on many hosts in one launch."""
    paths = ["ipc-write", "gpu"]
    common = ("--hosts", pair.names, "--ranks", "4", "--mpi", mpi.mpiexec, "--device", "emulated:0,1")
    words = ("pairing", *common, "--within-hosts", "--paths", ",".join(paths), *FAST)

    def measured(pairs: str) -> Done:
        return wirespeed(
            *(*words, "--rank-pairs", pairs),
            out=tmp_path / f"{pairs}.jsonl",
            before=pair["n1"].enter(),
            environment=pair.environment,
        )

    done = measured("0-1,2-3").ok()
    assert [(one["path"], one["bytes"]) for one in done.entries] == [
        (p, b) for p in paths for b in (8, 65536)
    ]
    assert all([team["name"] for team in one["teams"]] == ["0-1", "2-3"] for one in done.entries)
    assert [rank["host"] for rank in done.of("step")[0]["ranks"]] == ["n1", "n1", "n2", "n2"]
    crossing = measured("0-2,1-3")
    assert [failure["path"] for failure in crossing.failures] == paths and not crossing.entries
    assert all("works within one host; rank 2 is on another" in one["text"] for one in crossing.failures)


def struck(
    pair: Hosts,
    mpi: InstalledMpi,
    out: Path,
    act: Callable[[list[int]], None],
    before: tuple[str, ...] = (),
) -> Done:
    """A run to which something happens during the second size."""

    def strike(process: subprocess.Popen[str]) -> None:
        time.sleep(0.1)
        act(ranks_of(whole_lines(out)))

    def ready(records: list[Record]) -> bool:
        return any(record["kind"] == "entry" for record in records)

    front_end = () if before else ("--hosts", pair.names, "--mpi", str(mpi.mpiexec))
    done = disturbed(
        *("pingpong", *front_end, *SLOW),
        out=out,
        when=ready,
        act=strike,
        before=before or pair["n1"].enter(),
        environment={**mpi.variables, **pair.environment} if before else pair.environment,
    )
    assert done.entries and done.entries[0]["bytes"] == 8
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mpi", "rank"),
    [("openmpi", 1), ("mpich", 0), slow_case("impi", 1), slow_case("debian", 1)],
    indirect=["mpi"],
)
def test_a_killed_rank(pair: Hosts, mpi: InstalledMpi, rank: int, tmp_path: Path) -> None:
    """Protects the name of the rank that died first, wherever it was: its peers die of it."""
    host = ("n1", "n2")[rank]
    before = pair.pages()
    done = struck(pair, mpi, tmp_path / "r.jsonl", lambda pids: pair[host].signal(pids[rank], signal.SIGKILL))
    assert done.code == 1
    (failure,) = done.failures
    assert (failure["what"], failure["rank"], failure["host"]) == ("death", rank, host), (
        failure["text"],
        failure["log"],
    )
    assert f"rank {rank} on {host} (pid " in failure["text"]
    assert done.records[-1]["kind"] == "end"
    assert pair.pages() == before


# Under MPICH one is stopped on another host in test_slurm.py.
@pytest.mark.parametrize("mpi", [slow_case("openmpi")], indirect=True)
def test_a_stopped_rank(pair: Hosts, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects from waiting for ever for a rank on another host, whose pages cannot be read here."""
    done = struck(pair, mpi, tmp_path / "r.jsonl", lambda pids: pair["n2"].signal(pids[1], signal.SIGSTOP))
    assert done.code == 1
    (failure,) = done.failures
    assert (failure["what"], failure["rank"], failure["host"]) == ("hang", 1, "n2"), failure
    assert "does not answer (it is stopped, or its host is unreachable)" in failure["text"]
    assert failure["stacks"][0]["host"] == "n1" and failure["stacks"][0]["native"]
    assert done.records[-1]["kind"] == "end"


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_cut_network(pair: Hosts, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the run from a dead network, and the host beyond it from a rank that spins for ever."""
    done = struck(pair, mpi, tmp_path / "r.jsonl", lambda pids: pair.link("n2", up=False))
    assert done.code == 1
    # A smaller size that took turns with the one that broke is tried once more.
    failure, *_ = done.failures
    assert (failure["what"], failure["rank"], failure["host"]) == ("hang", 1, "n2"), failure
    # Nobody can reach it: it must end by itself, with the cable still out.
    assert not pair["n2"].emptied()


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_stopped_rank_inside_a_launcher(pair: Hosts, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the record of a hang that no front end watches: who waits, for whom, on which host."""
    done = struck(
        pair,
        mpi,
        tmp_path / "r.jsonl",
        lambda pids: pair["n2"].signal(pids[1], signal.SIGSTOP),
        before=pair["n1"].enter(*across(mpi)),
    )
    assert done.code != 0
    (failure,) = done.failures
    assert failure["what"] == "hang"
    # Between two batches all ranks wait for all others: that call has no peer to name.
    waits = r"rank 0 on n1: no progress for 2 s in (MPI_.* with rank 1 on n2 \(pid |set-up)"
    assert re.search(waits, failure["text"]), failure["text"]


@pytest.mark.slow
@pytest.mark.usefixtures("quiet_machine")
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_an_address_that_both_hosts_have(mpi: InstalledMpi, pair: Hosts, tmp_path: Path) -> None:
    """Protects from a minute's silence: Open MPI calls its own host by docker0's address."""
    for host in pair:
        host.run("ip", "link", "add", "docker0", "type", "bridge")
        host.run("ip", "address", "add", "172.17.0.1/16", "dev", "docker0")
        host.run("ip", "link", "set", "docker0", "up")
    words = ("--hosts", pair.names, "--paths", "host", "--sizes", "8", "--loops", "20", "--mpi", mpi.prefix)
    asked = partial(wirespeed, before=pair["n1"].enter(), environment=pair.environment)
    try:
        done = asked("pingpong", *words, out=tmp_path / "r.jsonl")
        call, text = (done.failures[0][name] for name in ("call", "text"))
        # On a busy machine the launcher has ended the rank before anybody asked where it waits.
        assert call == "MPI_Comm_dup" or (call is None and "is gone while starting" in text), done.err
        assert "WARNING: Open MPI accepted a TCP connection" in text
        assert "172.17.0.1 is on n2 and n1 (docker0)" in text
        tried = asked("doctor", "--after-hang", tmp_path / "r.jsonl", "--try", "--mpi", mpi.prefix)
        found = " ".join(tried.out.split())
        assert "Open MPI over eth0 alone, whose address no other host has" in found
        first = found.partition("Open MPI over eth0 alone")[2]
        assert "export OMPI_MCA_btl_tcp_if_include=eth0" in first and "works, " in first.partition("try ")[0]
    finally:
        for host in pair:
            host.run("ip", "link", "delete", "docker0")
