"""BatchJob scripts: every one is a shell script whose directives and whose wirespeed commands are right."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.command import captured
from support.fake_run import FakeRun, one_line

from wirespeed import systems
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.systems import load, names
from wirespeed.systems.model import System

DIRECTIVES = {
    "slurm": (
        "#SBATCH ",
        ("--job-name --output --time --nodes --ntasks-per-node --gpus-per-node --cpus-per-task --account"),
        "--partition --qos --constraint --mem",
        "--exclusive",
    ),
    "lsf": ("#BSUB ", "-J -o -W -nnodes -P -q", "-alloc_flags", ""),
    "pbs": ("#PBS ", "-N -j -l -A -q", "", "-V"),
    "flux": ("#flux: ", "--job-name --output --time-limit --nodes --bank --queue", "", "--exclusive"),
    "cobalt": ("#COBALT ", "-n -t --mode -O -A -q", "--attrs", ""),
}
"""Of each batch system, from its own manual: the word of its directives, options with a value, and flags."""
FAKE = {
    # A launcher: passes its own options over, and starts one rank.
    "srun jsrun mpiexec mpirun flux": """#!/bin/sh
[ "$1" = --version ] && exit 0
echo "$0 $*" >> "$CALLS.launches"
while [ "$1" != wirespeed ] && [ "$1" != env ] && [ "$1" != apptainer ]; do shift; done
exec "$@"
""",
    "apptainer": """#!/bin/sh
echo "$*" >> "$CALLS.containers"
while [ "$1" != wirespeed ] && [ "$1" != env ]; do shift; done
exec "$@"
""",
    "wirespeed": """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case " $* " in *" --paths host "*) exit "${HOST_FAILS:-0}" ;; esac
exit "${OTHERS_FAIL:-0}"
""",
    "module": """#!/bin/sh
echo "module $*" >> "$CALLS.modules"
""",
}


@dataclass
class Ran:
    """What a script did when it was run with made-up launchers."""

    code: int
    calls: list[list[str]] = field(default_factory=list)
    launches: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fakes")
    for programs, text in FAKE.items():
        for program in programs.split():
            (folder / program).write_text(text)
            (folder / program).chmod(0o755)
    return folder


@dataclass
class Jobs:
    """Writes scripts, and runs them in the folder with made-up programs."""

    folder: Path
    fakes: Path
    capsys: pytest.CaptureFixture[str]

    def written(self, words: str) -> str:
        """The script that the command prints."""
        assert main(["script", *words.split()]) == ExitCode.OK
        return self.capsys.readouterr().out

    def ran(self, script: str, **variables: str) -> Ran:
        (self.folder / "job.sh").write_text(script)
        environment = {"PATH": f"{self.fakes}:{os.environ['PATH']}", "CALLS": str(self.folder / "calls")}
        environment |= {"HOME": str(self.folder), "HOSTS": "n1,n2", "COBALT_NODEFILE": "nodes", **variables}
        checked = captured(["bash", "-n", "job.sh"], cwd=self.folder)
        assert (checked.returncode, checked.stderr) == (0, "")
        # Not as a login shell: what its profile does to PATH is not ours to test.
        done = captured(["bash", "job.sh"], env=environment, cwd=self.folder)
        calls, *others = (self.lines(name) for name in ("calls", "calls.launches", "calls.modules"))
        return Ran(done.returncode, [line.split() for line in calls], *others)

    def lines(self, name: str) -> list[str]:
        found = self.folder / name
        return found.read_text().splitlines() if found.exists() else []


@pytest.fixture
def jobs(tmp_path: Path, fakes: Path, capsys: pytest.CaptureFixture[str]) -> Jobs:
    return Jobs(tmp_path, fakes, capsys)


def parsed(script: str, batch: str) -> list[tuple[str, str | None]]:
    """The script's directives as (option, value): read as strictly as the batch system reads them."""
    word, needed, further, flags = DIRECTIVES[batch]
    lines = script.splitlines()
    assert lines[0].startswith("#!/bin/bash")
    # They count up to the first line that is no comment; Cobalt's up to the first other line.
    head = lines[1 : next(number for number, line in enumerate(lines) if not line.startswith("#"))]
    own = [line for line in lines if line.startswith(word)]
    assert [line for line in head if line.startswith(word)] == own
    assert head[: len(own)] == own
    found: list[tuple[str, str | None]] = []
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False, prefix_chars="-")
    for option in (*needed.split(), *further.split()):
        parser.add_argument(option, dest=option, action="append")
    for option in flags.split():
        parser.add_argument(option, dest=option, action="store_true")
    for line in own:
        given, rest = parser.parse_known_args(shlex.split(line.removeprefix(word)))
        assert not rest, line
        found += [(name, value[0]) for name, value in vars(given).items() if isinstance(value, list)]
        found += [(name, None) for name, value in vars(given).items() if value is True]
    return found


JOBS = [
    "groups --nodes 2 --group 4 --sizes 8:1G --paths host,aware --account ABC123",
    "pingpong --nodes 2 --time 1:30 --queue debug --loops 50 --out own.jsonl",
]


@pytest.mark.parametrize("job", JOBS, ids=[job.split()[0] for job in JOBS])
@pytest.mark.parametrize("name", names())
def test_the_script_of_every_system(name: str, job: str, jobs: Jobs, fake: FakeRun) -> None:
    """A job that waits a day in a queue must not end at once: shell, directives, commands are right."""
    system = load(name)
    if name == "summit":
        job = job.replace("--group 4", "--group 6")
    script = jobs.written(f"{job} --system {name}")
    if system.batch.system != "none":
        options = dict(parsed(script, system.batch.system))
        assert ("ABC123" in options.values()) == ("--account" in job)
        assert ("debug" in options.values()) == ("debug" in job or system.batch.queue == "debug")
    did = jobs.ran(script)
    assert did.code == 0
    paths = [call[call.index("--paths") + 1] for call in did.calls]
    # But for the path all calls are alike: one is read by the command itself.
    pairs = zip(did.calls, paths, strict=True)
    assert len({" ".join(call).replace(f"--paths {path} ", "") for call, path in pairs}) == 1
    assert main(did.calls[-1]) == ExitCode.OK
    plan, pattern = fake.plan, job.split()[0]
    paths = [name for path in paths for name in path.split(",")]
    assert (plan.pattern, plan.paths[-1]) == (pattern, paths[-1])
    assert plan.out is not None and plan.out.endswith(".jsonl")
    assert (plan.out == "own.jsonl") == ("own.jsonl" in job)
    if plan.between:
        assert set(plan.between) <= set(range(system.node.gpus))
        assert len(plan.between) == (2 if pattern == "pingpong" else system.node.gpus)
    if system.batch.system == "none":
        assert plan.ranks == (2 if pattern == "pingpong" else 2 * system.node.gpus)
        assert plan.hosts == ("n1", "n2")
    if "--paths" in job:
        assert paths == job.split("--paths ")[1].split()[0].split(",")
    assert len(paths) == len(set(paths)) >= 2
    check_switches(system, script, did)


def check_switches(system: System, script: str, did: Ran) -> None:
    """Each active switch is set, those that are not stand as comments; each with its source."""
    shell = "\n".join(line for line in script.splitlines() if not line.startswith("#"))
    for switch in system.switches:
        setting = switch.module or switch.option or f"{switch.variable}="
        assert (setting in shell) == switch.active
        assert switch.option or (setting in script and switch.source in script)
        assert not switch.option or all(switch.option in launch for launch in did.launches)
        if switch.ranks_only:
            assert f"export {switch.variable}" not in script
    wanted = [switch.module for switch in system.switches if switch.module and switch.active]
    assert did.modules == [f"module load {module}" for module in wanted]
    for breakage in system.breakages:
        assert breakage.what in script


every_batch_system = pytest.mark.parametrize("batch", ["slurm", "lsf", "pbs", "flux"])


@every_batch_system
def test_a_machine_that_is_not_known(batch: str, jobs: Jobs, fake: FakeRun) -> None:
    words = f"groups --batch {batch} --gpus-per-node 4 --nodes 3 --group 4 --paths host,nccl"
    script = jobs.written(f"{words} --queue q --account a --time 90")
    clock = {"slurm": "01:30:00", "lsf": "1:30", "pbs": "walltime=01:30:00", "flux": "90m"}[batch]
    assert {"q", "a", clock} <= {value for _, value in parsed(script, batch)}
    did = jobs.ran(script)
    assert did.code == 0 and len(did.launches) == 2
    assert [main(call) for call in did.calls] == [0, 0]
    assert [plan.paths for plan in fake.plans] == [("host",), ("nccl",)]
    assert re.search(r"(-n|--ntasks=|--nrs|--nodes=)\s*(12|3)\b", did.launches[0])


@every_batch_system
@pytest.mark.parametrize(
    ("host", "others", "code"),
    [("139", "0", 139), ("3", "0", 0), ("0", "3", 0), ("3", "3", 3), ("3", "1", 1), ("1", "3", 1)],
)
def test_a_path_that_fails_costs_its_own_figures(
    batch: str, host: str, others: str, code: int, jobs: Jobs
) -> None:
    """Each path is a job step: after one that crashed the others go on, and the job ends as failed.

    A path that is not available is no failure: code 3 is left for a job without a figure.
    """
    script = jobs.written(f"pingpong --batch {batch} --gpus-per-node 2 --paths host,staged,aware")
    did = jobs.ran(script, HOST_FAILS=host, OTHERS_FAIL=others)
    assert did.code == code
    assert [call[call.index("--paths") + 1] for call in did.calls] == ["host", "staged", "aware"]
    assert all("--resume" in call for call in did.calls)


def test_open_mpi_s_mpiexec_is_told_in_its_own_words(jobs: Jobs) -> None:
    script = jobs.written("groups --batch pbs --gpus-per-node 4 --paths host")
    assert "--ppn 4" in jobs.ran(script).launches[0]
    (jobs.folder / "openmpi").mkdir()
    text = FAKE["srun jsrun mpiexec mpirun flux"]
    mpiexec = jobs.folder / "openmpi/mpiexec"
    mpiexec.write_text(text.replace("&& exit 0", "&& echo 'mpiexec (Open MPI) 5.0.11' && exit 0"))
    mpiexec.chmod(0o755)
    did = jobs.ran(script, PATH=f"{mpiexec.parent}:{jobs.fakes}:{os.environ['PATH']}")
    assert "--map-by ppr:4:node" in did.launches[-1]


def test_without_wirespeed_the_job_says_so(jobs: Jobs) -> None:
    script = jobs.written("pingpong --batch slurm --gpus-per-node 2")
    (jobs.folder / "bin").mkdir()
    (jobs.folder / "bin/bash").symlink_to("/bin/bash")
    (jobs.folder / "job.sh").write_text(script)
    done = captured(["/bin/bash", "job.sh"], env={"PATH": str(jobs.folder / "bin")}, cwd=jobs.folder)
    assert done.returncode == 3


@pytest.mark.parametrize("name", ["survey", "doctor"])
@pytest.mark.parametrize("where", ["--batch slurm", "--batch pbs", "--batch flux", "--system summit"])
def test_what_starts_its_own_ranks_is_called_once(name: str, where: str, jobs: Jobs) -> None:
    done = jobs.ran(jobs.written(f"{name} {where} --device cpu"), OTHERS_FAIL="6")
    (call,) = done.calls
    assert done.code == 6 and call[:4] == [name, "--device", "cpu", "--out"] and not done.launches


@pytest.mark.parametrize(("job", "calls"), [("survey", 1), ("pingpong --nodes 2 --paths host,aware", 2)])
def test_apptainer_runs_the_command(job: str, calls: int, jobs: Jobs) -> None:
    """Protects a job whose wirespeed is in an image: each call goes through the container."""
    words = f"{job} --batch slurm --gpus-per-node 2 --container apptainer --image w.sif"
    done, opened = jobs.ran(jobs.written(words)), jobs.lines("calls.containers")
    assert len(opened) == len(done.calls) == calls
    assert all(line.startswith(f"exec --nv --bind {jobs.folder} w.sif wirespeed ") for line in opened)


@pytest.mark.parametrize("job", ["survey", "pingpong --nodes 2 --paths host"])
def test_enroot_is_srun_s_own(job: str, jobs: Jobs) -> None:
    words = f"{job} --batch slurm --gpus-per-node 2 --container enroot --image reg/w:1"
    done = jobs.ran(jobs.written(words), SLURM_CPUS_ON_NODE="8")
    (launch,) = done.launches
    folder = jobs.folder
    assert f"--container-image=reg/w:1 --container-mounts={folder}:{folder}" in launch
    assert len(done.calls) == 1


def test_a_job_without_gpus_asks_for_none(jobs: Jobs) -> None:
    """Protects clusters of CPUs: --gpus-per-node is not demanded, and its lack is said."""
    assert main(["script", "pingpong", "--batch", "slurm", "--nodes", "2"]) == ExitCode.OK
    printed = jobs.capsys.readouterr()
    assert "--gpus-per-node" not in printed.out and "asks for no GPU" in one_line(printed.err)
    assert [call[:3] for call in jobs.ran(printed.out).calls] == [["pingpong", "--paths", "host"]]


@pytest.mark.parametrize(
    "words",
    [
        *(("--setup", line) for line in ("if true", "cat << EOF", "echo 'abc", "a\nb")),
        ("--queue", "q\n#SBATCH --mem=0"),
    ],
)
def test_what_bash_or_a_batch_system_would_refuse(
    words: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects from a job that has waited in a queue for nothing."""
    assert main(["script", "groups", "--system", "summit", *words]) == ExitCode.USAGE
    one_line(capsys.readouterr().err)


def test_a_newcomer_s_script(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is one new file has its script with no other edit."""
    text = (systems.FOLDER / "delta.toml").read_text().replace('name = "Delta"', 'name = "Gamma"')
    (tmp_path / "gamma.toml").write_text(text)
    monkeypatch.setattr(systems, "FOLDER", tmp_path)
    assert "# Gamma (NCSA" in jobs.written("groups --system gamma")
