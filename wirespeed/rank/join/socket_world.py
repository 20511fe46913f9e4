"""The ranks' world where no MPI joined them: connections in a star round the first rank.

Ranks tell each other bytes and JSON, after both have shown that they know the job's secret. Nothing that is
timed goes this way. A barrier, a maximum and a minimum go from rank to rank, since a sample may follow them:
ranks leave a star one after another, and its first rank would send as many messages as there are ranks.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.core import Core
from wirespeed.host.process import host_name
from wirespeed.launchers import LaunchedRank
from wirespeed.rank.join.handshake import Claim, Listener, connect, wrong
from wirespeed.rank.join.peers import connections
from wirespeed.rank.join.plain_values import decode, encode
from wirespeed.rank.join.rendezvous import (
    allow_all_descriptors,
    is_loopback,
    join,
    listening_address,
    make_secret,
    meeting,
    secret_of,
)
from wirespeed.rank.world import Subworld, Value, World
from wirespeed.units import format_seconds

Number = TypeVar("Number", int, float)

_MOST = 1 << 28
"""Bytes of a message at most."""
_WATCH_MS = 5
"""After which rank 0, which waits for one rank, looks whether another one has gone."""

_MAX_LINKED = 256
"""Ranks of a job that links its teams at the join: each rank may have a link to each other one then."""
_WORD = 5.0
"""Seconds of waiting for other ranks, after which it is said."""


class _Star:
    """Some ranks, whose first one has a connection to each other one."""

    def __init__(self, ranks: Sequence[int], mine: int, links: Mapping[int, Connection]) -> None:
        self.ranks, self._mine, self._links = ranks, mine, links
        self.leads = mine == ranks[0]

    def gather(self, mine: bytes) -> list[bytes] | None:
        """Every rank's bytes, on the first one."""
        if self.leads:
            return [mine if rank == self._mine else self.receive(rank) for rank in self.ranks]
        self.send(self.ranks[0], mine)
        return None

    def spread(self, data: bytes) -> bytes:
        """The first rank's bytes, on every rank."""
        if not self.leads:
            return self.receive(self.ranks[0])
        for rank in self.ranks[1:]:
            self.send(rank, data)
        return data

    def handed(self, data: bytes, root: int) -> bytes:
        """Bytes of rank `root`, on the first one."""
        if root == self.ranks[0]:
            return data
        if self.leads:
            return self.receive(root)
        if self._mine == root:
            self.send(self.ranks[0], data)
        return b""

    def close(self) -> None:
        for link in self._links.values():
            link.close()

    def send(self, rank: int, data: bytes) -> None:
        try:
            self._links[rank].send_bytes(data)
        except OSError:
            raise _gone(rank) from None

    def receive(self, rank: int) -> bytes:
        try:
            return self._links[rank].recv_bytes(_MOST)
        except (EOFError, OSError):
            raise _gone(rank) from None


class SocketWorld(World):
    """All ranks, joined at the address and by the secret that rendezvous.py finds.

    A rank listens at the join alone; in a job of more than _MAX_LINKED ranks also while a team is made whose
    ranks have no links yet.
    """

    def __init__(
        self,
        place: LaunchedRank,
        environment: Mapping[str, str] | None = None,
        say: Callable[[str], None] | None = None,
        teams: Iterable[Sequence[int]] = (),
    ) -> None:
        """Collective. Raises WirespeedError where a rank does not come, or knows another secret.

        `say`: takes a line about ranks that rank 0 has waited for. `teams`: those that this rank will be of.
        """
        self._say = say
        self.rank, self.size = place.rank, place.size
        self._meeting = meeting(os.environ if environment is None else environment, place)
        self._links: dict[int, Connection] = {}
        self._star = _Star(range(self.size), self.rank, self._links)
        self._distances = [1 << power for power in range((self.size - 1).bit_length())]
        """To the ranks that this one tells of itself in a barrier, one after another."""
        self._hangups = select.poll()
        """Tells which ranks have closed their connections."""
        allow_all_descriptors()
        try:
            self._secret = self._welcome() if self.rank == 0 else self._join()
            self._ranks = self._introduced()
            self._connect(teams if self.size <= _MAX_LINKED else ())
        except BaseException:
            self.close()
            raise

    def _introduced(self) -> list[tuple[str, str]]:
        """Collective. Every rank's host, and the address where others reach it."""
        ranks: Any = self.share(self.gather((host_name(), self._own_address())))
        if isinstance(ranks, str):
            raise wrong(ranks)
        return list(ranks)

    def _welcome(self) -> bytes:
        """Rank 0 waits for all others. The job's secret."""
        meeting = self._meeting
        until = time.monotonic() + meeting.patience
        secret = os.urandom(32).hex().encode() if meeting.own else secret_of(meeting.file)
        address = listening_address(meeting)
        with closing(Listener(address, meeting.port, secret, self.rank)) as listener:
            try:
                if meeting.own:
                    # The port is this job's now, so no other job's file is replaced.
                    make_secret(meeting.file, secret)
                where = f"come to {meeting.address}, port {meeting.port},"
                self._links |= self._come(listener, "join", set(range(1, self.size)), until, where)
                return secret
            finally:
                if meeting.own:
                    with suppress(OSError):
                        meeting.file.unlink()

    def _join(self) -> bytes:
        opened, secret = join(self._meeting, self._claim("join", 0))
        self._links[0] = Connection(opened.detach())
        return secret

    def _claim(self, purpose: str, to: int) -> Claim:
        return Claim(purpose, self.rank, to, self.size)

    def _own_address(self) -> str:
        """Where other ranks reach this one: its end of a connection, preferably not of loopback."""
        own = []
        for link in self._links.values():
            with socket.socket(fileno=os.dup(link.fileno())) as opened:
                own.append(str(opened.getsockname()[0]).removeprefix("::ffff:"))
        return min(own, key=is_loopback, default="")

    def _come(
        self, listener: Listener, purpose: str, missing: set[int], until: float, where: str = "connect"
    ) -> dict[int, Connection]:
        """The connections of these ranks, all of which call this one."""
        links: dict[int, Connection] = {}
        while waited_for := missing - links.keys():
            came = listener.accept(min(until, time.monotonic() + _WORD))
            if came is None and (left := until - time.monotonic()) > 0:
                if self._say:
                    text = f"waiting for {_ranks(sorted(waited_for))} of {self.size} to {where}"
                    self._say(f"{text} for {left:.0f} s more{listener.strangers()}")
                continue
            if came is None:
                waited = format_seconds(self._meeting.patience)
                raise wrong(
                    f"{_ranks(sorted(waited_for))} of {self.size} did not {where} within {waited}"
                    f"{listener.strangers()}"
                )
            claim, opened = came
            if claim != Claim(purpose, claim.rank, self.rank, self.size) or claim.rank not in waited_for:
                why = _refusal(claim, self.size)
                with suppress(OSError), closing(Connection(opened.detach())) as refused:
                    refused.send_bytes(encode(why))
                raise wrong(why)
            links[claim.rank] = Connection(opened.detach())
        return links

    def gather(self, value: Value) -> list[Value] | None:
        all_ = self._star.gather(encode(value))
        return None if all_ is None else [decode(address) for address in all_]

    def share(self, value: Value, root: int = 0) -> Value:
        mine = encode(value) if self.rank == root else b""
        found: Value = decode(self._star.spread(self._star.handed(mine, root)))
        return found

    def everyone(self, value: Value) -> list[Value]:
        all_ = self.gather(value)
        return list(self.share(all_ or []))

    def exchange(self, outgoing: dict[int, list[bytes]]) -> dict[int, list[bytes]]:
        of_ranks = self.gather(outgoing)
        if of_ranks is None:
            return dict(decode(self._star.receive(0)))
        for rank in range(1, self.size):
            self._star.send(rank, encode(_sent_to(rank, of_ranks)))
        return _sent_to(0, of_ranks)

    def barrier(self) -> None:
        self._disseminate(b"", lambda mine, _: mine)

    def maximum(self, value: float) -> float:
        return self._agree("d", float(value), max)

    def minimum(self, value: int) -> int:
        return self._agree("q", int(value), min)

    def _agree(self, code: str, value: Number, pick: Callable[[Number, Number], Number]) -> Number:
        """The value that `pick` prefers of all ranks' values, in messages of 8 bytes."""

        def better(mine: bytes, other: bytes) -> bytes:
            return struct.pack(code, pick(*struct.unpack(code, mine), *struct.unpack(code, other)))

        (agreed,) = struct.unpack(code, self._disseminate(struct.pack(code, value), better))
        found: Number = agreed
        return found

    def _disseminate(self, mine: bytes, combine: Callable[[bytes, bytes], bytes]) -> bytes:
        """Tells ranks further and further on, until each has heard of all, of some more than once."""
        for far in self._distances:
            self._star.send((self.rank + far) % self.size, mine)
            origin = (self.rank - far) % self.size
            if self.rank == 0:
                self._watch_all_until_it_speaks(origin)
            mine = combine(mine, self._star.receive(origin))
        return mine

    def _connect(self, teams: Iterable[Sequence[int]]) -> None:
        """Collective. What barriers and these teams need besides the star."""
        peers = {(self.rank + far) % self.size for far in (*self._distances, *(-d for d in self._distances))}
        self._link(peers.union(*map(self._team_peers, teams)), "barrier")

    def _link(self, peers: set[int], purpose: str) -> None:
        """Collective. Links to these ranks, where there are none; lower ranks first, or all would call."""
        lacking = peers - {*self._links, self.rank}
        come = {peer for peer in lacking if peer > self.rank}
        self._links |= self._linked(purpose, sorted(lacking - come), come)
        for link in self._links.values():
            self._hangups.register(link, select.POLLRDHUP)

    def _linked(self, purpose: str, called: Sequence[int], come: set[int]) -> dict[int, Connection]:
        """Collective. Connections to ranks that this one calls, and of those that call this one."""
        until = time.monotonic() + self._meeting.patience
        listener, why = None, None
        try:
            if come:
                listener = Listener(self._ranks[self.rank][1], 0, self._secret, self.rank)
        except WirespeedError as error:
            why = str(error)
        with closing(listener) if listener else nullcontext():
            places = self.everyone((listener.port if listener else 0, why))
            for rank, (_, refused) in enumerate(places):
                if refused:
                    raise wrong(f"rank {rank}: {refused}")
            links = {}
            for rank in called:
                address, port = self._ranks[rank][1], places[rank][0]
                opened = connect([address], port, self._secret, until, self._claim(purpose, rank))
                links[rank] = Connection(opened.detach())
            return links | (self._come(listener, purpose, come, until) if listener else {})

    def _watch_all_until_it_speaks(self, rank: int) -> None:
        """Rank 0 names the rank that has gone first, not one that ended because of it."""
        speaks = select.poll()
        speaks.register(self._links[rank], select.POLLIN)
        while not speaks.poll(_WATCH_MS):
            if closed := {descriptor for descriptor, _ in self._hangups.poll(0)}:
                raise _gone(next(peer for peer, link in self._links.items() if link.fileno() in closed))

    def neighbours(self) -> int:
        return sum(host == host_name() for host, _ in self._ranks)

    def _team_peers(self, ranks: Sequence[int]) -> set[int]:
        """Ranks of this team that this one has messages for, or from."""
        return set(ranks[1:] if ranks and self.rank == ranks[0] else ranks[:1])

    def of_ranks(self, ranks: Sequence[int]) -> Subworld | None:
        peers = self._team_peers(ranks)
        if self.maximum(float(not peers <= {*self._links})):
            self._link(peers, "team")
        return SocketSubworld(_Star(ranks, self.rank, self._links)) if ranks else None

    def described(self) -> None:
        return None

    def open_mpi(self, core: Core) -> None:
        """There is none; paths that need one say so."""

    def connections(self, peers: Collection[int]) -> dict[int, socket.socket]:
        return connections(self, peers)

    def everyones_bytes(self, mine: memoryview, all_: memoryview) -> None:
        parts = self._star.gather(bytes(mine))
        all_[:] = self._star.spread(b"" if parts is None else b"".join(parts))

    def share_bytes(self, data: memoryview, root: int) -> None:
        data[:] = self._star.spread(self._star.handed(bytes(data), root))

    def leave(self) -> None:
        self.everyone(None)
        self.close()

    def close(self) -> None:
        """The end of this rank's connections. Not collective."""
        self._star.close()


class SocketSubworld:
    """Some of the ranks, over links that are the whole world's."""

    def __init__(self, star: _Star) -> None:
        self._star = star

    def largest(self, values: array[float]) -> array[float]:
        all_ = self._star.gather(values.tobytes())
        if all_ is None:
            return array("d", bytes(8 * len(values)))
        numbers = [array("d", address) for address in all_]
        return array("d", map(max, *numbers)) if len(numbers) > 1 else numbers[0]

    def free(self) -> None:
        """Nothing is held: the links stay."""


def _sent_to(rank: int, of_ranks: Sequence[dict[int, list[bytes]]]) -> dict[int, list[bytes]]:
    """What each rank has for this one; `of_ranks`: what each has, by receiver."""
    return {sender: messages[rank] for sender, messages in enumerate(of_ranks) if rank in messages}


def _refusal(claim: Claim, size: int) -> str:
    if claim.size != size:
        return (
            f"rank {claim.rank} of {claim.size} connected to rank 0 of {size}: the number of ranks "
            "(WORLD_SIZE) must be the same for every rank"
        )
    return (
        f"two ranks say that they are rank {claim.rank} of {size}: give each rank a number (RANK) of its own"
    )


def _gone(rank: int) -> WirespeedError:
    return WirespeedError(f"rank {rank} has closed its connection", ExitCode.FAILED_ENTRY)


def _ranks(numbers: Sequence[int]) -> str:
    some = ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")
    return f"rank {some}" if len(numbers) == 1 else f"ranks {some}"
