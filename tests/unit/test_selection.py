"""Which paths the words of --paths mean, and what a word that means none is answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_run import FakeRun

from wirespeed.cli.main import main
from wirespeed.errors import WirespeedError
from wirespeed.frontend.order import chosen_paths, completed
from wirespeed.job import path_selection
from wirespeed.job.path_selection import select, suited, unsuited
from wirespeed.job.plan import Plan
from wirespeed.paths import Switch, TransferPath, all_paths, find_path
from wirespeed.patterns import find_pattern
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


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_selection, "all_paths", lambda: PATHS)


@pytest.mark.usefixtures("known")
class TestSelect:
    def names(self, words: str, gpus: bool = True) -> list[str]:
        return [path.name for path in select(words.split(",") if words else [], gpus)]

    def test_without_words_the_defaults_that_fit(self) -> None:
        """Protects the plain run."""
        assert self.names("") == ["host", "aware", "aware-nogdr", "rma"]
        assert self.names("", gpus=False) == ["host"]

    def test_all_is_every_path_that_could_run_here(self) -> None:
        """Protects `--paths all`: those not default too, and no line for each GPU path on a laptop."""
        assert self.names("all") == [path.name for path in PATHS]
        assert self.names("all", gpus=False) == ["host", "rma-host", "rma-host-get"]

    def test_patterns(self) -> None:
        """Protects globs: table order inside one, none twice, the words' order between them."""
        assert self.names("rma*,a*") == ["rma", "rma-host", "rma-host-get", "aware", "aware-nogdr"]
        assert self.names("rma-host,rma*", gpus=False) == ["rma-host", "rma-host-get"]
        assert self.names("*-host") == ["rma-host"]
        assert self.names("rma-host-???,[h]ost") == ["rma-host-get", "host"]

    def test_a_name_stands_whatever_is_here(self) -> None:
        """Protects who asks for a path by its name: it gets a line that says why it cannot be measured."""
        assert self.names("aware,host", gpus=False) == ["aware", "host"]


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


def test_copies_both_ways_by_paths_that_can() -> None:
    """Protects --both-ways from a path whose copies wait for each other; one that was named is answered."""
    both, pattern = {"both_ways": True}, find_pattern("copy")
    every = select(["all"], intra_rank=True)
    assert [path.name for path in suited(every, ["all"], pattern, both)] == [
        "h2d-pinned",
        "h2d-kernel",
        "h2d-managed",
    ]
    assert suited(every, ["all"], pattern, {"both_ways": False}) == [one for one in every if not one.lists]
    assert [path.name for path in suited(every, ["d2d"], pattern, both)][-1] == "d2d"
    why = "--both-ways copies to the device and from it at once; name one of "
    why += "h2d-pinned, h2d-kernel, h2d-managed"
    assert unsuited(find_path("d2d"), pattern, options=both) == why
    assert unsuited(find_path("h2d-kernel"), pattern, options=both) is None
    assert unsuited(find_path("d2d"), pattern) is None
    # A stream goes both ways by any path.
    assert unsuited(find_path("host"), find_pattern("stream"), options=both) is None


def test_one_sided_operations_by_paths_that_have_them() -> None:
    """Protects the latency of a put from a path whose messages need the other rank's answer."""
    rma = find_pattern("rma")
    assert [path.name for path in suited(select(["all"]), ["all"], rma, {})] == [
        *("ucx-host-put", "rma-host", "ucx-put", "shmem", "rma"),
    ]
    named = "ucx-host-put, rma-host, ucx-put, shmem, rma"
    why = f"rma takes paths with one-sided operations alone; name one of {named}"
    assert unsuited(find_path("rma-host-get"), rma) == unsuited(find_path("host"), rma) == why
    assert unsuited(find_path("rma-host"), rma) is None


def test_loads_by_paths_that_do_nothing_else() -> None:
    """Protects other patterns from a path that carries no message, and loads from paths that have none."""
    rma, load = find_pattern("rma"), {"operation": "load"}
    assert [path.name for path in suited(select(["all"]), ["all"], rma, load)] == ["gpu-load", "gpu-load-own"]
    named = "name one of gpu-load, gpu-load-own"
    assert unsuited(find_path("rma-host"), rma, options=load) == f"it has no one-sided load; {named}"
    why = f"rma takes paths with one-sided operations alone; {named}"
    assert unsuited(find_path("host"), rma, options=load) == why
    put = "it has no one-sided put; name one of ucx-host-put, rma-host, ucx-put, shmem, rma"
    assert unsuited(find_path("gpu-load"), rma) == put
    assert unsuited(find_path("gpu-load"), rma, options=load) is None
    for pattern in map(find_pattern, ("pingpong", "allreduce", "jacobi")):
        every = suited(select(["all"]), ["all"], pattern, {})
        assert every and not [path for path in every if path.loads]
        assert "rma --operation load" in str(unsuited(find_path("gpu-load"), pattern))
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
