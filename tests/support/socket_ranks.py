"""Ranks that no MPI joins, as threads of one process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from wirespeed.errors import WirespeedError
from wirespeed.launchers import LaunchedRank
from wirespeed.rank.join.socket_world import SocketWorld

SECRET = "sixteen random characters"
KEY = SECRET.encode()
Environment = dict[str, str]


def environment_in(folder: Path, timeout: int = 30) -> Environment:
    """As torchrun sets it, with a port that is free and a secret in the folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return {
        "MASTER_ADDR": "127.0.0.1",
        "WIRESPEED_PORT": str(port),
        "WIRESPEED_SECRET_FILE": str(secret_in(folder / "secret", SECRET)),
        "WIRESPEED_RENDEZVOUS_TIMEOUT": str(timeout),
    }


def secret_in(file: Path, text: str) -> Path:
    file.write_text(text)
    file.chmod(0o600)
    return file


def at_once(size: int, does: Callable[[int], Any]) -> list[Any]:
    """What each rank's thread returns."""
    with ThreadPoolExecutor(size) as threads:
        return list(threads.map(does, range(size)))


def place(rank: int, size: int) -> LaunchedRank:
    return LaunchedRank("torchrun", rank, size, rank)


def ranks(
    size: int,
    environment: Environment,
    does: Callable[[SocketWorld], Any],
    of: int | None = None,
    teams: Callable[[int], Iterable[range]] = lambda _: [],
) -> list[Any]:
    """What each rank does in its world; an error as it was raised. `of`: ranks that are expected. `teams`: of
    a rank, as it knows them at the join.
    """

    def one(rank: int) -> Any:
        try:
            with closing(SocketWorld(place(rank, of or size), environment, teams=[*teams(rank)])) as world:
                return does(world)
        except WirespeedError as error:
            return error

    return at_once(size, one)
