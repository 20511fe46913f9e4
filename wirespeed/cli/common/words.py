"""Types of words on the command line: each reads a word, and says in one line why it is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from wirespeed.errors import WirespeedError
from wirespeed.host.profilers import PROFILERS
from wirespeed.job.plan import ALLOCATORS, CONTEXTS
from wirespeed.units import parse_rate, parse_share, parse_size, parse_sizes, parse_time


def _written(param: click.Parameter | None, ctx: click.Context | None) -> str | None:
    """Name of the option, or of the variable that gives its value; None: it is no option."""
    if not isinstance(param, click.Option):
        return None
    if ctx and ctx.get_parameter_source(param.name or "") is ParameterSource.ENVIRONMENT:
        variables = [param.envvar] if isinstance(param.envvar, str) else param.envvar or ()
        return next(filter(os.environ.get, variables), param.opts[0])
    return param.opts[0]


class Word(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3
    """A word that `parse` reads.

    Its ValueError says what is allowed; a WirespeedError of it names the word as well.
    """

    def __init__(
        self, metavar: str, parse: Callable[[str], Any], known: Callable[[], Iterable[str]] = tuple
    ) -> None:
        """`known`: words that a shell can offer."""
        self.name = metavar
        self.parse = parse
        self.known = known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The words that the last one of several can become."""
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(before + comma + name) for name in self.known() if name.startswith(last)]

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Raises WirespeedError, in one line that begins with the option's name, or its variable's."""
        if not isinstance(value, str):
            return value
        name = _written(param, ctx) or self.name
        try:
            return self.read(value)
        except ValueError as error:
            raise WirespeedError(f"{name} {shown(value)}: {error}") from None
        except WirespeedError as error:
            text = str(error)
            raise WirespeedError(text if text.startswith(f"{name} ") else f"{name}: {text}") from None

    def read(self, word: str) -> Any:
        """The value that `parse` makes of it; where it complains about the word, the word is fit to be
        printed.
        """
        try:
            return self.parse(word)
        except WirespeedError as error:
            text = str(error)
            raise WirespeedError(text.replace(word, shown(word, quote=False)) if word else text) from None


def shown(value: str, *, quote: bool = True) -> str:
    """The value as a message can carry it: short, and nothing that a terminal would obey."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in value)
    clean = clean if len(clean) <= 60 else f"{clean[:57]}..."
    return f"'{clean}'" if quote else clean


def choice(*allowed: str) -> Word:
    """One of those allowed."""

    def parse(word: str) -> str:
        if word not in allowed:
            raise ValueError(f"there is no such choice; there are: {', '.join(allowed)}")
        return word

    return Word("|".join(allowed), parse, lambda: allowed)


def count(least: int = 0, most: int = 10_000_000) -> Word:
    """A whole number."""

    def parse(word: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", word.strip()) or not least <= int(word) <= most:
            raise ValueError(f"write a whole number from {least} to {most}")
        return int(word)

    return Word("N", parse)


def matching(pattern: str, allowed: str) -> Callable[[str], str]:
    """Reads a word of ASCII as it is, if it looks so; `allowed`: what a wrong one is told."""

    def parse(word: str) -> str:
        if not re.fullmatch(pattern, word, re.ASCII):
            raise ValueError(allowed)
        return word

    return parse


def several(one: Word, metavar: str | None = None) -> Word:
    """A tuple of words with commas between them."""

    def parse(text: str) -> tuple[Any, ...]:
        words = [word.strip() for word in text.split(",")]
        if not all(words):
            raise ValueError("write words with commas between them, as in a,b")
        return tuple(map(one.read, words))

    return Word(metavar or f"{one.name},...", parse, one.known)


def _seconds(word: str) -> float:
    """Above zero, below a day."""
    if not (seconds := parse_time(word)):
        raise ValueError("write a time above 0 and below a day, as in 0.5, 30s, 5m or 1h")
    return seconds


def _bound(word: str) -> float:
    """0: none."""
    try:
        return parse_time(word)
    except ValueError as why:
        raise ValueError(f"{why}; 0: none") from None


def _sizes(word: str) -> tuple[int, ...]:
    try:
        return parse_sizes(word)
    except ValueError:
        # Python reads no whole number of thousands of digits.
        raise ValueError("value out of range: at most 16T") from None


def _norm(word: str) -> str:
    """A norm, kept as it was written."""
    number = re.fullmatch(r"[0-9]*\.?[0-9]+(e[+-]?[0-9]{1,3})?", word.strip().lower())
    if not number or not 0 < float(number[0]) < 1e9:
        raise ValueError("write a number above 0, as in 1e-4")
    return number[0]


def _grid(word: str) -> str:
    """Width and height, each up to 16 million."""
    sides = re.fullmatch(r"([0-9]{1,8})x([0-9]{1,8})", word.strip().lower())
    if not sides or not all(0 < int(side) <= 1 << 24 for side in sides.groups()):
        raise ValueError("write width and height in points, as in 4096x2048")
    return "x".join(str(int(side)) for side in sides.groups())


def _device(word: str) -> str:
    """A kind of device, or devices of one kind: 'cuda:GPU-3f,cuda:GPU-8a' of 'cuda:GPU-3f,GPU-8a' as well."""
    from wirespeed.host.devices import CHOICES, NAMED

    kind, sign, _ = word.partition(":")
    if not sign:
        return str(choice(*CHOICES).parse(word))
    if kind not in NAMED:
        raise ValueError("write devices as in cuda:GPU-3f2a,cuda:GPU-8a01, all of one kind")
    names = [name.strip().removeprefix(f"{kind}:") for name in word.split(",")]
    if not all(re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z./-]{0,99}", name) for name in names):
        raise ValueError("write devices as in cuda:GPU-3f2a,cuda:GPU-8a01, all of one kind")
    if len(set(names)) < len(names):
        raise ValueError("name each device once; --ranks-per-gpu lets several ranks share it")
    return ",".join(f"{kind}:{name}" for name in names)


def _file(word: str) -> str:
    if not word.strip() or "\0" in word:
        raise ValueError("this is no name of a file")
    if len(os.fsencode(word)) >= 4096 or any(len(os.fsencode(part)) > 255 for part in word.split("/")):
        raise ValueError("this is too long for the name of a file")
    if word == "-":
        raise ValueError("this is no name of a file; './-' means one that is called so")
    return word


def _paths(text: str) -> tuple[str, ...]:
    """Names of paths and patterns of names, each of which means something; none twice."""
    from wirespeed.job.path_selection import check

    def parse(word: str) -> str:
        check(word)
        return word

    return tuple(dict.fromkeys(several(Word("NAME", parse)).parse(text)))


def _path_names() -> list[str]:
    from wirespeed.paths import all_paths

    return [path.name for path in all_paths()]


class File(Word):
    """The shell knows what files there are."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


def _launcher(word: str) -> str:
    from wirespeed.launchers import all_launchers

    known = [found.name for found in all_launchers() if found.starts_mpi]
    return str(choice("auto", "mpiexec", *known).parse(word))


def _link(word: str) -> tuple[str, float]:
    """(wire, bytes per second)."""
    name, sign, rate = word.partition("=")
    if not name or not sign:
        raise ValueError("write NAME=RATE, as in eth0=25Gbit/s")
    return name, Word("RATE", parse_rate).read(rate)


def _known_link(word: str) -> tuple[str, float]:
    from wirespeed.limits.named import parse_link

    return parse_link(word)


def _name(word: str) -> str:
    if not word.strip() or not word.isprintable() or len(word) > 100:
        raise ValueError("write a name, as in H100")
    return word.strip()


def _part(word: str) -> float:
    share = parse_share(word)
    if not 0 <= share < 1:
        raise ValueError("write a share from 0 to below 1, as in 1% or 0.01")
    return share


def _pairs(word: str) -> str:
    from wirespeed.patterns.pairing import parsed

    parsed(word)
    return word


def _kv(word: str) -> str:
    from wirespeed.patterns.kv_models import parsed

    parsed(word)
    return word.strip().lower()


def _models() -> Iterable[str]:
    from wirespeed.patterns.kv_models import MODELS

    return MODELS


def _size(word: str) -> int:
    """One that is something."""
    if not (size := parse_size(word)):
        raise ValueError("write a size above 0, as in 64K")
    return size


TEST_KEYS = (
    *("addend", "apart", "blocks", "by", "call", "chunk", "clock", "conduit", "copy", "enqueue", "fault"),
    *("instead", "late", "iterations", "largest-count", "offset", "protocol", "share", "shared", "signal"),
    *("slots", "soak-every", "start", "streams", "threads", "transfers-before", "wrong-link"),
)


def _test(word: str) -> tuple[str, str]:
    """For tests and studies: how a transport is to do what it chooses by itself otherwise."""
    key, sign, rest = word.partition("=")
    if not key or not sign:
        raise ValueError("write KEY=VALUE")
    name, at, path = key.partition("@")
    return str(choice(*TEST_KEYS).parse(name)) + at + path, rest


CORES = several(count(most=999_999), "I,J")
ANY_FILE = File("FILE", str)
"""A file, of which the command says itself what is wrong."""
ALLOCATOR = choice(*ALLOCATORS)
CONTEXT = choice(*CONTEXTS)
DEVICE = Word("KIND[:GPU,...]", _device)
FILE = File("FILE", _file)
GRID = Word("WxH", _grid)
_host = matching(r"[A-Za-z0-9_\[][\w.:%\[\]-]*", "write names of hosts with commas, as in n1,n2")
HOSTS = several(Word("NAME", _host))
KV = Word("MODEL", _kv, _models)
KNOWN_LINKS = several(Word("LINK", _known_link))
LAUNCHER = Word("NAME", _launcher)
LINKS = several(Word("NAME=RATE", _link))
MPI = File("PATH", _file)
NAME = Word("NAME", _name)
NORM = Word("NORM", _norm)
PAIRS = Word("I-J,...", _pairs)
PATHS = Word("NAME,...", _paths, _path_names)
PROFILER = choice(*PROFILERS)
BOUND = Word("TIME", _bound)
SECONDS = Word("SECONDS", _seconds)
TIME = Word("TIME", parse_time)
SHARE = Word("SHARE", parse_share)
PART = Word("SHARE", _part)
"""A share below 1, or none."""
SIZE = Word("SIZE", _size)
SIZES = Word("SIZES", _sizes)
TEST = Word("KEY=VALUE", _test)
"""KEY@PATH=VALUE: for one path of the run."""
