"""BatchJob scripts: every one is a shell script whose directives and whose wirespeed commands are right."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
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


def written(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The script that the command prints."""
    assert main(["script", *words]) == ExitCode.OK
    return capsys.readouterr().out


def ran(script: str, fakes: Path, folder: Path, **variables: str) -> Ran:
    file = folder / "job.sh"
    file.write_text(script)
    checked = captured(["bash", "-n", str(file)])
    assert (checked.returncode, checked.stderr) == (0, "")
    calls = folder / "calls"
    environment = {"PATH": f"{fakes}:{os.environ['PATH']}", "CALLS": str(calls), "HOME": str(folder)}
    done = subprocess.run(
        # Not as a login shell: what its profile does to PATH is not ours to test.
        ["bash", str(file)],
        env={**environment, "HOSTS": "n1,n2", "COBALT_NODEFILE": "nodes", **variables},
        cwd=folder,
        capture_output=True,
        check=False,
    )

    def lines(name: str) -> list[str]:
        found = folder / name
        return found.read_text().splitlines() if found.exists() else []

    return Ran(
        done.returncode,
        [line.split() for line in lines("calls")],
        lines("calls.launches"),
        lines("calls.modules"),
    )


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


class TestEverySystem:
    @pytest.mark.parametrize("job", JOBS, ids=[job.split()[0] for job in JOBS])
    @pytest.mark.parametrize("name", names())
    def test_its_script(
        self,
        name: str,
        job: str,
        fakes: Path,
        fake: FakeRun,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A job that waits a day in a queue must not end at once: shell, directives, commands are right."""
        system = load(name)
        if name == "summit":
            job = job.replace("--group 4", "--group 6")
        script = written(*job.split(), "--system", name, capsys=capsys)
        if system.batch.system != "none":
            options = dict(parsed(script, system.batch.system))
            assert ("ABC123" in options.values()) == ("--account" in job)
            assert ("debug" in options.values()) == ("debug" in job or system.batch.queue == "debug")
        did = ran(script, fakes, tmp_path)
        assert did.code == 0
        pattern = job.split()[0]
        nodes = int(re.findall(r"--nodes (\d+)", job)[0]) if "--nodes" in job else 1
        paths = [call[call.index("--paths") + 1] for call in did.calls]
        # But for the path all calls are alike: one is read by the command itself.
        alike = {
            " ".join(call).replace(f"--paths {path} ", "")
            for call, path in zip(did.calls, paths, strict=True)
        }
        assert len(alike) == 1
        assert main(did.calls[-1]) == ExitCode.OK
        plan = fake.plan
        paths = [name for path in paths for name in path.split(",")]
        assert (plan.pattern, plan.paths[-1]) == (pattern, paths[-1])
        assert plan.out is not None and plan.out.endswith(".jsonl")
        assert (plan.out == "own.jsonl") == ("own.jsonl" in job)
        if plan.between:
            assert set(plan.between) <= set(range(system.node.gpus))
            assert len(plan.between) == (2 if pattern == "pingpong" else system.node.gpus)
        if system.batch.system == "none":
            assert plan.ranks == (2 if pattern == "pingpong" else nodes * system.node.gpus)
            assert plan.hosts == ("n1", "n2")
        if "--paths" in job:
            assert paths == job.split("--paths ")[1].split()[0].split(",")
        assert len(paths) == len(set(paths)) >= 2
        self.check_switches(system, script, did)

    def check_switches(self, system: System, script: str, did: Ran) -> None:
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


class TestEveryBatchSystem:
    @pytest.mark.parametrize("batch", ["slurm", "lsf", "pbs", "flux"])
    def test_a_machine_that_is_not_known(
        self, batch: str, fakes: Path, fake: FakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = f"groups --batch {batch} --gpus-per-node 4 --nodes 3 --group 4 --paths host,nccl"
        script = written(*words.split(), "--queue", "q", "--account", "a", "--time", "90", capsys=capsys)
        options = parsed(script, batch)
        assert {"q", "a"} <= {value for _, value in options}
        clock = {"slurm": "01:30:00", "lsf": "1:30", "pbs": "walltime=01:30:00", "flux": "90m"}[batch]
        assert clock in [value for _, value in options]
        did = ran(script, fakes, tmp_path)
        assert did.code == 0 and len(did.launches) == 2
        assert [main(call) for call in did.calls] == [0, 0]
        assert [plan.paths for plan in fake.plans] == [("host",), ("nccl",)]
        assert re.search(r"(-n|--ntasks=|--nrs|--nodes=)\s*(12|3)\b", did.launches[0])

    @pytest.mark.parametrize("batch", ["slurm", "lsf", "pbs", "flux"])
    def test_a_path_that_fails_costs_its_own_figures(
        self, batch: str, fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Each path is a job step: after one that crashed the others go on, and the job ends as failed."""
        words = f"pingpong --batch {batch} --gpus-per-node 2 --paths host,staged,aware"
        did = ran(written(*words.split(), capsys=capsys), fakes, tmp_path, HOST_FAILS="139")
        assert did.code == 139
        assert [call[call.index("--paths") + 1] for call in did.calls] == ["host", "staged", "aware"]
        assert all("--resume" in call for call in did.calls)

    @pytest.mark.parametrize(
        ("host", "others", "code"),
        [("3", "0", 0), ("0", "3", 0), ("3", "3", 3), ("3", "1", 1), ("1", "3", 1)],
    )
    @pytest.mark.parametrize("batch", ["slurm", "lsf", "pbs", "flux"])
    def test_a_path_that_is_not_available_is_no_failure(
        self,
        batch: str,
        host: str,
        others: str,
        code: int,
        fakes: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Protects complete jobs from being listed as FAILED; code 3 is left for a job without a figure."""
        words = f"pingpong --batch {batch} --gpus-per-node 2 --paths host,staged,aware"
        script = written(*words.split(), capsys=capsys)
        did = ran(script, fakes, tmp_path, HOST_FAILS=host, OTHERS_FAIL=others)
        assert did.code == code and len(did.calls) == 3

    def test_open_mpi_s_mpiexec_is_told_in_its_own_words(
        self, fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        script = written("groups", "--batch", "pbs", "--gpus-per-node", "4", "--paths", "host", capsys=capsys)
        assert "--ppn 4" in ran(script, fakes, tmp_path).launches[0]
        own = tmp_path / "openmpi"
        own.mkdir()
        text = FAKE["srun jsrun mpiexec mpirun flux"].replace(
            "&& exit 0", "&& echo 'mpiexec (Open MPI) 5.0.11' && exit 0"
        )
        (own / "mpiexec").write_text(text)
        (own / "mpiexec").chmod(0o755)
        did = ran(script, fakes, tmp_path, PATH=f"{own}:{fakes}:{os.environ['PATH']}")
        assert "--map-by ppr:4:node" in did.launches[-1]

    def test_without_wirespeed_the_job_says_so(
        self, fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        script = written("pingpong", "--batch", "slurm", "--gpus-per-node", "2", capsys=capsys)
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "bash").symlink_to("/bin/bash")
        assert ran(script, fakes, tmp_path, PATH=str(tmp_path / "bin")).code == 3


class TestAlone:
    """survey and doctor start their own ranks: a job of one node that calls them once."""

    @pytest.mark.parametrize("name", ["survey", "doctor"])
    @pytest.mark.parametrize("where", ["--batch slurm", "--batch pbs", "--batch flux", "--system summit"])
    def test_it_is_called_once(
        self, name: str, where: str, fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        script = written(name, *where.split(), "--device", "cpu", capsys=capsys)
        done = ran(script, fakes, tmp_path, OTHERS_FAIL="6")
        (call,) = done.calls
        assert done.code == 6 and call[:4] == [name, "--device", "cpu", "--out"] and not done.launches


class TestContainers:
    @pytest.mark.parametrize("job", ["survey", "pingpong --nodes 2 --paths host,aware"])
    def test_apptainer_runs_the_command(
        self, job: str, fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Protects a job whose wirespeed is in an image: each call goes through the container."""
        words = f"{job} --batch slurm --gpus-per-node 2 --container apptainer --image w.sif"
        done = ran(written(*words.split(), capsys=capsys), fakes, tmp_path)
        opened = (tmp_path / "calls.containers").read_text().splitlines()
        assert len(opened) == len(done.calls) == (1 if job == "survey" else 2)
        assert all(line.startswith(f"exec --nv --bind {tmp_path} w.sif wirespeed ") for line in opened)

    @pytest.mark.parametrize("job", ["survey", "pingpong --nodes 2 --paths host"])
    def test_enroot_is_srun_s_own(
        self, job: str, fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = f"{job} --batch slurm --gpus-per-node 2 --container enroot --image reg/w:1"
        done = ran(written(*words.split(), capsys=capsys), fakes, tmp_path, SLURM_CPUS_ON_NODE="8")
        (launch,) = done.launches
        assert f"--container-image=reg/w:1 --container-mounts={tmp_path}:{tmp_path}" in launch
        assert len(done.calls) == 1


def test_a_job_without_gpus_asks_for_none(
    fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects clusters of CPUs: --gpus-per-node is not demanded, and its lack is said."""
    assert main(["script", "pingpong", "--batch", "slurm", "--nodes", "2"]) == ExitCode.OK
    printed = capsys.readouterr()
    assert "--gpus-per-node" not in printed.out and "asks for no GPU" in one_line(printed.err)
    assert [call[:3] for call in ran(printed.out, fakes, tmp_path).calls] == [["pingpong", "--paths", "host"]]


class TestRefusals:
    @pytest.mark.parametrize(
        "words",
        [
            *(("--setup", line) for line in ("if true", "cat << EOF", "echo 'abc", "a\nb")),
            ("--queue", "q\n#SBATCH --mem=0"),
        ],
    )
    def test_one_line(self, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
        """What bash or a batch system would take otherwise is told before the job waits in a queue."""
        assert main(["script", "groups", "--system", "summit", *words]) == ExitCode.USAGE
        one_line(capsys.readouterr().err)

    def test_into_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "job.sh"
        assert main(["script", "ring", "--system", "summit", "-o", str(file)]) == 0
        assert file.read_text().startswith("#!/bin/bash\n#BSUB")


def test_a_newcomer_s_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine that is one new file has its script with no other edit."""
    text = (systems.FOLDER / "delta.toml").read_text().replace('name = "Delta"', 'name = "Gamma"')
    (tmp_path / "gamma.toml").write_text(text)
    monkeypatch.setattr(systems, "FOLDER", tmp_path)
    assert "# Gamma (NCSA" in written("groups", "--system", "gamma", capsys=capsys)
