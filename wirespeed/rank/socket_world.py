"""The ranks' world where no MPI joined them: connections in a star round the first rank.

Ranks tell each other bytes and JSON, after both have shown that they know the job's secret. Nothing that is
timed goes this way.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.core import Core
from wirespeed.job.messages import Message
from wirespeed.launch import LaunchedRank
from wirespeed.rank.plain_values import decode, encode
from wirespeed.rank.rendezvous import (
    Listener,
    Meeting,
    connect,
    join,
    make_secret,
    meeting,
    secret_of,
    wrong,
)
from wirespeed.rank.world import Subworld, World
from wirespeed.units import format_seconds

_LOOPBACK = "127.0.0.1"
_MOST = 1 << 28
"""Bytes of a message at most."""


class _Star:
    """Some ranks, whose first one has a connection to each other one."""

    def __init__(self, ranks: Sequence[int], mine: int, links: Mapping[int, Connection]) -> None:
        self.ranks, self._mine, self._links = ranks, mine, links
        self.leads = mine == ranks[0]

    def gather(self, mine: bytes) -> list[bytes] | None:
        """Every rank's bytes, on the first one."""
        if self.leads:
            return [mine if rank == self._mine else self._from(rank) for rank in self.ranks]
        self._to(self.ranks[0], mine)
        return None

    def spread(self, data: bytes) -> bytes:
        """The first rank's bytes, on every rank."""
        if not self.leads:
            return self._from(self.ranks[0])
        for rank in self.ranks[1:]:
            self._to(rank, data)
        return data

    def handed(self, data: bytes, root: int) -> bytes:
        """Bytes of rank `root`, on the first one."""
        if root == self.ranks[0]:
            return data
        if self.leads:
            return self._from(root)
        if self._mine == root:
            self._to(self.ranks[0], data)
        return b""

    def close(self) -> None:
        for link in self._links.values():
            link.close()

    def _to(self, rank: int, data: bytes) -> None:
        try:
            self._links[rank].send_bytes(data)
        except OSError:
            raise self._gone(rank) from None

    def _from(self, rank: int) -> bytes:
        try:
            return self._links[rank].recv_bytes(_MOST)
        except (EOFError, OSError):
            raise self._gone(rank) from None

    @staticmethod
    def _gone(rank: int) -> WirespeedError:
        text = f"rank {rank} has gone: its connection is closed"
        return WirespeedError(text, ExitCode.FAILED_ENTRY)


class SocketWorld(World):
    """All ranks, joined at the address and by the secret that rendezvous.py finds."""

    def __init__(self, place: LaunchedRank, environment: Mapping[str, str] | None = None) -> None:
        """Collective. Raises WirespeedError where a rank does not come, or knows another secret."""
        self.rank, self.size = place.rank, place.size
        self._meeting = meeting(os.environ if environment is None else environment, place)
        self._early: dict[tuple[str, int], list[Connection]] = {}
        """Connections of smaller worlds that this rank has not asked for yet, in the order they came."""
        self._links: dict[int, Connection] = {}
        self._star = _Star(range(self.size), self.rank, self._links)
        self._inner: Listener | None = None
        try:
            self._secret = self._welcome() if self.rank == 0 else self._join()
            self._inner = Listener("" if self._far() else _LOOPBACK, 0, self._secret)
            own = os.uname().nodename, self._own_address(), self._inner.port
            self._ranks: list[tuple[str, str, int]] = self.everyone(own)
        except BaseException:
            self.close()
            raise

    def _far(self) -> bool:
        """May ranks be on other hosts?"""
        return self._meeting.address != _LOOPBACK

    def _welcome(self) -> bytes:
        """Rank 0 waits for all others. The job's secret."""
        found, meeting = self._links, self._meeting
        until = time.monotonic() + meeting.patience
        secret = os.urandom(32).hex().encode() if meeting.own else secret_of(meeting.file)
        listener = Listener(_bindable(meeting), meeting.port, secret)
        try:
            if meeting.own:
                # The port is this job's now, so no other job's file is replaced.
                make_secret(meeting.file, secret)
            while len(found) < self.size - 1:
                if (came := listener.accept(until)) is None:
                    others = f"; {listener.refused} had another secret" if listener.refused else ""
                    missing = [rank for rank in range(1, self.size) if rank not in found]
                    raise wrong(
                        f"{_ranks(missing)} of {self.size} did not come to {meeting.address}, port "
                        f"{meeting.port}, within {format_seconds(meeting.patience)}{others}"
                    )
                hello, connection = came
                rank, size = decode(hello)
                if size != self.size or rank in found or not 0 < rank < self.size:
                    raise wrong(f"a rank {rank} of {size} came to a job of {self.size}")
                found[rank] = connection
            return secret
        finally:
            if meeting.own:
                with suppress(OSError):
                    meeting.file.unlink()
            listener.close()

    def _join(self) -> bytes:
        self._links[0], secret = join(self._meeting, encode((self.rank, self.size)))
        return secret

    def _own_address(self) -> str:
        """Where other ranks reach this one: where it reaches rank 0 from."""
        if not self._far() or self.rank == 0:
            return self._meeting.address
        with socket.socket(fileno=os.dup(self._links[0].fileno())) as opened:
            return str(opened.getsockname()[0])

    def gather(self, value: Any) -> list[Any] | None:
        all_ = self._star.gather(encode(value))
        return None if all_ is None else [decode(one) for one in all_]

    def share(self, value: Any, root: int = 0) -> Any:
        mine = encode(value) if self.rank == root else b""
        return decode(self._star.spread(self._star.handed(mine, root)))

    def everyone(self, value: Any) -> list[Any]:
        all_ = self.gather(value)
        return list(self.share(all_))

    def barrier(self) -> None:
        self._star.gather(b"")
        self._star.spread(b"")

    def neighbours(self) -> int:
        return sum(host == os.uname().nodename for host, _, _ in self._ranks)

    def of_ranks(self, ranks: Sequence[int]) -> Subworld:
        assert self._inner
        # A digest: the names of a thousand ranks are more than a first message may hold.
        name, lead = hashlib.sha256(",".join(map(str, ranks)).encode()).hexdigest(), ranks[0]
        until = time.monotonic() + self._meeting.patience
        if self.rank != lead:
            _, address, port = self._ranks[lead]
            hello = encode((name, self.rank))
            link = connect(address, port, self._secret, until, hello)
            return SocketSubworld(_Star(ranks, self.rank, {lead: link}))
        links: dict[int, Connection] = {}
        for rank in ranks[1:]:
            while not self._early.get((name, rank)):
                if (came := self._inner.accept(until)) is None:
                    raise wrong(f"rank {rank} did not come within {format_seconds(self._meeting.patience)}")
                self._early.setdefault(decode(came[0]), []).append(came[1])
            links[rank] = self._early[name, rank].pop(0)
        return SocketSubworld(_Star(ranks, self.rank, links))

    def described(self) -> Message | None:
        return None

    def open_mpi(self, core: Core) -> None:
        """There is none; paths that need one say so."""

    def everyones_bytes(self, mine: memoryview, all_: memoryview) -> None:
        parts = self._star.gather(bytes(mine))
        all_[:] = self._star.spread(b"" if parts is None else b"".join(parts))

    def share_bytes(self, data: memoryview, root: int) -> None:
        data[:] = self._star.spread(self._star.handed(bytes(data), root))

    def leave(self) -> None:
        self.barrier()
        self.close()

    def close(self) -> None:
        """The end of this rank's connections. Not collective."""
        if self._inner:
            self._inner.close()
        self._star.close()


class SocketSubworld:
    """Some of the ranks."""

    def __init__(self, star: _Star) -> None:
        self._star = star

    def largest(self, values: array[float]) -> array[float]:
        all_ = self._star.gather(values.tobytes())
        if all_ is None:
            return array("d", bytes(8 * len(values)))
        numbers = [array("d", one) for one in all_]
        return array("d", map(max, *numbers)) if len(numbers) > 1 else numbers[0]

    def free(self) -> None:
        self._star.close()


def _bindable(meeting: Meeting) -> str:
    """The address itself where it is this host's, as a service's is not; else all of this host's."""
    try:
        with socket.create_server((meeting.address, 0)):
            return meeting.address
    except OSError:
        return ""


def _ranks(numbers: Sequence[int]) -> str:
    some = ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")
    return f"rank {some}" if len(numbers) == 1 else f"ranks {some}"
