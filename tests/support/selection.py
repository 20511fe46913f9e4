"""What `make test` leaves to `make test-all`."""

from __future__ import annotations

from typing import Any

import pytest


def thorough(*values: Any) -> Any:
    """Parameters of one more case, for `make test-all` only."""
    return pytest.param(*values, marks=pytest.mark.thorough)
