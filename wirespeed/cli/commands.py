"""All commands, in groups: each is found by being there, and imported only when it runs."""

from __future__ import annotations

import importlib.util
import os
import re
from contextlib import suppress

import click

from wirespeed._version import __version__
from wirespeed.cli.common.help_all import shows_all

GROUPS = ("measure", "understand", "guard", "share")
FIRST = (
    *("survey", "pingpong", "exchange", "stream", "blocks", "offload", "copy", "pairs", "groups"),
    *("halo", "ring", "rma"),
    *("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "barrier"),
    *("jacobi", "lbm", "custom", "pairing"),
    *("doctor", "explain", "show", "list", "paths", "systems", "compare", "check", "watch", "fleet"),
    *("report", "plot", "script", "completion"),
)
"""By use; the others of their group come behind them, in alphabetical order."""

SCREEN = {
    "survey": "Show what this machine has and how fast it is: run it first.",
    "pingpong": "Time and bandwidth of messages between two ranks, by every path.",
    "copy": "Copies between host and GPU, and within a GPU.",
    "blocks": "Lists of scattered blocks: KV cache pages, MPI datatypes.",
    "pairs": "Every pair of ranks: which link is slow?",
    "allreduce": "What all ranks do together; also alltoall, broadcast, and more.",
    "lbm": "What it means for a program (lattice Boltzmann); also jacobi.",
    "doctor": "What is wrong with this machine, and what to set.",
    "show": "Look at results: table, page, plot, Markdown, CSV, ticket.",
    "explain": "Is my figure right? Judge what another tool printed.",
    "compare": "What became slower or faster between two sides, and why.",
    "check": "Do results keep their bounds? For acceptance tests.",
    "help all": "List all commands.",
}
"""The first screen of --help."""

_SUMMARY = re.compile(r'name ?= ?"(\w+)",?\s+summary ?= ?"([^"\\]+)"')
"""A pattern's name and summary, in its source."""


class Commands(click.Group):
    """Modules in the groups' folders, and the patterns."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in GROUPS for name in _summaries(group)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Raises UsageError, with the name that may have been meant."""
        for group in GROUPS:
            if cmd_name in _files(group):
                module = importlib.import_module(f"wirespeed.cli.{group}.{cmd_name}")
                command: click.Command = module.command
                return command
        from wirespeed.cli.patterns import command_of
        from wirespeed.errors import WirespeedError
        from wirespeed.patterns import find_pattern

        with suppress(WirespeedError):
            return command_of(find_pattern(cmd_name))
        from difflib import get_close_matches

        close = get_close_matches(cmd_name.lower(), self.list_commands(ctx), n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise click.UsageError(f"there is no command '{cmd_name}'{hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not shows_all(ctx):
            with formatter.section("Commands"):
                formatter.write_dl([*SCREEN.items()])
            return
        listed = {group: _summaries(group) for group in GROUPS}
        width = max(len(name) for names in listed.values() for name in names)
        for group, names in listed.items():
            with formatter.section(group.capitalize()):
                formatter.write_dl([(name.ljust(width), text) for name, text in names.items()])


def _files(group: str) -> dict[str, str]:
    folders = importlib.import_module(f"wirespeed.cli.{group}").__path__
    # By os: pathlib would be a tenth of the time that the help takes.
    found = (entry for folder in folders for entry in os.scandir(folder) if entry.name[0].isalpha())
    return {entry.name[:-3]: entry.path for entry in found if entry.name.endswith(".py")}


def _summaries(group: str) -> dict[str, str]:
    """What each command of a group does, in one line, without importing it."""
    found = {}
    for name, file in _files(group).items():
        with open(file, encoding="utf-8") as lines:  # noqa: PTH123
            found[name] = next(lines).strip().strip('"')
    if group == "measure":
        found |= _pattern_summaries()
    ordered = sorted(found, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    return {name: found[name] for name in ordered}


def _pattern_summaries() -> dict[str, str]:
    """What each pattern and program measures, in one line, without importing it."""
    found: dict[str, str] = {}
    for package in ("wirespeed.patterns", "wirespeed.programs"):
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for below, _, names in os.walk(folder):
                for name in names:
                    if name.endswith(".py"):
                        with open(f"{below}/{name}", encoding="utf-8") as file:  # noqa: PTH123
                            found |= _SUMMARY.findall(file.read())
    return found


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
)
@click.version_option(__version__, message="wirespeed %(version)s", help="Print the version.")
@click.pass_context
def cli(context: click.Context) -> None:
    """Measures how fast data moves between two processors (CPU ranks, GPUs) by every path of this machine."""
    if context.invoked_subcommand is None:
        from wirespeed.cli.common.greeting import greeting

        click.echo(greeting())
