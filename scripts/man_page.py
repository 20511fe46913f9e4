#!/usr/bin/env python3
"""Writes the man page of the installed wirespeed, made from its help: scripts/man_page.py > wirespeed.1"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from wirespeed._version import __version__
from wirespeed.cli.commands import cli

COLUMNS = 100
EXIT_CODES = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
VARIABLES = {
    "WIRESPEED_BUDGET": "As --budget.",
    "WIRESPEED_NO_EVIDENCE": "1: as --no-evidence.",
    "WIRESPEED_LIBRARY_NCCL, _RCCL, _UCX, _OPENMP, _OPENACC": "The file of this library, instead of the one "
    "that is found.",
    "WIRESPEED_INTERFACE": "The network interface of host-tcp.",
    "WIRESPEED_SECRET_FILE": "Under launchers without MPI, such as torchrun: a file with 16 random "
    "characters or more that its owner alone can read, the same on every host.",
    "WIRESPEED_PORT": "There: another port, the same on every rank.",
    "WIRESPEED_RENDEZVOUS_TIMEOUT": "There: seconds in which all ranks must have come (120).",
    "COLUMNS": "The width of tables.",
    "TMPDIR": "Where folders for the time of a run are made.",
    "LD_LIBRARY_PATH, PATH": "Where MPIs and vendors' libraries are looked for.",
}
FILES = {
    "./wirespeed-TIME.jsonl": "The result file, unless --out names another.",
    "./report.html, ./figure.pdf": "What report and plot write, unless --out names another.",
    "~/.cache/wirespeed": "Compiled kernels; it can be removed at any time.",
    "~/.local/share/wirespeed": "What paths --build has built.",
    "/dev/shm/wirespeed-*": "The ranks' memory and pages for the time of a run.",
}


def main() -> None:
    top = click.Context(cli, info_name="wirespeed", terminal_width=COLUMNS)
    out = [
        f'.TH WIRESPEED 1 "" "wirespeed {__version__}" "User Commands"',
        *section(
            "NAME", [r"wirespeed \- how fast data moves between processors, by every path of a machine"]
        ),
        *section("SYNOPSIS", [r"\fBwirespeed\fP \fICOMMAND\fP [\fIOPTION\fP]..."]),
        *section("DESCRIPTION", paragraphs(cli)),
    ]
    for name, command, context in commands(cli, top):
        out += section(f"wirespeed {name}", [*paragraphs(command), *options(command, context)])
    out += section("EXIT STATUS", terms(exit_codes()))
    out += section("ENVIRONMENT", terms(VARIABLES.items()))
    out += section("FILES", terms(FILES.items()))
    out += section("SEE ALSO", [r"All pages: docs/ in the source tree. mpiexec(1), srun(1)"])
    print("\n".join(out))


def section(title: str, lines: list[str]) -> list[str]:
    return [f'.SH "{title}"', *lines]


def commands(
    group: click.Group, context: click.Context, before: str = ""
) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        below = click.Context(command, info_name=name, parent=context, terminal_width=COLUMNS)
        yield before + name, command, below
        if isinstance(command, click.Group):
            yield from commands(command, below, f"{before}{name} ")


def exit_codes() -> Iterator[tuple[str, str]]:
    """(code, meaning) of each, from the page about them."""
    for code, meaning in re.findall(r"(?m)^\| (\d+) \|[^|]*\| (.*?[^\\]) \|", EXIT_CODES.read_text("utf-8")):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning)
        yield code, plain.replace("`", "").replace("\\|", "|")


def terms(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """A list of words and what they mean."""
    return [line for name, text in pairs for line in (".TP", rf"\fB{escaped(name)}\fP", escaped(text))]


def paragraphs(command: click.Command) -> list[str]:
    """The help's paragraphs; one that begins with \\b keeps its lines, as examples do."""
    found: list[str] = []
    for text in re.split(r"\n[ \t]*\n", re.sub(r"(?m)^ +", "", (command.help or "").strip())):
        first, _, rest = text.partition("\n")
        kept = first == "\b"
        lines = rest.splitlines() if kept else [" ".join(text.split())]
        found += [".PP", *([".nf"] if kept else []), *map(escaped, lines), *([".fi"] if kept else [])]
    return found


def options(command: click.Command, context: click.Context) -> list[str]:
    records = filter(None, (each.get_help_record(context) for each in command.get_params(context)))
    return terms((names, " ".join(text.split())) for names, text in records)


def escaped(text: str) -> str:
    """For troff: a backslash and a hyphen mean something to it, and so does a line's first dot or quote."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text[:1] in (".", "'") else text


if __name__ == "__main__":
    main()
