"""Help in two lengths: --help has what is usual, --help-all everything."""

from __future__ import annotations

from typing import Any

import click

_ALL = "wirespeed.help_all"


def show_all(context: click.Context) -> None:
    """Help lists everything from now on."""
    context.meta[_ALL] = True


def shows_all(context: click.Context) -> bool:
    """Is help to list everything?"""
    return bool(context.meta.get(_ALL))


class _Rare(click.Option):
    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        short = any(isinstance(param, _HelpAll) for param in ctx.command.params) and not shows_all(ctx)
        return None if short else super().get_help_record(ctx)


class _HelpAll(click.Option):
    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        return None if shows_all(ctx) else (self.opts[0], "Explain the other options as well.")


RARE: dict[str, Any] = {"cls": _Rare}
"""Makes an option one that --help leaves to --help-all, where a command has that."""


def _print_all(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        show_all(context)
        click.echo(context.get_help())
        context.exit()


help_all = click.option(
    "--help-all", cls=_HelpAll, is_flag=True, is_eager=True, expose_value=False, callback=_print_all
)
