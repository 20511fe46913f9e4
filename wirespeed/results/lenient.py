"""Fits any JSON to the model: an invalid member gets its default, and the rest of the record is kept.

Members of named tuples and typed dictionaries, of which messages consist, must fit where they are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from operator import ge, gt, le, lt
from typing import Any, TypeVar, get_args

from msgspec import inspect

from wirespeed.errors import WirespeedError
from wirespeed.results.parts import LARGEST

Kind = TypeVar("Kind")

_Object = inspect.StructType | inspect.DataclassType | inspect.NamedTupleType | inspect.TypedDictType
_OBJECTS, _LENIENT = get_args(_Object), (inspect.StructType, inspect.DataclassType)


class DoesNotFit(ValueError):
    """The value does not fit and has no default; the text names the missing required member, or is empty."""


def fitted(kind: type[Kind], value: Any) -> Kind:
    """The value, as json.loads gave it, as a `kind`. Raises DoesNotFit where a needed member is not there."""
    record: Kind = _fitted(_type_info(kind), value)  # type: ignore[arg-type]
    return record


@cache
def _type_info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _fitted(kind: inspect.Type, value: Any) -> Any:
    if isinstance(kind, inspect.Metadata):
        return _fitted(kind.type, value)
    if isinstance(kind, _OBJECTS):
        return _object(kind, value)
    if isinstance(kind, inspect.UnionType):
        return _first(kind.types, value)
    if isinstance(kind, inspect.AnyType):
        return cleaned(value)
    if isinstance(kind, inspect.NoneType) and value is None:
        return None
    if isinstance(kind, inspect.StrType) and isinstance(value, str):
        return printable(value)
    if isinstance(kind, inspect.BoolType) and isinstance(value, bool):
        return value
    if isinstance(kind, (inspect.IntType, inspect.FloatType)):
        return _number(kind, value)
    if isinstance(kind, inspect.DictType) and isinstance(value, Mapping):
        return {printable(str(name)): item for name, item in _good(kind.value_type, value.items())}
    if isinstance(value, (list, tuple)):
        if isinstance(kind, inspect.ListType):
            return [item for _, item in _good(kind.item_type, enumerate(value))]
        if isinstance(kind, inspect.VarTupleType):
            return tuple(_fitted(kind.item_type, item) for item in value)
        if isinstance(kind, inspect.TupleType) and len(value) == len(kind.item_types):
            return tuple(map(_fitted, kind.item_types, value))
    raise DoesNotFit


def _object(kind: _Object, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise DoesNotFit
    strict = not isinstance(kind, _LENIENT)
    members: dict[str, Any] = {}
    for field in kind.fields:
        try:
            if field.encode_name not in value:
                raise DoesNotFit
            members[field.name] = _fitted(field.type, value[field.encode_name])
        except DoesNotFit:
            if field.required or (strict and field.encode_name in value):
                raise DoesNotFit(field.encode_name) from None
    try:
        return kind.cls(**members)
    except WirespeedError:
        raise DoesNotFit from None


def _first(kinds: Iterable[inspect.Type], value: Any) -> Any:
    for kind in kinds:
        with suppress(DoesNotFit):
            return _fitted(kind, value)
    raise DoesNotFit


def _good(kind: inspect.Type, items: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    for name, item in items:
        with suppress(DoesNotFit):
            yield name, _fitted(kind, item)


def _number(kind: inspect.IntType | inspect.FloatType, value: Any) -> int | float:
    whole = isinstance(kind, inspect.IntType)
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise DoesNotFit
    # An integer may be too large to become a float.
    bounds = ((ge, -LARGEST), (le, LARGEST), (ge, kind.ge), (gt, kind.gt), (le, kind.le), (lt, kind.lt))
    if not all(bound is None or holds(value, bound) for holds, bound in bounds):
        raise DoesNotFit
    return value if whole else float(value)


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
