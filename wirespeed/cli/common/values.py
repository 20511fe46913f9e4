"""Words of a command line as values: each is checked here, and a bad one gets one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from wirespeed.errors import WirespeedError
from wirespeed.units import parse_rate

Value = TypeVar("Value")


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """The value, if it is one of those allowed."""
    if value not in allowed:
        choices = ", ".join(allowed)
        raise WirespeedError(f"{name} {shown(value)}: there is no such choice; there are: {choices}")
    return value


def named(name: str, value: str, parse: Callable[[str], Value]) -> Value:
    """What `parse` makes of the value; its complaint then begins with the option's name."""
    try:
        return parse(value)
    except WirespeedError as error:
        text = str(error).replace(value, shown(value, quote=False)) if value else str(error)
        raise WirespeedError(f"{name}: {text}") from None
    except ValueError:
        raise WirespeedError(f"{name} {shown(value)}: this is more than any machine has") from None


def number(name: str, value: str) -> float:
    """Seconds above zero, below a day."""
    try:
        seconds = float(value.strip().removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 86400:
        raise WirespeedError(f"{name} {shown(value)}: write seconds, above 0 and below a day, as in 0.5")
    return seconds


def count(name: str, value: str, least: int = 0, most: int = 10_000_000) -> int:
    """A whole number."""
    if not re.fullmatch(r"[0-9]{1,9}", value.strip()) or not least <= int(value) <= most:
        raise WirespeedError(f"{name} {shown(value)}: write a whole number from {least} to {most}")
    return int(value)


def words(name: str, value: str) -> tuple[str, ...]:
    """The words of a list with commas; none may be empty."""
    found = tuple(part.strip() for part in value.split(","))
    if not all(found):
        raise WirespeedError(f"{name} {shown(value)}: write names with commas between them, as in a,b")
    return found


def word(name: str, value: str | None) -> str | None:
    """A word that is not empty, or None."""
    if value is not None and (not value.strip() or "\0" in value):
        raise WirespeedError(f"{name} {shown(value)}: this is no name of a file")
    return value


def path_names(value: str | None) -> tuple[str, ...]:
    """Names of paths and patterns of them, each of which means something; none twice."""
    if value is None:
        return ()
    from wirespeed.job.path_selection import check

    names = words("--paths", value)
    for name in names:
        named("--paths", name, check)
    return tuple(dict.fromkeys(names))


def processors(value: str | None, ranks: int) -> tuple[int, ...]:
    """One processor for each rank."""
    if value is None:
        return ()
    parts = words("--between", value)
    if ranks and len(parts) != ranks:
        example = ",".join(map(str, range(ranks)))
        raise WirespeedError(f"--between {shown(value)}: write one processor for each rank, as in {example}")
    return tuple(count("--between", part, most=999_999) for part in parts)


def host_names(value: str | None) -> tuple[str, ...]:
    """Names of hosts, as a launcher takes them."""
    if value is None:
        return ()
    names = words("--hosts", value)
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9_\[][\w.:%\[\]-]*", name, re.ASCII):
            raise WirespeedError(f"--hosts {shown(name)}: write names of hosts with commas, as in n1,n2")
    return names


def launcher(value: str) -> str:
    """A launcher's name, known here."""
    if value in ("auto", "mpiexec"):
        return value
    from wirespeed.launch import all_launchers

    known = [found.name for found in all_launchers() if found.starts_mpi]
    return one_of("--launcher", value, ["auto", "mpiexec", *known])


TEST_KEYS = (
    *(
        "blocks",
        "by",
        "call",
        "chunk",
        "copy",
        "enqueue",
        "instead",
        "iterations",
        "largest-count",
        "lie",
        "offset",
        "protocol",
    ),
    *("shared", "signal", "slots", "streams", "threads", "transfers-before"),
)


def links(text: str | None) -> tuple[tuple[str, float], ...]:
    """(wire, bytes per second) of 'eth0=25Gbit/s,pcie=32GB/s'. Raises WirespeedError."""
    found = []
    for one in words("--link", text) if text is not None else ():
        name, sign, rate = one.partition("=")
        if not name or not sign:
            raise WirespeedError(f"--link {shown(one)}: write NAME=RATE, as in eth0=25Gbit/s")
        found.append((name, named("--link", rate, parse_rate)))
    return tuple(found)


def test_pairs(values: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """KEY=VALUE pairs for tests and studies: how a transport is to do what it else chooses by itself."""
    pairs = []
    for value in values or ():
        key, sign, rest = value.partition("=")
        if not key or not sign:
            raise WirespeedError(f"--test {shown(value)}: write KEY=VALUE")
        one_of("--test", key, TEST_KEYS)
        pairs.append((key, rest))
    return tuple(pairs)


def shown(value: str, *, quote: bool = True) -> str:
    """The value as a message can carry it: short, and nothing that a terminal would obey."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in value)
    clean = clean if len(clean) <= 60 else f"{clean[:57]}..."
    return f"'{clean}'" if quote else clean
