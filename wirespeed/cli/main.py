"""The `wirespeed` command: runs one command, and turns every error into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

import click

from wirespeed.cli.commands import cli
from wirespeed.cli.common.streams import note, one_line, warn
from wirespeed.errors import ExitCode, WirespeedError

PIPE_CLOSED = 128 + 13
"""Exit code that a shell reports for a program that wrote to a closed pipe."""
COMPLETE = "_WIRESPEED_COMPLETE"
"""Set by the functions that `wirespeed completion` prints, when a shell calls them."""
FIRST_SPEAKS = 3.0
"""Seconds that the other ranks leave to the one that says what is wrong; its end ends them."""
STARTS_S = 1.0
"""Seconds that Python takes until main(), at most: after a shell's `exec` the process has the shell's age."""
LIMITS = {
    errno.EMFILE: "this shell (ulimit -n 1024)",
    errno.ENFILE: "this system (sysctl fs.file-max)",
    errno.ENOMEM: "this shell (ulimit -v) or of its control group",
}
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns its exit code; prints at most one line about what went wrong."""
    began = time.monotonic()
    words = list(sys.argv[1:] if arguments is None else arguments)
    # A shell may have closed them (1>&-): then there is nobody to print for.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_letters(stream)
    try:
        if words and not words[0].startswith("-"):
            # The list of commands, which needs none of these, is there a fifth sooner.
            from wirespeed import inputs
            from wirespeed.host.process import age

            inputs.notice = warn
            # A command of its own began with its process.
            began -= min(age(), STARTS_S) if arguments is None else 0.0
        code = _run(words, began)
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit):
        # rich leaves by SystemExit when it wrote to a closed pipe.
        _let_go()
        return PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        return int(ExitCode.INTERRUPTED)
    except WirespeedError as error:
        return _say(str(error), error.code)
    except click.UsageError as error:
        return _say(_usage_text(error), ExitCode.USAGE)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in LIMITS:
            text = f"{error.strerror}: raise the limit of {LIMITS[error.errno]}, or end other programs"
            return _say(text, ExitCode.UNAVAILABLE)
        if isinstance(error, OSError) and error.errno in FULL:
            _let_go()
            return _say(f"cannot write the result: {error.strerror}", ExitCode.CANNOT_WRITE)
        if "--debug" in words:
            raise
        return _say(f"unexpected {type(error).__name__}: {error}; --debug shows where", ExitCode.FAILED_ENTRY)


def _run(words: list[str], began: float) -> int:
    """What click's own `main` does, but for its exit codes after a closed pipe and Ctrl-C.

    `began`: the command, by time.monotonic(); it is the context's object.
    """
    if asked := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "wirespeed", COMPLETE, asked)
    try:
        with cli.make_context("wirespeed", words, obj=began) as context:
            return int(cli.invoke(context) or ExitCode.OK)
    except click.exceptions.Exit as end:
        return end.exit_code


def _usage_text(error: click.UsageError) -> str:
    """The parser's complaint in our words; what it may have meant is an option that --help lists."""
    if isinstance(error, click.NoSuchOption) and error.ctx:
        listed = {
            name
            for param in error.ctx.command.params
            if isinstance(param, click.Option) and not param.hidden
            for name in param.opts
        }
        close = [name for name in error.possibilities or () if name in listed]
        error = click.NoSuchOption(error.option_name, error.message, close, error.ctx)
    text = error.format_message().strip().rstrip(".")
    command = error.ctx.command_path if error.ctx else "wirespeed"
    end = "" if text.endswith("?") else ";"
    return f"{text[:1].lower()}{text[1:]}{end} '{command} --help' lists what is allowed"


def _say(text: str, code: ExitCode) -> int:
    """One line on stderr. All ranks of a launcher find the same usage error: only the first one speaks."""
    if code in (ExitCode.USAGE, ExitCode.WRONG_WORLD) and (rank := _other_rank()):
        from wirespeed.launchers import first_rank_goes_on

        # A launcher ends all ranks when one has failed: the one that speaks must be the first.
        if not first_rank_goes_on(FIRST_SPEAKS):
            return int(code)
        from wirespeed.frontend.rank_voice import tell_rank0
        from wirespeed.job.messages import RankError

        if tell_rank0(RankError(rank, text, int(code))) and not first_rank_goes_on(FIRST_SPEAKS):
            return int(code)
        text = f"rank {rank}: {text}"
    with suppress(OSError):
        note(f"wirespeed: {one_line(text)}")
    return int(code)


def _other_rank() -> int:
    """This process's rank; 0: the first one, or none."""
    from wirespeed.launchers import launched_rank

    with suppress(WirespeedError):
        return place.rank if (place := launched_rank()) else 0
    return 0


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
