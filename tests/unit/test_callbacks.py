"""What is raised while the core calls back into Python cannot cross the core, and must not get lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wirespeed.errors import WirespeedError
from wirespeed.host.core import NativeError, core
from wirespeed.rank.join.mpi_world import MpiWorld

Open = Callable[[BaseException], Any]


@pytest.fixture
def open_transport(tmp_path: Path) -> Iterator[Open]:
    """Opens a transport whose ranks speak to each other as it opens; that raises what is given."""
    opened = core()
    device = opened.open_device("emulated", 0)
    page = opened.check(opened.lib.ws_page_open(str(tmp_path / "page").encode(), 0))

    def open_it(raised: BaseException) -> Any:
        def fail(*_: Any) -> None:
            raise raised

        world = MpiWorld.__new__(MpiWorld)
        world.rank, world.size = 0, 1
        ranks: Any = SimpleNamespace(size=1, Allgather=fail, Bcast=fail, Barrier=fail)
        world.comm = ranks
        control = world.control(opened)
        return opened.check(opened.lib.ws_transport_open(b"gpu", b"", control, device, page))

    yield open_it
    opened.lib.ws_device_close(device)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_surfaces(
    open_transport: Open, interrupt: type[BaseException], capfd: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in set-up traffic ends the call, and does not let the core go on with bytes that never came."""
    with pytest.raises(interrupt):
        open_transport(interrupt())
    assert capfd.readouterr().err == ""
    assert core().check(0) == 0, "once is enough"


def test_an_error_has_its_cause(open_transport: Open, capfd: pytest.CaptureFixture[str]) -> None:
    reason = RuntimeError("the network is gone")
    with pytest.raises(NativeError, match="set-up traffic failed in allgather") as failure:
        open_transport(reason)
    assert failure.value.__cause__ is reason
    assert capfd.readouterr().err == ""


def test_a_lost_rank_is_named(open_transport: Open) -> None:
    """Protects the name of the rank that has gone from "set-up traffic failed"."""
    with pytest.raises(WirespeedError, match="rank 1 has gone"):
        open_transport(WirespeedError("rank 1 has gone"))
