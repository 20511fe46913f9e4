"""Ranks that no MPI joins: each a thread here, with sockets between them."""

from __future__ import annotations

import os
import socket
import time
from array import array
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from support.socket_ranks import Environment, at_once, environment_in, place, ranks, secret_in

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host import private_folder
from wirespeed.launchers import LaunchedRank, joins_mpi, launched_rank
from wirespeed.rank.join import rendezvous, socket_world
from wirespeed.rank.join.socket_world import SocketWorld


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return environment_in(tmp_path)


def everything(world: SocketWorld) -> list[Any]:
    """A call of each kind."""
    mine = world.rank
    bytes_, shared = bytearray(4 * world.size), bytearray([mine] * 3)
    world.everyones_bytes(memoryview(bytes([mine] * 4)), memoryview(bytes_))
    world.share_bytes(memoryview(shared), 2)
    world.barrier()
    found: list[Any] = [
        world.gather((mine, "of")),
        world.share({"from": mine}, root=1),
        world.everyone(mine),
        world.maximum(mine / 2),
        world.minimum(mine + 5),
        world.first(None if mine < 2 else f"rank {mine}"),
        world.first(None),
        world.neighbours(),
        bytes(bytes_),
        bytes(shared),
        # Rank 4 sends to nobody, and nobody sends to rank 0.
        world.exchange({to: [b"%d to %d" % (mine, to), b""] for to in range(1, 5) if mine not in (to, 4)}),
    ]
    # Two halves at once, each of which only its own ranks ask for; and again.
    half = range(2) if mine < 2 else range(2, world.size)
    for _ in range(3):
        inner = world.of_ranks(half)
        assert inner
        found.append(inner.largest(array("d", [mine, -mine])).tolist() if mine == half[0] else None)
        if mine != half[0]:
            inner.largest(array("d", [mine, -mine]))
        inner.free()
    world.leave()
    return found


def test_every_call_is_what_it_says(environment: Environment) -> None:
    """Protects all paths without MPI: their set-up is these calls."""
    all_ = ranks(5, environment, everything)
    assert all_[0][0] == [(rank, "of") for rank in range(5)] and not any(one[0] for one in all_[1:])
    for rank, found in enumerate(all_):
        assert found[1:10] == [
            {"from": 1},
            [0, 1, 2, 3, 4],
            2.0,
            5,
            (2, "rank 2"),
            None,
            5,
            bytes(each for each in range(5) for _ in range(4)),
            bytes([2, 2, 2]),
        ]
        senders = [sender for sender in range(4) if rank and sender != rank]
        assert found[10] == {sender: [b"%d to %d" % (sender, rank), b""] for sender in senders}
        assert found[11:] == [{0: [1.0, 0.0], 2: [4.0, -2.0]}.get(rank)] * 3


def test_a_rank_that_does_not_come_is_named(environment: Environment) -> None:
    """Protects from a job that waits for ever, and says for whom it waited."""
    (error,) = ranks(1, {**environment, "WIRESPEED_RENDEZVOUS_TIMEOUT": "1"}, everything, of=3)
    assert isinstance(error, WirespeedError) and error.code == ExitCode.WRONG_WORLD
    assert str(error).startswith("ranks 1, 2 of 3 did not come to 127.0.0.1, port ")


def test_a_rank_that_ends_is_named(environment: Environment) -> None:
    """Protects from a stack trace where a peer's process has died."""

    def goes(world: SocketWorld) -> None:
        if world.rank == 0:
            world.barrier()

    error, _ = ranks(2, environment, goes)
    assert str(error) == "rank 1 has closed its connection"
    assert error.code == ExitCode.FAILED_ENTRY


@pytest.mark.parametrize("size", [2, 7, 64])
def test_an_agreement_takes_few_short_messages(
    environment: Environment, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects large jobs: rank 0 sends a few times 8 bytes after a batch, not every value to everyone."""
    sent: list[tuple[int, int]] = []
    agreed: set[int] = set()
    send = socket_world._Star.send

    def counted(star: socket_world._Star, rank: int, data: bytes) -> None:
        if star._mine not in agreed:
            sent.append((star._mine, len(data)))
        send(star, rank, data)

    def agree(world: SocketWorld) -> tuple[float, float, int]:
        world.barrier()
        if world.rank == 0:
            monkeypatch.setattr(socket_world._Star, "send", counted)
        world.barrier()
        found = world.maximum(world.rank / 2), world.maximum(-world.rank), world.minimum(-world.rank)
        agreed.add(world.rank)
        world.leave()  # one that closes before rank 0 has agreed has gone
        return found

    assert ranks(size, environment, agree) == [((size - 1) / 2, 0.0, 1 - size)] * size
    rounds = (size - 1).bit_length()
    of_rank_0 = [length for rank, length in sent if rank == 0 and length]
    assert of_rank_0 == [8] * 3 * rounds
    assert len([length for _, length in sent if length]) == 3 * rounds * size


@pytest.mark.parametrize("size", [3, 5, 8])
def test_no_rank_leaves_a_barrier_before_the_last_has_come(environment: Environment, size: int) -> None:
    """Protects samples that follow a barrier: it goes from rank to rank, not by way of the first."""

    def meets(world: SocketWorld) -> list[tuple[float, float]]:
        found = []
        for meeting in range(size):
            if meeting == world.rank:
                time.sleep(0.05)
            came = time.monotonic()
            world.barrier()
            found.append((came, time.monotonic()))
        world.leave()
        return found

    for meeting in zip(*ranks(size, environment, meets), strict=True):
        assert max(came for came, _ in meeting) < min(left for _, left in meeting)


def test_of_ranks_that_end_the_first_is_named(environment: Environment) -> None:
    """Protects from naming a rank that ended because of another one: rank 0 does not wait for rank 1."""

    def goes(world: SocketWorld) -> None:
        if world.rank == 1:
            return
        try:
            world.barrier()
        finally:
            if world.rank:
                time.sleep(0.5)  # as a process takes to end

    error, *_ = ranks(8, environment, goes)
    assert str(error) == "rank 1 has closed its connection"


def _of_another_user(file: Path) -> None:
    """As root; for others the test says that they are somebody else."""
    if os.geteuid() == 0:
        os.chown(file, 65534, 65534)


def _pipe(file: Path) -> None:
    """Nobody writes to it."""
    file.unlink()
    os.mkfifo(file, 0o600)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda file: file.chmod(0o644), "others may read it; run 'chmod 600 "),
        (lambda file: file.write_text("short"), "write 16 random characters or more into it"),
        (Path.unlink, "secret: No such file or directory"),
        (_pipe, "it is no regular file"),
        (_of_another_user, "it belongs to another user"),
    ],
)
def test_what_is_no_secret(
    environment: Environment, spoil: Callable[[Path], Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a job from who knows its secret, or wrote it, and users from guessing."""
    if spoil is _of_another_user and os.geteuid():
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    spoil(Path(environment["WIRESPEED_SECRET_FILE"]))
    (error,) = ranks(1, environment, everything)
    assert isinstance(error, WirespeedError) and says in str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    ("without", "changes", "says"),
    [
        ("", {"WIRESPEED_PORT": "99999"}, "write a number from 1 to 65535"),
        # No port is after 65535.
        ("WIRESPEED_PORT", {"MASTER_PORT": "65535"}, "write a number from 1 to 65534"),
        # Without a secret nothing but loopback is listened on.
        (
            "WIRESPEED_SECRET_FILE",
            {"MASTER_ADDR": "node17", "LOCAL_WORLD_SIZE": "1"},
            "ranks on several hosts need a secret",
        ),
    ],
)
def test_what_a_user_can_get_wrong(
    environment: Environment, without: str, changes: Environment, says: str
) -> None:
    """Protects users from a stack trace, and the network's other users' machines."""
    environment.pop(without, None)
    (error,) = ranks(1, environment | changes, everything, of=2)
    assert isinstance(error, WirespeedError) and says in str(error) and "\n" not in str(error)


def test_a_rank_beyond_the_job_is_one_line(environment: Environment) -> None:
    """Protects from a wait for a rank that cannot come."""
    with pytest.raises(WirespeedError, match="RANK=5, WORLD_SIZE=2: ranks are numbered from 0 to 1"):
        SocketWorld(LaunchedRank("torchrun", 5, 2, 0), environment)


@pytest.fixture
def own(environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """A job of one host that was given no secret."""
    monkeypatch.setattr(rendezvous, "gettempdir", lambda: str(tmp_path))
    del environment["WIRESPEED_SECRET_FILE"]
    return environment | {"MASTER_ADDR": os.uname().nodename, "LOCAL_WORLD_SIZE": "3"}


def test_ranks_of_one_host_make_their_secret(
    own: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a first try, which needs no preparation; nobody else can read the file, and none is left."""
    modes: list[int] = []
    make = rendezvous.make_secret

    def watched(file: Path, secret: bytes) -> None:
        make(file, secret)
        modes.append(file.stat().st_mode & 0o777)

    monkeypatch.setattr(socket_world, "make_secret", watched)
    assert ranks(3, own, SocketWorld.neighbours) == [3, 3, 3]
    assert modes == [0o600]
    assert not list(tmp_path.glob("wirespeed-*/*"))


def test_ranks_that_each_have_a_parent_of_their_own_meet(
    own: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects ranks under a wrapper that starts them, such as timeout, a profiler, or a shell."""
    parents = iter(range(100, 200))
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    assert ranks(3, own | {"WIRESPEED_RENDEZVOUS_TIMEOUT": "2"}, SocketWorld.neighbours) == [3, 3, 3]


def test_the_secret_of_a_job_that_was_killed_is_replaced(own: Environment) -> None:
    """Protects the next job on that port: its ranks may read the old file before rank 0 comes."""
    stale = rendezvous.meeting(own, LaunchedRank("torchrun", 1, 3, 1)).file
    private_folder.make(stale.parent)
    secret_in(stale, "what the killed job has left")

    def one(rank: int) -> int:
        time.sleep(0.0 if rank else 0.3)
        with closing(SocketWorld(place(rank, 3), own)) as world:
            return world.neighbours()

    assert at_once(3, one) == [3, 3, 3]


def test_a_name_that_is_taken_in_the_folder_of_secrets(own: Environment) -> None:
    """Protects from a stack trace where another user (or a folder) sits at the file's name."""
    rendezvous.meeting(own, LaunchedRank("torchrun", 0, 3, 0)).file.mkdir(parents=True)
    (error,) = ranks(1, own, everything, of=3)
    assert isinstance(error, WirespeedError) and "name another folder with TMPDIR" in str(error)


def test_another_program_at_the_port_is_not_waited_for_for_ever(environment: Environment) -> None:
    """Protects a rank whose rank 0 could not listen: a server that says nothing has the port."""
    quick, port = environment | {"WIRESPEED_RENDEZVOUS_TIMEOUT": "1"}, int(environment["WIRESPEED_PORT"])
    with socket.create_server(("127.0.0.1", port)), pytest.raises(WirespeedError) as raised:
        SocketWorld(LaunchedRank("torchrun", 1, 2, 1), quick)
    assert "another program listens there" in str(raised.value)


def test_nothing_listens_once_the_ranks_have_joined(environment: Environment) -> None:
    """Protects a job that runs for hours from everybody who can reach its hosts."""

    def listening(world: SocketWorld) -> set[str]:
        world.barrier()
        found = set(listeners())
        world.barrier()
        if team := world.of_ranks(range(3) if world.rank < 3 else ()):
            team.largest(array("d", [1.0]))
            team.free()
        world.barrier()
        found |= set(listeners())
        world.leave()
        return found

    before = set(listeners())
    assert ranks(5, environment, listening) == [before] * 5


def test_teams_that_are_known_at_the_join_need_no_listener(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a job of hours from a door that each size opens again; teams lie across each other."""

    def phases(rank: int) -> list[range]:
        return [range(rank % 2, 6, 2), range(rank // 3 * 3, rank // 3 * 3 + 3), range(6), range(0)]

    def measured(world: SocketWorld) -> list[Any]:
        world.barrier()
        # Of all ranks, which are threads: each comes here before any goes on.
        monkeypatch.setattr(socket_world, "Listener", None)
        found: list[Any] = []
        for team in phases(world.rank) * 2:
            inner = world.of_ranks(team)
            if inner is None:
                continue
            largest = inner.largest(array("d", [world.rank, -world.rank])).tolist()
            found.append(largest if world.rank == team[0] else None)
            assert world.maximum(float(world.rank)) == 5.0
            inner.free()
        world.leave()
        return found

    all_ = ranks(6, environment, measured, teams=phases)
    assert all_[0] == [[4.0, 0.0], [2.0, 0.0], [5.0, 0.0]] * 2
    assert all_[1] == [[5.0, -1.0], None, None] * 2
    assert all_[3] == [None, [5.0, -3.0], None] * 2


def listeners() -> list[str]:
    """Sockets of this process that accept connections, by inode."""
    own = set()
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            own.add(str(file.readlink()))
    rows = [
        row.split() for name in ("tcp", "tcp6") for row in Path("/proc/net", name).read_text().splitlines()
    ]
    return [row[9] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]


def test_ranks_join_by_ipv6(environment: Environment) -> None:
    """Protects clusters whose hosts have IPv6 addresses."""
    with suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        assert [one[0] for one in ranks(3, environment | {"MASTER_ADDR": "::1"}, everything)[:1]] == [
            [(rank, "of") for rank in range(3)]
        ]
        return
    pytest.skip("this machine has no IPv6")


def test_a_port_that_is_taken(environment: Environment) -> None:
    """Protects two jobs of one host from each other."""
    with socket.create_server(("127.0.0.1", int(environment["WIRESPEED_PORT"]))):
        (error,) = ranks(1, environment, everything, of=2)
    assert "set WIRESPEED_PORT to a free one, the same on every rank" in str(error)


def test_whose_ranks_they_are() -> None:
    """Protects MPI's ranks that run inside a pod or under torchrun: they are the MPI's."""
    pod = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "first"}
    place = launched_rank(pod)
    assert place == LaunchedRank("torchrun", 1, 2, -1) and not joins_mpi(place)
    assert launched_rank({"RANK": "1", "WORLD_SIZE": "2"}) is None
    hydra = launched_rank(pod | {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"})
    assert hydra and joins_mpi(hydra)
