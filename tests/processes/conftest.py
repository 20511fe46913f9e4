"""What tests of programs share: a device on which all ranks of one process compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from wirespeed.host.core import Core, core


@pytest.fixture(params=["host", "emulated"])
def device(request: pytest.FixtureRequest) -> Iterator[tuple[Core, Any, str]]:
    """The emulated GPU has several blocks and lanes, in whatever order."""
    opened = core()
    handle = opened.open_device(request.param, 0)
    yield opened, handle, "pageable" if request.param == "host" else "device"
    opened.lib.ws_device_close(handle)
