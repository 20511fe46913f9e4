"""TCP connections on which two ranks have shown each other that they know the job's secret.

The listener sends a nonce. The rank that connected answers with its claim, a nonce of its own, and an
HMAC-SHA256 of all three under the secret; then the listener sends an HMAC of the same. Who does not know the
secret learns a random number. The bytes that follow are neither encrypted nor signed.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import selectors
import socket
import struct
import time
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from wirespeed.errors import ExitCode, WirespeedError

ANSWER = 1.0
"""Seconds in which a newcomer must have answered."""
_MAX_NEWCOMERS = 128
"""Connections at most that have not answered yet; further ones wait in the kernel's queue."""
_TIME_TO_SPEAK = 0.05
"""Seconds after which a silent newcomer makes room for one in that queue."""
_APART = 0.25
"""Seconds from one address of a rank to the next one, while none answers."""
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
_MAGIC = b"wirespd1"
_NONCE = _MAC = hashlib.sha256().digest_size
_CLAIM = struct.Struct("!16sIII")
_ANSWER_BYTES = len(_MAGIC) + _CLAIM.size + _NONCE + _MAC
_ACCEPTED, _REFUSED = b"\1", b"\0"


class OtherSecret(WirespeedError):
    """Who listens does not know this secret."""


class Claim(NamedTuple):
    """The words of a rank about itself."""

    purpose: str
    rank: int
    to: int
    """The rank that it wants to speak to."""
    size: int
    """Ranks of its job."""

    def packed(self) -> bytes:
        return _CLAIM.pack(self.purpose.encode(), self.rank, self.to, self.size)


def loopback() -> str | None:
    """This host's loopback address, of IPv6 where it has none of IPv4; None where the interface is down."""
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with suppress(OSError), socket.create_server((address, 0), family=family):
            return address
    return None


def wrong(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.WRONG_WORLD)


def out_of_files() -> WirespeedError:
    return wrong(
        "no file descriptor is left for another rank's connection (EMFILE): raise the limit with 'ulimit "
        "-n', or LimitNOFILE= of the service that starts the ranks"
    )


def _mac(secret: bytes, side: bytes, claim: bytes, nonces: bytes) -> bytes:
    return hmac.digest(secret, _MAGIC + side + claim + nonces, "sha256")


@dataclass
class _Newcomer:
    socket: socket.socket
    until: float
    since: float = field(default_factory=time.monotonic)
    nonce: bytes = field(default_factory=lambda: os.urandom(_NONCE))
    said: bytes = b""


class Listener:
    """A socket at which ranks come that know the secret; all newcomers are heard at once."""

    def __init__(self, address: str, port: int, secret: bytes, rank: int) -> None:
        """`address`: numeric; "": all of this host's. Port 0: any. Raises WirespeedError, also for EMFILE."""
        self._secret, self._rank = secret, rank
        self._newcomers: list[_Newcomer] = []
        self._came: deque[tuple[Claim, socket.socket]] = deque()
        self._strangers: Counter[str] = Counter()
        self._paused = False
        both = not address and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both or ":" in address else socket.AF_INET
        try:
            self._socket = socket.create_server(
                (address, port), family=family, backlog=4096, dualstack_ipv6=both
            )
            self._selector = selectors.DefaultSelector()
        except OSError as error:
            if error.errno in _OUT_OF_FILES:
                raise out_of_files() from None
            remedy = "; set WIRESPEED_PORT to a free one, the same on every rank" if port else ""
            raise wrong(f"port {port} of {address or 'this host'}: {error.strerror}{remedy}") from None
        self._socket.setblocking(False)
        self._selector.register(self._socket, selectors.EVENT_READ)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def accept(self, until: float) -> tuple[Claim, socket.socket] | None:
        """The next rank's claim, and the connection to it; None when no rank came in time."""
        while not self._came:
            now = time.monotonic()
            silent = self._oldest_silent() if self._paused else None
            # Its place is for one who waits: a rank that is dismissed comes again.
            if silent and silent.since + _TIME_TO_SPEAK <= now and not self._hear(silent):
                self._dismiss(silent, "said nothing")
            wake = min([until, *(newcomer.until for newcomer in self._newcomers)])
            if self._paused and (silent := self._oldest_silent()):
                wake = min(wake, silent.since + _TIME_TO_SPEAK)
            events = self._selector.select(max(0.0, wake - now))
            for key, _ in events:
                if key.data is None:
                    self._welcome()
                else:
                    self._hear(key.data)
            for newcomer in [late for late in self._newcomers if late.until < now]:
                # Its answer may lie here since this rank last listened.
                if not self._hear(newcomer):
                    self._dismiss(newcomer, "too late" if newcomer.said else "said nothing")
            if not self._came and now >= until:
                return None
        return self._came.popleft()

    def _oldest_silent(self) -> _Newcomer | None:
        return next((newcomer for newcomer in self._newcomers if not newcomer.said), None)

    def strangers(self) -> str:
        """'; of the connections that came, 3 said nothing within 1 s'; empty where all were ranks."""
        words = {
            "said nothing": f"said nothing within {ANSWER:g} s",
            "too late": f"had not finished after {ANSWER:g} s",
            "another secret": "had another secret",
            "another rank": "wanted another rank",
            "another protocol": "spoke another protocol",
        }
        said = [f"{self._strangers[why]} {words[why]}" for why in words if self._strangers[why]]
        return "; of the connections that came, " + ", ".join(said) if said else ""

    def close(self) -> None:
        for newcomer in self._newcomers:
            newcomer.socket.close()
        for _, opened in self._came:
            opened.close()
        self._selector.close()
        self._socket.close()

    def _welcome(self) -> None:
        while len(self._newcomers) < _MAX_NEWCOMERS:
            try:
                accepted, _ = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in _OUT_OF_FILES:
                    return
                if not self._newcomers:
                    raise out_of_files() from None
                # Those who have not answered may give a descriptor back.
                break
            accepted.setblocking(False)
            newcomer = _Newcomer(accepted, time.monotonic() + ANSWER)
            self._newcomers.append(newcomer)
            self._selector.register(accepted, selectors.EVENT_READ, newcomer)
            with suppress(OSError):
                accepted.send(newcomer.nonce)
        self._paused = True
        self._selector.unregister(self._socket)

    def _hear(self, newcomer: _Newcomer) -> bool:
        """Reads what has come. True: the newcomer is none any more, but a rank or a stranger."""
        try:
            said = newcomer.socket.recv(_ANSWER_BYTES - len(newcomer.said))
        except BlockingIOError:
            return False
        except OSError:
            said = b""
        newcomer.said += said
        if not newcomer.said:
            self._dismiss(newcomer, "said nothing")
        elif not said or newcomer.said[: len(_MAGIC)] != _MAGIC[: len(newcomer.said)]:
            self._dismiss(newcomer, "another protocol")
        elif len(newcomer.said) == _ANSWER_BYTES:
            self._judge(newcomer)
        else:
            return False
        return True

    def _judge(self, newcomer: _Newcomer) -> None:
        claim = newcomer.said[len(_MAGIC) :][: _CLAIM.size]
        nonce, mac = newcomer.said[-_NONCE - _MAC : -_MAC], newcomer.said[-_MAC:]
        nonces = newcomer.nonce + nonce
        if not hmac.compare_digest(mac, _mac(self._secret, b"caller", claim, nonces)):
            with suppress(OSError):
                newcomer.socket.send(_REFUSED + bytes(_MAC))
            self._dismiss(newcomer, "another secret")
            return
        purpose, rank, to, size = _CLAIM.unpack(claim)
        if to != self._rank:
            # An address may be several hosts' (of a bridge, say), where another rank has the port.
            self._dismiss(newcomer, "another rank")
            return
        try:
            newcomer.socket.send(_ACCEPTED + _mac(self._secret, b"listener", claim, nonces))
        except OSError:
            self._dismiss(newcomer, "too late")
            return
        self._forget(newcomer)
        words = Claim(purpose.rstrip(b"\0").decode(), rank, to, size)
        self._came.append((words, _ready(newcomer.socket)))

    def _dismiss(self, newcomer: _Newcomer, why: str) -> None:
        self._forget(newcomer)
        newcomer.socket.close()
        self._strangers[why] += 1

    def _forget(self, newcomer: _Newcomer) -> None:
        self._newcomers.remove(newcomer)
        self._selector.unregister(newcomer.socket)
        if self._paused:
            self._paused = False
            self._selector.register(self._socket, selectors.EVENT_READ)


def connect(addresses: Sequence[str], port: int, secret: bytes, until: float, claim: Claim) -> socket.socket:
    """A connection to a rank, which may begin to listen later, at its first address (or name) that answers.

    Raises WirespeedError.
    """
    found: dict[str, WirespeedError] = {}
    """What was wrong, by address."""
    left = list(addresses)
    while True:
        with closing(_answering(left, port, until)) as attempts:
            for address, opened in attempts:
                where = f"{address}, port {port}"
                if isinstance(opened, OSError):
                    found[address] = wrong(f"nobody listens at {where}: {opened.strerror or opened}")
                    continue
                try:
                    _introduce(opened, secret, until, claim)
                    return _ready(opened)
                except OtherSecret as error:
                    left = [other for other in left if other != address]
                    found[address] = OtherSecret(f"{where}: {error}", ExitCode.WRONG_WORLD)
                except OSError:
                    # A busy rank may have answered too late for the listener: it comes again.
                    found[address] = _another_program(where, claim)
                opened.close()
        if not left or time.monotonic() > until:
            break
        time.sleep(0.05)
    if len(found) == 1:
        raise next(iter(found.values()))
    raise wrong(f"rank {claim.to} does not answer: {'; '.join(map(str, found.values()))}")


def _another_program(where: str, claim: Claim) -> OtherSecret:
    text = f"what listens at {where} does not answer as rank {claim.to} does: another program listens there"
    return OtherSecret(text, ExitCode.WRONG_WORLD)


def _answering(
    addresses: Sequence[str], port: int, until: float
) -> Generator[tuple[str, socket.socket | OSError], None, None]:
    """Connections to the same rank, each once the other end has spoken; or why there is none.

    Each begins a little after the one before it, or as soon as that has failed, so that an address at which
    nobody answers delays little (RFC 8305).
    """
    places: deque[tuple[str, socket.AddressFamily, tuple[object, ...]]] = deque()
    for address in addresses:
        try:
            known = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)
            places.extend((address, family, place) for family, _, _, _, place in known)
        except OSError as error:
            yield address, error
    following = 0.0
    with selectors.DefaultSelector() as selector:
        waiting = selector.get_map()
        try:
            while places or waiting:
                now = time.monotonic()
                if places and (now >= following or not waiting):
                    address, family, place = places.popleft()
                    try:
                        opened = socket.socket(family, socket.SOCK_STREAM)
                    except OSError as error:
                        if error.errno in _OUT_OF_FILES:
                            raise out_of_files() from None
                        yield address, error
                        continue
                    opened.setblocking(False)
                    if (failed := opened.connect_ex(place)) not in (0, errno.EINPROGRESS):
                        opened.close()
                        yield address, OSError(failed, os.strerror(failed))
                        continue
                    selector.register(opened, selectors.EVENT_WRITE, (address, opened))
                    following = now + _APART
                elif now > until:
                    break
                wake = min(following, until) if places else until
                for key, _ in selector.select(max(0.0, wake - now)):
                    address, opened = key.data
                    connecting = key.events == selectors.EVENT_WRITE
                    failed = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if connecting else 0
                    if connecting and not failed:
                        selector.modify(opened, selectors.EVENT_READ, key.data)
                        continue
                    selector.unregister(opened)
                    following = 0.0
                    if failed:
                        opened.close()
                    yield address, OSError(failed, os.strerror(failed)) if failed else opened
            for key in list(waiting.values()):
                address, opened = key.data
                selector.unregister(opened)
                if key.events == selectors.EVENT_READ:
                    yield address, opened
                else:
                    opened.close()
                    yield address, TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        finally:
            for key in waiting.values():
                key.data[1].close()


def _introduce(opened: socket.socket, secret: bytes, until: float, claim: Claim) -> None:
    theirs = _receive(opened, _NONCE, min(until, time.monotonic() + ANSWER))
    nonces = theirs + os.urandom(_NONCE)
    packed = claim.packed()
    opened.sendall(_MAGIC + packed + nonces[_NONCE:] + _mac(secret, b"caller", packed, nonces))
    verdict = _receive(opened, 1 + _MAC, until)
    if verdict[:1] == _REFUSED:
        raise OtherSecret(
            f"rank {claim.to} has another secret: WIRESPEED_SECRET_FILE must hold the same text on every "
            "host",
            ExitCode.WRONG_WORLD,
        )
    if not hmac.compare_digest(verdict[1:], _mac(secret, b"listener", packed, nonces)):
        raise OtherSecret(
            f"it does not answer as rank {claim.to} does: another program listens there", ExitCode.WRONG_WORLD
        )


def _receive(opened: socket.socket, size: int, until: float) -> bytes:
    data = b""
    while len(data) < size:
        opened.settimeout(max(until - time.monotonic(), 0.01))
        if not (part := opened.recv(size - len(data))):
            raise ConnectionResetError(errno.ECONNRESET, "closed before it had answered")
        data += part
    return data


def _ready(opened: socket.socket) -> socket.socket:
    opened.settimeout(None)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened
