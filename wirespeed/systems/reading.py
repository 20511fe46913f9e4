"""A system's TOML file as a System: nothing is passed over, and what is wrong is said in one line."""

from __future__ import annotations

import re
from typing import get_args, get_type_hints

from msgspec import ValidationError, convert

from wirespeed.errors import WirespeedError
from wirespeed.systems.model import System
from wirespeed.toml import parse

KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "a text",
}
"""msgspec's names of types in words."""


def read(text: str | bytes, name: str) -> System:
    """The system in a file's text; `name` is the file's. Raises WirespeedError with table and reason."""
    try:
        return convert(parse(text if isinstance(text, str) else text.decode()), System)
    except ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        found = re.findall(r"\.(\w+)(?:\[(\d+)\])?", place)
        where = [f"{table} {int(number) + 1}" if number else table for table, number in found]
        raise WirespeedError(
            ": ".join([name, *where, _in_words(reason, found[0][0] if found else "")])
        ) from None
    except ValueError as error:
        raise WirespeedError(f"{name}: this is no TOML: {error}") from None


def _in_words(reason: str, table: str) -> str:
    """What msgspec, or the model, complains about in a table ('': in the file's own one)."""
    if found := re.fullmatch(r"Expected `(\w+).*`, got `(\w+)`", reason):
        wanted, got = (KINDS.get(kind, kind) for kind in found.groups())
        return f"{wanted} is expected here, not {got}"
    if found := re.fullmatch(r"Object contains unknown field `(.+)`", reason):
        hint = get_type_hints(System).get(table, System)
        kind = next(item for item in (hint, *get_args(hint)) if hasattr(item, "__struct_fields__"))
        return f"nothing is called {found[1]} here; allowed: {', '.join(kind.__struct_fields__)}"
    if found := re.fullmatch(r"Object missing required field `(.+)`", reason):
        return f"{found[1]} must be given"
    if "matching regex" in reason:
        return "write where this stands, with its https:// address"
    return reason
