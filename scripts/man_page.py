#!/usr/bin/env python3
"""Writes the man page of the installed wirespeed, made from its help: scripts/man_page.py > wirespeed.1"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from wirespeed._version import __version__
from wirespeed.cli.commands import cli

COLUMNS = 100


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
    out += section(
        "SEE ALSO", [r"The exit codes and all pages: docs/ in the source tree. mpiexec(1), srun(1)"]
    )
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
    lines = []
    for names, text in records:
        lines += [".TP", rf"\fB{escaped(names)}\fP", escaped(" ".join(text.split()))]
    return lines


def escaped(text: str) -> str:
    """For troff: a backslash and a hyphen mean something to it, and so does a line's first dot or quote."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text[:1] in (".", "'") else text


if __name__ == "__main__":
    main()
