"""Words, variables and files that nobody should meet, each from a generator of random numbers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from random import Random
from typing import Any

CANARY = "pwned"
"""A file of this name exists if a text was run as a command."""

TEXTS = (
    *(
        "",
        " ",
        "-",
        "--",
        "-1",
        "0",
        "1",
        "7",
        "9" * 9,
        "9" * 400,
        "1e999",
        "nan",
        "inf",
        "-inf",
        "0x10",
        "1_0",
    ),
    *(
        "²",
        "٣",
        "½",
        "é",
        "漢字",
        "\u2028",
        "\u202e",
        "\x00",
        "\x1b[31m",
        "\x7f",
        "\udc80",
        "\n",
        "\t",
        "a\nb",
    ),
    *(
        "%",
        "%s",
        "%n",
        "{}",
        "{0}",
        "{x!r}",
        "[bold]",
        "[/]",
        "$HOME",
        "*",
        "?",
        "[",
        "[!",
        "~",
        "..",
        "/",
        ".",
    ),
    *(
        f"$(touch {CANARY})",
        f"`touch {CANARY}`",
        f"; touch {CANARY} #",
        f"'; touch {CANARY}; '",
        f"a\ntouch {CANARY} #",
    ),
    *(
        "'",
        '"',
        "\\",
        "a,b",
        ",",
        "a,,b",
        "=",
        "a=",
        "=b",
        ":",
        "1:",
        ":1",
        "1:2:3",
        "2:1",
        "a" * 5000,
        "--help",
        "-h",
    ),
    *(
        "all",
        "host",
        "gpu",
        "auto",
        "summit",
        "1K",
        "16T",
        "17T",
        "0%",
        "100%",
        "-5%",
        "999%",
        "1e-300",
        "5GB/s",
    ),
)
VARIABLES = (
    *(
        "COLUMNS",
        "LINES",
        "HOME",
        "LANG",
        "LC_ALL",
        "TERM",
        "NO_COLOR",
        "FORCE_COLOR",
        "TMPDIR",
        "XDG_CACHE_HOME",
    ),
    *("UCX_TLS", "UCX_NET_DEVICES", "UCX_RNDV_THRESH", "UCX_MEMTYPE_CACHE", "NCCL_P2P_DISABLE", "NCCL_PROTO"),
    *(
        "NCCL_DEBUG",
        "FI_PROVIDER",
        "OMPI_MCA_pml",
        "OMPI_MCA_btl",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
    ),
    *(
        "PMI_RANK",
        "PMI_SIZE",
        "PMIX_RANK",
        "SLURM_PROCID",
        "SLURM_NTASKS",
        "SLURM_NNODES",
        "SLURM_JOB_NUM_NODES",
    ),
    *(
        "SLURM_JOB_ID",
        "SLURM_STEP_ID",
        "FLUX_TASK_RANK",
        "MPI4PY_LIBMPI",
        "MPICH_GPU_SUPPORT_ENABLED",
        "OMP_NUM_THREADS",
    ),
    *(
        "WIRESPEED_BUDGET",
        "WIRESPEED_NO_EVIDENCE",
        "WIRESPEED_EMULATED",
        "LMOD_SYSTEM_NAME",
        "NERSC_HOST",
        "CUDA_VISIBLE_DEVICES",
    ),
)
STARTS_RANKS = ("OMPI_COMM_WORLD_", "PMI_", "PMIX_", "SLURM_", "FLUX_", "MPI4PY_")
"""Variables by which a process finds that a launcher started it."""
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1 << 53, 1 << 70, -1e308, 1e308, 1e-320, [], {}, [[]], {"a": 1}, [None]),
    *(
        "",
        "x" * 500,
        "\u0000",
        "\ud800",
        "</script><script>",
        "NaN",
        "2026-99-99T00:00:00",
        f"$(touch {CANARY})",
    ),
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
    return {name: possible(value) for name, value in found.items()}


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


def some(rng: Random, many: Sequence[Any], most: int) -> list[Any]:
    """A few of many, in any order."""
    return rng.sample(list(many), min(len(many), rng.randrange(most + 1)))
