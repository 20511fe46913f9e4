"""One case: a command line made from the tree of commands, an environment, and files to read."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

import click
from fuzz import hostile
from support.results import entry, run, step

from wirespeed import systems
from wirespeed.cli.commands import cli

ROOT = Path(__file__).parents[2]
RESULTS = ("results.jsonl", "old.jsonl", "new.jsonl", "soak.jsonl", "folder", "*.jsonl", "folder/a.jsonl")
SLOW = ("plot",)
GOOD = {
    "MODEL": ("llama-3.1-8b", "deepseek-v3:page=64", "qwen3-32b:tp=16"),
    "SIZE": ("1", "64K", "3M"),
    "SIZES": ("8", "8,64", "1:4", "0"),
    "NAME,...": ("host", "host,staged", "all", "gpu", "ipc-*"),
    "SHARE": ("1%", "0.01"),
    "SECONDS": ("0.01", "1"),
    "I,J": ("0,0", "0,1"),
    "PATH": ("/nowhere/mpi",),
    "SYSTEM": ("summit",),
    "NAME=RATE,...": ("eth0=1GB/s", "pcie=32GB/s"),
    "PATTERN:PATH[:SIZE]": ("stream:host:8",),
    "TIME": ("0", "30", "1:30"),
    "N": ("1", "2", "4"),
    "N,...": ("2", "2,4"),
    "NORM": ("1e-4", "0.5"),
    "WxH": ("64x64", "1024x512"),
    "yes|no,...": ("no", "yes,no"),
    "LINE": ("source venv/bin/activate",),
    "KEY=VALUE": ("offset=3",),
    "SITE.toml": ("site.toml",),
    "FILE": ("mine.csv", "mine.json", "results.jsonl"),
    "NAME": ("summit", "auto", "a"),
    "PATTERN": ("pingpong", "groups", "pairs", "copy"),
}
"""By what --help says of an option: words that it takes."""
OUTPUTS = (
    *("out.jsonl", "out.html", "out.md", "out.svg", "out.toml", "results.jsonl", "folder"),
    *("none/a", "/dev/full", "a b", "-"),
)
"""Where to write to: inside the folder of the case, or where nothing can be written."""


@dataclass
class Case:
    """What is run, and in which surroundings."""

    seed: str
    words: list[str]
    environment: dict[str, str]
    files: dict[str, bytes] = field(default_factory=dict)

    def __str__(self) -> str:
        variables = shlex.join(f"{name}={value}" for name, value in self.environment.items())
        return f"case {self.seed}: {variables} wirespeed {shlex.join(self.words)}"


def make(seed: str) -> Case:
    """The same case for the same seed."""
    rng = Random(seed)
    words = _words(rng)
    return Case(seed, [hostile.possible(word) for word in words], hostile.environment(rng), _files(rng))


@cache
def commands() -> dict[str, click.Command]:
    """Every command by its name."""
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command}


def _words(rng: Random) -> list[str]:
    if rng.random() < 0.03:
        return [hostile.text(rng) for _ in range(rng.randrange(4))]
    name = rng.choice(list(commands()))
    if name in SLOW and rng.random() < 0.7:
        name = "show"
    command = commands()[name]
    care = rng.choice((0.4, 0.9, 1.0))
    if rng.random() < 0.02:
        name = hostile.near(rng, name)
    words = [name]
    for one in hostile.some(rng, [one for one in command.params if isinstance(one, click.Option)], 5):
        words += _option(rng, command, one, care)
    if name == "script" and rng.random() < 0.8:
        words += rng.choice(
            (["--system", rng.choice(systems.names())], ["--batch", "slurm", "--gpus-per-node", "4"])
        )
        pattern = rng.choice(
            [name for name in commands() if name in ("groups", "pairs", "pingpong", "ring", "copy")]
        )
        words.insert(1, pattern)
        own = [one for one in commands()[pattern].params if isinstance(one, click.Option)]
        for one in hostile.some(rng, own, 2):
            words += _option(rng, commands()[pattern], one, care)
    for argument in (one for one in command.params if isinstance(one, click.Argument)):
        if name != "script" and rng.random() < 0.9:
            words += [_file(rng, care) for _ in range(rng.choice((1, 1, 2)) if argument.nargs < 0 else 1)]
    if name == "compare" and rng.random() < 0.7:
        words += ["old.jsonl"]
    if name == "check" and rng.random() < 0.7:
        words += rng.choice((["--require", "site.toml"], ["--learn", "results.jsonl"]))
    if name == "custom" and rng.random() < 0.8:
        words += ["--file", rng.choice(("mine.csv", "mine.json"))]
    return words


def _option(rng: Random, command: click.Command, one: click.Option, care: float) -> list[str]:
    name = rng.choice((*one.opts, *one.secondary_opts))
    if rng.random() > care + 0.5:
        name = hostile.near(rng, name)
    if one.is_flag:
        return [name] if rng.random() < care + 0.4 else [f"{name}={hostile.text(rng)}"]
    value = _value(rng, command, one, care)
    return [f"{name}={value}"] if rng.random() < 0.2 and name.startswith("--") else [name, value]


def _value(rng: Random, command: click.Command, one: click.Option, care: float) -> str:
    kind = str(one.make_metavar(click.Context(command)))
    if one.name in ("out", "output"):
        return rng.choice(OUTPUTS)
    good = rng.choice(GOOD[kind]) if kind in GOOD else rng.choice(kind.split("|"))
    if rng.random() < care:
        return good
    return hostile.near(rng, good) if rng.random() < 0.4 else hostile.text(rng)


def _file(rng: Random, care: float) -> str:
    return rng.choice(RESULTS) if rng.random() < care + 0.3 else hostile.text(rng)


@cache
def whole() -> dict[str, bytes]:
    """Files as they should be."""
    made = "".join(
        json.dumps(one, separators=(",", ":")) + "\n" for one in (run(), step(), entry(8), entry(64))
    )
    measured = ROOT / "results" / "h200-x2-large.jsonl"
    survey = ROOT / "results" / "h200-x2-mpich.jsonl"
    soaks = [
        ROOT / "results" / "soaks" / name for name in ("h200-two-ranks.jsonl", "h200-planted-damaged.jsonl")
    ]
    site = '[[require]]\npath = "host"\n[require.sizes]\n8 = "at most 2 us"\n"64" = "at least 1 GB/s"\n'
    return {
        "results.jsonl": made.encode(),
        "old.jsonl": measured.read_bytes(),
        "new.jsonl": survey.read_bytes(),
        "folder/a.jsonl": survey.read_bytes(),
        "folder/b.jsonl": made.encode(),
        "soak.jsonl": b"".join(soak.read_bytes() for soak in soaks),
        "hosts": b"n01 slots=4\nn02:8\n\nn02\n",
        "site.toml": site.encode(),
        "mine.csv": b"step,from,to,bytes\n0,0,1,1M\n0,1,0,8\n1,0,2,64K\n",
        "mine.json": b'[{"step": 0, "from": 0, "to": 1, "bytes": 8}]',
    }


def _files(rng: Random) -> dict[str, bytes]:
    """All of them, some damaged, and one system of which the file may be damaged, too."""
    share = rng.choice((0.0, 0.3, 1.0))
    found = {
        name: hostile.damaged(rng, text) if rng.random() < share else text for name, text in whole().items()
    }
    if rng.random() < 0.1:
        name = rng.choice(systems.names())
        found[f"systems/{name}.toml"] = hostile.damaged(rng, (systems.FOLDER / f"{name}.toml").read_bytes())
    return found
