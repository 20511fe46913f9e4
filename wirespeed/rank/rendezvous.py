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

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.launch import LaunchedRank
from wirespeed.units import format_seconds

PATIENCE = 120.0
"""Seconds in which all ranks must have come; WIRESPEED_RENDEZVOUS_TIMEOUT sets it."""
_LOOPBACK = "127.0.0.1"
_ANSWER = 10
"""Seconds for a rank that has come to show that it knows the secret."""
_HELLO = 4096
"""Bytes of a first message at most."""


def wrong(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.WRONG_WORLD)


@dataclass(frozen=True)
class Meeting:
    """Where rank 0 listens, and what shows that a rank belongs to this job."""

    address: str
    port: int
    secret: bytes
    patience: float


def meeting(environment: Mapping[str, str], place: LaunchedRank) -> Meeting:
    """As the environment says. Raises WirespeedError where it says too little, or a secret is none."""
    host, port = environment["MASTER_ADDR"], _number(environment, "WIRESPEED_PORT", None)
    if port is None:
        # The other one is the launcher's own.
        port = _number(environment, "MASTER_PORT", 29500) + 1
    patience = float(_number(environment, "WIRESPEED_RENDEZVOUS_TIMEOUT", int(PATIENCE)))
    if file := environment.get("WIRESPEED_SECRET_FILE"):
        return Meeting(host, port, _secret_of(Path(file)), patience)
    if environment.get("LOCAL_WORLD_SIZE") != str(place.size) and not _is_loopback(host):
        raise wrong(
            "ranks on several hosts need a secret: put the same random text into a file on each host, let "
            "its owner alone read it (chmod 600), and name it in WIRESPEED_SECRET_FILE"
        )
    own = _own_secret(environment, port, place.rank == 0, patience)
    return Meeting(_LOOPBACK, port, own, patience)


def _number(environment: Mapping[str, str], name: str, otherwise: int | None) -> int:
    word = environment.get(name)
    if word is None:
        return otherwise  # type: ignore[return-value]
    if not word.isdecimal() or not 0 < int(word) < 65536:
        raise wrong(f"{name}={word}: write a number from 1 to 65535")
    return int(word)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _secret_of(file: Path) -> bytes:
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


def _own_secret(environment: Mapping[str, str], port: int, makes: bool, patience: float) -> bytes:
    """The secret of ranks of one host, in a file that rank 0 makes, and only this user can read."""
    job = f"{os.getppid()} {environment.get('TORCHELASTIC_RUN_ID', '')} {port}"
    name = f"wirespeed-{os.getuid()}-{hashlib.sha256(job.encode()).hexdigest()[:16]}.secret"
    file = Path(gettempdir(), name)
    if makes:
        file.unlink(missing_ok=True)
        made = file.with_suffix(f".{os.getpid()}")
        secret = os.urandom(32).hex().encode()
        made.touch(0o600, exist_ok=False)
        made.write_bytes(secret)
        made.rename(file)
        return secret
    until = time.monotonic() + patience
    while True:
        with suppress(OSError), file.open("rb") as opened:
            status = os.fstat(opened.fileno())
            if status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077:
                return opened.read(4096)
        if time.monotonic() > until:
            raise wrong(f"rank 0 has not come within {format_seconds(patience)}: {file} is missing")
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
                with socket.socket(fileno=os.dup(connection.fileno())) as same:
                    _limit(same, 0)
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
    connection = _connected(opened)
    try:
        answer_challenge(connection, secret)
        deliver_challenge(connection, secret)
    except (AuthenticationError, EOFError, OSError):
        connection.close()
        raise wrong(
            f"rank 0 at {address}, port {port}, has another secret: WIRESPEED_SECRET_FILE must hold the same "
            "text on every host"
        ) from None
    connection.send_bytes(hello)
    return connection


def _limit(opened: socket.socket, seconds: int) -> None:
    """How long a read may take; 0: for ever."""
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))


def _connected(opened: socket.socket) -> Connection:
    opened.settimeout(None)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Connection(opened.detach())
