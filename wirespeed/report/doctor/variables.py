"""Variables that are set and are no finding, on a terminal: one line each, those without an entry folded."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.doctor.set_variables import SetVariable
from wirespeed.doctor.shell import assigned
from wirespeed.report.console.wrapped_line import say
from wirespeed.report.grouping import grouped

WIDEST = 40
"""Characters of NAME=value, beyond which what it does starts where it can."""


def print_variables(console: Console, variables: Sequence[SetVariable]) -> None:
    """Nothing where none is set."""
    if not variables:
        return
    console.print()
    console.print(Text("Also set, which is no fault by itself", style="bold"))
    rows = [
        (assigned(variable.name, variable.value), variable.does) for variable in variables if variable.does
    ]
    unknown = grouped(
        ((variable.library, variable.ask), variable) for variable in variables if not variable.does
    )
    for (library, ask), others in unknown.items():
        how = f"'{ask}' explains them" if ask else "its documentation explains them"
        names = ", ".join(assigned(other.name, other.value) for other in others)
        rows.append((names, f"{library}, not known here: {how}"))
    width = max((len(words) for words, _ in rows if len(words) <= WIDEST), default=0)
    for words, does in rows:
        say(console, Text.assemble(f"  {words:<{width}}  ", (does, "dim")), indent=4)
