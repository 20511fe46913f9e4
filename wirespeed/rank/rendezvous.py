"""How ranks that no MPI joined find each other: at an address in the environment, with a secret."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import socket
import stat
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path
from tempfile import gettempdir
from typing import TypeVar

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.launch import LaunchedRank
from wirespeed.units import format_seconds

PATIENCE = 120.0
"""Seconds in which all ranks must have come; WIRESPEED_RENDEZVOUS_TIMEOUT sets it."""
_LOOPBACK = "127.0.0.1"
_ANSWER = 10
"""Seconds for a rank that has come to show that it knows the secret."""
_PORTS = 65536
_HELLO = 4096
"""Bytes of a first message at most."""


class OtherSecret(WirespeedError):
    """Who listens does not know this secret."""


def wrong(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.WRONG_WORLD)


@dataclass(frozen=True)
class Meeting:
    """Where rank 0 listens, and which file's secret shows that a rank belongs to this job."""

    address: str
    port: int
    file: Path
    own: bool
    """A file that rank 0 makes for this job alone."""
    patience: float


def meeting(environment: Mapping[str, str], place: LaunchedRank) -> Meeting:
    """As the environment says. Raises WirespeedError where it says too little."""
    if not 0 <= place.rank < place.size:
        raise wrong(
            f"RANK={place.rank}, WORLD_SIZE={place.size}: ranks are numbered from 0 to {place.size - 1}"
        )
    host, port = environment["MASTER_ADDR"], _number(environment, "WIRESPEED_PORT", None)
    if port is None:
        # The other one is the launcher's own.
        port = _number(environment, "MASTER_PORT", 29500, most=_PORTS - 2) + 1
    seconds = patience(environment)
    if file := environment.get("WIRESPEED_SECRET_FILE"):
        return Meeting(host, port, Path(file), False, seconds)
    if environment.get("LOCAL_WORLD_SIZE") != str(place.size) and not _is_loopback(host):
        raise wrong(
            "ranks on several hosts need a secret: put the same random text into a file on each host, let "
            "its owner alone read it (chmod 600), and name it in WIRESPEED_SECRET_FILE"
        )
    # Not by the parent: a wrapper (timeout, a profiler, a shell) gives each rank another one.
    job = f"{environment.get('TORCHELASTIC_RUN_ID', '')} {port}"
    name = f"wirespeed-{os.getuid()}-{hashlib.sha256(job.encode()).hexdigest()[:16]}.secret"
    return Meeting(_LOOPBACK, port, Path(gettempdir(), name), True, seconds)


def patience(environment: Mapping[str, str]) -> float:
    """Seconds in which all ranks must have come. Raises WirespeedError."""
    return float(_number(environment, "WIRESPEED_RENDEZVOUS_TIMEOUT", int(PATIENCE)))


_T = TypeVar("_T", int, None)


def _number(environment: Mapping[str, str], name: str, otherwise: _T, most: int = _PORTS - 1) -> int | _T:
    word = environment.get(name)
    if word is None:
        return otherwise
    if not word.isdecimal() or not 0 < int(word) <= most:
        raise wrong(f"{name}={word}: write a number from 1 to {most}")
    return int(word)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def secret_of(file: Path) -> bytes:
    """A user's secret. Raises WirespeedError where it is none."""
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            secret = opened.read(4096).strip()
    except OSError as error:
        raise wrong(f"WIRESPEED_SECRET_FILE={file}: {error.strerror}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise wrong(f"WIRESPEED_SECRET_FILE={file}: others may read it; run 'chmod 600 {file}'")
    if len(secret) < 16:
        raise wrong(f"WIRESPEED_SECRET_FILE={file}: write 16 random characters or more into it")
    return secret


def make_secret(file: Path, secret: bytes) -> None:
    """The secret of ranks of one host, in a file that only this user can read. Raises WirespeedError."""
    made = file.with_suffix(f".{os.getpid()}")
    try:
        made.touch(0o600, exist_ok=False)
        made.write_bytes(secret)
        made.rename(file)
    except OSError as error:
        with suppress(OSError):
            made.unlink()
        raise wrong(f"{file}: {error.strerror}; name another folder with TMPDIR, on every rank") from None


def _made_secret(file: Path) -> bytes | None:
    with suppress(OSError), file.open("rb") as opened:
        status = os.fstat(opened.fileno())
        if status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077:
            return opened.read(4096)
    return None


def join(meeting: Meeting, hello: bytes) -> tuple[Connection, bytes]:
    """The connection to rank 0, and the job's secret. Raises WirespeedError."""
    until = time.monotonic() + meeting.patience
    if not meeting.own:
        secret = secret_of(meeting.file)
        return connect(meeting.address, meeting.port, secret, until, hello), secret
    while True:
        if made := _made_secret(meeting.file):
            # A rank 0 that was killed leaves its file: the next one replaces it, once it listens.
            with suppress(OtherSecret):
                return connect(meeting.address, meeting.port, made, until, hello), made
        if time.monotonic() > until:
            waited = format_seconds(meeting.patience)
            raise wrong(f"rank 0 has not come to {meeting.address}, port {meeting.port}, within {waited}")
        time.sleep(0.02)


class Listener:
    """A socket at which other ranks come, each with the secret."""

    def __init__(self, address: str, port: int, secret: bytes) -> None:
        """Port 0: any. Raises WirespeedError where the port is taken."""
        self._secret = secret
        self.refused = 0
        """Who came and did not know the secret, or said nothing."""
        try:
            self._socket = socket.create_server((address, port), backlog=512)
        except OSError as error:
            raise wrong(
                f"port {port} at {address}: {error.strerror}; set WIRESPEED_PORT to a free one, the same on "
                "every rank"
            ) from None

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def accept(self, until: float) -> tuple[bytes, Connection] | None:
        """The next rank's first words, and the connection to it; None when nobody came in time.

        Who does not know the secret is sent away, and another one is waited for.
        """
        while (left := until - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return None
            # Who says nothing must not keep the others waiting.
            _limit(accepted, _ANSWER)
            connection = _connected(accepted)
            try:
                deliver_challenge(connection, self._secret)
                answer_challenge(connection, self._secret)
                hello = connection.recv_bytes(_HELLO)
                _unlimit(connection)
                return hello, connection
            except (AuthenticationError, EOFError, OSError):
                connection.close()
                self.refused += 1
        return None

    def close(self) -> None:
        self._socket.close()


def connect(address: str, port: int, secret: bytes, until: float, hello: bytes) -> Connection:
    """To a listener, which may begin to listen later. Raises WirespeedError."""
    while True:
        try:
            opened = socket.create_connection((address, port), max(until - time.monotonic(), 0.01))
            break
        except OSError as error:
            if time.monotonic() > until:
                raise wrong(f"nobody listens at {address}, port {port}: {error.strerror or error}") from None
            time.sleep(0.05)
    # Another program may listen there, and say nothing.
    _limit(opened, max(1, int(until - time.monotonic())))
    connection = _connected(opened)
    try:
        answer_challenge(connection, secret)
        deliver_challenge(connection, secret)
        connection.send_bytes(hello)
    except (AuthenticationError, AssertionError, EOFError, OSError):
        connection.close()
        raise OtherSecret(
            f"rank 0 at {address}, port {port}, has another secret: WIRESPEED_SECRET_FILE must hold the same "
            "text on every host; or another program listens there",
            ExitCode.WRONG_WORLD,
        ) from None
    _unlimit(connection)
    return connection


def _limit(opened: socket.socket, seconds: int) -> None:
    """How long a read may take; 0: for ever."""
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))


def _unlimit(connection: Connection) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        _limit(same, 0)


def _connected(opened: socket.socket) -> Connection:
    opened.settimeout(None)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Connection(opened.detach())
