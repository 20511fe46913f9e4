"""What help lists, and what a near miss suggests: only what the command takes."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click
import pytest
from support.fake_run import FakeRun

from wirespeed.cli.commands import cli
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.patterns import all_patterns


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
    with_others = {
        "--one-host-too": ["--hosts", "n1,n2"],
        "--layers": ["--kv", "llama-3.1-8b"],
        "--pool": ["--list", "places.txt"],
    }
    own = {
        "--list": "places.txt",
        "--ranks": "4",
        "--hosts": "n1",
        "--launcher": "auto",
        "--out": "new.jsonl",
        "--resume": "",
    }
    own |= {"--picture": "field.png", "--timeline": "t.json"}
    good = {
        "FILE": "mine.csv",
        "SYSTEM": "summit",
        "PATTERN:PATH[:SIZE]": "stream:host:8",
        "I,J": "0,0",
        "I-J,...": "0-1",
    }
    good |= {"SHARE": "1%", "SECONDS": "1", "SIZES": "8", "NAME,...": "all", "PATH": "/opt/mpi"}
    good |= {"NAME=RATE,...": "eth0=1GB/s", "TIME": "0", "N": "2", "N,...": "2", "WxH": "64x64"}
    good |= {"NORM": "1e-4", "SIZE": "1M", "MODEL": "llama-3.1-8b"}
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
