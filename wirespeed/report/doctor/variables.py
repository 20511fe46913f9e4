"""Variables that are set and are no finding, on a terminal: one line each, those without an entry folded."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.doctor.set_variables import SetVariable
from wirespeed.doctor.shell import assigned
from wirespeed.report.grouping import grouped
from wirespeed.report.terminal.wrapped_line import say

WIDEST = 40
"""Characters of NAME=value, beyond which what it does starts where it can."""


def print_variables(console: Console, variables: Sequence[SetVariable]) -> None:
    """Nothing where none is set."""
    if not variables:
        return
    console.print()
    console.print(Text("Also set, which is no fault by itself", style="bold"))
    known = [(assigned(one.name, one.value), one.does) for one in variables if one.does]
    width = min(WIDEST, max((len(words) for words, _ in known), default=0)) + 2
    for words, does in known:
        say(console, Text.assemble(f"  {words:<{width}}", (does, "dim")), indent=4)
    for (library, ask), others in grouped(
        ((one.library, one.ask), one) for one in variables if not one.does
    ).items():
        how = f"'{ask}' explains them" if ask else "its documentation explains them"
        names = ", ".join(assigned(one.name, one.value) for one in others)
        say(console, Text.assemble(f"  {names}", (f"  {library}, not known here: {how}", "dim")), indent=4)
