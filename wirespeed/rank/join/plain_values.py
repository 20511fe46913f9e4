"""Values that ranks tell each other, as JSON: nothing that arrives is ever executed."""

from __future__ import annotations

import base64
import dataclasses
import json
import sys
from typing import Any

_TAG = "~"
"""A member that no value of ours has; beside it lies what JSON has no word for."""


def encode(value: Any) -> bytes:
    """As JSON. Raises TypeError for what is neither data nor a dataclass of wirespeed."""
    return json.dumps(_plain(value), separators=(",", ":")).encode()


def decode(text: bytes) -> Any:
    """The value again. Raises ValueError for what encode() does not write."""
    return _value(json.loads(text))


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return {_TAG: "tuple", "is": [_plain(item) for item in value]}
    if isinstance(value, bytes):
        return {_TAG: "bytes", "is": base64.b64encode(value).decode()}
    if isinstance(value, complex):
        return {_TAG: "complex", "is": [value.real, value.imag]}
    if isinstance(value, dict):
        if all(type(key) is str for key in value) and _TAG not in value:
            return {key: _plain(item) for key, item in value.items()}
        return {_TAG: "dict", "is": [[_plain(key), _plain(item)] for key, item in value.items()]}
    kind = type(value)
    if dataclasses.is_dataclass(value) and kind.__module__.startswith("wirespeed."):
        fields = [_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
        return {_TAG: "dataclass", "of": [kind.__module__, kind.__name__], "is": fields}
    raise TypeError(f"ranks tell each other data, not {kind.__name__}")


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if _TAG not in plain:
        return {key: _value(item) for key, item in plain.items()}
    kind, inner = plain[_TAG], plain["is"]
    if kind == "tuple":
        return tuple(_value(item) for item in inner)
    if kind == "bytes":
        return base64.b64decode(inner)
    if kind == "complex":
        return complex(*inner)
    if kind == "dict":
        return {_value(key): _value(item) for key, item in inner}
    if kind == "dataclass":
        return _known(*plain["of"])(*map(_value, inner))
    raise ValueError(f"no kind of value: {kind}")


def _known(module: str, name: str) -> Any:
    """A dataclass of ours; its module is loaded on every rank, as all ranks do the same."""
    found = getattr(sys.modules.get(module), name, None) if module.startswith("wirespeed.") else None
    if not (isinstance(found, type) and dataclasses.is_dataclass(found)):
        raise ValueError(f"no dataclass: {module}.{name}")
    return found
