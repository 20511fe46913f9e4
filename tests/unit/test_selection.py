"""Which paths the words of --paths mean, which are there, and what a word that means none is answered."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.fake_run import FakeRun
from support.golden import Golden

from wirespeed.cli.main import main
from wirespeed.errors import WirespeedError
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.order import chosen_paths, completed
from wirespeed.host.mpi import Mpi
from wirespeed.job import path_selection
from wirespeed.job.path_selection import select, suited, unsuited
from wirespeed.job.plan import Plan
from wirespeed.paths import Switch, TransferPath, all_paths, find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.transports import ALL
from wirespeed.units import parse_sizes

PATHS = (
    TransferPath("host", "", "mpi", "pageable", order=10),
    TransferPath("host-pinned", "", "mpi", "pinned", default=False, order=11),
    TransferPath("aware", "", "mpi", "device", order=30),
    TransferPath("aware-nogdr", "", "mpi", "device", switch=Switch({"UCX_TLS": "^cuda_ipc"}), order=31),
    TransferPath("rma", "", "rma", "device", order=70),
    TransferPath("rma-host", "", "rma", "pageable", default=False, order=71),
    TransferPath("rma-host-get", "", "rma", "pageable", default=False, order=72),
)


WORDS = ("", "all", "rma*,a*", "rma-host,rma*", "*-host", "rma-host-???,[h]ost", "aware,host")


def names(paths: Iterable[TransferPath]) -> str:
    return ", ".join(path.name for path in paths)


def test_what_words_select(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    """Protects the plain run, `all`, and globs; a path that is named stands, whatever is here."""
    monkeypatch.setattr(path_selection, "all_paths", lambda: PATHS)
    golden(
        "cli/selected_paths",
        {
            f"--paths {words or 'is left out'}": f"with GPUs: {names(select(given))}\n"
            f"without: {names(select(given, gpus=False))}"
            for words in WORDS
            for given in [words.split(",") if words else []]
        },
    )


def test_real_paths_are_selected() -> None:
    """Protects the selection from being right for made-up paths alone."""
    assert select(["all"]) == [path for path in all_paths() if not path.intra_rank and not path.work_alone]
    assert select(["all"], intra_rank=True) == [path for path in all_paths() if path.intra_rank]
    assert [path.name for path in select(["host*"])] == [
        path.name for path in all_paths() if path.name.startswith("host")
    ]


@pytest.mark.parametrize(
    ("name", "intra_rank", "text"), [("h2d-pinned", False, "wirespeed copy"), ("host", True, "between ranks")]
)
def test_a_path_of_the_other_kind_is_refused(name: str, intra_rank: bool, text: str) -> None:
    """Protects from a copy that is taken for a path between ranks, and the other way round."""
    with pytest.raises(WirespeedError, match=text):
        select([name], intra_rank=intra_rank)


CARRIED: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("copy", {"both_ways": True}, ("d2d", "h2d-kernel")),
    ("copy", {}, ("d2d",)),
    ("stream", {"both_ways": True}, ("host",)),
    ("rma", {}, ("rma-host", "rma-host-get", "host", "gpu-load")),
    ("rma", {"operation": "load"}, ("rma-host", "host", "gpu-load")),
    *((pattern, {}, ("gpu-load",)) for pattern in ("pingpong", "allreduce", "jacobi")),
)


def test_which_paths_carry_what(golden: Golden) -> None:
    """Protects an operation from a path that cannot have it; one that was named is answered, and stays."""
    told = {}
    for name, options, asked in CARRIED:
        pattern = find_pattern(name).at(Shape(2, options))
        every = select(["all"], intra_rank=pattern.name == "copy")
        answers = [f"{path}: {unsuited(find_path(path), pattern, Plan())}" for path in asked]
        carry = suited(every, ["all"], pattern)
        rest = [path for path in every if path not in carry]
        found = f"those but {names(rest)}" if len(rest) < len(carry) else names(carry)
        told[f"{name} {options or ''}"] = "\n".join([f"of all: {found}", *answers])
        able = {path.name for path in suited(every, asked, pattern)}
        assert set(asked) & {path.name for path in every} <= able
    golden("cli/carried", told)
    assert not [path for path in select([]) if path.loads]


class TestCommand:
    def test_sizes_that_an_option_has(self, fake: FakeRun) -> None:
        """Protects --sizes: a load's default sizes are its own, and none takes the place of given ones."""

        def sizes(*words: str) -> tuple[int, ...]:
            assert main(["rma", *words, "--out", "f"]) == 0
            return completed(fake.plan, 2, "host").sizes

        load = ("--operation", "load")
        assert sizes(*load) == tuple(4**step << 16 for step in range(8))
        assert sizes(*load, "--sizes", "1:1M") == sizes() == parse_sizes("1:1M")

    def test_patterns_go_into_the_plan_as_they_are(self, fake: FakeRun) -> None:
        """Protects the machine's say in what a pattern means: it is not known when words are read."""
        assert main(["pingpong", "--paths", "all,host*,host,all", "--sizes", "8", "--out", "f"]) == 0
        assert fake.plan.paths == ("all", "host*", "host")


def test_a_counterpart_is_a_path_and_a_switch_is_named() -> None:
    """Protects the price of a switch: a counterpart is a path, and its switch is known."""
    names = {path.name for path in all_paths()}
    for path in all_paths():
        assert not path.switch.without or (path.switch.without in names and path.switch.variables), path.name


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("nccl", "nccl-stream", True),
        ("nccl", "nccl:graph", True),
        ("nccl:registered", "nccl-stream:registered", True),
        ("nccl", "nccl:registered", False),
        ("nccl:registered", "nccl:symmetric", False),
        ("nccl", "nccl:direct", False),
        ("nccl", "host", False),
    ],
)
def test_what_joins_the_ranks_is_shared_by_paths_alike(one: str, other: str, shared: bool) -> None:
    """Protects a path from what another one has NCCL set up, in its figures and in its log."""
    first, second = find_path(one), find_path(other)
    assert first.goes_on_as(second) is second.goes_on_as(first) is shared


def test_every_path_names_a_transport_that_is_declared() -> None:
    """Protects what is asked of a transport: one that is not declared would have no traits."""
    folders = {
        folder.name
        for folder in (Path(__file__).parents[2] / "native/transports").iterdir()
        if folder.is_dir()
    }
    for path in all_paths():
        assert path.transport in folders and path.traits in ALL, path.name
    assert {transport.name for transport in ALL} <= folders


@pytest.mark.parametrize("program", ["lbm", "jacobi"])
@pytest.mark.parametrize("kind", ["cuda", "hip", "emulated"])
def test_programs_leave_the_cpu_out_where_there_are_gpus(program: str, kind: str) -> None:
    """Protects a first look at a program from minutes in which a CPU computes what a GPU has in seconds."""

    def memories(plan: Plan, kind: str) -> set[str]:
        return {path.memory for path in chosen_paths(plan, kind)}

    assert memories(Plan(program), kind) == memories(Plan(program, ranks=1), kind) == {"device"}
    assert memories(Plan(program), "host") == {"pageable"} and "pageable" in memories(Plan("pingpong"), kind)
    assert "pageable" in memories(Plan(program, paths=("host", "gpu")), kind), "it was named"


@pytest.mark.parametrize(
    ("vendor", "files", "lacks"),
    [
        ("openmpi", ("liboshmem.so.40",), None),
        ("openmpi", (), "Open MPI 5.0.11 was built without OpenSHMEM: no {lib}/liboshmem.so.40"),
        ("mpich", ("liboshmem.so.40",), "OpenSHMEM comes with Open MPI, and the MPI in use is MPICH 5.0.11"),
    ],
)
def test_openshmem(vendor: str, files: tuple[str, ...], lacks: str | None, tmp_path: Path) -> None:
    """Protects from a path that is called available and fails when it is measured."""
    for name in files:
        (tmp_path / name).touch()
    mpi = Mpi(vendor, "5.0.11", tmp_path, tmp_path / "mpiexec", tmp_path / "libmpi.so.40", "given")
    machine = Machine("host", [], [mpi], {})
    assert machine.lacks(find_path("oshmem")) == (lacks and lacks.format(lib=tmp_path))
    assert machine.lacks(find_path("host")) is None
    assert "no MPI found" in str(Machine("host", [], [], {}).lacks(find_path("oshmem")))
