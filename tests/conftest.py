"""What every test stands on: the installed package, a clean environment, the MPIs, nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings
from support import leftovers, mpis, session_lock
from support.builds import builds_folder
from support.checks import Check
from support.command import Measure
from support.examples import PROFILES
from support.fake_run import FakeRun
from support.golden import Golden
from support.selection import TURNS, its_turn, slow_case, slow_tests
from support.socket_ranks import KEY

import wirespeed.frontend
from wirespeed._version import __version__
from wirespeed.cli.main import main
from wirespeed.rank.join.handshake import Listener

ROOT = Path(__file__).parents[1]

# A test must not inherit a launcher's variables (it would take itself for a rank) nor a terminal's.
_UNWANTED = (
    *("FLUX_", "HYDRA_", "I_MPI_", "JSM_", "MASTER_ADDR", "MPI4PY_", "MPICH_", "MPIR_", "MPI_LOCAL", "MV2_"),
    *("OMPI_", "OPAL_", "PALS_", "PMIX_", "PMI_", "PRTE_", "SLURM_", "WIRESPEED_"),
    *("COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONPATH", "TERM"),
)
_LOCK = "WIRESPEED_TEST_LOCK"
"""A file that tests hold while they run: those that want a `quiet_machine` alone, others together."""
# Loads a core built with a sanitizer instead of the installed one.
_WANTED = ("WIRESPEED_LIBRARY", _LOCK)

_BEFORE = pytest.StashKey[set[leftovers.Left]]()
_SEEN = pytest.StashKey[list[str]]()
_LEFT_OUT = pytest.StashKey[dict[str, int]]()
"""Tests that do not run, by why."""


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


def _is_worker(config: pytest.Config) -> bool:
    """Is this process one of xdist's, which share their session's lock?"""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    # What asserts are rewritten to is kept, whatever the environment says: it takes most of the collection.
    sys.dont_write_bytecode = False
    quick, whole = PROFILES
    all_of_them = config.getoption("--all") or config.getoption("--turn") is not None
    settings.load_profile(whole if all_of_them else quick)
    _clean_environment()
    _heed_signals()
    leftovers.mark_session()
    if not _is_worker(config):
        # A session that a test starts would wait for that test, where another one waits to be alone.
        os.environ[_LOCK] = str(Path(tempfile.gettempdir(), f"wirespeed-tests-{os.getpid()}.lock"))
    if _in_source_tree() and os.environ.get("CI"):
        raise pytest.UsageError(
            "the tests would import the source tree: run make test, which installs the package"
        )


# Machines with GPUs may lack xdist.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Most tests wait for starting ranks or for a watchdog; more of them at once would disturb each other."""
    return max(1, min(4, os.cpu_count() or 1))


def pytest_unconfigure(config: pytest.Config) -> None:
    if not _is_worker(config):
        session_lock.remove(Path(os.environ[_LOCK]))


def _alone(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and "quiet_machine" in item.fixturenames


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with session_lock.hold(Path(os.environ[_LOCK]), alone=_alone(item)):
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


def _leave_out(config: pytest.Config, why: str, count: int) -> None:
    left_out = config.stash.setdefault(_LEFT_OUT, {})
    left_out[why] = left_out.get(why, 0) + count


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    if items:
        _leave_out(items[0].config, "by your words", len(items))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"] = session.config.stash.get(_LEFT_OUT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each of xdist's workers has collected them all."""
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(_SEEN, []):
        terminalreporter.write_line(f"left behind, here or by another session: {line}")
    ran: set[str] = set()
    for how in ("passed", "failed", "error", "xfailed"):
        ran |= {report.nodeid for report in terminalreporter.stats.get(how, ())}
    skipped = {report.nodeid for report in terminalreporter.stats.get("skipped", ())} - ran
    none: dict[str, int] = {}
    unselected = config.stash.get(_LEFT_OUT, none)
    left_out = {**unselected, "skipped, for the reasons above": len(skipped)}
    told = [f"{count:,} {why}" for why, count in left_out.items() if count]
    there = len(ran) + sum(left_out.values())
    if not config.option.collectonly:
        terminalreporter.write_line(f"ran {len(ran):,} of {there:,}; left out: {', '.join(told) or 'none'}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="take what is printed now into tests/golden")
    parser.addoption("--all", action="store_true", help="run the tests marked slow, too, and all examples")
    parser.addoption(
        "--turn",
        type=int,
        metavar="N",
        help=f"run the slow tests whose turn it is, too: of {TURNS} numbers in a row each of them once",
    )


# First: the words after -k and -m then choose among these.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves slow tests out, if neither --all nor -m asks for them; what runs alone comes first."""
    # Before others run that they would wait for.
    items.sort(key=lambda item: not _alone(item))
    if config.getoption("--all") or config.option.markexpr:
        return
    turn = config.getoption("--turn")
    slow = {item for item in slow_tests(items) if turn is None or not its_turn(item, turn)}
    items[:] = [item for item in items if item not in slow]
    _leave_out(config, "slow (make test-all runs them)", len(slow))


@pytest.fixture
def quiet_machine() -> None:
    """The test needs a quiet machine, or takes all cores: no other one runs at the same time."""


@pytest.fixture(params=[mpis.NAMES[0], *map(slow_case, mpis.NAMES[1:])])
def mpi(request: pytest.FixtureRequest) -> mpis.InstalledMpi:
    """Each MPI in turn, of which all but the first are slow; skipped where it is not installed."""
    return mpis.installed(request.param)


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """Runs wirespeed with its results in r.jsonl of the test's folder."""
    return Measure(tmp_path / "r.jsonl")


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Golden:
    """Holds a table of texts against a file of tests/golden."""
    known = {str(tmp_path): "TMP", str(ROOT): "ROOT", f"wirespeed {__version__}": "wirespeed VERSION"}
    return Golden(request.config.getoption("--accept"), known)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRun:
    made = FakeRun()
    module = ModuleType("wirespeed.frontend.session")
    module.measure, module.discover = made.measure, made.discover  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wirespeed.frontend.session", module)
    monkeypatch.setattr(wirespeed.frontend, "session", module, raising=False)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def check_(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Runs the command on a site.toml with this text."""
    monkeypatch.chdir(tmp_path)

    def call(text: str, *words: str | Path) -> tuple[int, list[str], str]:
        Path("site.toml").write_text(text)
        capsys.readouterr()
        code = main(["check", "--require", "site.toml", *map(str, words)])
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), printed.err

    return call


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Rank 3's, of a job whose secret is support.socket_ranks' KEY."""
    with closing(Listener("127.0.0.1", 0, KEY, 3)) as listens:
        yield listens


@pytest.fixture(scope="session")
def builds() -> Path:
    """The folder of what tests compile, the same for all workers, and for later sessions."""
    return builds_folder(ROOT)


@pytest.fixture(scope="session")
def session_builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of this session alone, for what the installed package builds."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "builds"
