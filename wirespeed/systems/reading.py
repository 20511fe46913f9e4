"""A TOML file as a typed value: nothing is passed over, and what is wrong is said in one line."""

from __future__ import annotations

import re
from typing import TypeVar, get_args, get_type_hints

from msgspec import Struct, ValidationError, convert

from wirespeed.errors import WirespeedError
from wirespeed.toml import parse

Table = TypeVar("Table", bound=Struct)
KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "a text",
}
"""msgspec's names of types in words."""


def read(text: str | bytes, name: str, kind: type[Table]) -> Table:
    """The value in a file's text; `name` is the file's. Raises WirespeedError with table and reason."""
    try:
        return convert(parse(text if isinstance(text, str) else text.decode()), kind)
    except ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        found = re.findall(r"\.(\w+)(?:\[(\d+)\])?", place)
        where = [f"{table} {int(number) + 1}" if number else table for table, number in found]
        words = _in_words(reason, kind, [table for table, _ in found])
        raise WirespeedError(": ".join([name, *where, words])) from None
    except ValueError as error:
        raise WirespeedError(f"{name}: this is no TOML: {error}") from None


def _in_words(reason: str, kind: type[Struct], place: list[str]) -> str:
    """What msgspec, or the model, complains about at this place."""
    if found := re.fullmatch(r"Expected `(\w+).*`, got `(\w+)`", reason):
        wanted, got = (KINDS.get(word, word) for word in found.groups())
        return f"{wanted} is expected here, not {got}"
    if found := re.fullmatch(r"Object contains unknown field `(.+)`", reason):
        allowed = ", ".join(_table_at(kind, place).__struct_fields__)
        return f"nothing is called {found[1]} here; allowed: {allowed}"
    if found := re.fullmatch(r"Object missing required field `(.+)`", reason):
        return f"{found[1]} must be given"
    if "matching regex" in reason:
        return (
            "write the date as 2026-11-28"
            if "date" in place
            else "write where this stands, with its https:// address"
        )
    return reason


def _table_at(kind: type[Struct], place: list[str]) -> type[Struct]:
    for name in place:
        hint = get_type_hints(kind)[name]
        kind = next(item for item in (hint, *get_args(hint)) if hasattr(item, "__struct_fields__"))
    return kind
