"""The ranks' world is the launcher's, or nothing is measured: real launchers and libraries, mixed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from support import mpis
from support.command import WIRESPEED, Done, Measure, captured, read, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case

from wirespeed import load
from wirespeed.errors import ExitCode
from wirespeed.frontend import command
from wirespeed.frontend.background_load import background_plan, parse
from wirespeed.job.plan import Plan
from wirespeed.statistics.stopping import Stopping

pytestmark = pytest.mark.slow(after=1)

FAST = ("--sizes", "8,64K", "--max-time", "0.02")


@pytest.mark.slow(after=len(mpis.NAMES))
@pytest.mark.parametrize("mpi", mpis.NAMES, indirect=True)
def test_the_front_end_starts_the_ranks(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the plain way: outside any launcher, one job step per path."""
    done = measure("pingpong", *FAST, mpi=mpi).ok()
    (step,) = done.of("step")
    assert step["mpi"]["library"] == str(mpi.library)
    assert [rank["rank"] for rank in step["ranks"]] == [0, 1]
    assert [entry["bytes"] for entry in done.entries] == [8, 65536]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
@pytest.mark.parametrize("words", [("--mpi", "/nowhere"), ("--sizes", "0x")], ids=["late", "early"])
def test_a_rank_with_options_of_its_own_is_named(
    words: tuple[str, str], mpi: InstalledMpi, tmp_path: Path
) -> None:
    """Protects from a launcher's end without a word, and from a minute in MPI_Init. Into a file: Open MPI's
    launcher writes over what others have put there."""
    command = (WIRESPEED, "pingpong", "--paths", "host-shared", "--sizes", "8", "--device", "cpu")
    with (tmp_path / "log").open("w") as log:
        done = subprocess.run(
            mpi.command(1, *command, ":", "-n", "1", *command, *words),
            env=mpi.environment(),
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            timeout=60,
            check=False,
        )
    (line,) = [
        line
        for line in (tmp_path / "log").read_text().splitlines()
        if line.startswith("wirespeed: ") and words[1] in line
    ]
    assert done.returncode == ExitCode.USAGE and line.startswith("wirespeed: rank 1: "), line


def test_no_home_is_needed(mpi: InstalledMpi, measure: Measure, tmp_path: Path) -> None:
    """Protects epilogs and system services: Open MPI 5 starts nothing without HOME."""
    bounds = tmp_path / "site.toml"
    bounds.write_text('[[require]]\npath = "host"\n[require.sizes]\n8 = "at most 1 s"\n')
    done = measure(f"check --require {bounds} --measure", mpi=mpi, before=("env", "-u", "HOME"))
    # 8: it cannot tell, on a busy machine.
    assert done.code in (0, 8) and done.entries, done.err
    assert [entry["bytes"] for entry in done.entries] == [8]


@pytest.mark.parametrize(("failures", "code"), [(1, 0), (2, 1)])
def test_a_launcher_that_fails_in_passing_is_started_once_more(
    failures: int, code: int, measure: Measure, tmp_path: Path
) -> None:
    """Protects from two launchers of a user that remove each other's folder: Open MPI 5 ends with 213."""
    mpi = mpis.installed("mpich")
    prefix = tmp_path / "mpi"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").symlink_to(mpi.prefix / "lib")
    wrapper = prefix / "bin" / "mpiexec"
    wrapper.write_text(
        f"""#!/bin/sh
        case "$*" in *wirespeed/rank*) ;; *) exec {mpi.mpiexec} "$@" ;; esac
        echo >>{tmp_path}/starts
        [ $(wc -l <{tmp_path}/starts) -gt {failures} ] && exec {mpi.mpiexec} "$@"
        echo "The PMIx server's listener thread failed to start. We cannot"
        exit 213
        """
    )
    wrapper.chmod(0o755)
    done = measure("pingpong --mpi", prefix, "--paths host", *FAST)
    assert done.code == code, done.err + done.out
    assert (tmp_path / "starts").read_text().count("\n") == 2
    assert "starting them once more" in done.err
    assert len(done.entries) == (2 if code == 0 else 0)


def test_inside_a_launcher_the_processes_are_the_ranks(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects `mpiexec -n 2 wirespeed pingpong`: one table, one file, the launcher's own library."""
    done = measure("pingpong", *FAST, inside=mpi).ok()
    assert [entry["bytes"] for entry in done.entries] == [8, 65536]
    # Words below the table may name the size again.
    assert len([line for line in done.out.splitlines() if line.split()[:2] == ["64", "KiB"]]) == 1
    (step,) = done.of("step")
    assert Path(step["mpi"]["library"]).resolve() == mpi.library.resolve()


def test_a_ping_pong_of_three(tmp_path: Path) -> None:
    """Protects the one clear line for a wrong number of ranks."""
    mpi = mpis.installed("openmpi")
    done = wirespeed("pingpong", *FAST, before=tuple(mpi.command(3)), environment=mpi.variables, cwd=tmp_path)
    assert done.code != 0
    assert done.err.count("exactly two ranks, not 3") == 1


@pytest.mark.parametrize(
    ("around", "inside"), [("openmpi", "mpich"), ("mpich", "openmpi"), ("mpich", "mpich")]
)
def test_one_rank_starts_a_run_of_its_own(around: str, inside: str, measure: Measure) -> None:
    """Protects a shell that a launcher has started: it is no rank, and its ranks are not the launcher's."""
    outer, inner = mpis.installed(around), mpis.installed(inside)
    done = measure(
        *("pingpong --mpi", inner.mpiexec, "--paths host", *FAST),
        before=tuple(outer.command(1)),
        environment=outer.variables,
    ).ok()
    assert done.err.count("says one rank") == 1 and done.err.count("wirespeed starts ranks of its own") == 1
    (step,) = done.of("step")
    assert step["mpi"]["library"] == str(inner.library) and [rank["rank"] for rank in step["ranks"]] == [0, 1]


# Each launcher with another version or vendor of its own ABI's library, and with one of the other ABI.
MIXES = [
    *(("openmpi", "debian"), ("debian", "openmpi"), ("mpich", "impi"), ("impi", "mpich")),
    *(("openmpi", "mpich"), ("debian", "impi"), ("mpich", "debian"), ("impi", "openmpi")),
]


def refused(mixes: Sequence[tuple[str, str]], tmp_path: Path, *, by_option: bool) -> list[tuple[Done, Path]]:
    """What each pair of launcher and library says, all at once: each waits for two seconds until it ends."""

    def run(mix: tuple[str, str]) -> tuple[Done, Path]:
        starter, other = map(mpis.installed, mix)
        folder = tmp_path / "-".join(mix)
        folder.mkdir()
        named = ("--mpi", str(other.mpiexec)) if by_option else ()
        variables = {} if by_option else {"MPI4PY_LIBMPI": str(other.library)}
        before, environment = tuple(starter.command(2)), starter.variables | variables
        done = wirespeed("pingpong", *FAST, *named, before=before, cwd=folder, environment=environment)
        return done, folder

    here = [mix for mix in mixes if all(isinstance(mpis.find(name), InstalledMpi) for name in mix)]
    if not here:
        pytest.skip("no two MPIs are installed")
    with ThreadPoolExecutor(len(here)) as pool:
        return list(pool.map(run, here))


@pytest.mark.slow
def test_a_launcher_and_a_library_that_do_not_belong_together(tmp_path: Path) -> None:
    """Protects from measuring the wrong library, or two worlds of one rank: refused with one line."""
    for done, folder in refused(MIXES, tmp_path, by_option=False):
        assert done.code != 0, folder.name
        lines = [line for line in done.err.splitlines() if line.startswith("wirespeed: ")]
        assert len(lines) == 1, (folder.name, done.err)
        assert not [file for file in folder.glob("*.jsonl") if "entry" in file.read_text()], folder.name


@pytest.mark.slow
def test_an_mpi_that_is_named_inside_the_launcher_of_another(tmp_path: Path) -> None:
    """Protects from MPI_Init, which ends the process there: one line and the documented code, no file."""
    mixes = (
        ("openmpi", "mpich"),
        ("debian", "mpich"),
        ("openmpi", "impi"),
        ("mpich", "openmpi"),
        ("impi", "debian"),
    )
    for done, folder in refused(mixes, tmp_path, by_option=True):
        assert done.code == 5, (folder.name, done.err)
        (line,) = (line for line in done.err.splitlines() if line.startswith("wirespeed: "))
        assert "the launcher is that of" in line and "use launcher and library of one MPI" in line
        foreign = ("Init_thread", "RuntimeWarning", "PMIx server")
        assert not any(word in done.err for word in foreign), (folder.name, done.err)
        assert not list(folder.iterdir())


def test_libraries_that_a_launcher_can_start() -> None:
    """Protects jobs that work: a family's libraries under its launcher, any under a batch system."""
    from wirespeed import launchers

    openmpi = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    hydra = {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"}
    slurm = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_ID": "0"}
    others = ("mpich", "intel", "mvapich", "cray")
    assert {launchers.foreign_to(vendor, openmpi) for vendor in others} == {"Open MPI"}
    assert launchers.foreign_to("openmpi", hydra) == "MPICH or Intel MPI or MVAPICH"
    for vendor in (*others, "unknown"):
        assert not launchers.foreign_to(vendor, hydra)
    for vendor in (*others, "openmpi", "unknown"):
        assert not launchers.foreign_to(vendor, slurm) and not launchers.foreign_to(vendor, {})
    assert not launchers.foreign_to("openmpi", openmpi) and not launchers.foreign_to("unknown", openmpi)


@pytest.mark.parametrize(
    ("rank", "size", "local"),
    [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
        ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
        ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
        ("PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"),
        ("FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"),
        ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"),
    ],
)
def test_the_local_rank_of_every_launcher(rank: str, size: str, local: str) -> None:
    """Protects the choice of the device before MPI starts."""
    from wirespeed import launchers
    from wirespeed.host import devices

    step = {"SLURM_STEP_ID": "0"} if rank.startswith("SLURM") else {}
    environment = {rank: "5", size: "8", local: "3", **step}
    assert launchers.local_rank(environment) == 3 and launchers.global_rank(environment) == 5
    assert devices.turn(2, 3, launchers.local_rank(environment)) == 1


def test_local_ranks_are_in_the_order_of_ranks() -> None:
    """Protects which ranks share a GPU: Open MPI 5 may count the ranks of a host in another order."""
    from wirespeed import launchers

    names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
    one_host = {f"OMPI_COMM_WORLD_{name}": word for name, word in zip(names, "1424", strict=True)}
    assert launchers.local_rank(one_host) == 1
    # Of two hosts the launcher alone knows.
    assert launchers.local_rank({**one_host, "OMPI_COMM_WORLD_SIZE": "8"}) == 2


def test_a_rank_imports_little() -> None:
    """Protects start-up: a rank loads neither numpy nor rich nor click, and the pattern that it measures."""

    code = (
        "import sys, wirespeed.rank.main, wirespeed.rank.session; from wirespeed.patterns import find_pattern"
    )
    code += "; find_pattern('pingpong'); print(*sorted(sys.modules))"
    done = captured([sys.executable, "-c", code], cwd="/", ok=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "rich", "click", "jinja2", "psutil", "mpi4py.MPI", "tomllib", "tomli"}
    assert "wirespeed.patterns.pingpong" in loaded
    assert not loaded & {"wirespeed.patterns.halo", "wirespeed.programs.jacobi", "wirespeed.programs.lbm"}
    assert WIRESPEED.exists()


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_a_file_that_only_rank_0_refuses(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the other ranks from waiting for a rank 0 that has gone: all leave together, one line."""
    measure.out.touch()
    done = measure("pingpong", *FAST, inside=mpi)
    assert done.code != 0
    assert done.err.count("r.jsonl exists") == 1 and "no progress" not in done.err


def test_a_resume_under_another_mpi_is_refused(tmp_path: Path) -> None:
    """Protects a table from figures of two libraries in one column."""
    out = tmp_path / "r.jsonl"
    first = wirespeed("pingpong", *FAST, out=out).ok()
    (step,) = first.of("step")
    out.write_text(out.read_text().replace(f'"version":"{step["mpi"]["version"]}"', '"version":"1.0"'))
    done = wirespeed("pingpong", *FAST, "--resume", out=out)
    assert done.code == 2, done.err
    assert "--resume: the file was measured on" in done.err and "1.0" in done.err
    assert len(done.entries) == 2


@pytest.mark.slow
def test_rank_0_s_words_are_all_ranks_words(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects from ranks that measure something else, and wait for each other for ever."""
    words = ("pingpong", "--paths", "host", "--device", "cpu", *("--timeout", "9", "--out", "r.jsonl"))
    first = mpi.command(1, WIRESPEED, *words, "--sizes", "8,64", "--no-evidence", "--within", "60s")
    other = (":", "-n", "1", WIRESPEED, *words, "--sizes", "1M", "--loops", "50")
    captured([*first, *map(str, other)], env=mpi.environment(), cwd=tmp_path, ok=True)
    assert {entry.bytes for entry in load(tmp_path / "r.jsonl").entries} == {8, 64}


def test_a_copy_that_runs_during_another_pattern_is_that_of_all_ranks(tmp_path: Path) -> None:
    """Protects --with copy: each rank alone first would leave the others idle for as long as it takes."""
    mpi = mpis.installed("mpich")
    found = Plan(mpi=str(mpi.prefix), ranks=2, device="cpu", stopping=Stopping(max_time=0.05))
    plan = background_plan(parse("copy:h2h:64K"), found, tmp_path / "r.jsonl")
    plan = replace(plan, stopping=found.stopping)
    captured(command(plan), cwd=tmp_path, ok=True)
    (entry,) = load(tmp_path / "r.jsonl").entries
    assert [team.name for team in entry.teams] == ["rank 0 with all", "rank 1 with all"]


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("name", ["debian", "openmpi"])
def test_ranks_start_without_ssh(name: str, tmp_path: Path) -> None:
    """Protects containers: Open MPI 4 starts no rank unless it is told that there is one host."""
    mpi = mpis.installed(name)
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ("env", "sh", "uname"):
        (programs / program).symlink_to(shutil.which(program) or "/bin/false")
    words = ("pingpong", "--paths", "host", "--sizes", "8", "--max-time", "0.02", "--device", "cpu")
    wirespeed(*words, "--mpi", mpi.mpiexec, environment={"PATH": str(programs)}).ok()


RUNS = 5


@pytest.mark.slow
def test_runs_that_start_at_once_have_a_file_each(tmp_path: Path) -> None:
    """Protects every run of a job array: none takes another one's name, and none is refused."""
    mpi = mpis.installed("mpich")
    words = ("pingpong", "--mpi", mpi.prefix, "--paths", "host", "--sizes", "8", "--loops", "5")

    def one(_: int) -> Done:
        return wirespeed(*words, cwd=tmp_path)

    with ThreadPoolExecutor(RUNS) as pool:
        done = list(pool.map(one, range(RUNS)))
    assert [run.code for run in done] == [0] * RUNS, [run.err for run in done]
    names = [run.err.rpartition("results: ")[2].strip() for run in done]
    assert len(set(names)) == RUNS and set(names) == {file.name for file in tmp_path.iterdir()}
    for name in names:
        kinds = [record["kind"] for record in read(tmp_path / name)]
        assert kinds == ["run", "step", "entry", "end"]
        assert read(tmp_path / name)[0]["plan"]["out"] == name
