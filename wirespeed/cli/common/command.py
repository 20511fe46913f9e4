"""A command is a dataclass of options and a function that takes one: so commands can share options."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

import typer

from wirespeed.errors import ExitCode

Options = TypeVar("Options")
PIPE_CLOSED = 128 + 13
"""What a shell reports for a program that wrote to a closed pipe."""


def add_command(
    app: typer.Typer, name: str, options: type[Options], run: Callable[[Options], ExitCode]
) -> None:
    """Adds `run` as a command; its docstring is the help, each field of `options` one option or argument."""

    def call(**values: Any) -> int:
        try:
            return int(run(options(**values)))
        except BrokenPipeError:
            # Typer would make it exit code 1, which means something else here.
            return PIPE_CLOSED

    hints = get_type_hints(options, include_extras=True)
    fields = dataclasses.fields(options)  # type: ignore[arg-type]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(field, hints[field.name]) for field in fields], return_annotation=int
    )
    call.__annotations__ = {field.name: hints[field.name] for field in fields}
    call.__doc__ = inspect.getdoc(run)
    app.command(name)(call)


def _parameter(field: dataclasses.Field[Any], hint: Any) -> inspect.Parameter:
    missing = field.default is dataclasses.MISSING
    default = inspect.Parameter.empty if missing else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
