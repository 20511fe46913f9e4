"""The limit of messages through memory is measured: it must be the machine's, not Python's."""

from __future__ import annotations

import pytest
from support import busy

from wirespeed.rank import memory_bandwidth


def test_rates_of_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the limit from the interpreter's own time, and from a buffer that was never touched."""
    load = busy.Load()
    rates = memory_bandwidth.memory_rates()
    assert rates is not None and set(rates) == {"reading from memory", "writing to memory"}
    # No core of today's reads a terabyte a second, and none that is left alone is so slow.
    assert all(rate < 1e12 for rate in rates.values()), rates
    load.claim(all(rate > 5e8 for rate in rates.values()), rates)


def test_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a machine that is short of memory from the measurement."""
    monkeypatch.setattr(memory_bandwidth, "free_memory", lambda: 1 << 20)
    assert memory_bandwidth.memory_rates() is None
