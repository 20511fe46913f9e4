"""JSON from outside as the types that it has here: what does not fit is refused as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from wirespeed.errors import WirespeedError
from wirespeed.job.records import LARGEST

Kind = TypeVar("Kind")


class DoesNotFit(ValueError):
    """The value does not fit; the text says what was expected, and where. Empty: it is no JSON."""


def fitted(kind: type[Kind], value: Any) -> Kind:
    """The value, as json.loads gave it, as a `kind`. Raises DoesNotFit."""
    try:
        return msgspec.convert(cleaned(value), type=kind)
    except (msgspec.ValidationError, WirespeedError) as error:
        raise DoesNotFit(str(error)) from None


def cleaned(value: Any) -> Any:
    """Any JSON without what a terminal would obey, and without numbers that cannot be reckoned with."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(name)): cleaned(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(item) for item in value]
    if isinstance(value, (int, float)) and not abs(value) <= LARGEST:
        return None
    return value


def printable(text: str) -> str:
    """One line: blanks where there was what no printer prints."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
