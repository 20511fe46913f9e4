"""The `wirespeed` command: finds the commands, and turns every error into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Annotated

import typer

import wirespeed.cli
from wirespeed.cli.common.command import PIPE_CLOSED
from wirespeed.errors import ExitCode, WirespeedError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
HELP = (
    "Measures how fast data moves between two processors (CPU ranks, GPUs) by every path of this machine."
    "\n\nStart with: wirespeed survey"
)


def build_app() -> typer.Typer:
    """The application with every command in this folder."""
    return _built(tuple(wirespeed.cli.__path__))


@cache
def _built(folders: tuple[str, ...]) -> typer.Typer:
    # Plain help: drawing boxes would cost more than twice the time that `--help` may take.
    app = typer.Typer(name="wirespeed", help=HELP, add_completion=False, rich_markup_mode=None)
    app.callback(invoke_without_command=True)(_root)
    names = {file.stem for folder in folders for file in Path(folder).glob("[a-z]*.py")}
    modules = [importlib.import_module(f"wirespeed.cli.{name}") for name in names - {"main"}]
    for module in sorted(modules, key=lambda module: (getattr(module, "ORDER", 50), module.__name__)):
        module.register(app)
    return app


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from wirespeed._version import __version__

        typer.echo(f"wirespeed {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns its exit code; prints at most one line about what went wrong."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # A shell may have closed them (1>&-): then there is nobody to print for.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_letters(stream)
    try:
        code = _run(words)
        if code == PIPE_CLOSED:
            return _closed_pipe()
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit):
        # Typer leaves so when help was written to a closed pipe.
        return _closed_pipe()
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except WirespeedError as error:
        return _say(str(error), error.code)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            _let_go()
            return _say(f"cannot write the result: {error.strerror}", ExitCode.CANNOT_WRITE)
        usage = _usage_text(error)
        if usage is not None:
            return _say(usage, ExitCode.USAGE)
        if "--debug" in words:
            raise
        return _say(f"unexpected {type(error).__name__}: {error}; --debug shows where", ExitCode.FAILED_ENTRY)


def _run(words: list[str]) -> int:
    command = typer.main.get_command(build_app())
    result = command.main(args=words, prog_name="wirespeed", standalone_mode=False)
    return int(result) if isinstance(result, int) else int(ExitCode.OK)


def _usage_text(error: Exception) -> str | None:
    """The parser's complaint in our words; None when the error is none of its own."""
    # Older versions of typer share this class with click, newer ones have their own.
    parser_error = typer.BadParameter.__mro__[2]
    if not isinstance(error, parser_error):
        return None
    text = str(error.format_message()).strip().rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "wirespeed"
    return f"{text[:1].lower()}{text[1:]}; '{path} --help' lists what is allowed"


def _say(text: str, code: ExitCode) -> int:
    """One line on stderr. All ranks of a launcher find the same usage error: only the first one speaks."""
    if code in (ExitCode.USAGE, ExitCode.WRONG_WORLD) and _other_rank():
        return int(code)
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    with suppress(OSError):
        print(f"wirespeed: {line}", file=sys.stderr, flush=True)
    return int(code)


def _other_rank() -> bool:
    from wirespeed.launch import global_rank

    return global_rank() > 0


def _closed_pipe() -> int:
    """Whoever read our output has gone."""
    _let_go()
    return PIPE_CLOSED


def _let_go() -> None:
    """What could not be written goes nowhere; Python must not complain about it once more when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _never_fail_on_letters(stream: IO[str]) -> None:
    """A locale without some letter gets a question mark instead of a stack trace."""
    with suppress(AttributeError, OSError, ValueError):
        stream.reconfigure(errors="replace")  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
