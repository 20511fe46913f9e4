"""Variables that are set and are no fault by themselves, and what each does (host/variables.toml)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from wirespeed.host.variables import TableRow, table

_PLACES = re.compile(r".*_(HOME|ROOT|DIR|PREFIX|PATH|VERSION|VERSION_.*)")
"""Names that say where software lies, or which it is."""


class SetVariable(Struct, frozen=True):
    """A variable of the environment that a library reads."""

    name: str
    value: str | None
    """None: it is not known, so that its value may be a secret."""
    library: str
    does: str = ""
    """Empty: the table does not say."""
    ask: str = ""
    """Command that explains the library's variables; empty: none is known."""
    source: str = ""


def set_variables(
    variables: Mapping[str, str], hidden: Collection[str] = (), told: Collection[str] = ()
) -> list[SetVariable]:
    """Set variables of the libraries in the table, and those whose values are not told (`hidden`), without
    `told`, which findings are about already.
    """
    values = {**dict.fromkeys(hidden), **variables}
    found = (
        _explained(name, value, library)
        for library in table("library")
        for name, value in sorted(values.items())
        if name.startswith(tuple(library["prefix"])) and name not in told
    )
    return [set_variable for set_variable in found if set_variable is not None]


def _explained(name: str, value: str | None, library: TableRow) -> SetVariable | None:
    """None where the variable changes no transfer."""
    does = next((words for pattern, words in library["does"].items() if fnmatchcase(name, pattern)), "")
    ignored = re.fullmatch(library.get("ignore", ""), name) or _PLACES.fullmatch(name)
    if ignored and not does:
        return None
    anchor = f"#{name.lower().replace('_', '-')}" if library.get("anchors") else ""
    source = f"{library['source']}{anchor}"
    return SetVariable(name, value, library["title"], does, library.get("ask", ""), source)
