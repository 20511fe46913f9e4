"""Words, variables and files that nobody should meet, each from a generator of random numbers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from random import Random
from typing import Any

from wirespeed.fleet.allocation import NODE_FILES
from wirespeed.launchers import all_launchers

CANARY = "pwned"
"""A file of this name exists if a text was run as a command."""

_WORDS = r"""
- -- -1 0 1 7 1e999 nan inf -inf 0x10 1_0 ² ٣ ½ é 漢字 % %s %n {} {0} {x!r} [bold] [/] $HOME * ? [ [! ~ .. / .
' " \ a,b , a,,b = a= =b : 1: :1 1:2:3 2:1 --help -h all host gpu auto summit 1K 16T 17T 0% 100% -5% 999%
1e-300 5GB/s
"""
TEXTS = (
    *_WORDS.split(),
    *("", " ", "9" * 9, "9" * 400, "a" * 5000, "\n", "\t", "a\nb"),
    *("\u2028", "\u202e", "\x00", "\x1b[31m", "\x7f", "\udc80"),
    *(f"$(touch {CANARY})", f"`touch {CANARY}`", f"; touch {CANARY} #", f"'; touch {CANARY}; '"),
    f"a\ntouch {CANARY} #",
)
_VARIABLES = """
COLUMNS LINES HOME LANG LC_ALL TERM NO_COLOR FORCE_COLOR TMPDIR XDG_CACHE_HOME UCX_TLS UCX_NET_DEVICES
UCX_RNDV_THRESH UCX_MEMTYPE_CACHE NCCL_P2P_DISABLE NCCL_PROTO NCCL_DEBUG FI_PROVIDER OMPI_MCA_pml
OMPI_MCA_btl OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE PMIX_RANK SLURM_PROCID SLURM_NTASKS
SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_JOB_ID SLURM_STEP_ID FLUX_TASK_RANK MPI4PY_LIBMPI
MPICH_GPU_SUPPORT_ENABLED OMP_NUM_THREADS WIRESPEED_BUDGET WIRESPEED_NO_EVIDENCE WIRESPEED_EMULATED
LMOD_SYSTEM_NAME NERSC_HOST CUDA_VISIBLE_DEVICES
"""
VARIABLES = tuple(_VARIABLES.split())
LAUNCHED = tuple(
    dict.fromkeys(
        name
        for launcher in all_launchers()
        for name in (*launcher.variables, launcher.local_size, *launcher.needs, launcher.allocation)
        if name
    )
)
"""Variables by which a process finds that a launcher started it, or that it is in an allocation."""
STARTS_RANKS = (*LAUNCHED, "OMPI_COMM_WORLD_", "PMI_", "PMIX_", "SLURM_", "FLUX_", "MPI4PY_")
"""Beginnings of variables after which another rank may be the one that speaks."""
NODE_LISTS = tuple(name for names in NODE_FILES.values() for name in names)
NODE_LIST_FILES = ("hosts", "hosts", "fifo", "folder", "nowhere", "results.jsonl", "/dev/zero", "/dev/full")
"""Where the list of an allocation's hosts may be; of the folder of the case, or not."""
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1 << 53, 1 << 70, -1e308, 1e308, 1e-320, [], {}, [[]], {"a": 1}, [None]),
    *("", "x" * 500, "\u0000", "\ud800", "</script><script>", "NaN", "2026-99-99T00:00:00"),
    f"$(touch {CANARY})",
)


def text(rng: Random) -> str:
    """A word from the list, several of them, or letters."""
    chance = rng.random()
    if chance < 0.6:
        return rng.choice(TEXTS)
    if chance < 0.8:
        return "".join(rng.choices(TEXTS, k=2))
    return "".join(
        chr(rng.choice((rng.randrange(32, 127), rng.randrange(0xD800)))) for _ in range(rng.randrange(12))
    )


def near(rng: Random, word: str) -> str:
    """The word with a slip of the hand."""
    place = rng.randrange(len(word) + 1)
    slips = (
        word[:place] + word[place + 1 :],
        word[:place] + rng.choice("abz019-,:.= %") + word[place:],
        word.swapcase(),
        word + word,
        f" {word} ",
        word[:place],
    )
    return rng.choice(slips)


def environment(rng: Random) -> dict[str, str]:
    """Some variables with some texts, as the kernel would take them."""
    names = rng.sample(VARIABLES, rng.choice((0, 0, 1, 1, 2, 4)))
    found = {name: text(rng) for name in names}
    if rng.random() < 0.15:
        found |= _launched(rng)
    if rng.random() < 0.1:
        found[rng.choice(NODE_LISTS)] = rng.choice(NODE_LIST_FILES)
    return {name: possible(value) for name, value in found.items()}


def _launched(rng: Random) -> dict[str, str]:
    """Variables of a launcher, or of two: a rank's, one rank's, incomplete, contradictory."""
    found: dict[str, str] = {}
    for launcher in rng.sample(all_launchers(), rng.choice((1, 1, 2))):
        size = rng.choice((1, 1, 2, 2, 4))
        rank, ranks, local = launcher.variables
        found |= {rank: str(rng.randrange(size)), ranks: str(size), local: "0"}
        found |= {name: rng.choice(("1", str(size))) for name in (launcher.local_size,) if name}
        found |= {name: rng.choice(("127.0.0.1", "localhost", "::1", text(rng))) for name in launcher.needs}
        found |= {name: "7" for name in (launcher.allocation, "SLURM_STEP_ID") if name and rng.random() < 0.5}
    for name in rng.sample(sorted(found), rng.choice((0, 0, 0, 1, 2))):
        if rng.random() < 0.5:
            del found[name]
        else:
            found[name] = rng.choice(("-1", "0", "3", "9" * 5000, "x", " 1", "1.0", text(rng)))
    if rng.random() < 0.2:
        found["MASTER_PORT"] = rng.choice(("0", "65535", "9" * 5000, text(rng)))
    return found


def possible(word: str) -> str:
    """The word as a command line or a variable can have it: bytes, none of which is 0."""
    word = word.replace("\0", "")
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        return word.encode("utf-8", "replace").decode()
    return word


def damaged(rng: Random, content: bytes) -> bytes:
    """The file with bytes lost, doubled, changed or put in; or with a member of a record replaced."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        start = rng.randrange(len(content) + 1)
        end = min(len(content), start + rng.choice((1, 8, 200, 5000)))
        match rng.randrange(10):
            case 0:
                content = content[:start]
            case 1:
                content = content[:start] + content[end:]
            case 2:
                content = content[:end] + content[start:]
            case 3:
                content = content[:start] + text(rng).encode("utf-8", "replace") + content[start:]
            case 4:
                content = content[:start] + rng.randbytes(end - start) + content[end:]
            case 5 | 6:
                content = _word_replaced(rng, content)
            case 7:
                content = _interval_replaced(rng, content)
            case _:
                content = _member_replaced(rng, content)
    return content


def _word_replaced(rng: Random, content: bytes) -> bytes:
    """One number, name or text of a file, of any format."""
    words = list(re.finditer(rb'-?\d[\d.]*|"[^"\n]*"|\w+', content))
    if not words:
        return content
    place = rng.choice(words)
    new = text(rng).encode("utf-8", "replace")
    if place[0].startswith(b'"') and rng.random() < 0.8:
        new = b'"' + new + b'"'
    elif place[0].isdigit() and rng.random() < 0.8:
        new = rng.choice(
            (b"0", b"-1", b"1.5", b"150", b"100000", b"9" * 19, b"9" * 300, b"1e400", b"nan", b"1G")
        )
    return content[: place.start()] + new + content[place.end() :]


def _member_replaced(rng: Random, content: bytes) -> bytes:
    """In a file of JSON lines: one member of one record."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    number = rng.randrange(len(lines))
    try:
        record = json.loads(lines[number])
    except ValueError:
        return content
    place = record
    while isinstance(place, dict | list) and place:
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], dict | list) or not place[key] or rng.random() < 0.3:
            place[key] = rng.choice(_VALUES)
            break
        place = place[key]
    lines[number] = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    return b"".join(lines)


def _interval_replaced(rng: Random, content: bytes) -> bytes:
    """In a file of JSON lines: times of one figure, its interval's ends, or its precision."""
    lines = content.splitlines(keepends=True)
    figures = [number for number, line in enumerate(lines) if b'"seconds":{' in line]
    if not figures:
        return _member_replaced(rng, content)
    number = rng.choice(figures)
    try:
        record = json.loads(lines[number])
        places = [record, record["seconds"], record.get("bytes_per_second") or record]
        for _ in range(rng.choice((1, 1, 2, 4))):
            place = rng.choice(places)
            place[rng.choice((*_ENDS, *place))] = rng.choice(_EXTREMES)
    except (ValueError, LookupError, TypeError, AttributeError):
        return content
    lines[number] = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    return b"".join(lines)


_ENDS = ("low", "high", "median", "min", "max", "precision", "confidence")
_EXTREMES: tuple[Any, ...] = (
    *(0, 0.0, -0.0, -1.0, 5e-324, 1e-320, 2.3e-308, 1e-300, 1e-9, 1.0, 1e300, 1.7976931348623157e308),
    *(1 << 63, (1 << 64) - 1, None, "1e400"),
)


def some(rng: Random, many: Sequence[Any], most: int) -> list[Any]:
    """A few of many, in any order."""
    return rng.sample(list(many), min(len(many), rng.randrange(most + 1)))
