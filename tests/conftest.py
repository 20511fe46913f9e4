"""What every test stands on: the installed package, a clean environment, the MPIs, nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Generator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support import leftovers, mpis, session_lock
from support.builds import builds_folder
from support.examples import PROFILES
from support.golden import Golden
from support.selection import its_turn, mark_further

from wirespeed._version import __version__

ROOT = Path(__file__).parents[1]

# A test must not inherit a launcher's variables (it would take itself for a rank) nor a terminal's.
_UNWANTED = (
    *(
        "FLUX_",
        "HYDRA_",
        "I_MPI_",
        "JSM_",
        "MASTER_ADDR",
        "MPI4PY_",
        "MPICH_",
        "MPIR_",
        "MPI_LOCAL",
        "MV2_",
        "OMPI_",
        "OPAL_",
    ),
    *("PALS_", "PMIX_", "PMI_", "PRTE_", "SLURM_", "WIRESPEED_"),
    *("COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONPATH", "TERM"),
)
_LOCK = "WIRESPEED_TEST_LOCK"
"""A file that tests hold while they run: those marked `alone` by themselves, all others together."""
# Loads a core built with a sanitizer instead of the installed one.
_WANTED = ("WIRESPEED_LIBRARY", _LOCK)

_BEFORE = pytest.StashKey[set[leftovers.Left]]()
_SEEN = pytest.StashKey[list[str]]()
_LEFT_OUT = pytest.StashKey[int]()
"""Tests that their mark has left to `make test-all`."""


def _clean_environment() -> None:
    for name in list(os.environ):
        if name.startswith(_UNWANTED) and name not in _WANTED:
            del os.environ[name]
    if os.geteuid() == 0:
        os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # More ranks than cores, for Open MPI 4 and 5, and ranks that give way; the others never mind.
    os.environ |= {
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        # It takes time after every size; its own tests switch it on again.
        "WIRESPEED_NO_EVIDENCE": "1",
        # On a busy machine figures are wide, and would be measured on for as long as that lasts.
        "WIRESPEED_BUDGET": "0",
    }


def _heed_signals() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would all that tests start."""
    for number, action in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, action)


def _in_source_tree() -> bool:
    spec = find_spec("wirespeed")
    return spec is not None and spec.origin is not None and ROOT / "wirespeed" in Path(spec.origin).parents


def pytest_configure(config: pytest.Config) -> None:
    # What asserts are rewritten to is kept, whatever the environment says: it takes most of the collection.
    sys.dont_write_bytecode = False
    settings.load_profile(config.getoption("--hypothesis-profile") or next(iter(PROFILES)))
    _clean_environment()
    _heed_signals()
    leftovers.mark_session()
    os.environ.setdefault(_LOCK, str(Path(tempfile.gettempdir(), f"wirespeed-tests-{os.getpid()}.lock")))
    if _in_source_tree() and os.environ.get("CI"):
        raise pytest.UsageError(
            "the tests would import the source tree: run make test, which installs the package"
        )


# Machines with GPUs may lack xdist.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Most tests wait for starting ranks or for a watchdog; more of them at once would disturb each other."""
    return max(1, min(4, os.cpu_count() or 1))


def pytest_unconfigure() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        session_lock.remove(Path(os.environ[_LOCK]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with session_lock.hold(Path(os.environ[_LOCK]), alone=item.get_closest_marker("alone") is not None):
        return (yield)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Every process must find the same names: a set's words stand in another order in each."""
    given = getattr(item, "callspec", None)
    if given and any(isinstance(value, (set, frozenset)) for value in given.params.values()):
        raise pytest.UsageError(f"{item.nodeid}: a set among its parameters; write a tuple")


def pytest_report_header() -> str:
    spec = find_spec("wirespeed")
    found = ", ".join(name for name in mpis.NAMES if isinstance(mpis.find(name), mpis.InstalledMpi))
    return f"wirespeed: {spec.origin if spec else 'not installed'}\nMPIs: {found or 'none'}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    yield
    # Now: what fixtures of a module or of the session keep running is there already.
    item.stash[_BEFORE] = leftovers.look()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    yield
    before = item.stash.get(_BEFORE, None)
    if before is None or not (found := leftovers.left_since(before)):
        return
    leftovers.remove(found)
    text = "the test left behind: " + "; ".join(left.what for left in found)
    # Without a process, a folder may be another session's on the same machine.
    if os.environ.get("CI") or any(left.pid for left in found):
        pytest.fail(text, pytrace=False)
    item.config.stash.setdefault(_SEEN, []).append(f"{item.nodeid}: {text}")


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    thorough = [item for item in items if item.get_closest_marker("thorough")]
    if thorough and not thorough[0].config.option.keyword:
        stash = thorough[0].config.stash
        stash[_LEFT_OUT] = stash.get(_LEFT_OUT, 0) + len(thorough)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"] = session.config.stash.get(_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each of xdist's workers has collected them all."""
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left_out := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"{left_out} more tests are thorough: make test-all runs them, too")
    for line in config.stash.get(_SEEN, []):
        terminalreporter.write_line(f"left behind, here or by another session: {line}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="take what is printed now into tests/golden")
    parser.addoption(
        "--turn",
        type=int,
        metavar="N",
        help="of the thorough tests those whose turn it is: a third of the further, a sixtieth of others",
    )


# First: what is marked here is then chosen or left out by its mark.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks as thorough what `make test` leaves out; with --turn only a part of that is left."""
    for item in items:
        own = [mark.args[0] for mark in item.iter_markers("parametrize")]
        chosen = any("mpi" in (names.split(",") if isinstance(names, str) else names) for names in own)
        name = (
            item.callspec.params.get("mpi")
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else None
        )
        # What is measured hardly depends on the MPI; how ranks start, and what becomes of them, does.
        others = ("impi", "debian", *(["mpich"] if "conformance" in item.path.parts else []))
        if name in others and not chosen and not item.get_closest_marker("every_mpi"):
            item.add_marker(pytest.mark.thorough)
    mark_further(items)
    # First, before others run that they would wait for.
    items.sort(key=lambda item: item.get_closest_marker("alone") is None)
    if (turn := config.getoption("--turn")) is not None:
        not_now = {item for item in items if item.get_closest_marker("thorough") and not its_turn(item, turn)}
        config.hook.pytest_deselected(items=list(not_now))
        items[:] = [item for item in items if item not in not_now]


@pytest.fixture(params=mpis.NAMES)
def mpi(request: pytest.FixtureRequest) -> mpis.InstalledMpi:
    """Each MPI in turn; skipped where it is not installed."""
    found = mpis.find(request.param)
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Golden:
    """Holds a table of texts against a file of tests/golden."""
    known = {str(tmp_path): "TMP", str(ROOT): "ROOT", f"wirespeed {__version__}": "wirespeed VERSION"}
    return Golden(request.config.getoption("--accept"), known)


@pytest.fixture(scope="session")
def builds() -> Path:
    """The folder of what tests compile, the same for all workers, and for later sessions."""
    return builds_folder(ROOT)


@pytest.fixture(scope="session")
def session_builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of this session alone, for what the installed package builds."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "builds"
