"""What ranks tell each other over sockets."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.patterns import Transfer
from wirespeed.rank.join.plain_values import decode, encode

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(
    PLAIN | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.builds(Transfer, st.integers(), st.integers())
    ),
    max_leaves=20,
)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    """Protects what both worlds have in common: ranks agree by comparing values."""
    assert decode(encode(value)) == value


@dataclass
class Foreign:
    """No dataclass of wirespeed."""

    value: int


@pytest.mark.parametrize("value", [Foreign(1), object(), {"deep": [print]}])
def test_only_data_is_told(value: object) -> None:
    """Protects the other ranks: what is no data has no form that they could make something of."""
    with pytest.raises(TypeError, match="ranks tell each other data"):
        encode(value)


@pytest.mark.parametrize(
    "said",
    [
        {"~": "dataclass", "of": ["os", "system"], "is": ["true"]},
        {"~": "dataclass", "of": ["wirespeed.errors", "WirespeedError"], "is": ["text"]},
        {"~": "dataclass", "of": ["wirespeed.rank.join.plain_values", "encode"], "is": [1]},
        {"~": "call", "is": []},
    ],
)
def test_nothing_that_arrives_is_executed(said: object) -> None:
    """Protects a rank from a process that knows the secret and means harm."""
    with pytest.raises(ValueError, match="no "):
        decode(json.dumps(said).encode())
