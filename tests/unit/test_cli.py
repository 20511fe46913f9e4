"""The command line: what it makes of its words, what help lists, and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import captured
from support.examples import examples
from support.fake_run import FakeRun, one_line
from support.records import entry

import wirespeed.cli.share
from wirespeed.cli.commands import SCREEN, cli
from wirespeed.cli.common.streams import note
from wirespeed.cli.main import FIRST_SPEAKS, PIPE_CLOSED, main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.paths import all_paths
from wirespeed.patterns import all_patterns


class TestPlan:
    def test_defaults(self, fake: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("WIRESPEED_NO_EVIDENCE")
        assert main(["pingpong", "--out", "f"]) == 0
        assert fake.plan == Plan(out="f")

    @pytest.mark.parametrize(
        ("words", "seconds"),
        [
            *(("pingpong", 60), ("allreduce --ranks 2 --precision 2%", 60), ("pingpong --max-time 1", 0)),
            *(("pingpong --loops 5", 0), ("jacobi --ranks 2", 0), ("pingpong --budget 5s --max-time 1", 5)),
            *(("pingpong --budget 0", 0), ("pingpong --within 2m", 120), ("pingpong --soak 90", 0)),
            *(("pingpong --within 2m --launches 3", 120), ("pingpong --launches 3", 180)),
            ("groups --ranks 4 --group 1,2", 120),
        ],
    )
    def test_the_budget(
        self, fake: FakeRun, monkeypatch: pytest.MonkeyPatch, words: str, seconds: float
    ) -> None:
        """Protects whoever says how long a size takes from a run that takes longer."""
        monkeypatch.delenv("WIRESPEED_BUDGET")
        assert main([*words.split(), "--out", "f"]) == 0
        assert fake.plan.budget == seconds

    def test_every_option(self, fake: FakeRun) -> None:
        words = (
            "pingpong --paths host,staged --sizes 0,8,1K:4K --precision 0.5% --max-time 2s --loops 50"
            " --warmup 5 --between 1,0 --device emulated --mpi /opt/mpi --launcher mpiexec --hosts n1,n2"
            " --out f --resume --timeout 3 --test fault=drop-byte --test offset=3 --debug"
        )
        assert main(words.split()) == 0
        plan = fake.plan
        assert plan.paths == ("host", "staged")
        assert plan.sizes == (0, 8, 1024, 2048, 4096)
        assert plan.stopping.precision == 0.005
        assert plan.stopping.max_time == 2
        assert (plan.stopping.loops, plan.stopping.warmup) == (50, 5)
        assert plan.between == (1, 0)
        assert (plan.device, plan.mpi, plan.launcher) == ("emulated", "/opt/mpi", "mpiexec")
        assert plan.hosts == ("n1", "n2")
        assert (plan.out, plan.resume, plan.timeout, plan.debug) == ("f", True, 3, True)
        assert plan.test == (("fault", "drop-byte"), ("offset", "3"))


class TestBadInput:
    @examples(300)
    @given(
        name=st.sampled_from(
            (
                *("paths", "sizes", "precision", "max-time", "loops", "warmup", "between", "device", "mpi"),
                *("launcher", "hosts", "out", "timeout", "format", "against", "test"),
            )
        ),
        value=st.one_of(
            st.text(max_size=30),
            st.text("0123456789.,:-+%eEkKMGTisnaf\x00\n\t\udc80", max_size=12),
            st.integers().map(str),
            st.floats().map(str),
        ),
        glued=st.booleans(),
    )
    def test_no_value_gives_a_stack_trace(
        self, name: str, value: str, glued: bool, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        capsys.readouterr()
        words = [f"--{name}={value}"] if glued else [f"--{name}", value]
        code = main(["pingpong", "--sizes", "8", *words])
        printed = capsys.readouterr()
        assert code in (ExitCode.OK, ExitCode.USAGE)
        if code == ExitCode.USAGE:
            assert printed.out == ""
            assert one_line(printed.err).startswith("wirespeed: ")


class TestEndings:
    def test_of_several_operations_those_are_measured_that_can_be(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Protects a script from a failure where two of three were measured; the third is named, and why."""

        def refuses(plan: Plan) -> None:
            if dict(plan.options)["operation"] == "load":
                raise WirespeedError("gpu-load: no GPU", ExitCode.UNAVAILABLE)

        fake.begins = refuses
        for words in ("put,get,load", "load,put,get"):
            fake.plans.clear()
            assert main(["rma", "--operation", words]) == ExitCode.OK
            assert [dict(plan.options)["operation"] for plan in fake.plans] == ["put", "get"]
            assert fake.plans[1].resume and fake.plans[1].out
            assert "operation load is left out: gpu-load: no GPU" in capsys.readouterr().err.splitlines()
        for words in ("load", "load,load"):
            assert main(["rma", "--operation", words]) == ExitCode.UNAVAILABLE
            assert one_line(capsys.readouterr().err) == "wirespeed: gpu-load: no GPU"

    @pytest.mark.parametrize("code", list(ExitCode))
    def test_the_code_is_that_of_the_run_or_of_its_error(
        self, code: ExitCode, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fake.code = code
        assert main(["pingpong", "--out", "f"]) == code
        capsys.readouterr()
        fake.silent, fake.error = True, WirespeedError("the disk is full;\nfree some", code)
        assert main(["pingpong"]) == code
        assert one_line(capsys.readouterr().err) == "wirespeed: the disk is full; free some"

    def test_unknown_errors_are_one_line_and_hint_at_debug(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fake.silent, fake.error = True, ZeroDivisionError("by zero")
        assert main(["pingpong"]) == ExitCode.FAILED_ENTRY
        line = one_line(capsys.readouterr().err)
        assert line == "wirespeed: unexpected ZeroDivisionError: by zero; --debug shows where"
        with pytest.raises(ZeroDivisionError):
            main(["pingpong", "--debug"])

    def test_ctrl_c_keeps_what_was_measured(self, fake: FakeRun, capsys: pytest.CaptureFixture[str]) -> None:
        fake.error = KeyboardInterrupt()
        assert main(["pingpong", "--sizes", "8", "--out", "f"]) == ExitCode.INTERRUPTED
        printed = capsys.readouterr()
        assert "1.00 us" in printed.out
        assert "before all was measured" in printed.out
        assert "Traceback" not in printed.err

    def test_a_closed_pipe_is_quiet(self, tmp_path: Path) -> None:
        file = tmp_path / "f.jsonl"
        file.write_text("".join(json.dumps(entry("host", size, 1e-6)) + "\n" for size in range(1, 9000)))
        command = [sys.executable, "-m", "wirespeed", "show", str(file), "--format", "tutorial"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout and process.stderr
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == PIPE_CLOSED

    @pytest.mark.parametrize("words", [["--help"], ["show", "-h"], ["systems"], ["systems", "--format=json"]])
    def test_a_pipe_that_nobody_reads(self, words: list[str]) -> None:
        """Whichever library prints: the exit code is what a shell expects, and nothing is said."""
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, "-m", "wirespeed", *words], stdout=writer, stderr=subprocess.PIPE, check=False
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (PIPE_CLOSED, b"")

    def test_letters_that_the_locale_lacks(self, tmp_path: Path) -> None:
        file = tmp_path / "f.jsonl"
        file.write_text(json.dumps(entry("host", 8, 1e-6)) + "\n")
        done = subprocess.run(
            [sys.executable, "-m", "wirespeed", "show", str(file)],
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=True,
        )
        assert b"1.00 us" in done.stdout
        assert done.stderr == b""


class TestInsideALauncher:
    def test_a_rank_that_sees_nothing_says_nothing(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        fake.silent = True
        assert main(["pingpong"]) == 0
        printed = capsys.readouterr()
        assert printed.out == printed.err == ""
        assert list(tmp_path.iterdir()) == []

    def test_a_launchers_terminal_is_none(
        self, fake: FakeRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert main(["pingpong", "--out", "f"]) == 0
        assert "\x1b" in capsys.readouterr().out
        monkeypatch.setenv("PMI_RANK", "0")
        monkeypatch.setenv("PMI_SIZE", "2")
        assert main(["pingpong", "--out", "g"]) == 0
        assert "\x1b" not in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("rank", "size"),
        [
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
            ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        ],
    )
    def test_only_rank_0_says_what_is_wrong(
        self,
        rank: str,
        size: str,
        fake: FakeRun,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A number alone makes no rank: such a process speaks for itself."""
        if rank == "SLURM_PROCID":
            monkeypatch.setenv("SLURM_STEP_ID", "0")
        monkeypatch.setenv(rank, "1")
        assert main(["pingpong", "--sizes", "8X"]) == ExitCode.USAGE
        one_line(capsys.readouterr().err)
        monkeypatch.setenv(size, "2")
        waited: list[float] = []
        monkeypatch.setattr("wirespeed.cli.main.time.sleep", waited.append)
        assert main(["pingpong", "--sizes", "8X"]) == ExitCode.USAGE
        assert waited == [FIRST_SPEAKS]
        assert capsys.readouterr().err == ""
        monkeypatch.setenv(rank, "0")
        assert main(["pingpong", "--sizes", "8X"]) == ExitCode.USAGE
        one_line(capsys.readouterr().err)


def are_commands(names: Iterable[str]) -> bool:
    return all(cli.get_command(click.Context(cli), name.split()[0]) for name in names)


class TestApplication:
    def test_the_first_screen(self) -> None:
        """Protects a newcomer from a command that does not exist; golden/cli/commands has the screen."""
        assert are_commands(SCREEN)

    def test_the_machine_and_three_commands(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([]) == 0
        said = capsys.readouterr().out
        names = re.findall(r"^  \S+ (\w+) .*\?", said, re.MULTILINE)
        assert len(names) == 3 and names[0] == "survey" and " --help" in said
        assert are_commands(names)

    def test_help_imports_no_pattern(self) -> None:
        """Protects the time of a newcomer's first command, and of each word that a shell completes."""
        look = "import sys; from wirespeed.cli.main import main; main(['--help']); print(*sys.modules)"
        done = captured([sys.executable, "-I", "-c", look], ok=True)
        modules = done.stdout.splitlines()[-1].split()
        assert "wirespeed.cli.commands" in modules
        unwanted = (
            *("wirespeed.patterns", "wirespeed.programs", "wirespeed.host", "wirespeed.inputs"),
            *("wirespeed.frontend", "wirespeed.job", "numpy", "msgspec", "rich", "subprocess"),
            *("mpi4py", "cffi"),
        )
        assert not [name for name in modules if name.startswith(unwanted)]

    def test_a_command_imports_no_other_one(self) -> None:
        """Protects the start of thousands of ranks: each loads its own command, not twenty."""
        code = (
            "import sys; from wirespeed.cli.main import main; main(['show', '--help']);"
            "print([name for name in sys.modules if name.count('.') == 3 and '.cli.' in name])"
        )
        done = captured([sys.executable, "-c", code], ok=True)
        loaded = [name for name in eval(done.stdout.splitlines()[-1]) if ".common." not in name]
        assert loaded == ["wirespeed.cli.understand.show"]

    def test_ctrl_c_is_quiet_as_soon_as_the_command_begins(self) -> None:
        """Protects from a stack trace: hardly anything is imported before start.py can catch the signal."""
        code = (
            "import sys; before = set(sys.modules); import wirespeed.cli.start;"
            "print([name for name in sys.modules if name not in before])"
        )
        done = subprocess.run(
            [sys.executable, "-S", "-c", code], cwd=DOCS.parent, capture_output=True, check=True
        )
        assert eval(done.stdout)[:3] == ["__future__", "wirespeed", "wirespeed.cli"], "as they came to an end"

    @pytest.fixture
    def own_command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        (tmp_path / "greet.py").write_text(
            '"""Say hello."""\n'
            "import click\n"
            "@click.command(help=__doc__)\n"
            "@click.option('--loud', is_flag=True)\n"
            "def command(loud):\n"
            "    print('hello', loud)\n"
        )
        share = wirespeed.cli.share
        monkeypatch.setattr(share, "__path__", [*share.__path__, str(tmp_path)])
        yield
        sys.modules.pop("wirespeed.cli.share.greet", None)

    def test_a_command_is_found_by_being_there(
        self, own_command: None, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["greet", "--loud"]) == 0
        assert capsys.readouterr().out == "hello True\n"
        assert main(["help", "all"]) == 0
        assert "  greet          Say hello.\n" in capsys.readouterr().out.split("\nShare:\n")[1]


DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"compare": "comparing", **dict.fromkeys(("watch", "check"), "checking"), "doctor": "doctor"}
PAGES |= dict.fromkeys(("script", "systems"), "launchers")


def test_a_note_has_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects terminals from names of files."""
    note("results: a\x1b[31m.jsonl\r")
    assert capsys.readouterr().err == "results: a [31m.jsonl \n"


class TestDocuments:
    def test_every_exit_code_is_documented(self) -> None:
        text = (DOCS / "commands.md").read_text()
        for code in ExitCode:
            assert f"| {int(code)} | `{code.name}` |" in text
        assert f"| {PIPE_CLOSED} |" in text

    def test_every_path_is_documented_and_the_default_ones_are_marked(self) -> None:
        """Protects the answer to 'what does this path measure?': a new path comes with its row."""
        text = (DOCS / "paths.md").read_text()
        assert [path.name for path in all_paths() if f"\n| `{path.name}` |" not in text] == []
        marked = set(re.findall(r"^\| `([^`]+)` \|.*\| yes \|$", text, re.MULTILINE))
        assert marked == {path.name for path in all_paths() if path.default and not path.intra_rank}

    @pytest.mark.parametrize("command", [*all_patterns(), "survey", "paths", "show", *PAGES])
    def test_every_option_is_documented(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        measuring = [] if command in ("check", "doctor", "script", "systems") else ["commands"]
        named = [PAGES[command]] if command in PAGES else ["patterns", "collectives", "programs"]
        text = "".join((DOCS / f"{name}.md").read_text() for name in (*measuring, *named))
        assert main(["help", command]) == 0
        options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
        assert len(options) > 2
        missing = [name for name in options if f"`{name}" not in text]
        assert not {*missing} - {"--help", "--debug"}


@pytest.mark.parametrize("command", ["survey", *all_patterns()])
def test_help_has_two_lengths(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects an option from being in neither."""
    texts = []
    for words in ([command, "--help"], [command, "--help-all"], ["help", command]):
        assert main(words) == 0
        texts.append(capsys.readouterr().out)
    short, whole, other = texts
    made = cli.get_command(click.Context(cli), command)
    assert made is not None and len(short.splitlines()) <= 95 and whole == other
    options = (one for one in made.params if isinstance(one, click.Option) and not one.hidden)
    names = [", ".join(sorted(one.opts, key=len)) for one in options]
    assert [name for name in names if f"\n  {name}" not in whole and name != "--help-all"] == []
    listed = short.split("Options:")[1]
    left_out = [name for name in names if f"\n  {name}" not in listed]
    assert len(left_out) > 4 and "\n  --help-all " in listed


@pytest.mark.parametrize("command", ["survey", "watch", *all_patterns()])
def test_no_listed_option_is_refused(
    command: str,
    fake: FakeRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Protects from a help that lists what the command then says it does not take."""
    monkeypatch.delenv("WIRESPEED_NO_EVIDENCE")
    # --with would start its ranks.
    monkeypatch.setattr("wirespeed.frontend.background_load.running", lambda _: nullcontext())
    # --dry-run looks at this machine.
    monkeypatch.setattr("wirespeed.cli.common.dry_run.print_orders", lambda *_, **__: ExitCode.OK)
    fake.silent = True
    (tmp_path / "mine.csv").write_text("step,from,to,bytes\n0,0,1,1M\n")
    needed = {"custom": ["--file", "mine.csv"], "watch": ["--count", "1", "--every", "0"]}.get(command, [])
    (tmp_path / "places.txt").write_text("0 0\n")
    with_others = {"--one-host-too": ["--hosts", "n1,n2"], "--layers": ["--kv", "llama-3.1-8b"]}
    with_others |= {"--pool": ["--list", "places.txt"]}
    own = {"--list": "places.txt", "--ranks": "4", "--hosts": "n1", "--launcher": "auto"}
    own |= {"--out": "new.jsonl", "--resume": "", "--picture": "field.png", "--timeline": "t.json"}
    good = {"FILE": "mine.csv", "SYSTEM": "summit", "PATTERN:PATH[:SIZE]": "stream:host:8", "I,J": "0,0"}
    good |= {"SHARE": "1%", "SECONDS": "1", "SIZES": "8", "NAME,...": "all", "PATH": "/opt/mpi"}
    good |= {"NAME=RATE,...": "eth0=1GB/s", "TIME": "0", "N": "2", "N,...": "2", "WxH": "64x64"}
    good |= {"NORM": "1e-4", "SIZE": "1M", "MODEL": "llama-3.1-8b", "I-J,...": "0-1"}
    good |= {"yes|no,...": "yes,no", "KIND[:GPU,...]": "emulated"}
    made = cli.get_command(click.Context(cli), command)
    assert made is not None
    listed = [one for one in made.params if isinstance(one, click.Option) and not one.hidden]
    assert len(listed) > 10
    for one in listed:
        name, kind = one.opts[0], str(one.make_metavar(click.Context(made)))
        value = own.get(name) or good.get(kind) or kind.removesuffix(",...").split("|")[-1]
        words = [*with_others.get(name, []), *([name] if one.is_flag else [name, value])]
        code = main([command, *needed, *words, *(["--out", "r"] if name == "--resume" else [])])
        assert code in (ExitCode.OK, ExitCode.CANNOT_TELL), (words, capsys.readouterr().err)
        assert command == "watch" or fake.plans
