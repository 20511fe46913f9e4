"""Rendezvous of ranks that no MPI joined: at an address in the environment, with a secret."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import resource
import socket
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import TypeVar

from wirespeed.host import private_folder
from wirespeed.launchers import LaunchedRank
from wirespeed.rank.join.handshake import Claim, OtherSecret, connect, loopback, wrong
from wirespeed.units import format_seconds

PATIENCE = 120.0
"""Seconds in which all ranks must have come; WIRESPEED_RENDEZVOUS_TIMEOUT sets it."""
_PORTS = 65536


@dataclass(frozen=True)
class Meeting:
    """Address at which rank 0 listens, and the file whose secret shows that a rank belongs to this job."""

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
    # An IPv6 address may be in brackets, as in torchrun's --rdzv-endpoint.
    host = environment["MASTER_ADDR"].removeprefix("[").removesuffix("]")
    port = _number(environment, "WIRESPEED_PORT", None)
    if port is None:
        # The other one is the launcher's own.
        port = _number(environment, "MASTER_PORT", 29500, most=_PORTS - 2) + 1
    seconds = patience(environment)
    if file := environment.get("WIRESPEED_SECRET_FILE"):
        return Meeting(host, port, Path(file), False, seconds)
    if environment.get("LOCAL_WORLD_SIZE") != str(place.size) and not is_loopback(host):
        raise wrong(
            "ranks on several hosts need a secret: put the same random text into a file on each host, let "
            "its owner alone read it (chmod 600), and name it in WIRESPEED_SECRET_FILE"
        )
    # Not by the parent: a wrapper (timeout, a profiler, a shell) gives each rank another one.
    job = f"{environment.get('TORCHELASTIC_RUN_ID', '')} {port}"
    name = f"{hashlib.sha256(job.encode()).hexdigest()[:16]}.secret"
    address = host if is_loopback(host) else loopback() or host
    return Meeting(address, port, _folder_of_secrets() / name, True, seconds)


def _folder_of_secrets() -> Path:
    """The same for all ranks of this host, which cannot tell each other yet. Raises WirespeedError."""
    for place in (Path(gettempdir()), private_folder.SHARED_MEMORY):
        with suppress(OSError):
            return private_folder.make(place / f"wirespeed-{os.geteuid()}")
    raise wrong(
        f"{gettempdir()} and {private_folder.SHARED_MEMORY} have no folder that belongs to this user alone: "
        "name another folder with TMPDIR, on every rank"
    )


def patience(environment: Mapping[str, str]) -> float:
    """Seconds in which all ranks must have come. Raises WirespeedError."""
    return float(_number(environment, "WIRESPEED_RENDEZVOUS_TIMEOUT", int(PATIENCE)))


_T = TypeVar("_T", int, None)


def _number(environment: Mapping[str, str], name: str, otherwise: _T, most: int = _PORTS - 1) -> int | _T:
    word = environment.get(name)
    if word is None:
        return otherwise
    # Of more digits than Python takes no number is made.
    if not word.isdecimal() or len(word) > 9 or not 0 < int(word) <= most:
        raise wrong(f"{name}={word[:60]}: write a number from 1 to {most}")
    return int(word)


def is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def secret_of(file: Path) -> bytes:
    """A user's secret. Raises WirespeedError where it is none."""
    try:
        # A pipe that nobody writes to would block.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            state = os.fstat(opened.fileno())
            secret = opened.read(4096).strip() if stat.S_ISREG(state.st_mode) else None
    except OSError as error:
        raise wrong(f"WIRESPEED_SECRET_FILE={file}: {error.strerror}") from None
    if secret is None:
        raise wrong(f"WIRESPEED_SECRET_FILE={file}: it is no regular file")
    if state.st_uid not in (os.geteuid(), 0):
        raise wrong(f"WIRESPEED_SECRET_FILE={file}: it belongs to another user, who knows it; write your own")
    if stat.S_IMODE(state.st_mode) & 0o077:
        raise wrong(f"WIRESPEED_SECRET_FILE={file}: others may read it; run 'chmod 600 {file}'")
    if len(secret) < 16:
        raise wrong(f"WIRESPEED_SECRET_FILE={file}: write 16 random characters or more into it")
    return secret


def make_secret(file: Path, secret: bytes) -> None:
    """The secret of ranks of one host, in a file that only this user can read. Raises WirespeedError."""
    made = file.with_suffix(f".{os.getpid()}")
    try:
        with os.fdopen(private_folder.create(file.parent, made.name), "wb") as opened:
            opened.write(secret)
        made.rename(file)
    except OSError as error:
        with suppress(OSError):
            made.unlink()
        raise wrong(f"{file}: {error.strerror}; name another folder with TMPDIR, on every rank") from None


def _made_secret(file: Path) -> bytes | None:
    with suppress(OSError), private_folder.opened(file.parent), file.open("rb") as opened:
        return opened.read(4096)
    return None


def listening_address(meeting: Meeting) -> str:
    """The numeric address of this host that was named; "" (all) for a service's, which leads here."""
    with suppress(OSError):
        for family, _, _, _, place in socket.getaddrinfo(meeting.address, None, type=socket.SOCK_STREAM):
            address = str(place[0])
            # Some hosts have their own name lead to loopback, where no other host comes.
            if is_loopback(address) and not is_loopback(meeting.address):
                continue
            with suppress(OSError), socket.create_server((address, 0), family=family):
                return address
    return ""


def allow_all_descriptors() -> None:
    """Raises the limit of this process's files as far as it may: rank 0 has one for each other rank."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def join(meeting: Meeting, claim: Claim) -> tuple[socket.socket, bytes]:
    """The connection to rank 0, and the job's secret. Raises WirespeedError."""
    until = time.monotonic() + meeting.patience
    if not meeting.own:
        secret = secret_of(meeting.file)
        return connect([meeting.address], meeting.port, secret, until, claim), secret
    while True:
        if made := _made_secret(meeting.file):
            # A rank 0 that was killed leaves its file: the next one replaces it, once it listens.
            with suppress(OtherSecret):
                return connect([meeting.address], meeting.port, made, until, claim), made
        if time.monotonic() > until:
            waited = format_seconds(meeting.patience)
            raise wrong(f"rank 0 has not come to {meeting.address}, port {meeting.port}, within {waited}")
        time.sleep(0.02)
